// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// bindingKind is that of what gives an agent its rights in a mesh.
var bindingKind = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// leaseKind is that of what one of the agents of a mesh holds.
var leaseKind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// observeOtherAgents looks for agents that have permissions in the mesh and that no IstioCSR is
// about to remove: the next agent takes over the binding, and not their permissions.
func (o *observer) observeOtherAgents(ctx context.Context, ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts *observed) error {
	binding := front.Untyped(bindingKind)
	if _, err := front.Read(ctx, o.objects, ic.Spec.IstioCSRConfig.Istio.Namespace, AgentName, binding); err != nil {
		return err
	}
	if facts.Uninstalling = uninstalling(ic, group); len(facts.Uninstalling) == 0 {
		if err := o.releaseMeshObjects(ctx, ic, binding); err != nil {
			return err
		}
	}
	for _, namespace := range OthersBound(ic, binding) {
		if goes(group, namespace) {
			continue
		}
		deployment := front.Untyped(deploymentKind)
		runs, err := front.Read(ctx, o.objects, namespace, AgentName, deployment)
		if err != nil {
			return err
		}
		if !runs {
			continue
		}
		facts.LeftRunning = append(facts.LeftRunning, namespace)
		shares, err := o.sharesIssuer(ctx, ic, facts.RuntimeIssuer, givenTo(deployment.Object, "spec", "template", "spec"))
		if err != nil {
			return err
		}
		if !shares {
			facts.LeftApart = append(facts.LeftApart, namespace)
		}
	}
	facts.Before = before(ic, group, facts.Facts)
	o.observePublisher(ctx, ic, facts)
	return nil
}

// before are the namespaces of agents whose CA certificates may be in use in the mesh, beside
// those that are left running with the same issuer.
func before(ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts Facts) []string {
	all := slices.Clone(facts.LeftApart)
	for _, deleted := range group.Deleting {
		isMesh := deleted.Spec.IstioCSRConfig.Istio.Namespace == ic.Spec.IstioCSRConfig.Istio.Namespace
		if isMesh && deleted.Namespace != ic.Namespace && !slices.Contains(facts.LeftRunning, deleted.Namespace) {
			all = append(all, deleted.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// publisherAgain is how long it may take to see that another agent publishes.
const publisherAgain = time.Minute

// observePublisher finds out which of several agents of the mesh publishes, for a warning: the
// one whose pod holds the Lease. The Lease is renewed every few seconds, so it is read and
// not watched; a pod that holds it and is gone makes it be read again.
func (o *observer) observePublisher(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) {
	if len(facts.LeftRunning) == 0 {
		return
	}
	lease, err := o.leader(ctx, ic, facts)
	if err != nil {
		// Without a Lease no agent publishes, and the warning can do without its holder.
		logr.FromContextOrDiscard(ctx).V(1).Info("Cannot say which agent publishes", "error", err.Error())
		return
	}
	if lease.pod != nil {
		facts.Publisher = lease.pod.GetNamespace()
		return
	}
	facts.waitFor(publisherAgain)
}

// leadership is the Lease of a mesh, and the pod that holds it if that is of an agent that is
// known.
type leadership struct {
	object *unstructured.Unstructured
	pod    *unstructured.Unstructured
}

// leader finds out which agent leads those of a mesh.
func (o *observer) leader(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) (leadership, error) {
	lease := leadership{object: front.Untyped(leaseKind)}
	key := types.NamespacedName{Namespace: ic.Spec.IstioCSRConfig.Istio.Namespace, Name: LeaseName}
	if err := o.live.Get(ctx, key, lease.object); err != nil {
		return lease, fmt.Errorf("reading Lease %s: %w", key, err)
	}
	holder, _, _ := unstructured.NestedString(lease.object.Object, "spec", "holderIdentity") // what is no text is no holder
	name, _, _ := strings.Cut(holder, "_")
	for _, namespace := range agentsOf(ic, facts) {
		pod := front.Untyped(podKind)
		if name != "" && o.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, pod) == nil {
			lease.pod = pod
			return lease, nil
		}
	}
	return lease, nil
}

// agentsOf are the namespaces of the agents of a mesh: that of an IstioCSR, and of those that
// were left running.
func agentsOf(ic *operatorv1alpha1.IstioCSR, facts *observed) []string {
	return append([]string{ic.Namespace}, facts.LeftRunning...)
}

// goes says whether the agent in a namespace is being removed with its IstioCSR. One that
// has no package never got the agent there.
func goes(group front.Group[*operatorv1alpha1.IstioCSR], namespace string) bool {
	removed := func(ic *operatorv1alpha1.IstioCSR) bool {
		return ic.Namespace == namespace && RemovesOnDeletion(ic)
	}
	return slices.ContainsFunc(group.Deleting, removed) && hasPackage(group, namespace)
}

// hasPackage says whether there is a package of the agent in a namespace.
func hasPackage(group front.Group[*operatorv1alpha1.IstioCSR], namespace string) bool {
	return slices.ContainsFunc(group.Existing, func(pkg v1alpha1.Package) bool { return pkg.Name == PackageName(namespace) })
}
