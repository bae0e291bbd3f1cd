// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolsevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/telemetry"
)

// own makes each class a group of its own, which wants a package of its name, without
// a finalizer.
func (f *fixture) ownGroups() {
	f.loop.Front.Finalizer = ""
	f.loop.Front.Group = func(class *gatewayv1.GatewayClass) string { return "group/" + class.Name }
	f.loop.Front.Render = func(in Input[*gatewayv1.GatewayClass, string]) ([]content.Package, error) {
		return []content.Package{rendering("of-"+in.Resources[0].Name, "1")}, nil
	}
}

func (f *fixture) passOf(group string) []string {
	f.T.Helper()
	f.Writes = nil
	result, err := f.loop.Reconcile(f.T.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: group}})
	if err != nil || result.RequeueAfter != 0 {
		f.T.Fatalf("error %v, again after %v", err, result.RequeueAfter)
	}
	return f.Writes
}

func TestReconciler_Groups(t *testing.T) {
	f := newFixture(t)
	f.ownGroups()
	f.class("a", ours)
	f.class("b", ours)
	want(t, "a group has its own packages", "writes", []string{"create of-a", "create of-a-1", "status a"}, f.passOf("group/a"))
	want(t, "and so has another", "writes", []string{"create of-b", "create of-b-1", "status b"}, f.passOf("group/b"))
	want(t, "the package tells its group", "annotation", "group/a", f.pkg("of-a").Annotations[v1alpha1.AnnotationFrontGroup])
	want(t, "by which its events find back", "group", "group/a", f.loop.Front.groupOf(f.pkg("of-a")))

	f.deleteClass("a")
	want(t, "packages go after a resource that nothing held", "writes", []string{"delete of-a"}, f.passOf("group/a"))
	want(t, "the other group is left alone", "writes", nil, f.passOf("group/b"))
	f.finish("of-a")
	want(t, "a group of which nothing is left is nothing to do for", "writes", nil, f.passOf("group/a"))
}

func TestReconciler_PackageOfAnotherGroup(t *testing.T) {
	f := newFixture(t)
	f.ownGroups()
	f.class("a", ours)
	f.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{
		Name: "of-a", Labels: map[string]string{v1alpha1.LabelFront: "test"}, Annotations: map[string]string{v1alpha1.AnnotationFrontGroup: "group/b"},
	}})
	_, err := f.loop.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "group/a"}})
	if err == nil {
		t.Fatal("two groups share a package")
	}
	want(t, "a package is one group's", "error", `package of-a exists and is not of group/a (its annotation strata.run/front-group is "group/b"): delete or rename it`, err.Error())
}

// A cache that does not know a resource yet must not cost it its packages.
func TestReconciler_ConfirmsBeforeDeleting(t *testing.T) {
	f := newFixture(t)
	f.ownGroups()
	f.class("a", ours)
	f.passOf("group/a")
	f.stale = []gatewayv1.GatewayClass{}
	result, err := f.loop.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "group/a"}})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("error %v, again after %v: want it looked at again soon", err, result.RequeueAfter)
	}
	if f.pkg("of-a").DeletionTimestamp != nil {
		t.Error("the package of a resource that exists was deleted")
	}
}

func TestReconciler_NotServed(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.stale, f.loop.isServed = []gatewayv1.GatewayClass{}, func() bool { return false }
	want(t, "of a kind that is not served nothing is known", "writes", nil, f.mustPass())
}

// A package that is not wanted any more goes while its resource stays.
func TestReconciler_Unwanted(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("plane", "1"), rendering("canary", "1")}
	f.mustPass()
	f.rendered = []content.Package{rendering("plane", "1")}
	f.deleteClass("b")
	want(t, "what is wanted stays", "writes", []string{"delete canary"}, f.mustPass())
	want(t, "a class that is being deleted waits for what goes", "classes", []string{"a!", "b!"}, f.classes())
	f.finish("canary")
	want(t, "and then goes", "writes", []string{"patch b"}, f.mustPass())
}

func TestReconciler_Teardown(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1"), rendering("dns", "1")}
	f.mustPass()
	blocked := errors.New("2 virtual services are left")
	teardown := Teardown{Blocked: blocked}
	var reported error
	f.loop.Front.Teardown = func(_ Input[*gatewayv1.GatewayClass, string]) Teardown { return teardown }
	statusOf := f.loop.Front.Status
	f.loop.Front.Status = func(class *gatewayv1.GatewayClass, state State[string]) {
		reported = state.Blocked
		statusOf(class, state)
	}
	f.deleteClass("a")
	want(t, "what is blocked stays", "writes", nil, f.mustPass())
	if !errors.Is(reported, blocked) {
		t.Errorf("the status got %v", reported)
	}
	teardown = Teardown{Order: []string{"plane", "crds"}}
	want(t, "what has a place waits for it, the rest does not", "writes", []string{"delete dns", "delete plane"}, f.mustPass())
	want(t, "the next waits until the one before is gone", "writes", nil, f.mustPass())
	f.finish("plane")
	f.finish("dns")
	want(t, "then it is its turn", "writes", []string{"delete crds"}, f.mustPass())
	f.finish("crds")
	want(t, "and the class follows", "writes", []string{"patch a"}, f.mustPass())
}

// Of packages that go in one pass, each goes as is said for it.
func TestReconciler_Orphans(t *testing.T) {
	f := newFixture(t)
	var propagation []metav1.DeletionPropagation
	f.deletion = func(options *client.DeleteOptions) { propagation = append(propagation, *options.PropagationPolicy) }
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1")}
	f.mustPass()
	f.loop.Front.Teardown = func(Input[*gatewayv1.GatewayClass, string]) Teardown {
		return Teardown{Orphans: []string{"plane", "other"}}
	}
	f.deleteClass("a")
	want(t, "both go", "writes", []string{"delete crds", "delete plane"}, f.mustPass())
	want(t, "only what is named leaves its objects", "propagation", []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan}, propagation)
}

func TestReconciler_Held(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	held := rendering("plane", "1")
	held.Blocked = "an old control plane is being removed"
	f.rendered = []content.Package{held}
	var states []Package
	f.loop.Front.Status = func(_ *gatewayv1.GatewayClass, state State[string]) { states = state.Packages }
	want(t, "a package that is held is not made", "writes", []string{"patch a"}, f.mustPass())
	want(t, "the status says why", "packages", []Package{{Name: "plane", Version: "1.0-1", Need: history.NeedRevision, Blocked: held.Blocked}}, states)

	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	held = rendering("plane", "2")
	held.Blocked = "it would skip a version"
	f.rendered = []content.Package{held}
	want(t, "what runs stays, and gets no new revision", "writes", nil, f.mustPass())
	if len(states) != 1 || states[0].Package == nil || states[0].Target == nil || states[0].Target.Spec.Revision != 1 || states[0].Blocked != held.Blocked {
		t.Errorf("the status got %+v", states)
	}
}

func TestReconciler_Observes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	var observed error
	var facts []string
	f.loop.Front.Observe = func(_ context.Context, group Group[*gatewayv1.GatewayClass]) (string, error) {
		return "facts of " + group.Resources[0].Name, observed
	}
	renderOf, statusOf := f.loop.Front.Render, f.loop.Front.Status
	f.loop.Front.Render = func(in Input[*gatewayv1.GatewayClass, string]) ([]content.Package, error) {
		facts = append(facts, "render: "+in.Facts)
		return renderOf(in)
	}
	f.loop.Front.Status = func(class *gatewayv1.GatewayClass, state State[string]) {
		facts = append(facts, "status: "+state.Facts)
		statusOf(class, state)
	}
	f.loop.Front.Again = func(facts string) time.Duration { return time.Duration(len(facts)) * time.Minute }
	result, err := f.pass()
	want(t, "facts reach what depends on them", "facts", []string{"render: facts of a", "status: facts of a"}, facts)
	if err != nil || result.RequeueAfter != 10*time.Minute {
		t.Errorf("error %v, again after %v: want what the facts ask for", err, result.RequeueAfter)
	}
	observed, f.Writes, facts = errors.New("subscriptions cannot be listed"), nil, nil
	if _, err := f.pass(); !errors.Is(err, observed) {
		t.Errorf("got error %v, want another try", err)
	}
	want(t, "nothing is rendered from half of the facts", "facts", []string{"status: facts of a"}, facts)
	want(t, "the status tells", "ControllerInstalled", "False/InstallFailed: subscriptions cannot be listed", f.installed("a"))
}

func TestReconciler_Annotations(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	applied := map[string]string{}
	f.loop.Front.Annotations = func(*gatewayv1.GatewayClass, State[string]) map[string]string { return applied }
	want(t, "no annotations are no write", "writes", []string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	applied = map[string]string{"example.com/applied": "1"}
	want(t, "an annotation is written once", "writes", []string{"patch a"}, f.mustPass())
	want(t, "an annotation is written once", "writes", nil, f.mustPass())
	f.annotateClass("a", "example.com/theirs", "2")
	applied = map[string]string{"example.com/applied": "3"}
	f.mustPass()
	class := &gatewayv1.GatewayClass{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "a"}, class); err != nil {
		t.Fatal(err)
	}
	want(t, "those of other managers stay", "annotations", map[string]string{"example.com/applied": "3", "example.com/theirs": "2"}, class.Annotations)
}

// What another manager has written into the same list since the cache has seen it stays.
func TestReconciler_LiveStatus(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.loop.Front.LiveStatus = true
	f.loop.Front.Finalizer = ""
	list := &gatewayv1.GatewayClassList{}
	if err := f.API.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	f.stale = list.Items
	theirs := list.Items[0].DeepCopy()
	meta.SetStatusCondition(&theirs.Status.Conditions, metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"})
	if err := f.API.Status().Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	want(t, "a stale cache does not make the write fail", "writes", []string{"create plane", "create plane-1", "status a"}, f.mustPass())
	class := &gatewayv1.GatewayClass{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "a"}, class); err != nil {
		t.Fatal(err)
	}
	if len(class.Status.Conditions) != 2 {
		t.Errorf("conditions %v, want theirs and ours", class.Status.Conditions)
	}
}

func TestReconciler_Events(t *testing.T) {
	f := newFixture(t)
	recorder := toolsevents.NewFakeRecorder(10)
	f.loop.Recorder = recorder
	f.loop.Front.Events = func(_, after *gatewayv1.GatewayClass) []telemetry.Event {
		return []telemetry.Event{{Type: "Normal", Reason: "Pending", Action: "Install", Note: after.Status.Conditions[0].Message}}
	}
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.mustPass()
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	want(t, "an event stands for a status that was written", "events", []string{"Normal Pending istiod 1.0-1 is being installed"}, got)
}

func TestNextToGo(t *testing.T) {
	now := metav1.Now()
	going := func(name string) v1alpha1.Package {
		return v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: &now}}
	}
	staying := func(name string) v1alpha1.Package { return v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	for name, tc := range map[string]struct {
		reason   string
		unwanted []v1alpha1.Package
		order    []string
		want     []string
	}{
		"NoOrder":     {reason: "all go at once", unwanted: []v1alpha1.Package{staying("a"), staying("b")}, want: []string{"a", "b"}},
		"First":       {reason: "the first of the order goes", unwanted: []v1alpha1.Package{staying("a"), staying("b")}, order: []string{"b", "a"}, want: []string{"b"}},
		"FirstIsGone": {reason: "a package that is gone has had its turn", unwanted: []v1alpha1.Package{staying("a")}, order: []string{"b", "a"}, want: []string{"a"}},
		"FirstGoes":   {reason: "the next waits for one that is going", unwanted: []v1alpha1.Package{staying("a"), going("b")}, order: []string{"b", "a"}},
		"Unnamed":     {reason: "a package without a place waits for none", unwanted: []v1alpha1.Package{staying("a"), going("b"), staying("c")}, order: []string{"b", "a"}, want: []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, pkg := range nextToDelete(tc.unwanted, tc.order) {
				got = append(got, pkg.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
