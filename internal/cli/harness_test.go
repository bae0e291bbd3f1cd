// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/v1alpha1"
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

// terminal runs command lines against a cluster.
type terminal struct {
	t        *testing.T
	client   client.WithWatch
	in       io.Reader
	terminal bool
	now      func() time.Time
}

// result is what a command line left behind.
type result struct {
	code     Code
	out, err string
}

// fakeCluster is a client of a cluster that holds the objects of a fixture.
func fakeCluster(t *testing.T, f *fixture) client.WithWatch {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.Package{}, &v1alpha1.Revision{}).
		WithIndex(&v1alpha1.Package{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithIndex(&v1alpha1.Revision{}, packageField, func(o client.Object) []string { return []string{o.(*v1alpha1.Revision).Spec.Package} })
	if f == nil {
		return b.Build()
	}
	pkg := f.view.pkg.DeepCopy()
	if pkg.DeletionTimestamp != nil {
		pkg.Finalizers = []string{v1alpha1.FinalizerTeardown}
	}
	b = b.WithObjects(pkg)
	for i := range f.view.revisions {
		b = b.WithObjects(f.view.revisions[i].DeepCopy())
	}
	seen := map[string]bool{}
	for i := range f.objs {
		if !seen[f.objs[i].Name] {
			b = b.WithObjects(f.objs[i].DeepCopy())
		}
		seen[f.objs[i].Name] = true
	}
	return b.Build()
}

func newTerminal(t *testing.T, f *fixture) *terminal {
	t.Helper()
	return &terminal{t: t, client: fakeCluster(t, f), in: strings.NewReader(""), now: func() time.Time { return fixtureNow }}
}

// run runs a command line to its end.
func (tm *terminal) run(args ...string) result {
	tm.t.Helper()
	var out, err buffer
	code := tm.start(tm.t.Context(), &out, &err, args...)
	return result{code: code, out: out.String(), err: err.String()}
}

func (tm *terminal) start(ctx context.Context, out, err io.Writer, args ...string) Code {
	a := newApp(Config{
		Args: append([]string{"strata"}, args...), In: tm.in, Out: out, Err: err,
		Getenv: func(string) string { return "" },
	})
	a.now = tm.now
	a.isTerminal = func(any) bool { return tm.terminal }
	a.connect = func() (*cluster, error) {
		return &cluster{client: tm.client, host: "https://cluster.example:6443"}, nil
	}
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
