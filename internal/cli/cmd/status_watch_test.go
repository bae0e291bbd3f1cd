// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/cli/view"
)

// watching is a `status -w` that is under way.
type watching struct {
	t        *testing.T
	tm       *terminal
	out, err buffer
	done     chan Code
}

func (tm *terminal) watch(args ...string) *watching {
	tm.t.Helper()
	w := &watching{t: tm.t, tm: tm, done: make(chan Code, 1)}
	tm.now = time.Now
	go func() {
		w.done <- tm.start(tm.t.Context(), &w.out, &w.err, append([]string{"status", fixturePackage, "-w"}, args...)...)
	}()
	return w
}

// patience bounds what takes a moment, but for machines that have no time.
const patience = time.Minute

// sees waits until a text stands in the output or the notes.
func (w *watching) sees(text string) {
	w.t.Helper()
	w.seesTimes(text, 1)
}

func (w *watching) seesTimes(text string, times int) {
	w.t.Helper()
	over := time.After(patience)
	for strings.Count(w.out.String()+w.err.String(), text) < times {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-over:
			w.t.Fatalf("never saw %q\nstdout:\n%s\nstderr:\n%s", text, w.out.String(), w.err.String())
		}
	}
}

// ends waits for the end and checks the code.
func (w *watching) ends(code Code) {
	w.t.Helper()
	select {
	case got := <-w.done:
		if got != code {
			w.t.Errorf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, code, w.out.String(), w.err.String())
		}
	case <-time.After(patience):
		w.t.Fatalf("does not end\nstdout:\n%s\nstderr:\n%s", w.out.String(), w.err.String())
	}
}

// becomes brings the cluster to the state of a fixture.
func (w *watching) becomes(name string) {
	w.t.Helper()
	w.tm.holds(fixtureNamed(w.t, name))
}

func TestStatusWatch_FollowsToTheEnd(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolling_out"))
	tm.server.fail = func(r *http.Request) *metav1.Status {
		if r.URL.Query().Get("resourceVersion") == "0" {
			t.Errorf("%s may be answered with a state that is older than what the command has written", r.URL)
		}
		return nil
	}
	w := tm.watch("--timeout", "5m")
	w.sees("phase 2/3 control-plane in progress")
	w.becomes("bad_image")
	w.sees("waits for Deployment openshift-ingress/istiod-openshift-gateway: ProbeFailed: 0 of 1")
	w.becomes("done")
	w.sees("phase 3/3 webhooks complete: 2 unchanged")
	w.sees("revision 3 is rolled out in 15s: 3 updated, 15 unchanged")
	w.ends(CodeOK)
	for line := range strings.Lines(w.out.String()) {
		if _, err := time.Parse(time.RFC3339, strings.Fields(line)[0]); err != nil {
			t.Errorf("a line without a time: %s", line)
		}
	}
	if n := strings.Count(w.out.String(), "phase 1/3 rbac-and-config complete"); n != 1 {
		t.Errorf("a transition is reported %d times", n)
	}
}

func TestStatusWatch_TakesTemplates(t *testing.T) {
	r := newTerminal(t, fixtureNamed(t, "done")).run("status", fixturePackage, "-w", "-o", "jsonpath={.verdict}")
	r.wants(t, CodeOK, "", "")
	if r.out != "RolledOut\n" {
		t.Errorf("got %q, want what the template asks for", r.out)
	}
}

func TestStatusWatch_WaitsForThePackage(t *testing.T) {
	w := newTerminal(t, nil).watch("--timeout", "5m")
	w.sees("does not exist yet")
	w.becomes("done")
	w.ends(CodeOK)
}

// TestStatusWatch_WatchFails: a watch that ends with an error is begun anew with growing
// pauses, and the interruption is noted; that its version is too old is none.
func TestStatusWatch_WatchFails(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolling_out"))
	unavailable := apierrors.NewServiceUnavailable("etcd is away").ErrStatus
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	set := func(status *metav1.Status) {
		tm.server.failing.Lock()
		defer tm.server.failing.Unlock()
		if tm.server.watchError = status; status != nil {
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		}
	}
	set(&unavailable)
	w := tm.watch("--timeout", "5m")
	w.sees("is interrupted (watching Package objects: etcd is away")
	begun := time.Now()
	w.sees("phase 2/3 control-plane in progress")
	w.seesTimes("interrupted", 8)
	// Each of the two watches pauses for 0.1, 0.2 and 0.4 seconds before its fourth note.
	if took := time.Since(begun); took < 500*time.Millisecond {
		t.Errorf("8 interruptions in %s: the pauses do not grow", took)
	}
	set(&expired)
	w.becomes("bad_image")
	w.sees("waits for Deployment openshift-ingress/istiod-openshift-gateway")
	set(nil)
	w.becomes("done")
	w.ends(CodeOK)
}

func TestStatusWatch_FollowsANewerTarget(t *testing.T) {
	w := newTerminal(t, fixtureNamed(t, "bad_image")).watch("--timeout", "5m")
	w.sees("revision 3 (1.31.0) is the target")
	w.becomes("rolled_back")
	w.sees("Revision 4 is the target now; following it instead of revision 3.")
	w.sees("revision 4 is rolled out")
	w.ends(CodeOK)
}

func TestStatusWatch_Ends(t *testing.T) {
	cases := map[string]struct {
		reason  string
		fixture string
		args    []string
		code    Code
		err     string
	}{
		"Done":       {reason: "There is nothing to wait for.", fixture: "done", code: CodeOK},
		"Collision":  {reason: "Waiting does not help.", fixture: "collision", code: CodeTerminal, err: "ObjectCollisions"},
		"Deadline":   {reason: "Nor does it here.", fixture: "deadline", code: CodeTerminal, err: "nothing moved for 10m0s"},
		"Deleting":   {reason: "Nor here.", fixture: "deleting", code: CodeTerminal, err: "being deleted"},
		"Timeout":    {reason: "The object that holds it is named.", fixture: "bad_image", args: []string{"--timeout", "2s"}, code: CodeTimeout, err: "not rolled out after 2s: package istiod-openshift-gateway waits for Deployment"},
		"Held":       {reason: "Nothing has moved for long enough.", fixture: "bad_image", args: []string{"--hold-timeout", "2s"}, code: CodeTimeout, err: "nothing has moved for 2s: package istiod-openshift-gateway waits for Deployment"},
		"NoRevision": {reason: "A revision that never comes.", fixture: "done", args: []string{"--revision", "4", "--timeout", "2s"}, code: CodeTimeout, err: "has no revision 4"},
		"Superseded": {reason: "A revision that is history.", fixture: "done", args: []string{"--revision", "2"}, code: CodeSuperseded, err: "revision 2 was superseded: revision 3"},
		"TheTarget":  {reason: "The revision that is asked for.", fixture: "done", args: []string{"--revision", "3"}, code: CodeOK},
		"Absent":     {reason: "A package that never comes.", args: []string{"--timeout", "2s"}, code: CodeTimeout, err: "does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			if tc.fixture != "" {
				f = fixtureNamed(t, tc.fixture)
			}
			w := newTerminal(t, f).watch(tc.args...)
			w.ends(tc.code)
			if !strings.Contains(w.err.String(), tc.err) {
				t.Errorf("%s stderr has no %q:\n%s", tc.reason, tc.err, w.err.String())
			}
		})
	}
}

func TestStatusWatch_JSONLines(t *testing.T) {
	w := newTerminal(t, fixtureNamed(t, "rolling_out")).watch("--timeout", "5m", "-o", "json")
	w.sees(`"verdict":"InProgress"`)
	w.becomes("done")
	w.ends(CodeOK)
	var verdicts []view.Verdict
	for line := range strings.Lines(w.out.String()) {
		var s view.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		verdicts = append(verdicts, s.Verdict)
	}
	if len(verdicts) < 2 || verdicts[0] != view.VerdictInProgress || verdicts[len(verdicts)-1] != view.VerdictRolledOut {
		t.Errorf("got %v", verdicts)
	}
}

func TestStatusWatch_PackageDeleted(t *testing.T) {
	w := newTerminal(t, fixtureNamed(t, "rolling_out")).watch("--timeout", "5m")
	w.sees("is the target")
	w.tm.server.remove(packagesPath, fixturePackage)
	w.sees("package istiod-openshift-gateway was deleted")
	w.ends(CodeNotFound)
}

// TestStatusWatch_Reconnects has the server drop every connection: what happens
// meanwhile is seen all the same.
func TestStatusWatch_Reconnects(t *testing.T) {
	w := newTerminal(t, fixtureNamed(t, "rolling_out")).watch("--timeout", "5m")
	w.sees("is the target")
	w.tm.server.CloseClientConnections()
	w.becomes("done")
	w.ends(CodeOK)
}

func TestStatusWatch_Interrupted(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolling_out"))
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, tm: tm, done: make(chan Code, 1)}
	go func() { w.done <- tm.start(ctx, &w.out, &w.err, "status", fixturePackage, "-w") }()
	w.sees("is the target")
	cancel()
	w.ends(CodeInterrupted)
}

func TestRollback_Wait(t *testing.T) {
	start := func(t *testing.T) *watching {
		t.Helper()
		tm := newTerminal(t, fixtureNamed(t, "bad_image"))
		tm.answer(makes(4))
		w := &watching{t: t, tm: tm, done: make(chan Code, 1)}
		go func() {
			w.done <- tm.start(t.Context(), &w.out, &w.err, "rollback", fixturePackage, "--yes", "--wait", "--timeout", "5m")
		}()
		w.sees("Revision 4 does not exist yet; waiting for it.")
		return w
	}
	t.Run("Done", func(t *testing.T) {
		w := start(t)
		w.becomes("rolled_back")
		w.ends(CodeOK)
	})
	t.Run("Superseded", func(t *testing.T) {
		w := start(t)
		f := fixtureNamed(t, "rolled_back")
		next := f.revision(5, "1.31.1", 0)
		w.tm.server.put(revisionsPath, next)
		w.sees("revision 4 was superseded: revision 5 is the target now")
		w.ends(CodeSuperseded)
	})
}
