// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/status/statustest"
)

// A namespace or ServiceAccount that is missing is named, and the installation goes on when it comes.
func TestFront_Missing(t *testing.T) {
	l := newLoop(t)
	ce := extension()
	ce.Spec.Namespace, ce.Spec.ServiceAccount = "app", &olmv1.ServiceAccountReference{Name: "installer"}
	l.Create(ce)
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}}}
	l.progressing("True/Retrying: namespace app does not exist: create it")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	l.Create(namespace)
	l.progressing("True/Retrying: ServiceAccount app/installer does not exist: create it, or remove spec.serviceAccount to use the manager's rights")
	if made := l.revisions(); len(made) > 0 {
		t.Errorf("it cannot be installed yet, and the revisions are %v", made)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "installer"}}
	l.Create(account)
	l.progressing("True/RollingOut: Revision 1 (1.0.0) is about to be rolled out")

	o := &observer{cache: l.API}
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "default"}}
	for name, tc := range map[string]struct{ got, want []string }{
		"Namespace":           {o.needs(t.Context(), namespace), []string{"demo"}},
		"ServiceAccount":      {o.needs(t.Context(), account), []string{"demo"}},
		"OtherServiceAccount": {o.needs(t.Context(), other), nil},
		"OtherNamespace":      {o.needs(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "installer"}}), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s wakes (-want +got):\n%s", name, diff)
		}
	}
}

// A collision names the ClusterExtension that has the object.
func TestFront_Collision(t *testing.T) {
	l := newLoop(t)
	l.create()
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}}}
	l.pass()
	theirs := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "theirs-12345678"}}
	theirs.Labels = map[string]string{v1alpha1.LabelFront: frontName}
	theirs.Annotations = map[string]string{v1alpha1.AnnotationFrontGroup: "theirs.with.a.long.name"}
	l.Create(theirs)
	pkg := &v1alpha1.Package{}
	l.Read("demo", pkg)
	for from, to := range map[string]string{
		"it is controlled by Package theirs-12345678 (strata.run/v1alpha1, uid 1): remove it": "it is controlled by ClusterExtension theirs.with.a.long.name, with Package theirs-12345678 (strata.run/v1alpha1, uid 1): remove it",
		`its label says that it belongs to Package "theirs-12345678": remove it`:              `its label says that it belongs to ClusterExtension theirs.with.a.long.name, with Package theirs-12345678: remove it`,
	} {
		l.Read("demo", pkg)
		pkg.Status = statustest.PackageAt("demo", 0, "False/ObjectCollisions: ConfigMap app/a: "+from, "Unknown/Unknown: x").Status
		pkg.Status.TargetRevision = 1
		if err := l.API.Status().Update(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
		l.progressing(`True/Retrying: error for resolved bundle "p.v1.0.0" with version "1.0.0": revision object collisions: ConfigMap app/a: ` + to)
	}
}
