// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// isGone says whether the package is gone.
func (l *line) isGone() bool {
	l.T.Helper()
	err := l.API.Get(l.T.Context(), types.NamespacedName{Name: "web"}, &v1alpha1.Package{})
	return apierrors.IsNotFound(err)
}

func (l *line) deletePackage() {
	l.T.Helper()
	if err := l.API.Delete(l.T.Context(), l.pkg()); err != nil {
		l.T.Fatal(err)
	}
}

func namespace(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

func TestWorker_Teardown(t *testing.T) {
	held := configMap("last", "2")
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("first", "1"), configMap("old", "1")), phase(configMap("last", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(configMap("first", "2"), namespace("kept")), phase(held), phase(deployment("gate", "v1")))
	_ = l.settle(time.Second)
	l.cluster.SetStatus(revisions.IDOf(unstructuredOf(namespace("kept"))), map[string]any{"phase": "Active"})
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	user := l.cluster.Client("user")
	finalized := unstructuredOf(held)
	if err := user.Get(t.Context(), types.NamespacedName{Namespace: "app", Name: "last"}, finalized); err != nil {
		t.Fatal(err)
	}
	finalized.SetFinalizers([]string{"example.com/hold"})
	if err := user.Update(t.Context(), finalized); err != nil {
		t.Fatal(err)
	}

	l.deletePackage()
	for range 4 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "the last phases go first, and the next only when the one after it is gone", "objects",
		[]string{"ConfigMap/first=2", "ConfigMap/last=2!", "ConfigMap/old=1", "Namespace/kept="}, l.objects())
	want(t, "what is waited for is reported", "conditions", "Ready=False/TearingDown Progressing=True/TearingDown Available=False/TearingDown", l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "ConfigMap app/last of phase phase-2") || !strings.Contains(message, "example.com/hold") {
		t.Errorf("the message does not name the object and its finalizer: %s", message)
	}
	result, err := l.pass()
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
		t.Errorf("error %v, again after %v; no watch tells when it goes on", err, result.RequeueAfter)
	}

	if err := user.Get(t.Context(), types.NamespacedName{Namespace: "app", Name: "last"}, finalized); err != nil {
		t.Fatal(err)
	}
	finalized.SetFinalizers(nil)
	if err := user.Update(t.Context(), finalized); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "what is retained stays, everything else is gone", "objects", []string{"Namespace/kept="}, l.objects())
	if !l.isGone() {
		t.Error("the package is still there")
	}
	want(t, "its watches are released", "released users", 1, len(l.released))
}

// An orphan stays, and does not carry our label and owner reference any more.
func TestWorker_TeardownOrphans(t *testing.T) {
	for name, tc := range map[string]struct {
		policy  v1alpha1.DeletionPolicy
		cascade bool
	}{
		"Policy":  {policy: v1alpha1.DeletionPolicyOrphan},
		"Cascade": {policy: v1alpha1.DeletionPolicyDelete, cascade: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{DeletionPolicy: tc.policy})
			l.revise(1, phase(configMap("a", "1")))
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			if tc.cascade {
				l.change(func(pkg *v1alpha1.Package) { pkg.Finalizers = append(pkg.Finalizers, metav1.FinalizerOrphanDependents) })
			}
			l.deletePackage()
			for range 2 {
				_, _ = l.pass()
			}
			want(t, "an orphan stays", "objects", []string{"ConfigMap/a=1"}, l.objects())
			object := l.cluster.Objects()[0]
			if _, labelled := object.GetLabels()[v1alpha1.LabelPackage]; labelled || len(object.GetOwnerReferences()) > 0 {
				t.Errorf("it carries labels %v and owner references %v", object.GetLabels(), object.GetOwnerReferences())
			}
			if tc.cascade {
				want(t, "the garbage collector's finalizer is its own", "finalizers", []string{metav1.FinalizerOrphanDependents}, l.pkg().Finalizers)
			} else if !l.isGone() {
				t.Error("the package is still there")
			}
		})
	}
}

// What cannot be loaded does not keep a package from being deleted.
func TestWorker_TeardownOfWhatCannotBeLoaded(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.reviseInSlice(1, "a", "1")
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(secret("ca")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.loseSlices()
	l.deletePackage()
	for range 4 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "what the inventory knows of goes", "objects", nil, l.objects())
	if !l.isGone() {
		t.Errorf("the package is still there: %s", l.condition(v1alpha1.ConditionProgressing))
	}
}

func TestWorker_TeardownErrors(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.deletePackage()
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbDelete, Code: 403, Message: "policy"})
	if _, err := l.pass(); err == nil {
		t.Error("the error was not returned, so no retry would follow")
	}
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, "policy") {
		t.Errorf("the cause is not reported: %s", message)
	}
	l.cluster.Heal()
	l.Refuse = func(write string) error {
		if write == "patch web" {
			return errRefused
		}
		return nil
	}
	_, _ = l.pass()
	if _, err := l.pass(); err == nil || l.isGone() {
		t.Errorf("the finalizer could not be taken off, got error %v", err)
	}
	l.Refuse = nil
	if _, err := l.pass(); err != nil || !l.isGone() {
		t.Errorf("error %v, gone %t; want the package gone", err, l.isGone())
	}
}

// Another owner's finalizer on a package is not ours to wait for.
func TestWorker_TeardownIsDone(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.change(func(pkg *v1alpha1.Package) { pkg.Finalizers = []string{"example.com/other"} })
	l.deletePackage()
	l.since()
	result, err := l.pass()
	writes, requests := l.since()
	if err != nil || result.RequeueAfter != 0 || len(writes)+len(requests) > 0 {
		t.Errorf("error %v, again after %v, writes %v, requests %v; want nothing", err, result.RequeueAfter, writes, requests)
	}
}

// TestWorker_TeardownOfShared: what has another owner stays, without our owner reference and
// label. A controller that it was taken over from is not another owner.
func TestWorker_TeardownOfShared(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("own", "1"), configMap("shared", "1"), configMap("taken", "1")))
	l.mustSettle(10 * time.Second)
	own := `{"apiVersion":"v1","kind":"Package","name":"web","controller":true,"uid":"` + string(l.pkg().UID) + `"}`
	for name, another := range map[string]string{
		"shared": `{"apiVersion":"v1","kind":"ConfigMap","name":"theirs","uid":"u-theirs"}`,
		"taken":  `{"apiVersion":"v1","kind":"ConfigMap","name":"former","uid":"u-former","controller":false}`,
	} {
		data := []byte(`{"metadata":{"ownerReferences":[` + own + `,` + another + `]}}`)
		if err := l.cluster.Client("other-manager").Patch(t.Context(), unstructuredOf(configMap(name, "1")), client.RawPatch(types.MergePatchType, data)); err != nil {
			t.Fatal(err)
		}
	}
	l.deletePackage()
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatal(err)
		}
		l.advance(time.Minute)
	}
	want(t, "only what is not shared goes", "objects", []string{"ConfigMap/shared=1"}, l.objects())
	left := l.cluster.Objects()[0]
	if refs := left.GetOwnerReferences(); len(refs) != 1 || refs[0].Name != "theirs" || left.GetLabels()[v1alpha1.LabelPackage] != "" {
		t.Errorf("what stays has the owners %v and labels %v, want the other owner alone", refs, left.GetLabels())
	}
}

// TestWorker_FinalizerTakenOff: a package that went without a teardown, as its finalizer was
// taken off by hand, keeps no watches and no memory, whether or not another one has its name.
func TestWorker_FinalizerTakenOff(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	for _, again := range []bool{true, false} {
		gone := string(l.pkg().UID)
		l.change(func(pkg *v1alpha1.Package) { pkg.Finalizers = nil })
		l.deletePackage()
		if again {
			l.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{v1alpha1.FinalizerTeardown}}})
		}
		if _, err := l.pass(); err != nil {
			t.Fatal(err)
		}
		if len(l.released) == 0 || l.released[len(l.released)-1] != gone {
			t.Errorf("the watches of %q were released, want those of %s", l.released, gone)
		}
	}
}

// TestWorker_TeardownRemembers: what was proven gone is not asked for again while another
// object cannot be read.
func TestWorker_TeardownRemembers(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("held", "1"), configMap("a", "1"), configMap("b", "1")))
	l.mustSettle(10 * time.Second)
	hold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
	if err := l.cluster.Client("user").Patch(t.Context(), unstructuredOf(configMap("held", "1")), hold); err != nil {
		t.Fatal(err)
	}
	l.deletePackage()
	for range 2 {
		if _, err := l.pass(); err != nil {
			t.Fatal(err)
		}
		l.advance(time.Minute)
	}
	l.since()
	if _, err := l.pass(); err != nil {
		t.Fatal(err)
	}
	_, requests := l.since()
	want(t, "only what may still be there is asked for", "requests", []string{"get ConfigMap app/held: 200"}, requests)
}

// TestWorker_OrphanedMeanwhile: the garbage collector may have orphaned what a package has, and
// have taken its own finalizer off, before the deletion is seen; an object that it does not know
// still has its owner reference then. Objects stay, and revisions go and hold nothing up.
func TestWorker_OrphanedMeanwhile(t *testing.T) {
	for name, seen := range map[string]bool{"Seen": true, "NotSeen": false} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{})
			l.deliver(phase(configMap("a", "1")))
			l.mustSettle(10 * time.Second)
			if seen {
				l.change(func(pkg *v1alpha1.Package) { pkg.Finalizers = append(pkg.Finalizers, metav1.FinalizerOrphanDependents) })
			}
			l.deletePackage()
			if seen {
				l.mustPass()
				want(t, "the garbage collector holds the package", "finalizers", []string{metav1.FinalizerOrphanDependents}, l.pkg().Finalizers)
			}
			orphaned := l.revision(1)
			orphaned.OwnerReferences = nil
			if err := l.API.Update(t.Context(), orphaned); err != nil {
				t.Fatal(err)
			}
			l.mustPass()
			want(t, "the object stays", "objects", []string{"ConfigMap/a=1"}, l.objects())
			want(t, "without owner", "unowned", []string{"ConfigMap/a"}, l.unowned())
			want(t, "the package goes when the garbage collector lets it", "gone", !seen, l.isGone())
			if err := l.API.Get(t.Context(), types.NamespacedName{Name: "web-1"}, &v1alpha1.Revision{}); !apierrors.IsNotFound(err) {
				t.Errorf("the revision is still there: %v", err)
			}
		})
	}
}

// mustPass makes a pass without an error.
func (l *line) mustPass() {
	l.T.Helper()
	if _, err := l.pass(); err != nil {
		l.T.Fatal(err)
	}
}
