// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestCollisionAtRest: an object of another owner costs nothing while it stays as it is,
// however often the package is checked; and the package goes on when it is gone.
func TestCollisionAtRest(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Data: map[string]string{"value": "theirs"}}
	must(t, admin.Create(t.Context(), theirs))
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), deploymentManifest(t, ns, "app", goodImage)))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonObjectCollisions)
	planetest.Eventually(t, "the neighbour to be available", func() (bool, error) {
		return deployment(t, ns, "app").Status.AvailableReplicas > 0, nil
	})
	other := &otherManager{namespace: ns}
	requestsFor := func(since time.Time) int {
		count := 0
		for _, e := range requests(t, since) {
			if e.Namespace == ns && e.Resource == "configmaps" && e.Name == "a" {
				count++
			}
		}
		return count
	}
	planetest.Eventually(t, "ten passes without a request", func() (bool, error) {
		since := time.Now()
		for range 10 {
			other.n++
			must(t, other.patchStatus(t.Context(), fields{"collisionCount": other.n}))
			at := time.Now()
			planetest.Eventually(t, "a tenth of a second to go by", func() (bool, error) { return time.Since(at) >= 100*time.Millisecond, nil })
		}
		count := requestsFor(since)
		return count == 0, fmt.Errorf("there are %d", count)
	})
	must(t, admin.Delete(t.Context(), theirs))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestRollbackUnserved: content in a version that its definition serves no more is not rolled
// out again, and the refusal says so.
func TestRollbackUnserved(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	group := ns + ".example.org"
	version := func(name string, served bool) fields {
		return fields{"name": name, "served": served, "storage": name == "v2", "schema": fields{"openAPIV3Schema": fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	definition := &unstructured.Unstructured{Object: fields{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": fields{"name": "widgets." + group},
		"spec": fields{
			"group": group, "scope": "Namespaced", "names": fields{"kind": "Widget", "plural": "widgets"},
			"versions": []any{version("v1", true), version("v2", true)},
		},
	}}
	must(t, admin.Create(t.Context(), definition))
	t.Cleanup(func() { _ = admin.Delete(t.Context(), definition) })
	widget := object(t, fields{"apiVersion": group + "/v1", "kind": "Widget", "metadata": fields{"namespace": ns, "name": "w"}})
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", widget))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2")))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	patchAs(t, definition, "kubectl", fields{"spec": fields{"versions": []any{version("v1", false), version("v2", true)}}})
	planetest.Eventually(t, "the version to go", func() (bool, error) {
		gone := &unstructured.Unstructured{}
		gone.SetAPIVersion(group + "/v1")
		gone.SetKind("Widget")
		err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "w"}, gone)
		return meta.IsNoMatchError(err) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse), err
	})
	patchAs(t, pkg, "kubectl", fields{"spec": fields{"rollback": fields{"toRevision": 1, "requestedAt": metav1.Now()}}})
	want := "revision 1 cannot be rolled out again: the API server serves no kind Widget in " + group +
		"/v1 (of w): have it served again, or apply the content in a version that is served"
	planetest.Eventually(t, "the rollback to be refused", func() (bool, error) {
		answer := getPackage(t, pkg.Name).Status.Rollback
		if answer == nil {
			return false, nil
		}
		return answer.Message == want && answer.Revision == 0, fmt.Errorf("it is %+v", answer)
	})
}
