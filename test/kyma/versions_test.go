// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	istiorelease "github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestGate: a mesh that a user has let go up by two minor versions, and that does not come up,
// does not go back by itself. It does when they name the version.
func TestGate(t *testing.T) {
	if err := startManager(t.Context(), "1.29"); err != nil {
		t.Fatal(err)
	}
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: kyma-system}}")
	withoutCRDs(t)
	manifest(t, istio("gate", "{}"))
	defer remove(t, named("gate"))
	installed := state(t, "gate", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	changed := installed.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha2.AnnotationAllowVersion, "1.31.0")
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(installed)); err != nil {
		t.Fatal(err)
	}
	patchMesh(t, func(pkg *v1alpha1.Package) {
		pkg.Spec.OnFailure, pkg.Spec.ProgressDeadline = v1alpha1.FailureRollback, &metav1.Duration{Duration: 5 * time.Second}
	})
	good := mesh(t).Status.CurrentRevision
	const hub = "registry.invalid/istio/"
	variables := []string{"pilot", hub + "pilot:1.31.0-broken", "proxyv2", hub + "proxyv2:1.31.0-broken", "install-cni", hub + "install-cni:1.31.0-broken"}
	if err := startManager(t.Context(), "1.31", variables...); err != nil {
		t.Fatal(err)
	}
	const why = "is too far back from version 1.31.0-broken"
	awaitMesh(t, "the failure, and why nothing answers it", func(_ *v1alpha1.Package, doing *metav1.Condition) bool {
		return doing.Reason == v1alpha1.ReasonProgressDeadlineExceeded && strings.Contains(doing.Message, why)
	})
	eventually(t, "the resource to tell", func() (bool, error) {
		reported := state(t, "gate", v1alpha2.StateError, v1alpha2.ReasonIstioInstallUninstallFailed).Status.Description
		return strings.Contains(reported, why), fmt.Errorf("%s", reported)
	})
	planetest.Stays(t, 3*time.Second, "nothing answers the failure", func() (bool, error) {
		held := mesh(t).Status
		return held.CurrentRevision == good && held.TargetRevision == good+1 && held.AutomaticRollback == nil,
			fmt.Errorf("revision %d runs, and revision %d is rolled out: %+v", held.CurrentRevision, held.TargetRevision, held.AutomaticRollback)
	})
	// Neither does a rollback that a user asks for, which is reported.
	patchMesh(t, func(pkg *v1alpha1.Package) {
		pkg.Spec.Rollback = &v1alpha1.Rollback{ToRevision: good, RequestedAt: metav1.Now().Rfc3339Copy()}
	})
	awaitMesh(t, "the refusal", func(pkg *v1alpha1.Package, _ *metav1.Condition) bool {
		return pkg.Status.Rollback != nil && pkg.Status.Rollback.Revision == 0 && strings.Contains(pkg.Status.Rollback.Message, why)
	})
	patchMesh(t, func(pkg *v1alpha1.Package) {
		pkg.Spec.Rollback = nil
		metav1.SetMetaDataAnnotation(&pkg.ObjectMeta, v1alpha1.AnnotationAllowVersion, "1.29.1-distroless")
	})
	awaitMesh(t, "the rollback", func(pkg *v1alpha1.Package, _ *metav1.Condition) bool {
		return pkg.Status.AutomaticRollback != nil && pkg.Status.CurrentRevision == good+2
	})
	if istiod := deployed(t, "Deployment", "istiod"); !strings.Contains(fmt.Sprint(istiod.Object), ":1.29.1-distroless") {
		t.Error("what runs is not what has run before")
	}
}

// patchMesh changes the package of the mesh as an administrator does.
func patchMesh(t *testing.T, change func(*v1alpha1.Package)) {
	t.Helper()
	before := mesh(t)
	after := before.DeepCopy()
	change(after)
	if err := admin.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// awaitMesh waits for what is reported of the mesh's package.
func awaitMesh(t *testing.T, what string, reported func(pkg *v1alpha1.Package, doing *metav1.Condition) bool) {
	t.Helper()
	eventually(t, what, func() (bool, error) {
		pkg := mesh(t)
		doing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
		return doing != nil && reported(pkg, doing), fmt.Errorf("%+v, %+v, %+v", doing, pkg.Status.Rollback, pkg.Status.AutomaticRollback)
	})
}

// withoutCRDs takes away those that tests before have left, which are newer.
func withoutCRDs(t *testing.T) {
	t.Helper()
	for _, name := range istiorelease.CRDNames() {
		remove(t, untyped("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name))
	}
}
