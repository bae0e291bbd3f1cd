// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/cacopy"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render/istiocsr"
	"github.com/strata-run/strata/internal/trust"
)

type csrGroup = front.Group[*operatorv1alpha1.IstioCSR]

func csrIn(namespace string, removed bool) *operatorv1alpha1.IstioCSR {
	ic := &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1alpha1.Name}}
	if removed {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	}
	return ic
}

func packagesOf(namespaces ...string) []v1alpha1.Package {
	var all []v1alpha1.Package
	for _, namespace := range namespaces {
		all = append(all, v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: istiocsr.PackageName(namespace)}})
	}
	return all
}

func TestLeaveIstioCSR(t *testing.T) {
	all := func(ics ...*operatorv1alpha1.IstioCSR) []*operatorv1alpha1.IstioCSR { return ics }
	for name, tc := range map[string]struct {
		reason string
		group  csrGroup
		orphan bool
	}{
		"Deleted":         {"an agent runs on by default", csrGroup{Leaving: all(csrIn("a", false)), Existing: packagesOf("a")}, true},
		"Removed":         {"the annotation has it go", csrGroup{Leaving: all(csrIn("a", true)), Existing: packagesOf("a")}, false},
		"RemovedAndNext":  {"the agent of the next one is not meant", csrGroup{Resources: all(csrIn("b", false)), Leaving: all(csrIn("a", true)), Existing: packagesOf("a", "b")}, false},
		"OnlyTheLosers":   {"the annotation of one without an agent is about nothing", csrGroup{Leaving: all(csrIn("a", false), csrIn("b", true)), Existing: packagesOf("a")}, true},
		"Both":            {"of two that go at once, one that is to stay has both stay", csrGroup{Leaving: all(csrIn("a", false), csrIn("b", true)), Existing: packagesOf("a", "b")}, true},
		"FinalizerForced": {"nobody has said that it should go", csrGroup{Resources: all(csrIn("b", true)), Existing: packagesOf("a")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			existing := slices.Clone(tc.group.Existing)
			if got := leaveIstioCSR(istioCSRInput{Group: tc.group}); got.Orphan != tc.orphan || got.Blocked != nil {
				t.Errorf("%s: orphan is %v (%v)", tc.reason, got.Orphan, got.Blocked)
			}
			if diff := cmp.Diff(existing, tc.group.Existing); diff != "" {
				t.Errorf("what it was given has changed:\n%s", diff)
			}
		})
	}
}

// fakeKeeper remembers which copies were let go of.
type fakeKeeper struct{ forgotten, removed []string }

func (*fakeKeeper) Keep(context.Context, cacopy.Request) (trust.State, error) {
	return trust.State{}, nil
}
func (k *fakeKeeper) Forget(namespace string) { k.forgotten = append(k.forgotten, namespace) }
func (k *fakeKeeper) Remove(_ context.Context, namespace string) error {
	k.removed = append(k.removed, namespace)
	return nil
}

// The copy of the CA certificates goes last, and only with an agent that is removed.
func TestIstioCSRObserver_LetGo(t *testing.T) {
	for name, tc := range map[string]struct {
		reason             string
		ic                 *operatorv1alpha1.IstioCSR
		existing           []v1alpha1.Package
		forgotten, removed []string
	}{
		"Stays":        {"an agent that runs on reads it", csrIn("a", false), nil, []string{"a"}, nil},
		"StillThere":   {"the agent still reads it", csrIn("a", true), packagesOf("a"), []string{"a"}, nil},
		"AgentIsGone":  {"nobody reads it any more", csrIn("a", true), nil, nil, []string{"a"}},
		"AnotherRuns":  {"the package of another one does not matter", csrIn("a", true), packagesOf("b"), nil, []string{"a"}},
		"AnotherStays": {"the package of another one does not matter", csrIn("a", false), packagesOf("b"), []string{"a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			keeper := &fakeKeeper{}
			o := &istioCSRObserver{keeper: keeper}
			if err := o.letGo(t.Context(), csrGroup{Leaving: []*operatorv1alpha1.IstioCSR{tc.ic}, Existing: tc.existing}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{tc.forgotten, tc.removed}, [][]string{keeper.forgotten, keeper.removed}); diff != "" {
				t.Errorf("%s: forgotten and removed (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
