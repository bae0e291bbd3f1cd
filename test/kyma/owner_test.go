// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// guarded is the network policy beside the resource.
func guarded(t *testing.T) *networkingv1.NetworkPolicy {
	t.Helper()
	o := &networkingv1.NetworkPolicy{}
	err := admin.Get(t.Context(), types.NamespacedName{Namespace: "kyma-system", Name: "kyma-project.io--allow-istio-controller-manager"}, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return o
}

// ownersOf are the owners of an object, the controller marked.
func ownersOf(o client.Object) []string {
	var all []string
	for _, r := range o.GetOwnerReferences() {
		text := r.Kind + "/" + r.Name
		if r.Controller != nil && *r.Controller {
			text += " controls"
		}
		if r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
			text += " blocks"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// What stands beside the resource and is not Istio's is owned by it too. Another resource that
// takes its place becomes the owner, and the object stays.
func owner(t *testing.T) {
	manifest(t, istio("second", "{networkPoliciesEnabled: true}"))
	awaitOwners(t, "Istio/second", "Package/kyma-istio controls")
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	before := guarded(t)
	manifest(t, istio("heir", "{networkPoliciesEnabled: true}"))
	state(t, "heir", v1alpha2.StateError, v1alpha2.ReasonOlderCRExists)
	remove(t, named("second"))
	awaitOwners(t, "Istio/heir", "Package/kyma-istio controls")
	state(t, "heir", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	planetest.Stays(t, 3*time.Second, "the garbage collector leaves the object", func() (bool, error) {
		now := guarded(t)
		return before.UID == now.UID && now.DeletionTimestamp.IsZero(), nil
	})
	after := guarded(t)
	if diff := cmp.Diff([]string{"Istio/heir", "Package/kyma-istio controls"}, ownersOf(after)); diff != "" {
		t.Error(diff)
	}
	rested(t, "the object", func() string { return guarded(t).ResourceVersion })
	// Those in other namespaces cannot have it as an owner: the garbage collector would take
	// them for orphans.
	others := &networkingv1.NetworkPolicyList{}
	if err := admin.List(t.Context(), others, client.InNamespace("istio-system")); err != nil || len(others.Items) != 6 {
		t.Fatalf("%d network policies: %v", len(others.Items), err)
	}
	for i := range others.Items {
		if diff := cmp.Diff([]string{"Package/kyma-istio controls"}, ownersOf(&others.Items[i])); diff != "" {
			t.Errorf("%s\n%s", others.Items[i].Name, diff)
		}
	}
	collected(t)
	manifest(t, istio("second", plain))
	state(t, "second", v1alpha2.StateError, v1alpha2.ReasonOlderCRExists)
	remove(t, named("heir"))
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	// The package is Ready as soon as what it has serves, and takes away the rest then.
	eventually(t, "the policy that is switched off to go", func() (bool, error) {
		left := guarded(t)
		return left.Name == "", fmt.Errorf("it is owned by %v", ownersOf(left))
	})
}

func awaitOwners(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, "the owners "+strings.Join(want, ", "), func() (bool, error) { return cmp.Equal(want, ownersOf(guarded(t))), nil })
}

// The garbage collector takes off a reference to an owner that is gone while another one is
// there. This is why the reference stands in no revision: a rollback would put it back for the
// garbage collector to take off, for ever.
func collected(t *testing.T) {
	t.Helper()
	heir := state(t, "heir", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	reference := metav1.OwnerReference{APIVersion: v1alpha2.GroupVersion.String(), Kind: "Istio", Name: heir.Name, UID: heir.UID}
	gone := reference
	gone.Name, gone.UID = "gone", "00000000-0000-0000-0000-000000000000"
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: "owned", OwnerReferences: []metav1.OwnerReference{reference, gone}}}
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the garbage collector to take the reference off", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return cmp.Equal([]string{"Istio/heir"}, ownersOf(o)), err
	})
	remove(t, o)
}
