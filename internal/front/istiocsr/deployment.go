// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// deploymentKind is that of the agent.
var deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// Helm's marks on what it has installed.
const (
	annotationReleaseName      = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"
)

// observeDeployment looks for the agent's Deployment: as another tool has created it,
// while it is not ours, and then as it is in the newest revision. What other clients
// change in it then is drift, and does not change what is asked for.
func (o *observer) observeDeployment(ctx context.Context, ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts *observed) error {
	own := ownPackage(ic, group)
	key := types.NamespacedName{Namespace: ic.Namespace, Name: AgentName}
	current := front.Untyped(deploymentKind)
	found, err := front.Read(ctx, o.objects, ic.Namespace, AgentName, current)
	if err != nil {
		return err
	}
	if found {
		facts.Release = releaseOf(current)
	}
	if found && isForeign(current, own, PackageName(ic.Namespace)) {
		spec, _, err := unstructured.NestedMap(current.Object, "spec")
		if err != nil {
			return fmt.Errorf("reading Deployment %s: %w", key, err)
		}
		facts.Deployment = &Deployment{Spec: spec, Foreign: true}
		if facts.Release == "" {
			return nil
		}
		return o.handOver(ctx, ic.Namespace, current.GetResourceVersion())
	}
	return o.observeRevision(ctx, own, facts)
}

// ownPackage is that of an IstioCSR's agent, nil when there is none.
func ownPackage(ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR]) *v1alpha1.Package {
	for i := range group.Existing {
		if group.Existing[i].Name == PackageName(ic.Namespace) {
			return &group.Existing[i]
		}
	}
	return nil
}

// newestManifests are those in the newest revision of a package, none when it has none.
func (o *observer) newestManifests(ctx context.Context, pkg *v1alpha1.Package) ([]*unstructured.Unstructured, error) {
	if pkg == nil {
		return nil, nil
	}
	newest, err := o.newestRevision(ctx, pkg)
	if err != nil || newest == nil {
		return nil, err
	}
	return manifestsOf(newest)
}

// observeRevision looks at the agent's Deployment in the newest revision of its package.
func (o *observer) observeRevision(ctx context.Context, pkg *v1alpha1.Package, facts *observed) error {
	manifests, err := o.newestManifests(ctx, pkg)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		if manifest.GroupVersionKind() != deploymentKind || manifest.GetName() != AgentName {
			continue
		}
		spec, _, err := unstructured.NestedMap(manifest.Object, "spec")
		if err != nil {
			return fmt.Errorf("reading the newest revision of %s: %w", pkg.Name, err)
		}
		facts.Deployment = &Deployment{Spec: spec, Existing: IsExisting(manifest.GetLabels())}
	}
	return nil
}

// isForeign says whether a Deployment comes from another tool and is about to be taken
// over: it has no controller, or only a package of ours that is gone.
func isForeign(current *unstructured.Unstructured, own *v1alpha1.Package, name string) bool {
	if current.GetDeletionTimestamp() != nil {
		return false
	}
	controller, label := metav1.GetControllerOf(current), current.GetLabels()[v1alpha1.LabelPackage]
	switch {
	case controller == nil && label == name:
		return own == nil // one whose owner reference a user has removed is ours all the same
	case controller == nil:
		return label == "" // or else another package keeps it
	case controller.Kind != "Package" || controller.Name != name:
		return false
	default:
		return own == nil || controller.UID != own.UID
	}
}

// releaseOf is the Helm release that an object is of, as NAMESPACE/NAME, empty for none.
func releaseOf(object client.Object) string {
	marks := object.GetAnnotations()
	if marks[annotationReleaseName] == "" || marks[annotationReleaseNamespace] == "" {
		return ""
	}
	return marks[annotationReleaseNamespace] + "/" + marks[annotationReleaseName]
}

// newestRevision is that of a package, nil when it has none.
func (o *observer) newestRevision(ctx context.Context, pkg *v1alpha1.Package) (*v1alpha1.Revision, error) {
	list := &v1alpha1.RevisionList{}
	if err := o.cache.List(ctx, list, client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the revisions of %s: %w", pkg.Name, err)
	}
	var newest *v1alpha1.Revision
	for i := range list.Items {
		revision := &list.Items[i]
		if metav1.IsControlledBy(revision, pkg) && (newest == nil || revision.Spec.Revision > newest.Spec.Revision) {
			newest = revision
		}
	}
	return newest, nil
}

// manifestsOf are the manifests that stand in a revision. One that does not is too large
// to be one that was kept.
func manifestsOf(revision *v1alpha1.Revision) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, phase := range revision.Spec.Phases {
		for _, object := range phase.Objects {
			if object.Object == nil {
				continue
			}
			manifest := &unstructured.Unstructured{}
			if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
				return nil, fmt.Errorf("reading revision %s: %w", revision.Name, err)
			}
			all = append(all, manifest)
		}
	}
	return all, nil
}
