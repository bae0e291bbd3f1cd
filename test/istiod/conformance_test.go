// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
)

// statusTests are those of Gateway API's own conformance tests that look at statuses alone:
// no proxy answers here.
var statusTests = []string{
	"BackendTLSPolicyObservedGenerationBump",
	"GatewayInvalidRouteKind",
	"GatewayModifyListeners",
	"GatewayObservedGenerationBump",
	"GatewayWithAttachedRoutes",
	"HTTPRouteInvalidCrossNamespaceParentRef",
	"HTTPRouteInvalidParentRefNotMatchingListenerPort",
	"HTTPRouteInvalidParentRefNotMatchingSectionName",
	"HTTPRouteObservedGenerationBump",
}

// routeTests are the ones that a Gateway on the canary has to pass as well.
var routeTests = []string{
	"HTTPRouteInvalidCrossNamespaceParentRef",
	"HTTPRouteInvalidParentRefNotMatchingSectionName",
	"HTTPRouteObservedGenerationBump",
}

// conform: routes and policies, which carry no label, get their status, although a service
// mesh in the same cluster is the default of Istio.
func conform(t *testing.T) {
	addMesh(t)
	run := newSuite(t)
	for _, name := range statusTests {
		t.Run(name, func(t *testing.T) { runConformance(t, run, name) })
	}
}

func runConformance(t *testing.T, run *suite.ConformanceTestSuite, name string) {
	t.Helper()
	i := slices.IndexFunc(tests.ConformanceTests, func(test suite.ConformanceTest) bool { return test.ShortName == name })
	if i < 0 {
		t.Fatalf("Gateway API has no conformance test %s", name)
	}
	test := tests.ConformanceTests[i]
	test.Parallel = false
	run.RunTest = name // or else it is skipped for a feature that was not declared
	test.Run(t, run)
}

// newSuite prepares the cluster as the conformance tests want it, but for what serves
// traffic, and plays the load balancer.
func newSuite(t *testing.T) *suite.ConformanceTestSuite {
	t.Helper()
	balanceAll(t)
	run, err := suite.NewConformanceTestSuite(suite.ConformanceOptions{
		Client: admin, RestConfig: plane.Config(), ManifestFS: []fs.FS{conformance.Manifests},
		ConfigurableOptions: suite.ConfigurableOptions{
			GatewayClassName: gatewayclass.DefaultClassName, CleanupTestResources: true, AllowCRDsMismatch: true,
			SupportedFeatures: []features.FeatureName{features.SupportGateway, features.SupportHTTPRoute, features.SupportHTTPRouteParentRefPort, features.SupportBackendTLSPolicy},
		},
	})
	must(t, err)
	run.ControllerName = gatewayclass.ControllerName
	run.Applier.ManifestFS, run.Applier.GatewayClass, run.Applier.ControllerName = run.ManifestFS, run.GatewayClassName, run.ControllerName
	for _, object := range baseObjects(t) {
		if err := admin.Create(t.Context(), object); !apierrors.IsAlreadyExists(err) {
			must(t, err)
		}
	}
	bundle, _, _ := kubernetes.MustCreateCACertConfigMap(t, suite.InfrastructureNamespace, "tls-checks-ca-certificate")
	certificate := kubernetes.MustCreateSelfSignedCertSecret(t, suite.InfrastructureNamespace, "tls-validity-checks-certificate", []string{"*"})
	for _, object := range []client.Object{bundle, certificate} {
		if err := admin.Create(t.Context(), object); !apierrors.IsAlreadyExists(err) {
			must(t, err)
		}
	}
	return run
}

// baseObjects are the namespaces, Services and Gateways that the conformance tests share.
// The pods of the backends, and Gateways with certificates, are for tests with traffic.
func baseObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	file, err := conformance.Manifests.Open("base/manifests.yaml")
	must(t, err)
	defer func() { must(t, file.Close()) }()
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		switch object.GetKind() {
		case "Namespace", "Service":
			all = append(all, object)
		case "Gateway":
			listeners, _, _ := unstructured.NestedSlice(object.Object, "spec", "listeners")
			if slices.ContainsFunc(listeners, func(l any) bool { return l.(map[string]any)["protocol"] != "HTTP" }) {
				continue
			}
			must(t, unstructured.SetNestedField(object.Object, gatewayclass.DefaultClassName, "spec", "gatewayClassName"))
			all = append(all, object)
		}
	}
}

// addMesh makes the cluster have a service mesh that is the default of Istio, by both of the
// marks that there are. They carry no webhook, as no server would answer.
func addMesh(t *testing.T) {
	t.Helper()
	labels := map[string]string{"istio.io/rev": "default", "istio.io/tag": "default"}
	for _, object := range []client.Object{
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "istiod-default-validator", Labels: labels}},
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "istio-revision-tag-default", Labels: labels}},
	} {
		must(t, admin.Create(t.Context(), object))
		t.Cleanup(func() {
			if err := admin.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		})
	}
}

// balanceAll gives every load balancer an address until the test ends.
func balanceAll(t *testing.T) {
	t.Helper()
	watching, err := client.NewWithWatch(plane.Config(), client.Options{Scheme: admin.Scheme()})
	must(t, err)
	services, err := watching.Watch(t.Context(), &corev1.ServiceList{})
	must(t, err)
	done := make(chan struct{})
	t.Cleanup(func() {
		services.Stop()
		<-done
	})
	go func() {
		defer close(done)
		for event := range services.ResultChan() {
			service, ok := event.Object.(*corev1.Service)
			if !ok || event.Type == watch.Deleted || service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
				continue
			}
			before := service.DeepCopy()
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.20"}}
			if err := watching.Status().Patch(t.Context(), service, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				t.Errorf("playing the load balancer of %s: %v", service.Name, err)
			}
		}
	}()
}

// besideCanary: a Gateway that was moved to a canary keeps its routes, and they their status,
// which the first istiod writes.
func besideCanary(t *testing.T) {
	annotate(t, fmt.Sprintf(`{%q:"1.31"}`, gatewayclass.AnnotationCanaryVersion))
	canary := ofClasses(gatewayclass.CanaryRevision)
	canary.start(t)
	run := newSuite(t)
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: suite.InfrastructureNamespace, Name: "moved"}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "same-namespace"}}
	must(t, admin.Create(t.Context(), route))
	moveGateway(t, gatewayclass.CanaryRevision)
	attached := func() string {
		gateway := get(t, &gatewayv1.Gateway{}, suite.InfrastructureNamespace, "same-namespace")
		if n := len(gateway.Status.Listeners); n != 1 || gateway.Status.Listeners[0].AttachedRoutes != 1 {
			return fmt.Sprintf("the listeners are %v", gateway.Status.Listeners)
		}
		if parents := get(t, &gatewayv1.HTTPRoute{}, route.Namespace, route.Name).Status.Parents; len(parents) != 1 {
			return fmt.Sprintf("the route has the parents %v", parents)
		}
		return ""
	}
	eventually(t, "the route on the Gateway of the canary", attached)
	must(t, admin.Delete(t.Context(), route))
	for _, name := range routeTests {
		t.Run(name, func(t *testing.T) { runConformance(t, run, name) })
	}
	moveGateway(t, gatewayclass.IstioRevision)
	annotate(t, fmt.Sprintf(`{%q:null}`, gatewayclass.AnnotationCanaryVersion))
	eventually(t, "the canary to go", func() string {
		err := admin.Get(t.Context(), types.NamespacedName{Name: gatewayclass.PackageCanary}, &v1alpha1.Package{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("its package is there (%v)", err)
	})
	canary.stop(t)
	eventuallyClass(t)
}

// moveGateway has another istiod serve the Gateway of the conformance tests.
func moveGateway(t *testing.T, revision string) {
	t.Helper()
	gateway := get(t, &gatewayv1.Gateway{}, suite.InfrastructureNamespace, "same-namespace")
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, gatewayclass.LabelRevision, revision)
	must(t, admin.Patch(t.Context(), gateway, client.RawPatch(types.MergePatchType, []byte(patch))))
}
