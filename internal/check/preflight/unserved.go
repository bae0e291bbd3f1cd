// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unserved says which kinds of earlier content the API server does not serve, and what to do
// about it; it is empty when the content can be rolled out again. A definition that the
// content brings serves a kind only while the cluster has none: one that exists is left as
// it is by a rollback.
//
// It asks the API server for one object of each kind, as what is known of kinds may be old.
func (c *Checker) Unserved(ctx context.Context, manifests []*unstructured.Unstructured) (string, error) {
	brought, err := c.brought(ctx, manifests)
	if err != nil {
		return "", err
	}
	asked := map[schema.GroupVersionKind]bool{}
	var found []string
	for _, manifest := range manifests {
		kind := manifest.GroupVersionKind()
		if asked[kind] || brought[kind.GroupKind()] {
			continue
		}
		asked[kind] = true
		served, err := c.serves(ctx, manifest)
		if err != nil {
			return "", err
		}
		if !served {
			found = append(found, fmt.Sprintf("no kind %s in %s (of %s)", kind.Kind, kind.GroupVersion(), manifest.GetName()))
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	const most = 5
	text := strings.Join(found[:min(most, len(found))], ", ")
	if more := len(found) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "the API server serves " + text + ": have it served again, or apply the content in a version that is served", nil
}

// brought are the kinds that definitions among the manifests bring and the cluster does not
// define.
func (c *Checker) brought(ctx context.Context, manifests []*unstructured.Unstructured) (map[schema.GroupKind]bool, error) {
	kinds := map[schema.GroupKind]bool{}
	for _, manifest := range manifests {
		if !isDefinition(manifest.GroupVersionKind().GroupKind()) {
			continue
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(manifest.GroupVersionKind())
		err := c.Live.Get(ctx, client.ObjectKeyFromObject(manifest), live)
		switch {
		case apierrors.IsNotFound(err):
			group, _, _ := unstructured.NestedString(manifest.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(manifest.Object, "spec", "names", "kind")
			kinds[schema.GroupKind{Group: group, Kind: kind}] = true
		case err != nil:
			return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", manifest.GetName(), err)
		}
	}
	return kinds, nil
}

// serves says whether the API server serves the kind and version of a manifest.
func (c *Checker) serves(ctx context.Context, manifest *unstructured.Unstructured) (bool, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(manifest.GroupVersionKind())
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(manifest), live)
	switch {
	case meta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && apierrors.IsNotFound(err):
		return false, nil
	case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return true, nil
	default:
		return false, fmt.Errorf("asking for kind %s: %w", manifest.GroupVersionKind(), err)
	}
}
