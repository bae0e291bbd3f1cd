// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

var errRefused = errors.New("the API server says no")

func want[V any](t *testing.T, reason, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", reason, what, diff)
	}
}

func refusing(prefix string) func(string) error {
	return func(write string) error {
		if strings.HasPrefix(write, prefix) {
			return errRefused
		}
		return nil
	}
}

func TestReconciler_Publishes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("theirs", "example.com/theirs")
	f.rendered = []content.Package{rendering("plane", "1")}
	want(t, "the class is held before anything is made for it, and told of what was", "writes",
		[]string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	want(t, "only our classes are held", "classes", []string{"a!", "theirs"}, f.classes())
	want(t, "the status is about what was made", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("a"))
	want(t, "classes of others are not touched", "ControllerInstalled", "", f.installed("theirs"))

	pkg := f.pkg("plane")
	if pkg.Labels[v1alpha1.LabelFront] != "test" || len(pkg.Finalizers) != 1 || pkg.Finalizers[0] != v1alpha1.FinalizerTeardown {
		t.Errorf("the package has labels %v and finalizers %v", pkg.Labels, pkg.Finalizers)
	}
	revision := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	if !metav1.IsControlledBy(revision, pkg) || revision.Spec.ContentDigest == "" || revision.Spec.Origin.AppVersion != "1.0-1" {
		t.Errorf("the revision is %+v of %v", revision.Spec, revision.OwnerReferences)
	}

	want(t, "the same content makes nothing, and an equal status is not written", "writes", nil, f.mustPass())
	f.rolledOut("plane", 1)
	want(t, "the status follows the package", "writes", []string{"status a"}, f.mustPass())
	want(t, "the status follows the package", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed", f.installed("a"))

	f.rendered = []content.Package{rendering("plane", "2")}
	want(t, "new content makes the next revision", "writes", []string{"create plane-2"}, f.mustPass())
	want(t, "the front is told of the packages that exist", "packages", []string{"plane"}, f.existing)
}

// A package waits for the ones that it comes after, with its revision and not with
// its Package.
func TestReconciler_After(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	want(t, "the second waits", "revisions", []string{"crds-1"}, f.revisions())
	want(t, "what is waited for is told", "ControllerInstalled", "Unknown/Pending: istiod waits for package crds", f.installed("a"))
	f.changeStatus("crds", func(s *v1alpha1.PackageStatus) {
		s.TargetRevision = 1
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRollingOut, Message: "phase 1/1"}}
	})
	f.mustPass()
	want(t, "it waits until the first is rolled out", "revisions", []string{"crds-1"}, f.revisions())
	want(t, "and why it takes so long", "ControllerInstalled", "Unknown/Pending: istiod waits for package crds: phase 1/1", f.installed("a"))

	f.rolledOut("crds", 1)
	f.mustPass()
	want(t, "it follows then", "revisions", []string{"crds-1", "plane-1"}, f.revisions())
	f.rolledOut("plane", 1)

	f.rendered = []content.Package{rendering("crds", "2"), rendering("plane", "2", "crds")}
	f.mustPass()
	want(t, "an upgrade waits, too: success of an older revision is not enough", "revisions", []string{"crds-1", "crds-2", "plane-1"}, f.revisions())
	want(t, "what runs is installed", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed (with warning: 1.0-2 waits for package crds)", f.installed("a"))
	f.rolledOut("crds", 2)
	f.mustPass()
	want(t, "it follows then", "revisions", []string{"crds-1", "crds-2", "plane-1", "plane-2"}, f.revisions())
}

// Content that is already rolled out does not wait for anything.
func TestReconciler_AfterWithoutNews(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	f.rolledOut("crds", 1)
	f.mustPass()
	f.rolledOut("plane", 1)
	f.rendered[0] = rendering("crds", "2")
	f.mustPass()
	want(t, "the second has nothing to wait with", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed", f.installed("a"))
}

// What the first is to create exists and is somebody else's: that is as good.
func TestReconciler_AfterACollision(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1", "crds")}
	f.mustPass()
	f.changeStatus("crds", func(s *v1alpha1.PackageStatus) {
		s.TargetRevision = 1
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonObjectCollisions, Message: "x"}}
	})
	f.mustPass()
	want(t, "the second does not wait for what others have installed", "revisions", []string{"crds-1", "plane-1"}, f.revisions())
}

// Content that a rollback has rejected is not made again.
func TestReconciler_RolledBack(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.rolledOut("plane", 1)
	packed, err := content.Pack(rendering("plane", "2").Phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.changeStatus("plane", func(s *v1alpha1.PackageStatus) {
		s.Rollback = &v1alpha1.RollbackStatus{RequestedAt: metav1.NewTime(f.now), FromRevision: 9, ToRevision: 8, Revision: 1, RejectedDigest: packed.Digest}
	})
	f.rendered = []content.Package{rendering("plane", "2")}
	f.mustPass()
	want(t, "rejected content does not come again", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "and that is told", "ControllerInstalled", "True/Installed: istiod 1.0-1 installed (with warning: a rollback excludes the newest content of package plane: change the resource first)", f.installed("a"))
	f.rendered = []content.Package{rendering("plane", "3")}
	f.mustPass()
	want(t, "other content comes through", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

// Content that was rolled back, and is asked for again after something else was, is made:
// also when what was asked for meanwhile is what the rollback had brought back.
func TestReconciler_AskedForAgain(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	for _, value := range []string{"1", "2"} {
		f.rendered = []content.Package{rendering("plane", value)}
		f.mustPass()
	}
	first := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, first); err != nil {
		t.Fatal(err)
	}
	back := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "plane-3", Labels: first.Labels, OwnerReferences: first.OwnerReferences}, Spec: *first.Spec.DeepCopy()}
	back.Spec.Revision, back.Spec.Previous = 3, 2
	back.Spec.Origin = &v1alpha1.Origin{Kind: v1alpha1.OriginRollback, Reference: "Revision/plane-1"}
	f.create(back)
	f.rolledOut("plane", 3)
	f.mustPass()
	want(t, "it is kept out while nothing else was asked for", "revisions", []string{"plane-1", "plane-2", "plane-3"}, f.revisions())
	if told := f.installed("a"); !strings.Contains(told, "revision 3 of package plane has rejected that of revision 2") || !strings.Contains(told, "strata rollback plane --to 2") {
		t.Errorf("neither the rejected revision nor the way out is told: %s", told)
	}
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	want(t, "that is noted once", "writes", nil, f.mustPass())
	f.rendered = []content.Package{rendering("plane", "2")}
	f.mustPass()
	want(t, "then it is made", "revisions", []string{"plane-1", "plane-2", "plane-3", "plane-4"}, f.revisions())
}

// A cache that lags behind makes nothing twice.
func TestReconciler_CacheBehind(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	before := f.installed("a")
	f.behind = true
	result, err := f.pass()
	if err != nil || result.RequeueAfter <= 0 {
		t.Errorf("error %v, again after %v; what exists already is no error", err, result.RequeueAfter)
	}
	want(t, "nothing is made twice", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "nothing is told of it", "ControllerInstalled", before, f.installed("a"))
	f.behind = false
	f.rendered = []content.Package{rendering("plane", "2")}
	f.writes = nil
	want(t, "it goes on when the cache has caught up", "writes", []string{"create plane-2", "status a"}, f.mustPass())
}

// A pass never works on a class older than its own writes.
func TestReconciler_ReadsItsOwnWrites(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	list := &gatewayv1.GatewayClassList{}
	if err := f.api.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	f.stale = list.Items
	f.rendered = []content.Package{rendering("plane", "1")}
	want(t, "the first pass", "writes", []string{"patch a", "create plane", "create plane-1", "status a"}, f.mustPass())
	want(t, "a stale cache makes no difference", "writes", nil, f.mustPass())
	f.rolledOut("plane", 1)
	want(t, "a stale cache makes no difference", "writes", []string{"status a"}, f.mustPass())
}

// Of two writers of the same number one wins, and the other looks again.
func TestReconciler_NumberTaken(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.create(&v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "plane-1"}, Spec: v1alpha1.RevisionSpec{Package: "plane", Revision: 1}})
	f.rendered = []content.Package{rendering("plane", "1")}
	var waits []time.Duration
	for range 3 {
		result, err := f.pass()
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, result.RequeueAfter)
	}
	if waits[0] <= 0 || waits[2] <= waits[0] {
		t.Errorf("waits %v, want them to grow", waits)
	}
	want(t, "the other's revision stays", "revisions", []string{"plane-1"}, f.revisions())

	taken := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, taken); err != nil {
		t.Fatal(err)
	}
	taken.Labels = map[string]string{v1alpha1.LabelPackage: "plane"}
	if err := f.api.Update(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "the next number is taken when it is seen", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

// A package that is made anew does not take the revisions of the one before for its own,
// even if they have just the content that it wants; their numbers are not used again.
func TestReconciler_MadeAnew(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	old := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, old); err != nil {
		t.Fatal(err)
	}
	old.OwnerReferences[0].UID = "earlier"
	if err := f.api.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "the content is made once more, for the new package", "revisions", []string{"plane-1", "plane-2"}, f.revisions())
}

func TestReconciler_ForeignPackage(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "plane", Labels: map[string]string{v1alpha1.LabelFront: "other"}}})
	f.rendered = []content.Package{rendering("plane", "1"), rendering("second", "1")}
	if _, err := f.pass(); err == nil {
		t.Error("the error was not returned, so nobody would try again")
	}
	want(t, "nothing is made for somebody else's package, and the others are made", "revisions", []string{"second-1"}, f.revisions())
	want(t, "the cause is told", "ControllerInstalled",
		`False/InstallFailed: package plane exists and is not of front test (its label strata.run/front is "other"): delete or rename it`, f.installed("a"))
}

func TestReconciler_PackageBeingDeleted(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	if err := f.api.Delete(t.Context(), f.pkg("plane")); err != nil {
		t.Fatal(err)
	}
	f.rendered = []content.Package{rendering("plane", "2")}
	if _, err := f.pass(); err == nil {
		t.Error("the error was not returned, so nobody would try again")
	}
	want(t, "no revision is added to a package that goes", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "the cause is told", "ControllerInstalled", "Unknown/Pending: package plane is being deleted, and is created again afterwards", f.installed("a"))

	pkg := f.pkg("plane")
	pkg.Finalizers = nil
	if err := f.api.Update(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	// The package loop lets go of the revisions, and the garbage collector takes them.
	revision := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	revision.Finalizers = nil
	if err := f.api.Update(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	if err := f.api.Delete(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "it is created again afterwards", "revisions", []string{"plane-1"}, f.revisions())
}

// What cannot be rendered changes nothing but the status.
func TestReconciler_RenderError(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.renderErr = errors.New("version 9.9 is not in this manager")
	want(t, "the class is held, and told", "writes", []string{"patch a", "status a"}, f.mustPass())
	want(t, "the cause is told", "ControllerInstalled", "False/InstallFailed: version 9.9 is not in this manager", f.installed("a"))

	f.rendered, f.renderErr = []content.Package{rendering("crds", "1"), rendering("plane", "1")}, nil
	f.mustPass()
	f.rolledOut("crds", 1)
	f.rolledOut("plane", 1)
	f.renderErr = errors.New("version 9.9 is not in this manager")
	want(t, "what runs is left alone", "writes", []string{"status a"}, f.mustPass())
	want(t, "what is asked for cannot be installed, whatever runs", "ControllerInstalled", "False/InstallFailed: version 9.9 is not in this manager", f.installed("a"))
	want(t, "another try would render the same", "writes", nil, f.mustPass())
}

// An error while the control plane serves is a warning.
func TestReconciler_PublishErrorWhileItServes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.rolledOut("plane", 1)
	f.rendered = []content.Package{rendering("plane", "2")}
	f.refuse = refusing("create plane-2")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v, want it returned, so that it is tried again", err)
	}
	want(t, "a try that fails does not take away what serves", "ControllerInstalled",
		"True/Installed: istiod 1.0-1 installed (with warning: creating revision 2 of package plane: the API server says no)", f.installed("a"))
}

// An error about one package is told, and tried again.
func TestReconciler_PublishError(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1"), rendering("second", "1")}
	f.refuse = refusing("create plane-1")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v, want it returned, so that it is tried again", err)
	}
	want(t, "the other package is made all the same", "revisions", []string{"second-1"}, f.revisions())
	want(t, "the cause is told", "ControllerInstalled", "False/InstallFailed: creating revision 1 of package plane: the API server says no", f.installed("a"))
	f.refuse = nil
	f.mustPass()
	want(t, "another try mends it", "revisions", []string{"plane-1", "second-1"}, f.revisions())
}

// Nothing is made for a class that cannot be held: it could not be taken back.
func TestReconciler_HoldFirst(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.refuse = refusing("patch a")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "nothing is made", "writes", nil, f.writes)
}

// The packages go with the last class, and the class goes after them.
func TestReconciler_Withdraws(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1")}
	f.create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{v1alpha1.LabelFront: "other"}}})
	f.mustPass()
	f.deleteClass("a")
	f.mustPass()
	want(t, "a class that others stand in for goes at once", "classes", []string{"b!"}, f.classes())

	f.deleteClass("b")
	want(t, "the packages go with the last class", "writes", []string{"delete crds", "delete plane"}, f.mustPass())
	want(t, "which is held until they are gone", "classes", []string{"b!"}, f.classes())
	want(t, "they are deleted once", "writes", nil, f.mustPass())
	f.finish("crds")
	want(t, "one of them is not enough", "writes", nil, f.mustPass())
	f.finish("plane")
	want(t, "the class goes after them", "writes", []string{"patch b"}, f.mustPass())
	want(t, "the class goes after them", "classes", nil, f.classes())
	if f.pkg("other").DeletionTimestamp != nil {
		t.Error("a package of another front was deleted")
	}
	want(t, "at the end there is nothing to do", "writes", nil, f.mustPass())
}

// With its definition every resource is deleted: what it describes stays, whatever blocks
// or orders a departure otherwise.
func TestReconciler_DefinitionDeleted(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1")}
	f.loop.Front.Leave = func(Input[*gatewayv1.GatewayClass, string]) Departure {
		return Departure{Blocked: errRefused, Order: []string{"plane", "crds"}}
	}
	f.mustPass()
	var policies []metav1.DeletionPropagation
	f.deletion = func(options *client.DeleteOptions) { policies = append(policies, *options.PropagationPolicy) }
	f.deleteClass("a")
	f.loop.isRemoved = func(context.Context) (bool, error) { return false, errRefused }
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("the pass ended with %v: what is not known lets nothing go", err)
	}
	f.loop.isRemoved = func(context.Context) (bool, error) { return true, nil }
	f.writes = nil
	want(t, "both packages go", "writes", []string{"delete crds", "delete plane"}, f.mustPass())
	want(t, "their objects stay", "policies", []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan}, policies)
}

// What keeps one resource after its packages is no trouble of the others.
func TestReconciler_Stays(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.class("c", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	kept := errors.New("something of it is still there")
	f.loop.Front.Stays = func(class *gatewayv1.GatewayClass, _ string) error {
		if class.Name == "b" {
			return kept
		}
		return nil
	}
	f.deleteClass("a")
	f.deleteClass("b")
	f.rendered = []content.Package{rendering("plane", "2")}
	if _, err := f.pass(); !errors.Is(err, kept) {
		t.Errorf("the pass ends with %v, and has to be made again", err)
	}
	want(t, "the others go", "classes", []string{"b!", "c!"}, f.classes())
	want(t, "what stays is told, and not that something is wrong with its packages", "ControllerInstalled", "Unknown/Pending: istiod 1.0-2 is being installed", f.installed("c"))
	kept = fmt.Errorf("wait: %w", ErrNotYet)
	f.mustPass()
	want(t, "what only takes its time is no trouble, and stays", "classes", []string{"b!", "c!"}, f.classes())
	f.loop.Front.Stays = nil
	f.mustPass()
	want(t, "nothing keeps it any more", "classes", []string{"c!"}, f.classes())
}

// finish takes the finalizer off a package, as its teardown does.
func (f *fixture) finish(name string) {
	f.t.Helper()
	pkg := f.pkg(name)
	pkg.Finalizers = nil
	if err := f.api.Update(f.t.Context(), pkg); err != nil {
		f.t.Fatal(err)
	}
}

func TestReconciler_WithdrawFails(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.deleteClass("a")
	f.refuse = refusing("delete plane")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "the class is held while the package is there", "classes", []string{"a!"}, f.classes())
}

// Classes are told of the same, each with its own generation; conditions of others
// stay.
func TestReconciler_SeveralClasses(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.refuse = refusing("status a")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "one class' trouble is not the other's", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("b"))
	f.refuse = nil
	f.mustPass()
	want(t, "another try mends it", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("a"))
}

func TestReconciler_Slices(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	want(t, "a slice is made before the revision that refers to it", "writes",
		[]string{"patch a", "create plane", "create slice of plane", "create plane-1", "status a"}, f.mustPass())
	revision := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	slice := &v1alpha1.ObjectSlice{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: revision.Spec.Phases[0].Objects[0].Slice.Name}, slice); err != nil {
		t.Fatalf("the revision refers to a slice that is not there: %v", err)
	}
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != f.pkg("plane").UID || slice.OwnerReferences[0].Controller != nil {
		t.Errorf("the slice's owners are %v, want the package, as one of several that may be", slice.OwnerReferences)
	}
}

func TestReconciler_SliceFails(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	f.refuse = refusing("create slice")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "a revision never refers to a slice that was not there", "revisions", nil, f.revisions())
}

// The same content compressed by another version of the compressor is as good, and
// other content under the name is not.
func TestReconciler_SliceExists(t *testing.T) {
	packed, err := content.Pack(rendering("plane", "large").Phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		change func(slice *v1alpha1.ObjectSlice)
		good   bool
	}{
		"SameBytes":    {reason: "the slice is shared", change: func(*v1alpha1.ObjectSlice) {}, good: true},
		"OtherBytes":   {reason: "what it holds counts, not how", change: func(slice *v1alpha1.ObjectSlice) { slice.Data = recompressed(t, slice) }, good: true},
		"OtherContent": {reason: "a slice that does not hold what its name says is not built on", change: func(slice *v1alpha1.ObjectSlice) { slice.Data = []byte("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.class("a", ours)
			slice := packed.Slices[0].DeepCopy()
			slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "other", UID: "other"}}
			tc.change(slice)
			f.create(slice)
			f.rendered = []content.Package{rendering("plane", "large")}
			_, err := f.pass()
			if tc.good != (err == nil) {
				t.Fatalf("%s: got error %v", tc.reason, err)
			}
			if !tc.good {
				if _, ok := errors.AsType[*content.UnavailableError](err); !ok {
					t.Errorf("%s: error %v does not name the slice", tc.reason, err)
				}
				want(t, tc.reason, "revisions", nil, f.revisions())
				return
			}
			want(t, tc.reason, "revisions", []string{"plane-1"}, f.revisions())
			if err := f.api.Get(t.Context(), types.NamespacedName{Name: slice.Name}, slice); err != nil {
				t.Fatal(err)
			}
			want(t, "each package that shares it owns it", "owners", 2, len(slice.OwnerReferences))
		})
	}
}

// A slice that is lost is at hand: what the front renders is the content.
func TestReconciler_RestoresSlices(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	f.mustPass()
	list := &v1alpha1.ObjectSliceList{}
	if err := f.api.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d slices, error %v", len(list.Items), err)
	}
	if err := f.api.Delete(t.Context(), &list.Items[0]); err != nil {
		t.Fatal(err)
	}
	revision := &v1alpha1.Revision{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	revision.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonContentUnavailable}}
	if err := f.api.Status().Update(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	want(t, "no revision is made of the same content", "writes", []string{"create slice of plane"}, f.mustPass())
	restored := &v1alpha1.ObjectSlice{}
	if err := f.api.Get(t.Context(), types.NamespacedName{Name: list.Items[0].Name}, restored); err != nil || !bytes.Equal(restored.Data, list.Items[0].Data) {
		t.Errorf("the slice was not restored: %v", err)
	}
}

// recompressed is a slice's content compressed in another way.
func recompressed(t *testing.T, slice *v1alpha1.ObjectSlice) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(slice.Data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
