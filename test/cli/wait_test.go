// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// promptly is within what time a command that waits has to return after the event that
// decides.
const promptly = 5 * time.Second

// waiter is whom the API server takes the commands for.
const waiter = "waiter"

// promptCase is a case of [TestWait_Promptly].
type promptCase struct {
	reason string
	args   []string
	// before makes the state that is waited in, act what decides; the event that
	// does is the last one that decides takes.
	before, act func(t *testing.T, c *cast)
	decides     func(pkg string) func(localplane.AuditEvent) bool
	code        cli.Code
}

// packageStatus takes the writes of the status of a package.
func packageStatus(pkg string) func(localplane.AuditEvent) bool {
	return func(e localplane.AuditEvent) bool {
		return e.Resource == "packages" && e.Name == pkg && e.Subresource == "status" && e.User == setup.Manager
	}
}

// TestWait_Promptly measures how long wait and assert go on after the event that decides:
// the write that the API server has in its audit log.
func TestWait_Promptly(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := plane.WriteKubeconfig(config, waiter, "system:masters"); err != nil {
		t.Fatal(err)
	}
	cases := map[string]promptCase{
		"RolledOut": {
			reason: "0: it is so.", args: []string{"wait", "--wait-for-creation"}, act: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("a")) }, decides: packageStatus, code: cli.CodeOK,
		},
		"AssertRolledOut": {
			reason: "Assertions are watched, too.", args: []string{"assert", "--for", "rolledout", "--within", "1m"},
			before: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1) }, act: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("a")) }, decides: packageStatus, code: cli.CodeOK,
		},
		"Terminal": {
			reason: "3: waiting does not help.", args: []string{"wait", "--wait-for-creation"},
			before: func(t *testing.T, c *cast) { t.Helper(); c.foreign(t, "theirs") },
			act:    func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("theirs")) }, decides: packageStatus, code: cli.CodeTerminal,
		},
		"Superseded": {
			reason: "5: a newer revision took its place.", args: []string{"wait", "--revision", "1", "--for", "condition=Nothing"},
			before: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("a")) },
			act:    func(t *testing.T, c *cast) { t.Helper(); c.create(t, 2, c.configMap("b")) },
			decides: func(pkg string) func(localplane.AuditEvent) bool {
				return func(e localplane.AuditEvent) bool {
					return e.Verb == "create" && e.Resource == "revisions" && e.User != setup.Manager && e.Code == http.StatusCreated && (e.Name == pkg+"-2" || e.Name == "")
				}
			},
			code: cli.CodeSuperseded,
		},
		"Gone": {
			reason: "6: it was deleted.", args: []string{"wait", "--for", "condition=Nothing"},
			before: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("a")) }, act: deletePackage,
			decides: func(pkg string) func(localplane.AuditEvent) bool {
				return func(e localplane.AuditEvent) bool {
					return e.Resource == "packages" && e.Name == pkg && (e.Verb == "delete" || e.Verb == "patch")
				}
			},
			code: cli.CodeTerminal,
		},
		"Deleted": {
			reason: "0: that it goes is what was waited for.", args: []string{"wait", "--for", "deleted"},
			before: func(t *testing.T, c *cast) { t.Helper(); c.create(t, 1, c.configMap("a")) }, act: deletePackage,
			decides: func(pkg string) func(localplane.AuditEvent) bool {
				return func(e localplane.AuditEvent) bool {
					return e.Resource == "packages" && e.Name == pkg && e.Verb == "patch" && e.Subresource == ""
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.check(t, config, &cast{pkg: "promptly-" + strings.ToLower(name), namespace: planetest.Namespace(t, plane)})
		})
	}
}

// check lets a command wait, and measures how long it goes on after the event that decides.
func (tc promptCase) check(t *testing.T, config string, c *cast) {
	t.Helper()
	t.Cleanup(func() {
		// The context of the test is done by now.
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: c.pkg}})); err != nil {
			t.Logf("deleting the package: %v", err)
		}
	})
	if tc.before != nil {
		tc.before(t, c)
	}
	var out, stderr bytes.Buffer
	args := append([]string{"strata", "--kubeconfig", config, tc.args[0], c.pkg}, tc.args[1:]...)
	type end struct {
		code cli.Code
		at   time.Time
	}
	ended := make(chan end, 1)
	go func() {
		code := cli.Run(t.Context(), cli.Config{Args: args, In: strings.NewReader(""), Out: &out, Err: &stderr, Getenv: func(string) string { return "" }})
		ended <- end{code, time.Now()}
	}()
	// It has to wait already when it is decided.
	planetest.Eventually(t, "the command to watch", func() (bool, error) {
		select {
		case e := <-ended:
			t.Fatalf("ends with %d before anything has happened:\n%s", e.code, stderr.String())
		default:
		}
		return c.isWatched(t), nil
	})
	tc.act(t, c)
	e := <-ended
	if e.code != tc.code {
		t.Fatalf("%s exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", tc.reason, e.code, tc.code, out.String(), stderr.String())
	}
	decided := lastBefore(t, tc.decides(c.pkg), e.at)
	took := e.at.Sub(decided)
	t.Logf("returns %s after the event", took)
	if took > promptly {
		t.Errorf("returns %s after the event that decides, want at most %s", took, promptly)
	}
}

// lastBefore is when the last event before a time was that a function takes.
func lastBefore(t *testing.T, takes func(localplane.AuditEvent) bool, before time.Time) time.Time {
	t.Helper()
	var at time.Time
	planetest.Eventually(t, "the event that decides in the audit log", func() (bool, error) {
		events := setup.Audit(t, plane)
		for _, event := range slices.Backward(events) {
			if event.Stage == "ResponseComplete" && event.Time.Before(before) && takes(event) {
				at = event.Time
				return true, nil
			}
		}
		return false, nil
	})
	return at
}

// cast is a package and its objects.
type cast struct{ pkg, namespace string }

// isWatched says whether the command under test watches the package and its revisions.
func (c *cast) isWatched(t *testing.T) bool {
	t.Helper()
	events := setup.Audit(t, plane)
	watched := map[string]bool{}
	for _, e := range events {
		if e.User == waiter && e.Verb == "watch" && strings.Contains(e.RequestURI, c.pkg) {
			watched[e.Resource] = true
		}
	}
	return watched["packages"] && watched["revisions"]
}

func (c *cast) configMap(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q},"data":{"a":"b"}}`, name, c.namespace)
}

// create makes a revision, and the package if need be; without manifests the package
// alone.
func (c *cast) create(t *testing.T, number int64, manifests ...string) {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: c.pkg}}
	if err := client.IgnoreAlreadyExists(admin.Create(t.Context(), pkg)); err != nil {
		t.Fatal(err)
	}
	if len(manifests) == 0 {
		return
	}
	revision := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName(c.pkg, number)},
		Spec:       v1alpha1.RevisionSpec{Package: c.pkg, Revision: number, Phases: []v1alpha1.Phase{{Name: "all"}}},
	}
	for _, manifest := range manifests {
		revision.Spec.Phases[0].Objects = append(revision.Spec.Phases[0].Objects, v1alpha1.Object{Object: &runtime.RawExtension{Raw: []byte(manifest)}})
	}
	if err := admin.Create(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
}

// foreign makes an object without an owner.
func (c *cast) foreign(t *testing.T, name string) {
	t.Helper()
	if err := admin.Create(t.Context(), foreignConfigMap(c.namespace, name)); err != nil {
		t.Fatal(err)
	}
}

func deletePackage(t *testing.T, c *cast) {
	t.Helper()
	if err := admin.Delete(t.Context(), &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: c.pkg}}); err != nil {
		t.Fatal(err)
	}
}
