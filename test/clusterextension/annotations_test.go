// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// awaits waits until the condition Progressing has a reason, and a message with some words.
func awaits(t *testing.T, ce *olmv1.ClusterExtension, reason string, words ...string) {
	t.Helper()
	awaitsWithin(t, 2*time.Minute, ce, reason, words...)
}

func awaitsWithin(t *testing.T, limit time.Duration, ce *olmv1.ClusterExtension, reason string, words ...string) {
	t.Helper()
	last := ""
	defer func() { t.Logf("%s: %s", reason, last) }()
	planetest.Within(t, limit, "Progressing is "+reason+": "+strings.Join(words, ", "), func() (bool, error) {
		_, progressing, err := progress(t, ce)
		last = progressing.Reason + ": " + progressing.Message
		for _, word := range words {
			if !strings.Contains(progressing.Message, word) {
				return false, err
			}
		}
		return progressing.Reason == reason, err
	})
}

// annotate sets an annotation, and removes it when the value is empty.
func annotate(t *testing.T, ce *olmv1.ClusterExtension, name, value string) {
	t.Helper()
	changed := ce.DeepCopy()
	if value == "" {
		delete(changed.Annotations, name)
	} else {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, name, value)
	}
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(ce)); err != nil {
		t.Fatal(err)
	}
}

// changePackage changes the package of a ClusterExtension, as its admin does.
func changePackage(t *testing.T, name string, change func(*v1alpha1.Package)) {
	t.Helper()
	pkg := &v1alpha1.Package{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: name}, pkg); err != nil {
		t.Fatal(err)
	}
	changed := pkg.DeepCopy()
	change(changed)
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(pkg)); err != nil {
		t.Fatal(err)
	}
}

// missesDeadline lets a rollout miss its deadline, which fronts set to no less than ten minutes: with the
// fronts off, it is shorter.
func missesDeadline(t *testing.T, name string) {
	t.Helper()
	options := setup.ManagerOptions()
	setup.Flags(&options, "--fronts=")
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	changePackage(t, name, func(pkg *v1alpha1.Package) { pkg.Spec.ProgressDeadline = &metav1.Duration{Duration: 5 * time.Second} })
	planetest.Eventually(t, "the package is rolled back", func() (bool, error) {
		pkg := &v1alpha1.Package{}
		err := admin.Get(t.Context(), client.ObjectKey{Name: name}, pkg)
		return pkg.Status.CurrentRevision > 3, err
	})
}

// hasEvent says whether an event of a reason and with some words was recorded on a ClusterExtension.
func hasEvent(t *testing.T, of client.Object, reason, words string) (bool, error) {
	t.Helper()
	list := &eventsv1.EventList{}
	err := admin.List(t.Context(), list, client.InNamespace("default"))
	for i := range list.Items {
		e := &list.Items[i]
		if e.Regarding.UID == of.GetUID() && e.Reason == reason && strings.Contains(e.Note, words) {
			return true, err
		}
	}
	return false, err
}

// steered makes a ClusterExtension of an operator that is installed with a ServiceAccount without rights.
func steered(t *testing.T) *olmv1.ClusterExtension {
	t.Helper()
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "steered"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "steered", Name: "installer"}},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "steered"}}
	ce.Spec.Namespace, ce.Spec.ServiceAccount = "steered", &olmv1.ServiceAccountReference{Name: "installer"}
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "operator", Version: "1.0.0"}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	return ce
}

// TestAnnotations: missing rights of the ServiceAccount are listed; approval, pause and rollback follow
// the annotations of the ClusterExtension.
func TestAnnotations(t *testing.T) {
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	startFront(t, server)
	createFrom(t, "steered", operators(t, server))
	t.Cleanup(func() { goes(t, &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "steered"}}) })
	ce := steered(t)
	awaits(t, ce, olmv1.ReasonRetrying, `error for resolved bundle "operator.v1.0.0" with version "1.0.0": `, "installer", "may not", "deployments", "clusterroles", "customresourcedefinitions")
	annotate(t, ce, olmv1.AnnotationApproval, "Manual")
	all := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "steered-installer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
	all.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "steered", Name: "installer"}}
	if err := admin.Create(t.Context(), all); err != nil {
		t.Fatal(err)
	}

	awaitsWithin(t, 5*time.Minute, ce, olmv1.ReasonAwaitingApproval, "approv") // missing rights are looked at again at longer and longer intervals
	first := &v1alpha1.Revision{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "steered-1"}, first); err != nil || first.Status.Plan == nil {
		t.Fatalf("the revision that waits has no plan: %v", err)
	}
	changePackage(t, "steered", func(pkg *v1alpha1.Package) { pkg.Spec.ApprovedDigest = first.Status.Plan.Digest })
	becomes(t, ce, "1.0.0")
	annotate(t, ce, olmv1.AnnotationApproval, "Automatic")

	annotate(t, ce, olmv1.AnnotationPaused, "maintenance until 14:00")
	asks(t, ce, "1.1.0")
	awaits(t, ce, olmv1.ReasonPaused, "maintenance until 14:00")
	annotate(t, ce, olmv1.AnnotationPaused, "")
	becomes(t, ce, "1.1.0")

	annotate(t, ce, olmv1.AnnotationOnFailure, "Rollback")
	asks(t, ce, "1.2.0")
	awaits(t, ce, olmv1.ReasonRollingOut, "Deployment steered/operator")
	missesDeadline(t, "steered")
	startFront(t, server)
	awaits(t, ce, olmv1.ReasonSucceeded, "rollback")
	if ce.Status.Install == nil || ce.Status.Install.Bundle.Version != "1.1.0" {
		t.Errorf("after the rollback %+v is installed", ce.Status.Install)
	}
	for reason, words := range map[string]string{"Resolved": "from bundle operator.v1.1.0 1.1.0 to bundle operator.v1.2.0 1.2.0 of catalog steered", "Upgraded": "operator.v1.1.0", "RolledBack": "rollback"} {
		planetest.Eventually(t, "the event "+reason, func() (bool, error) { return hasEvent(t, ce, reason, words) })
	}
	goes(t, ce)
	definition := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "gadgets.extension.example.org"}, definition); !apierrors.IsNotFound(err) {
		t.Errorf("the definition, of which there are no custom resources, is still there: %v", err)
	}
}
