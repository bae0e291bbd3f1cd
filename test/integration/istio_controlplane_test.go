// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

func ours(t *testing.T) {
	t.Helper()
	withGatewayKinds(t)
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOwned: "true"})
}

// annotateClass sets an annotation of a class, or removes it if the value is empty.
func annotateClass(t *testing.T, name, key, value string) {
	t.Helper()
	class := &gatewayv1.GatewayClass{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: name}, class))
	changed := class.DeepCopy()
	if value == "" {
		delete(changed.Annotations, key)
	} else {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	must(t, admin.Patch(t.Context(), changed, client.MergeFrom(class)))
}

// newGateway makes a Gateway of a class.
func newGateway(t *testing.T, namespace, name, class string, labels map[string]string) *gatewayv1.Gateway {
	t.Helper()
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: gatewayv1.ObjectName(class),
			Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
		},
	}
	must(t, admin.Create(t.Context(), gateway))
	return gateway
}

func revisionOfGateway(t *testing.T, gateway *gatewayv1.Gateway) string {
	t.Helper()
	current := &gatewayv1.Gateway{}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(gateway), current))
	return current.Labels[gatewayclass.LabelRevision]
}

// TestIstioControlPlane_Classes: two classes share an istiod, each has both conditions,
// and it goes with the last one. Its Gateways are labelled, and others are not.
func TestIstioControlPlane_Classes(t *testing.T) {
	ours(t)
	namespace := planetest.Namespace(t, plane)
	early := newGateway(t, namespace, "early", "two", nil)
	chosen := newGateway(t, namespace, "chosen", "one", map[string]string{gatewayclass.LabelRevision: "mine"})
	foreign := newGateway(t, namespace, "foreign", "other", nil)
	newClass(t, "one", nil)
	newClass(t, "two", nil)
	late := newGateway(t, namespace, "late", "one", nil)
	for _, class := range []string{"one", "two"} {
		eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")
		eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO", byCIO)
		planetest.Eventually(t, "the start of istiod to be marked on class "+class, func() (bool, error) {
			current := &gatewayv1.GatewayClass{}
			must(t, admin.Get(t.Context(), types.NamespacedName{Name: class}, current))
			mark := current.Annotations[gatewayclass.AnnotationSync]
			return strings.HasPrefix(mark, fmt.Sprintf("%d-", istiodDeployment(t).Generation)), fmt.Errorf("it is %q", mark)
		})
		// A class that comes when istiod is installed already has them a moment later.
		planetest.Eventually(t, "the defaults of class "+class, func() (bool, error) {
			return exists(t, &corev1.ConfigMap{}, gatewayclass.Namespace, "istio-openshift-gateway-gatewayclass-"+class), nil
		})
	}
	for _, gateway := range []*gatewayv1.Gateway{early, late} {
		planetest.Eventually(t, gateway.Name+" to be labelled", func() (bool, error) {
			return revisionOfGateway(t, gateway) == gatewayclass.IstioRevision, nil
		})
	}
	if got := revisionOfGateway(t, chosen); got != "mine" {
		t.Errorf("a label that was there has become %q", got)
	}
	if got := revisionOfGateway(t, foreign); got != "" {
		t.Errorf("a Gateway of another class was labelled %q", got)
	}
	eventuallyEvent(t, namespace, "AddedLabel", "early")
	moveAway(t, namespace, early, chosen)

	deployment := istiodDeployment(t)
	deleteClass(t, "one")
	planetest.Eventually(t, "the defaults of the class to go", func() (bool, error) {
		return !exists(t, &corev1.ConfigMap{}, gatewayclass.Namespace, "istio-openshift-gateway-gatewayclass-one"), nil
	})
	if now := istiodDeployment(t); now.UID != deployment.UID || now.Generation != deployment.Generation {
		t.Error("istiod was touched when one of two classes went")
	}
	deleteClass(t, "two")
	if exists(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane) {
		t.Error("istiod has outlived the last class")
	}
	if len(istioCRDs(t)) < 14 {
		t.Error("CRDs have gone with the last class")
	}
	if got := revisionOfGateway(t, early); got != gatewayclass.IstioRevision {
		t.Errorf("the label of a Gateway is %q after its class", got)
	}
}

// eventuallyEvent waits for an event about an object of a namespace.
func eventuallyEvent(t *testing.T, namespace, reason, name string) {
	t.Helper()
	planetest.Eventually(t, "event "+reason, func() (bool, error) {
		list := &corev1.EventList{}
		if err := admin.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == reason && e.InvolvedObject.Name == name }), nil
	})
}

// moveAway moves Gateways to the class of another controller: they lose the label that we have
// put there, and no other.
func moveAway(t *testing.T, namespace string, labelled, chosen *gatewayv1.Gateway) {
	t.Helper()
	must(t, admin.Create(t.Context(), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: "example.com/gateways"},
	}))
	t.Cleanup(func() { deleteClass(t, "theirs") })
	move := func(gateway *gatewayv1.Gateway, change string) {
		t.Helper()
		must(t, admin.Patch(t.Context(), gateway, client.RawPatch(types.MergePatchType, []byte(change))))
	}
	move(chosen, `{"metadata":{"labels":{"istio.io/rev":"openshift-gateway"}},"spec":{"gatewayClassName":"theirs"}}`)
	move(labelled, `{"spec":{"gatewayClassName":"theirs"}}`)
	planetest.Eventually(t, "the label to go", func() (bool, error) { return revisionOfGateway(t, labelled) == "", nil })
	eventuallyEvent(t, namespace, "RemovedLabel", labelled.Name)
	if got := revisionOfGateway(t, chosen); got != gatewayclass.IstioRevision {
		t.Errorf("the label of a user has become %q", got)
	}
	move(labelled, `{"spec":{"gatewayClassName":"two"}}`)
	planetest.Eventually(t, "the label to come back", func() (bool, error) { return revisionOfGateway(t, labelled) == gatewayclass.IstioRevision, nil })
}

// TestIstioControlPlane_DeletedInMidRollout: a class that goes before istiod is ready
// leaves nothing behind.
func TestIstioControlPlane_DeletedInMidRollout(t *testing.T) {
	ours(t)
	newClass(t, "hasty", map[string]string{gatewayclass.AnnotationIstiodImage: "registry.invalid/istio/pilot:broken"})
	planetest.Eventually(t, "the rollout to be held by its Deployment", func() (bool, error) {
		return exists(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane), nil
	})
	c := eventuallyCondition(t, "hasty", gatewayclass.ConditionControllerInstalled, "Unknown/Pending")
	t.Logf("meanwhile: %s", c.Message)
	deleteClass(t, "hasty")
	packages := &v1alpha1.PackageList{}
	must(t, admin.List(t.Context(), packages, client.MatchingLabels{v1alpha1.LabelFront: "gatewayclass"}))
	if len(packages.Items) > 0 || exists(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane) {
		t.Errorf("%d packages are left", len(packages.Items))
	}
}

// TestIstioControlPlane_Platform: what OpenShift's own configuration asks for reaches
// istiod when its kinds come, and goes with them.
func TestIstioControlPlane_Platform(t *testing.T) {
	ours(t)
	const class = "platform"
	newClass(t, class, nil)
	eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")
	installKinds(t, apiextensionsv1.ClusterScoped,
		[4]string{"config.openshift.io", "v1", "Proxy", "proxies"},
		[4]string{"config.openshift.io", "v1", "Infrastructure", "infrastructures"},
		[4]string{"config.openshift.io", "v1", "APIServer", "apiservers"})
	field := func(section string, value map[string]any) func(o *unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.Object[section] = value }
	}
	newObject(t, "config.openshift.io/v1", "Proxy", "", "cluster", field("status", map[string]any{"httpProxy": "http://proxy:3128", "noProxy": ".svc"}))
	newObject(t, "config.openshift.io/v1", "Infrastructure", "", "cluster", field("status", map[string]any{"infrastructureTopology": "SingleReplica"}))
	server := newObject(t, "config.openshift.io/v1", "APIServer", "", "cluster", field("spec", map[string]any{"tlsSecurityProfile": map[string]any{"type": "Modern"}}))
	mesh := func(parts ...string) {
		t.Helper()
		planetest.Eventually(t, "the configuration of istiod", func() (bool, error) {
			config := configMap(t, gatewayclass.Namespace, "istio-openshift-gateway").Data["mesh"]
			for _, part := range parts {
				if unwanted, not := strings.CutPrefix(part, "!"); not == strings.Contains(config, strings.TrimPrefix(part, "!")) {
					return false, fmt.Errorf("about %s: %s", unwanted, config)
				}
			}
			return true, nil
		})
	}
	mesh("HTTP_PROXY: http://proxy:3128", "no_proxy: .svc", "minProtocolVersion: TLSV1_3")
	planetest.Eventually(t, "gateways to run once", func() (bool, error) {
		text := configMap(t, gatewayclass.Namespace, "istio-openshift-gateway-gatewayclass-"+class).Data["horizontalPodAutoscaler"]
		return strings.Contains(text, "minReplicas: 1"), errors.New(text)
	})
	changed := server.DeepCopy()
	changed.Object["spec"] = map[string]any{}
	must(t, admin.Patch(t.Context(), changed, client.MergeFrom(server)))
	mesh("minProtocolVersion: TLSV1_2", "ECDHE-RSA-AES128-GCM-SHA256", "!TLSV1_3")
	must(t, admin.Delete(t.Context(), changed))
	mesh("!minProtocolVersion", "HTTP_PROXY")
}

// TestIstioControlPlane_Upgrade goes through all versions in place and back, with CRDs that
// never go back, and then runs a canary beside the newest.
func TestIstioControlPlane_Upgrade(t *testing.T) {
	ours(t)
	const class = "upgrade"
	newClass(t, class, map[string]string{gatewayclass.AnnotationIstioVersion: "1.28"})
	eventuallyInstalledOf(t, class, "istiod 1.28.2 installed")
	for _, step := range []struct{ version, app, crds string }{{"1.29", "1.29.1", "1.29.1"}, {"1.31", "1.31.0", "1.31.0"}, {"1.29", "1.29.1", "1.31.0"}} {
		annotateClass(t, class, gatewayclass.AnnotationIstioVersion, step.version)
		eventuallyInstalledOf(t, class, "istiod "+step.app+" installed")
		eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO")
		crds := istioCRDs(t)
		for _, name := range managedCRDs(step.crds) {
			if got := crds[name].Annotations[gatewayclass.AnnotationAppVersion]; got != step.crds {
				t.Errorf("with istiod %s, CRD %s is of %s, want %s", step.app, name, got, step.crds)
			}
		}
	}

	// A canary beside 1.29 would lose traffic.
	annotateClass(t, class, gatewayclass.AnnotationCanaryVersion, "1.31")
	istiodIsInstalled(t, class, "1.29.1", "canary: ", "upgrade in place")
	if exists(t, &v1alpha1.Package{}, "", gatewayclass.PackageCanary) {
		t.Error("a canary that is refused has a package")
	}
	annotateClass(t, class, gatewayclass.AnnotationIstioVersion, "1.31")
	t.Run("Canary", func(t *testing.T) { canary(t, class) })
}

// canary runs one beside 1.31, moves a Gateway to it and back, and aborts.
func canary(t *testing.T, class string) {
	eventuallyInstalledOf(t, class, "istiod 1.31.0 installed")
	first := istiodDeployment(t)
	planetest.Eventually(t, "the canary to be available", func() (bool, error) {
		pkg := &v1alpha1.Package{}
		if err := admin.Get(t.Context(), types.NamespacedName{Name: gatewayclass.PackageCanary}, pkg); err != nil {
			return false, err
		}
		return pkg.Status.CurrentRevision == 1, errors.New(message(pkg.Status.Conditions, v1alpha1.ConditionProgressing))
	})
	if now := istiodDeployment(t); now.UID != first.UID || now.Generation != first.Generation {
		t.Error("the canary has changed the first istiod")
	}
	gateway := newGateway(t, planetest.Namespace(t, plane), "moved", class, nil)
	planetest.Eventually(t, "the Gateway to be labelled", func() (bool, error) { return revisionOfGateway(t, gateway) == gatewayclass.IstioRevision, nil })
	move := func(to string) {
		t.Helper()
		current := &gatewayv1.Gateway{}
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(gateway), current))
		changed := current.DeepCopy()
		changed.Labels[gatewayclass.LabelRevision] = to
		must(t, admin.Patch(t.Context(), changed, client.MergeFrom(current)))
	}
	move(gatewayclass.CanaryRevision) // which the cache need not know of when the class changes
	annotateClass(t, class, gatewayclass.AnnotationCanaryVersion, "")
	istiodIsInstalled(t, class, "1.31.0", "it is not asked for any more, and stays while it serves Gateways", gateway.Namespace+"/moved")
	if !exists(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageCanary) {
		t.Error("a canary that serves a Gateway was taken away")
	}
	move(gatewayclass.IstioRevision)
	planetest.Eventually(t, "the canary to go", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: gatewayclass.PackageCanary}, &v1alpha1.Package{})
		return apierrors.IsNotFound(err), err
	})
	eventuallyInstalledOf(t, class, "istiod 1.31.0 installed")
	if now := istiodDeployment(t); now.UID != first.UID || now.Generation != first.Generation {
		t.Error("the end of the canary has changed the first istiod")
	}
}
