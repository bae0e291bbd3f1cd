// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status/statustest"
)

const (
	ours      = "example.com/ours"
	finalizer = "example.com/hold"
)

// fixture is a front of GatewayClasses that renders what a test says, on an API
// server in memory.
type fixture struct {
	*statustest.Server

	loop *Reconciler[*gatewayv1.GatewayClass, string]

	// rendered is what the front renders, renderErr what keeps it from that.
	rendered  []content.Package
	renderErr error
	// existing are the names of the packages that the front got last.
	existing []string

	// behind makes the cache know of no revision and no package.
	behind bool
	// stale, when set, are the classes that the cache knows.
	stale []gatewayv1.GatewayClass
	// deletion, when set, gets the options of each deletion.
	deletion func(options *client.DeleteOptions)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Server: statustest.NewServer(t, func(builder *fake.ClientBuilder) *fake.ClientBuilder {
		return builder.WithStatusSubresource(&gatewayv1.GatewayClass{})
	}, gatewayv1.Install)}
	front := interceptor.NewClient(f.API, interceptor.Funcs{
		Get: f.got, List: f.listed, Create: f.created, Patch: f.patched, Delete: f.deleted, SubResourcePatch: f.statusPatched,
	})
	f.loop = &Reconciler[*gatewayv1.GatewayClass, string]{
		Front: Front[*gatewayv1.GatewayClass, string]{
			Name: "test", Finalizer: finalizer,
			List:    func() client.ObjectList { return &gatewayv1.GatewayClassList{} },
			Selects: func(class *gatewayv1.GatewayClass) bool { return class.Spec.ControllerName == ours },
			Render: func(in Input[*gatewayv1.GatewayClass, string]) ([]content.Package, error) {
				f.existing = nil
				for _, pkg := range in.Existing {
					f.existing = append(f.existing, pkg.Name)
				}
				return f.rendered, f.renderErr
			},
			Status: func(class *gatewayv1.GatewayClass, state State[string]) {
				if class.DeletionTimestamp.IsZero() {
					c := installed(state)
					c.ObservedGeneration, c.LastTransitionTime = class.Generation, state.Now
					meta.SetStatusCondition(&class.Status.Conditions, c)
				}
			},
		},
		Client: front,
		Live:   f.API,
		Publisher: &Publisher{
			Client: front, Now: func() time.Time { return f.Now },
			Contents: &content.Store{Client: front, Live: f.API, Namespace: "strata-system", Now: func() time.Time { return f.Now }},
		},
	}
	return f
}

// conditionInstalled is what the front of these tests says on its classes.
const conditionInstalled = "ControllerInstalled"

// installed is that condition: what has become of the package plane.
func installed(state State[string]) metav1.Condition {
	var plane Package
	var waitsFor string
	deleted := false
	for _, p := range state.Packages {
		deleted = deleted || p.Package != nil && !p.Package.DeletionTimestamp.IsZero()
		if p.Name == "plane" {
			plane = p
		}
	}
	for _, p := range state.Packages {
		if p.Name == plane.Waiting && p.Package != nil {
			waitsFor = "waits for package " + p.Name
			if c := meta.FindStatusCondition(p.Package.Status.Conditions, v1alpha1.ConditionProgressing); c != nil && c.Message != "" {
				waitsFor += ": " + c.Message
			}
		}
	}
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionInstalled, Status: value, Reason: reason, Message: message}
	}
	serves := plane.Package != nil && plane.Target != nil && meta.IsStatusConditionTrue(plane.Package.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case serves:
		message, warning := "istiod "+cmp.Or(plane.Package.Status.Version, plane.Version)+" installed", Excluded(plane)
		if plane.Waiting != "" {
			warning = plane.Version + " waits for package " + plane.Waiting
		}
		if state.Err != nil {
			warning = state.Err.Error()
		}
		if warning != "" {
			message += " (with warning: " + warning + ")"
		}
		return is(metav1.ConditionTrue, "Installed", message)
	case state.Err != nil && deleted:
		return is(metav1.ConditionUnknown, "Pending", state.Err.Error())
	case state.Err != nil:
		return is(metav1.ConditionFalse, "InstallFailed", state.Err.Error())
	case waitsFor != "":
		return is(metav1.ConditionUnknown, "Pending", "istiod "+waitsFor)
	}
	return is(metav1.ConditionUnknown, "Pending", "istiod "+plane.Version+" is being installed")
}

func (f *fixture) got(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isPackage := object.(*v1alpha1.Package); isPackage && f.behind {
		return c.Get(ctx, types.NamespacedName{Name: "nothing-is-called-so"}, object, options...)
	}
	return c.Get(ctx, key, object, options...)
}

func (f *fixture) listed(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	classes, isClasses := list.(*gatewayv1.GatewayClassList)
	switch {
	case isClasses && f.stale != nil:
		for i := range f.stale {
			classes.Items = append(classes.Items, *f.stale[i].DeepCopy())
		}
		return nil
	case !isClasses && f.behind:
		return nil
	}
	return c.List(ctx, list, options...)
}

func (f *fixture) created(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	name := object.GetName()
	if _, isSlice := object.(*v1alpha1.ObjectSlice); isSlice {
		name = "slice of " + object.GetOwnerReferences()[0].Name
	}
	if err := f.Write("create %s", name); err != nil {
		return err
	}
	f.Stamp(object)
	return c.Create(ctx, object, options...)
}

func (f *fixture) patched(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := f.Write("patch %s", object.GetName()); err != nil {
		return err
	}
	return c.Patch(ctx, object, patch, options...)
}

func (f *fixture) deleted(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	if err := f.Write("delete %s", object.GetName()); err != nil {
		return err
	}
	if f.deletion != nil {
		f.deletion((&client.DeleteOptions{}).ApplyOptions(options))
	}
	return c.Delete(ctx, object, options...)
}

// installedContract is what the front of these tests may say.
var installedContract = statustest.Contract{conditionInstalled: {
	"Installed": metav1.ConditionTrue, "InstallFailed": metav1.ConditionFalse, "Pending": metav1.ConditionUnknown,
}}

func (f *fixture) statusPatched(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := f.Write("status %s", object.GetName()); err != nil {
		return err
	}
	if err := c.SubResource(name).Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	if class, ok := object.(*gatewayv1.GatewayClass); ok {
		statustest.Conditions(f.T, installedContract, class.Generation, class.Status.Conditions, conditionInstalled)
	}
	return nil
}

// class makes a GatewayClass of the controller given.
func (f *fixture) class(name, controller string) {
	f.T.Helper()
	f.Create(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)}})
}

func (f *fixture) deleteClass(name string) {
	f.T.Helper()
	if err := f.API.Delete(f.T.Context(), &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) annotateClass(name, key, value string) {
	f.T.Helper()
	class := &gatewayv1.GatewayClass{}
	f.Read(name, class)
	class.Annotations[key] = value
	if err := f.API.Update(f.T.Context(), class); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) pass() (reconcile.Result, error) {
	f.T.Helper()
	return f.loop.Reconcile(f.T.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "test"}})
}

// mustPass makes a pass that has to succeed, and returns its writes.
func (f *fixture) mustPass() []string {
	f.T.Helper()
	result, err := f.pass()
	if err != nil || result.RequeueAfter != 0 {
		f.T.Fatalf("error %v, again after %v", err, result.RequeueAfter)
	}
	writes := f.Writes
	f.Writes = nil
	return writes
}

// installed is the condition ControllerInstalled of a class.
func (f *fixture) installed(name string) string {
	f.T.Helper()
	class := &gatewayv1.GatewayClass{}
	f.Read(name, class)
	c := meta.FindStatusCondition(class.Status.Conditions, conditionInstalled)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason + ": " + c.Message
}

// classes are the names of the GatewayClasses that are there, with an exclamation
// mark when the front holds them.
func (f *fixture) classes() []string {
	f.T.Helper()
	list := &gatewayv1.GatewayClassList{}
	if err := f.API.List(f.T.Context(), list); err != nil {
		f.T.Fatal(err)
	}
	var names []string
	for _, class := range list.Items {
		if slices.Contains(class.Finalizers, finalizer) {
			names = append(names, class.Name+"!")
			continue
		}
		names = append(names, class.Name)
	}
	return names
}

// revisions are the names of those that are there.
func (f *fixture) revisions() []string {
	f.T.Helper()
	list := &v1alpha1.RevisionList{}
	if err := f.API.List(f.T.Context(), list); err != nil {
		f.T.Fatal(err)
	}
	var names []string
	for _, r := range list.Items {
		names = append(names, r.Name)
	}
	return names
}

// rolledOut is what the package loop would do: the newest revision succeeds.
func (f *fixture) rolledOut(name string, number int64) {
	f.T.Helper()
	revision := &v1alpha1.Revision{}
	f.Read(v1alpha1.RevisionName(name, number), revision)
	f.changeStatus(name, func(s *v1alpha1.PackageStatus) {
		s.CurrentRevision, s.TargetRevision, s.HighestRevision = number, number, number
		s.Version = revision.Spec.Origin.AppVersion
		s.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolledOut, Message: "it is rolled out"},
			{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProbesSucceeded, Message: "it serves"},
		}
	})
}

func (f *fixture) changeStatus(name string, change func(s *v1alpha1.PackageStatus)) {
	f.T.Helper()
	pkg := f.pkg(name)
	change(&pkg.Status)
	if err := f.API.Status().Update(f.T.Context(), pkg); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) pkg(name string) *v1alpha1.Package {
	f.T.Helper()
	pkg := &v1alpha1.Package{}
	f.Read(name, pkg)
	return pkg
}

// rendering is a package with one ConfigMap of the value given; a large one stands
// in a slice.
func rendering(name, value string, after ...string) content.Package {
	large := ""
	if strings.HasPrefix(value, "large") {
		large = strings.Repeat("x", content.InlineLimit)
	}
	return content.Package{
		Name: name, After: after, Origin: v1alpha1.Origin{Kind: v1alpha1.OriginFront, Reference: "GatewayClass/a", AppVersion: "1.0-" + value},
		Phases: []content.Phase{{Name: "only", Objects: []content.Object{{Manifest: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "app"},
			"data": map[string]any{"value": value, "large": large},
		}}}}}},
	}
}
