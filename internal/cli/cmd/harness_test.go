// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// buffer is an output that can be read while a command still writes it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the output.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is what was written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// terminal runs command lines against a cluster of its own.
type terminal struct {
	t          *testing.T
	server     *apiServer
	in         io.Reader
	isTerminal bool
	now        func() time.Time
	// home is the user's folder, empty for none.
	home string
}

// newTerminal is a terminal whose cluster holds the objects of a fixture; nil is
// an empty cluster.
func newTerminal(t *testing.T, f *fixture) *terminal {
	t.Helper()
	// Nothing of the user who runs the test may be read.
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	tm := &terminal{t: t, server: newAPIServer(t), in: strings.NewReader(""), now: func() time.Time { return fixtureNow }}
	if f != nil {
		tm.holds(f)
	}
	return tm
}

// holds brings the cluster to the state of a fixture.
func (tm *terminal) holds(f *fixture) {
	tm.t.Helper()
	for i := range f.objs {
		tm.server.put(slicesPath, f.objs[i])
	}
	for i := range f.view.Revisions {
		tm.server.put(revisionsPath, f.view.Revisions[i])
	}
	for i := range f.cluster {
		tm.server.put(f.cluster[i].collection, f.cluster[i].object)
	}
	tm.server.put(packagesPath, f.view.Package)
}

// result is what a command line left behind. The cluster's address, which is
// another one each time, stands in it as https://cluster.example.
type result struct {
	code     Code
	out, err string
}

// run runs a command line to its end.
func (tm *terminal) run(args ...string) result {
	tm.t.Helper()
	var out, err buffer
	code := tm.start(tm.t.Context(), &out, &err, args...)
	named := strings.NewReplacer(tm.server.URL, "https://cluster.example")
	return result{code: code, out: named.Replace(out.String()), err: named.Replace(err.String())}
}

func (tm *terminal) start(ctx context.Context, out, err io.Writer, args ...string) Code {
	a := newApp(Config{
		Args: append([]string{"strata", "--server", tm.server.URL}, args...), In: tm.in, Out: out, Err: err,
		Getenv: func(name string) string { return map[string]string{"HOME": tm.home}[name] },
	})
	if args[0] == "__complete" {
		a.Args = append([]string{"strata"}, args...)
		*a.flags.APIServer = tm.server.URL
	}
	a.now = tm.now
	a.isTerminal = func(any) bool { return tm.isTerminal }
	return a.execute(ctx)
}

// wants fails the test unless the code is as given and the texts contain what is
// given.
func (r result) wants(t *testing.T, code Code, inOut, inErr string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if !strings.Contains(r.out, inOut) {
		t.Errorf("stdout has no %q:\n%s", inOut, r.out)
	}
	if !strings.Contains(r.err, inErr) {
		t.Errorf("stderr has no %q:\n%s", inErr, r.err)
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", r.out, r.err)
	}
}
