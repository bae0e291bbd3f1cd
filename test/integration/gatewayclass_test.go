// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const className = "openshift-default"

// TestGatewayClass walks the whole way: installed, upgraded, held by a bad image,
// rolled back, refused a version, uninstalled.
func TestGatewayClass(t *testing.T) {
	for _, add := range []func() error{
		func() error { return gatewayv1.Install(admin.Scheme()) },
		func() error { return apiextensionsv1.AddToScheme(admin.Scheme()) },
	} {
		must(t, add())
	}
	withoutControlPlane(t)
	comeToRest(t, 3*time.Second)
	started := time.Now()
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: className},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}
	must(t, admin.Create(t.Context(), class))
	eventuallyInstalled(t, "1.29.1")
	t.Logf("installed %s after the class was created", time.Since(started).Round(100*time.Millisecond))
	noWarnings(t)
	eventuallyCounted(t, "CRDsReady True ManagedByCIO", "ControllerInstalled True Installed")
	t.Run("FirstRollout", func(t *testing.T) { firstRollout(t, started) })
	t.Run("Upgrade", upgrade)
	t.Run("BadImageAndRollback", badImageAndRollback)
	t.Run("UnknownVersion", unknownVersion)
	t.Run("Uninstall", uninstall)
}

// withoutControlPlane takes away what tests before have left: the CRDs and the policy stay
// when a control plane is uninstalled.
func withoutControlPlane(t *testing.T) {
	t.Helper()
	patiently(t, "the control plane of the tests before to go", func() bool {
		left := &v1alpha1.PackageList{}
		must(t, admin.List(t.Context(), left, client.MatchingLabels{v1alpha1.LabelFront: "gatewayclass"}))
		return len(left.Items) == 0
	})
	withoutIstioCRDs(t)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayclass.Namespace, Name: gatewayclass.GatewaysPolicyName}}
	must(t, client.IgnoreNotFound(admin.Delete(t.Context(), policy)))
}

// eventuallyCounted waits until the metrics have just these conditions of the class.
func eventuallyCounted(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	planetest.Eventually(t, "the conditions of the class in the metrics", func() (bool, error) {
		families, err := ctrlmetrics.Registry.Gather()
		var got []string
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels := map[string]string{}
				for _, label := range metric.GetLabel() {
					labels[label.GetName()] = label.GetValue()
				}
				if family.GetName() == "strata_front_condition" && labels["front"] == "gatewayclass" && labels["resource"] == className {
					got = append(got, labels["type"]+" "+labels["status"]+" "+labels["reason"])
				}
			}
		}
		slices.Sort(got)
		return slices.Equal(got, want), errors.Join(err, fmt.Errorf("they are %v, want %v", got, want))
	})
}

// noWarnings: a first installation has gone well, and no event says otherwise.
func noWarnings(t *testing.T) {
	t.Helper()
	eventuallyEvent(t, "default", "ControlPlaneInstalled", className)
	class := &gatewayv1.GatewayClass{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: className}, class))
	list := &eventsv1.EventList{}
	must(t, admin.List(t.Context(), list, client.InNamespace("default")))
	for _, e := range list.Items {
		if e.Regarding.UID == class.UID && e.Type == corev1.EventTypeWarning {
			t.Errorf("the class has the warning %s: %s", e.Reason, e.Note)
		}
	}
}

func eventuallyInstalled(t *testing.T, version string) {
	t.Helper()
	planetest.Eventually(t, "istiod "+version, func() (bool, error) {
		c := condition(t)
		if c == nil {
			return false, errors.New("the condition is not set")
		}
		return c.Status == metav1.ConditionTrue && c.Message == "istiod "+version+" installed", fmt.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
	})
}

func condition(t *testing.T) *metav1.Condition {
	t.Helper()
	class := &gatewayv1.GatewayClass{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: className}, class))
	return meta.FindStatusCondition(class.Status.Conditions, gatewayclass.ConditionControllerInstalled)
}

// firstRollout counts: one write an object, at most four status patches a revision, and one
// more for every five seconds that its rollout takes, as it may on a slow machine.
func firstRollout(t *testing.T, since time.Time) {
	events := requests(t, since)
	objects := writtenObjects(t, since)
	if len(objects) != 14+21 {
		t.Errorf("the CRDs and the control plane are %d objects, want 35:%s", len(objects), describe(objects))
	}
	for name, writes := range objects {
		if writes.Count > writes.Most {
			t.Errorf("%s was written %d times, want %d at most", name, writes.Count, writes.Most)
		}
	}
	patches := map[string][]time.Time{}
	for _, e := range events {
		if e.Resource == "revisions" && e.Subresource == "status" {
			patches[e.Name] = append(patches[e.Name], e.Time)
		}
	}
	for name, times := range patches {
		took := times[len(times)-1].Sub(times[0])
		if most := 4 + int(took/(5*time.Second)); len(times) > most {
			t.Errorf("revision %s had %d status patches in %s, want at most %d", name, len(times), took.Round(time.Second), most)
		}
	}
	t.Logf("first rollout, by request:%s", describe(writes(events)))
	revision := getRevision(t, gatewayclass.PackageControlPlane, 1)
	for _, entry := range revision.Status.Inventory {
		if entry.Action != "Created" {
			t.Errorf("%s %s is %s in the inventory, want Created", entry.Kind, entry.Name, entry.Action)
		}
	}
}

func annotate(t *testing.T, key, value string) {
	t.Helper()
	class := &gatewayv1.GatewayClass{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: className}, class))
	before := class.DeepCopy()
	if class.Annotations == nil {
		class.Annotations = map[string]string{}
	}
	class.Annotations[key] = value
	if value == "" {
		delete(class.Annotations, key)
	}
	must(t, admin.Patch(t.Context(), class, client.MergeFrom(before)))
}

func upgrade(t *testing.T) {
	annotate(t, gatewayclass.AnnotationIstioVersion, "1.31")
	eventuallyInstalled(t, "1.31.0")
	old := eventuallyRevision(t, gatewayclass.PackageControlPlane, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	if old.Spec.LifecycleState != v1alpha1.LifecycleArchived {
		t.Errorf("revision 1 is %s, want Archived", old.Spec.LifecycleState)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: "gateways.networking.istio.io"}, crd))
	if crd.Annotations[v1alpha1.AnnotationResourcePolicy] != v1alpha1.ResourcePolicyKeep {
		t.Errorf("the CRD's annotation %s is %q, want keep", v1alpha1.AnnotationResourcePolicy, crd.Annotations[v1alpha1.AnnotationResourcePolicy])
	}
	if _, owned := crd.Labels[gatewayclass.LabelOwned]; !owned {
		t.Errorf("the CRD lacks the label %s", gatewayclass.LabelOwned)
	}
	if len(crd.OwnerReferences) != 0 {
		t.Errorf("the CRD is retained and has owner references: %v", crd.OwnerReferences)
	}
}

func badImageAndRollback(t *testing.T) {
	annotate(t, gatewayclass.AnnotationIstiodImage, "registry.invalid/istio/pilot:broken")
	var held *v1alpha1.Revision
	planetest.Eventually(t, "revision 3 to be held by its Deployment", func() (bool, error) {
		held = &v1alpha1.Revision{}
		if err := admin.Get(t.Context(), types.NamespacedName{Name: "istiod-openshift-gateway-3"}, held); err != nil {
			return false, err
		}
		return len(held.Status.Objects) > 0 && held.Status.Objects[0].Kind == "Deployment", fmt.Errorf("objects: %v", held.Status.Objects)
	})
	if held.Status.Phases[2].State != v1alpha1.PhasePending {
		t.Errorf("phase webhooks is %s behind a gate that is closed, want Pending", held.Status.Phases[2].State)
	}
	values := &corev1.ConfigMap{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: gatewayclass.Namespace, Name: "values-" + gatewayclass.IstioRevision}, values))
	if strings.Contains(values.Data["merged-values"]+values.Data["original-values"], "registry.invalid") {
		t.Error("the istiod that serves reads the configuration of one that has not proved itself")
	}
	planetest.Eventually(t, "the package to say that revision 2 serves", func() (bool, error) {
		c := meta.FindStatusCondition(getPackage(t, gatewayclass.PackageControlPlane).Status.Conditions, v1alpha1.ConditionAvailable)
		return c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonServing, fmt.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
	})
	planetest.Eventually(t, "the class to warn of the held revision, and once of the pod", func() (bool, error) {
		c := condition(t)
		warns := strings.Contains(c.Message, "1.31.0 installed (with warning: ") && strings.Contains(c.Message, "ErrImagePull")
		return c.Status == metav1.ConditionTrue && warns, fmt.Errorf("%s: %s", c.Status, c.Message)
	})
	if text := condition(t).Message; strings.Count(text, "ErrImagePull") != 1 {
		t.Errorf("the error of the pod is there more than once: %s", text)
	}
	pkg := getPackage(t, gatewayclass.PackageControlPlane)
	since := time.Now()
	before := pkg.DeepCopy()
	pkg.Spec.Rollback = &v1alpha1.Rollback{Reason: "the image cannot be pulled", RequestedAt: metav1.Now()}
	must(t, admin.Patch(t.Context(), pkg, client.MergeFrom(before)))
	eventuallyRevision(t, gatewayclass.PackageControlPlane, 4, v1alpha1.ConditionProgressing, v1alpha1.ReasonRolledOut)
	eventuallyRevision(t, gatewayclass.PackageControlPlane, 3, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	objects := writtenObjects(t, since)
	for name, writes := range objects {
		if writes.Count > writes.Most || !strings.HasPrefix(name, "deployments ") && !strings.HasPrefix(name, "configmaps ") {
			t.Errorf("the rollback wrote %s %d times; only what the image stands in had changed", name, writes.Count)
		}
	}
	t.Logf("rollback, by object:%s", describe(objects))
	eventuallyPackage(t, pkg.Name, v1alpha1.ConditionReady, v1alpha1.ReasonRolledBack)
	planetest.Stays(t, 3*time.Second, "the rejected content is not created again", func() (bool, error) {
		c := meta.FindStatusCondition(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionReady)
		return !exists(t, &v1alpha1.Revision{}, "", "istiod-openshift-gateway-5") && c.Reason == v1alpha1.ReasonRolledBack, fmt.Errorf("Ready is %s/%s: %s", c.Status, c.Reason, c.Message)
	})
	annotate(t, gatewayclass.AnnotationIstiodImage, "")
	eventuallyInstalled(t, "1.31.0")
}

func unknownVersion(t *testing.T) {
	since := time.Now()
	annotate(t, gatewayclass.AnnotationIstioVersion, "1.30")
	planetest.Eventually(t, "the unknown version to be refused", func() (bool, error) {
		c := condition(t)
		return c.Status == metav1.ConditionFalse && c.Reason == gatewayclass.ReasonInstallFailed, fmt.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
	})
	for _, part := range []string{"1.30", className, "1.28", "1.29", "1.31", gatewayclass.AnnotationIstioVersion} {
		if text := condition(t).Message; !strings.Contains(text, part) {
			t.Errorf("the message does not name %s: %s", part, text)
		}
	}
	if objects := writtenObjects(t, since); len(objects) > 0 {
		t.Errorf("an unknown version has changed objects:%s", describe(objects))
	}
	annotate(t, gatewayclass.AnnotationIstioVersion, "1.31")
	eventuallyInstalled(t, "1.31.0")
}

func uninstall(t *testing.T) {
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: className}}
	must(t, admin.Delete(t.Context(), class))
	planetest.Eventually(t, "the class and its packages to go", func() (bool, error) {
		packages := &v1alpha1.PackageList{}
		if err := admin.List(t.Context(), packages, client.MatchingLabels{v1alpha1.LabelFront: "gatewayclass"}); err != nil {
			return false, err
		}
		return !exists(t, &gatewayv1.GatewayClass{}, "", className) && len(packages.Items) == 0, fmt.Errorf("packages: %v", packages.Items)
	})
	eventuallyCounted(t)
	if exists(t, configMapType(), gatewayclass.Namespace, "istio-openshift-gateway") {
		t.Error("the control plane's ConfigMap has outlived its package")
	}
	planetest.Eventually(t, "the content of the packages to go", func() (bool, error) {
		left := &v1alpha1.ObjectSliceList{}
		if err := admin.List(t.Context(), left); err != nil {
			return false, err
		}
		return len(left.Items) == 0, fmt.Errorf("%d slices", len(left.Items))
	})
	for _, name := range managedCRDs("1.31") {
		if !exists(t, &apiextensionsv1.CustomResourceDefinition{}, "", name) {
			t.Errorf("CRD %s was deleted; it must be retained", name)
		}
	}
}
