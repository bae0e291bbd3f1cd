// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
)

// work is a worker that does what a test says.
type work func(pkg *v1alpha1.Package) (Outcome, error)

func (w work) Work(_ context.Context, pkg *v1alpha1.Package) (Outcome, error) { return w(pkg) }

// fixture is an API server with one package, and the writes that it was sent.
type fixture struct {
	t      *testing.T
	api    client.WithWatch
	client client.Client
	writes int
	refuse error
	// stale, when set, is what reads return.
	stale *v1alpha1.Package
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t}
	f.api = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Package{}).
		WithObjects(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1"}}).Build()
	f.client = interceptor.NewClient(f.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if pkg, ok := object.(*v1alpha1.Package); ok && f.stale != nil {
				f.stale.DeepCopyInto(pkg)
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			f.writes++
			if f.refuse != nil {
				return f.refuse
			}
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	})
	return f
}

func (f *fixture) pkg() *v1alpha1.Package {
	f.t.Helper()
	pkg := &v1alpha1.Package{}
	if err := f.api.Get(f.t.Context(), types.NamespacedName{Name: "web"}, pkg); err != nil {
		f.t.Fatal(err)
	}
	return pkg
}

func (f *fixture) loop(w work) *Loop[v1alpha1.Package, *v1alpha1.Package] {
	return &Loop[v1alpha1.Package, *v1alpha1.Package]{Client: f.client, Worker: w}
}

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

var (
	errBroken   = errors.New("it broke")
	errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "packages"}, "web", errors.New("changed"))
	errExists   = apierrors.NewAlreadyExists(schema.GroupResource{Resource: "packages"}, "web")
)

func TestLoop_Reconcile(t *testing.T) {
	set := func(pkg *v1alpha1.Package) { pkg.Status.Phase = "1/2" }
	tests := map[string]struct {
		reason     string
		work       work
		refuse     error
		wantResult reconcile.Result
		wantErr    error
		wantWrites int
		wantPhase  string
	}{
		"NothingChanges": {
			reason: "an equal status is not written",
			work:   func(*v1alpha1.Package) (Outcome, error) { return Outcome{}, nil },
		},
		"StatusChanges": {
			reason:     "a status that differs is written once",
			work:       func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{After: time.Minute}, nil },
			wantResult: reconcile.Result{RequeueAfter: time.Minute}, wantWrites: 1, wantPhase: "1/2",
		},
		"WorkFails": {
			reason:  "the status is written on an error, too, and the error is returned",
			work:    func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{}, errBroken },
			wantErr: errBroken, wantWrites: 1, wantPhase: "1/2",
		},
		"Terminal": {
			reason:  "a terminal error stays one, so that no retry follows",
			work:    func(*v1alpha1.Package) (Outcome, error) { return Outcome{}, reconcile.TerminalError(errBroken) },
			wantErr: reconcile.TerminalError(nil),
		},
		"Held": {
			reason: "a status that is held back is not written",
			work: func(pkg *v1alpha1.Package) (Outcome, error) {
				set(pkg)
				return Outcome{SkipStatus: true, After: time.Second}, nil
			},
			wantResult: reconcile.Result{RequeueAfter: time.Second},
		},
		"Gone": {
			reason: "an object that is gone has no status",
			work:   func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{Gone: true}, nil },
		},
		"Conflict": {
			reason:     "a conflict is tried again soon and silently",
			work:       func(*v1alpha1.Package) (Outcome, error) { return Outcome{}, errConflict },
			wantResult: reconcile.Result{RequeueAfter: 50 * time.Millisecond},
		},
		"StatusConflict": {
			reason: "a conflict about the status is one, too",
			work:   func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{}, nil }, refuse: errConflict,
			wantResult: reconcile.Result{RequeueAfter: 50 * time.Millisecond}, wantWrites: 1,
		},
		"StatusConflictBesideAnError": {
			reason: "an error is not hidden by a conflict",
			work:   func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{}, errBroken }, refuse: errConflict,
			wantErr: errBroken, wantWrites: 1,
		},
		"StatusRefused": {
			reason: "a status that cannot be written is an error",
			work:   func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{}, nil }, refuse: errBroken,
			wantErr: errBroken, wantWrites: 1,
		},
		"GoneMeanwhile": {
			reason: "an object that went meanwhile needs no status",
			work:   func(pkg *v1alpha1.Package) (Outcome, error) { set(pkg); return Outcome{}, nil },
			refuse: apierrors.NewNotFound(schema.GroupResource{Resource: "packages"}, "web"), wantWrites: 1,
		},
		"SpecIsNotOurs": {
			reason: "a worker that changes the spec in memory does not change it on the cluster",
			work: func(pkg *v1alpha1.Package) (Outcome, error) {
				set(pkg)
				pkg.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan
				return Outcome{}, nil
			},
			wantWrites: 1, wantPhase: "1/2",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.refuse = tc.refuse
			result, err := f.loop(tc.work).Reconcile(t.Context(), requestFor("web"))
			if diff := cmp.Diff(tc.wantResult, result); diff != "" || !errors.Is(err, tc.wantErr) || (err == nil) != (tc.wantErr == nil) {
				t.Errorf("%s: error %v, want %v; result (-want +got):\n%s", tc.reason, err, tc.wantErr, diff)
			}
			pkg := f.pkg()
			if f.writes != tc.wantWrites || pkg.Status.Phase != tc.wantPhase || pkg.Spec.DeletionPolicy != "" {
				t.Errorf("%s: %d writes, phase %q, policy %q; want %d and %q", tc.reason, f.writes, pkg.Status.Phase, pkg.Spec.DeletionPolicy, tc.wantWrites, tc.wantPhase)
			}
		})
	}
}

func TestLoop_MissingObject(t *testing.T) {
	f := newFixture(t)
	l := f.loop(func(*v1alpha1.Package) (Outcome, error) { return Outcome{}, errors.New("there is nothing to work on") })
	if result, err := l.Reconcile(t.Context(), requestFor("other")); err != nil || result.RequeueAfter != 0 {
		t.Errorf("an object that is gone: %v, %v", result, err)
	}
	var missing []string
	l.Missing = func(_ context.Context, name string) error {
		missing = append(missing, name)
		return errBroken
	}
	if _, err := l.Reconcile(t.Context(), requestFor("other")); !errors.Is(err, errBroken) {
		t.Errorf("the error of who cares about missing objects is lost: %v", err)
	}
	if diff := cmp.Diff([]string{"other"}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// A pass never works on a status older than the one that it has written itself.
func TestLoop_ReadsItsOwnWrites(t *testing.T) {
	f := newFixture(t)
	f.stale = f.pkg()
	var seen []string
	l := f.loop(func(pkg *v1alpha1.Package) (Outcome, error) {
		seen = append(seen, pkg.Status.Phase)
		pkg.Status.Phase += "x"
		return Outcome{}, nil
	})
	for range 3 {
		if result, err := l.Reconcile(t.Context(), requestFor("web")); err != nil || result.RequeueAfter != 0 {
			t.Fatalf("on a stale cache: %v, %v", result, err)
		}
	}
	f.stale = nil
	if _, err := l.Reconcile(t.Context(), requestFor("web")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "x", "xx", "xxx"}, seen); diff != "" {
		t.Errorf("what the worker has seen (-want +got):\n%s", diff)
	}
}

// The object that the worker changes is not the one that is remembered.
func TestLoop_GivesAwayCopies(t *testing.T) {
	f := newFixture(t)
	f.stale = f.pkg()
	var last *v1alpha1.Package
	l := f.loop(func(pkg *v1alpha1.Package) (Outcome, error) {
		if last != nil && pkg.Labels["changed"] != "" {
			t.Error("a change in memory has come back")
		}
		last = pkg
		pkg.Status.Phase = "1/2"
		return Outcome{}, nil
	})
	if _, err := l.Reconcile(t.Context(), requestFor("web")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), requestFor("web")); err != nil {
		t.Fatal(err)
	}
	last.Labels = map[string]string{"changed": "yes"}
	if _, err := l.Reconcile(t.Context(), requestFor("web")); err != nil {
		t.Fatal(err)
	}
	if f.writes != 1 {
		t.Errorf("%d writes, want 1", f.writes)
	}
}

func TestRateLimiter(t *testing.T) {
	limiter := RateLimiter()
	var waits []time.Duration
	for range 12 {
		waits = append(waits, limiter.When(requestFor("web")))
	}
	if waits[0] != 200*time.Millisecond || waits[1] != 400*time.Millisecond || waits[11] != time.Minute {
		t.Errorf("the waits are %v", waits)
	}
	limiter.Forget(requestFor("web"))
	if wait := limiter.When(requestFor("web")); wait != 200*time.Millisecond {
		t.Errorf("after a success the first wait is %v", wait)
	}
}

// TestPatchStatus_Lock: a status that was worked out for another state is refused, and
// overwrites nothing.
func TestPatchStatus_Lock(t *testing.T) {
	f := newFixture(t)
	before := f.pkg()
	newer := before.DeepCopy()
	newer.Status.Phase = "2/2"
	if _, err := PatchStatus(t.Context(), f.client, before, newer); err != nil {
		t.Fatal(err)
	}
	late := before.DeepCopy()
	late.Status.Phase = "1/2"
	if _, err := PatchStatus(t.Context(), f.client, before, late); !IsConflict(err) {
		t.Errorf("a status for a state of before ends with %v, want a conflict", err)
	}
	if got := f.pkg().Status.Phase; got != "2/2" {
		t.Errorf("the newer status was overwritten with %s", got)
	}
}

// TestPatchStatus_NamesTheObject has an answer that cannot be decoded, which wipes the object.
func TestPatchStatus_NamesTheObject(t *testing.T) {
	f := newFixture(t)
	garbled := interceptor.NewClient(f.api, interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			if pkg, ok := object.(*v1alpha1.Package); ok {
				*pkg = v1alpha1.Package{}
			}
			return errors.New("couldn't get version/kind")
		},
	})
	before := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "1"}}
	after := before.DeepCopy()
	after.Status.Version = "1"
	if _, err := PatchStatus(t.Context(), garbled, before, after); err == nil || !strings.Contains(err.Error(), "writing the status of web:") {
		t.Errorf("the error is %v", err)
	}
}
