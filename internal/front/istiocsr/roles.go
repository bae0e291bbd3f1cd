// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// observeClusterRoles finds the names of the agent's ClusterRole and of its binding, in the
// newest revision, and in which order that has its phases. Before there is one it looks for those that an agent in the namespace has:
// the operator before has generated their names, and its IstioCSR may be gone.
func (o *observer) observeClusterRoles(ctx context.Context, ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts *observed) error {
	role, binding := bindingKind.GroupVersion().WithKind("ClusterRole"), bindingKind.GroupVersion().WithKind("ClusterRoleBinding")
	manifests, err := o.newestManifests(ctx, ownPackage(ic, group))
	if err != nil {
		return err
	}
	facts.AgentFirst = agentFirstIn(manifests)
	for _, manifest := range manifests {
		switch manifest.GroupVersionKind() {
		case role:
			facts.ClusterRole = manifest.GetName()
		case binding:
			facts.ClusterRoleBinding = manifest.GetName()
		}
	}
	if facts.ClusterRole != "" && facts.ClusterRoleBinding != "" {
		return nil
	}
	if facts.ClusterRoles, err = o.labelled(ctx, role, ic.Namespace); err != nil {
		return err
	}
	facts.ClusterRoleBindings, err = o.labelled(ctx, binding, ic.Namespace)
	return err
}

// labelled are the names, sorted, of what an agent has outside of its namespace. When
// a user has to choose between several, their deletion is watched.
func (o *observer) labelled(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]string, error) {
	list := front.MetadataList(kind)
	if err := o.live.List(ctx, list, client.MatchingLabels(ClusterLabels(namespace))); err != nil {
		return nil, fmt.Errorf("listing the %ss of the agent in namespace %s: %w", kind.Kind, namespace, err)
	}
	var names []string
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	if len(names) < 2 {
		return names, nil
	}
	for _, name := range names {
		if _, err := front.Read(ctx, o.objects, "", name, front.Metadata(kind)); err != nil {
			return nil, err
		}
	}
	return names, nil
}
