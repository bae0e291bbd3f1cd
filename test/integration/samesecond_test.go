// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions"
)

// TestSameSecond: what another client applies as the field manager strata, in the second of
// the manager's own apply, is repaired, although managedFields do not tell of it; also where
// a change by a third client in that second would explain what has changed.
func TestSameSecond(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]bool{"Alone": false, "Beside": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 30 {
				ns := planetest.Namespace(t, plane)
				pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "2")))
				isHidden := applyOver(t, ns, pkg, beside)
				eventuallyIs(t, &corev1.ConfigMap{}, ns, "a", "the value to be repaired", func(c *corev1.ConfigMap) bool { return c.Data["value"] == "2" })
				if isHidden {
					restsAfterRepair(t, ns, pkg)
					return
				}
			}
			t.Error("no apply came in the second of the manager's own")
		})
	}
}

// restsAfterRepair: a change of another field costs nothing once the second of the repair is
// over.
func restsAfterRepair(t *testing.T, ns string, pkg *v1alpha1.Package) {
	t.Helper()
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	pastLastWrite(t, configMap(t, ns, "a"))
	since := time.Now()
	patchAs(t, configMap(t, ns, "a"), "kubectl-edit", fields{"data": fields{"more": "y"}})
	notWritten(t, 2*time.Second, ns, since)
}

// pastLastWrite waits until the second of the last write to an object is over, and what the
// manager looks at again after its own.
func pastLastWrite(t *testing.T, object client.Object) {
	t.Helper()
	planetest.Eventually(t, "the second of the last write to be over", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		return time.Since(lastWrite(object)) > 5*time.Second, err
	})
}

// lastWrite is the latest time in managedFields.
func lastWrite(object client.Object) (latest time.Time) {
	for _, entry := range object.GetManagedFields() {
		if entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest
}

// applyOver applies another value as the manager does as soon as the manager has created the
// ConfigMap, after a change by kubectl if it is to be beside that. It says whether our
// managedFields entry is the same as before, and every other one of the same second.
func applyOver(t *testing.T, ns string, pkg *v1alpha1.Package, beside bool) bool {
	t.Helper()
	created := &unstructured.Unstructured{}
	created.SetAPIVersion("v1")
	created.SetKind("ConfigMap")
	planetest.Eventually(t, "the ConfigMap", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "a"}, created)
		return err == nil, client.IgnoreNotFound(err)
	})
	if beside {
		patchAs(t, configMap(t, ns, "a"), "kubectl-edit", fields{"data": fields{"more": "x"}})
	}
	other := created.DeepCopy()
	other.Object["metadata"] = map[string]any{"namespace": ns, "name": "a"}
	other.Object["data"] = map[string]any{"value": "1"}
	other.SetLabels(created.GetLabels())
	other.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID, Controller: new(true), BlockOwnerDeletion: new(false),
	}})
	must(t, admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(other), client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership))
	return revisions.FieldsDigest(other, revisions.DefaultFieldOwner) == revisions.FieldsDigest(created, revisions.DefaultFieldOwner) && lastWrite(other).Equal(lastWrite(created))
}
