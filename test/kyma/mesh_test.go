// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// an Istio resource of a name, with a spec in YAML of one line.
func istio(name, spec string) string {
	return fmt.Sprintf("{apiVersion: operator.kyma-project.io/v1alpha2, kind: Istio, metadata: {name: %s, namespace: kyma-system}, spec: %s}", name, spec)
}

// remove deletes an object, and waits until it is gone.
func remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := admin.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	eventually(t, o.GetName()+" to be gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), err
	})
}

func named(name string) *v1alpha2.Istio {
	return &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: name}}
}

// deployed is an object of the mesh, nil when it is not there.
func deployed(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind})
	err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return o
}

func mesh(t *testing.T) *v1alpha1.Package {
	t.Helper()
	pkg := &v1alpha1.Package{}
	if err := admin.Get(t.Context(), types.NamespacedName{Name: "kyma-istio"}, pkg); err != nil {
		t.Fatal(err)
	}
	return pkg
}

// TestMesh goes through what can happen to one mesh.
func TestMesh(t *testing.T) {
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: kyma-system}}")
	if !t.Run("Poison", poison) {
		return
	}
	invalidTag(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"Rests", rests}, {"Several", several}, {"Measured", measured}, {"Features", features}, {"BadSpec", badSpec}, {"Owner", owner}, {"Finalizer", finalizer}, {"Gateway", gateway},
		{"Filter", filter}, {"Size", size}, {"Image", image}, {"Experimental", experimental}, {"DualStack", dualStack}, {"Balancer", balancer}, {"Deletion", deletion},
		{"Orphan", orphan}, {"Purge", purge},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}

// At rest no controller writes to the mesh.
func rests(t *testing.T) {
	eventually(t, "the restarts to be looked at", func() (bool, error) {
		conditions := state(t, "mesh", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded).Status.Conditions
		return meta.IsStatusConditionTrue(*conditions, v1alpha2.ConditionProxySidecarRestartSucceeded), nil
	})
	rested(t, "the resource and its package", func() string {
		return state(t, "mesh", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded).ResourceVersion + ", " + mesh(t).ResourceVersion
	})
	if after := state(t, "mesh", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded); after.Annotations[v1alpha2.AnnotationLastApplied] != `{"config":{"telemetry":{"metrics":{}}},"IstioTag":"1.31.0-distroless"}` {
		t.Errorf("what was applied last is %s", after.Annotations[v1alpha2.AnnotationLastApplied])
	}
}

// The oldest describes the mesh. When it goes, the next takes its place and the mesh stays.
func several(t *testing.T) {
	before := deployed(t, "Deployment", "istiod")
	manifest(t, istio("second", "{components: {egressGateway: {enabled: true}}}"))
	state(t, "second", v1alpha2.StateError, v1alpha2.ReasonOlderCRExists)
	if deployed(t, "Deployment", "istio-egressgateway") != nil {
		t.Error("the younger resource has had its way")
	}
	remove(t, named("mesh"))
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	if after := deployed(t, "Deployment", "istiod"); after == nil || after.GetUID() != before.GetUID() {
		t.Error("the mesh was taken away in between")
	}
	if deployed(t, "Deployment", "istio-egressgateway") == nil {
		t.Error("the resource that has taken over has had no effect")
	}
}

func filter(t *testing.T) {
	manifest(t, "{apiVersion: networking.istio.io/v1alpha3, kind: EnvoyFilter, metadata: {name: mine, namespace: istio-system}, spec: {workloadSelector: {labels: {istio: ingressgateway}}}}")
	istio := state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonReconcileFailed)
	if !strings.Contains(istio.Status.Description, "istio-system/mine") {
		t.Errorf("the EnvoyFilter is not named: %s", istio.Status.Description)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"})
	o.SetNamespace("istio-system")
	o.SetName("mine")
	remove(t, o)
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}

// A cluster that shrinks gets one new revision, and one that breathes gets none.
func size(t *testing.T) {
	nodes := &corev1.NodeList{}
	if err := admin.List(t.Context(), nodes); err != nil || len(nodes.Items) != 1 {
		t.Fatalf("there are %d nodes: %v", len(nodes.Items), err)
	}
	node := &nodes.Items[0]
	was := node.Status.Capacity[corev1.ResourceCPU]
	set := func(cpu string) {
		before := node.DeepCopy()
		node.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpu)
		if err := admin.Status().Patch(t.Context(), node, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	defer set(was.String())
	first := mesh(t).Status.CurrentRevision
	set("4500m")
	planetest.Stays(t, 2*time.Second, "a cluster that lacks less than a fifth leads to no revision", func() (bool, error) {
		now := mesh(t).Status.TargetRevision
		return now == first, fmt.Errorf("it has led to revision %d", now)
	})
	set("3")
	eventually(t, "the revision for a small cluster", func() (bool, error) { return mesh(t).Status.CurrentRevision == first+1, nil })
	eventually(t, "the size to be reported", func() (bool, error) {
		message := (*state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded).Status.Conditions)[0].Message
		return strings.Contains(message, "Evaluation"), fmt.Errorf("%s", message)
	})
	events := &corev1.EventList{}
	eventually(t, "the event", func() (bool, error) {
		err := admin.List(t.Context(), events, client.InNamespace("kyma-system"))
		for i := range events.Items {
			if events.Items[i].Reason == "ClusterSizeChanged" {
				return true, nil
			}
		}
		return false, err
	})
}

// An image that cannot be pulled: the pod is named, and what ran before serves.
func image(t *testing.T) {
	before := mesh(t).Status.CurrentRevision
	const hub = "registry.invalid/istio/"
	variables := []string{"pilot", hub + "pilot:1.31.0-broken", "proxyv2", hub + "proxyv2:1.31.0-broken", "install-cni", hub + "install-cni:1.31.0-broken"}
	if err := startManager(t.Context(), "1.31", variables...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be named", func() (bool, error) {
		istio := named("second")
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(istio), istio)
		text := istio.Status.Description
		return istio.Status.State == v1alpha2.StateProcessing && strings.Contains(text, "istiod") && strings.Contains(text, "pod"), fmt.Errorf("%w: %s", err, text)
	})
	pkg := mesh(t)
	if pkg.Status.CurrentRevision < before || pkg.Status.CurrentRevision == pkg.Status.TargetRevision {
		t.Errorf("revision %d runs, and revision %d is rolled out", pkg.Status.CurrentRevision, pkg.Status.TargetRevision)
	}
	if gateway := deployed(t, "Deployment", "istio-ingressgateway"); strings.Contains(fmt.Sprint(gateway.Object), "broken") {
		t.Error("the gateway was changed before istiod has worked")
	}
	if agent := deployed(t, "DaemonSet", "istio-cni-node"); strings.Contains(fmt.Sprint(agent.Object), "broken") {
		t.Error("the node agent was changed before istiod has worked")
	}
	for _, name := range []string{"istio-sidecar-injector", "istio"} {
		config := &corev1.ConfigMap{}
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: name}, config); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(config.Data), "broken") {
			t.Errorf("new pods are given what ConfigMap %s says of the istiod that does not work", name)
		}
	}
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}

// A deletion that is blocked is undone by another resource, and can be forced.
func deletion(t *testing.T) {
	manifest(t, "{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: mine, namespace: default}, spec: {}}")
	if err := admin.Delete(t.Context(), named("second")); err != nil {
		t.Fatal(err)
	}
	state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonIstioCustomResourcesDangling)
	blocked(t)
	before := deployed(t, "Deployment", "istiod")
	manifest(t, istio("third", "{}"))
	remove(t, named("second"))
	state(t, "third", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	if after := deployed(t, "Deployment", "istiod"); after == nil || after.GetUID() != before.GetUID() {
		t.Error("the mesh was taken away")
	}
	if err := admin.Delete(t.Context(), named("third")); err != nil {
		t.Fatal(err)
	}
	third := state(t, "third", v1alpha2.StateWarning, v1alpha2.ReasonIstioCustomResourcesDangling)
	changed := third.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1alpha2.AnnotationForceDelete, "true")
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(third)); err != nil {
		t.Fatal(err)
	}
	remove(t, named("third"))
	if deployed(t, "Deployment", "istiod") != nil {
		t.Error("the mesh is still there")
	}
	restsAfter(t)
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "Sidecar"})
	o.SetNamespace("default")
	o.SetName("mine")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Errorf("what users have made did not outlive the mesh: %v", err)
	}
	remove(t, o)
}

// Gateways are replaced once for a trust domain, by the rollout itself, whatever else changes
// with it. A change that they are
// restarted for does not hold while they wait for that: then the mesh is not ready.
func gateway(t *testing.T) {
	generation := func() int64 { return deployed(t, "Deployment", "istio-ingressgateway").GetGeneration() }
	settled := func(spec string) int64 {
		t.Helper()
		manifest(t, istio("second", spec))
		eventually(t, "the mesh to be ready, and no proxy outdated", func() (bool, error) {
			now := state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
			return meta.IsStatusConditionTrue(*now.Status.Conditions, v1alpha2.ConditionProxySidecarRestartSucceeded), fmt.Errorf("%+v", *now.Status.Conditions)
		})
		rested(t, "the gateway", func() string { return fmt.Sprint(generation()) })
		return generation()
	}
	const egress = "components: {egressGateway: {enabled: true}}"
	first := generation()
	if now := settled("{" + egress + ", config: {trustDomain: mesh.example.com}}"); now != first+1 {
		t.Errorf("after a change of the trust domain the gateway is of generation %d, want %d", now, first+1)
	}
	annotate := func(value any) {
		t.Helper()
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha2.AnnotationRestartWindow: value}}})
		must(t, err)
		must(t, admin.Patch(t.Context(), named("second"), client.RawPatch(types.MergePatchType, patch)))
	}
	opens := time.Now().UTC().Add(3 * time.Hour)
	annotate(opens.Format("15:04-") + opens.Add(time.Hour).Format("15:04"))
	const trusted = "{" + egress + ", config: {trustDomain: mesh.example.com, numTrustedProxies: 4}}"
	manifest(t, istio("second", trusted))
	waits := state(t, "second", v1alpha2.StateProcessing, v1alpha2.ReasonReconcileRequeued)
	if text := waits.Status.Description; !strings.Contains(text, "NumTrustedProxies") || !strings.Contains(text, "window") {
		t.Errorf("the description is %s", text)
	}
	if now := generation(); now != first+1 {
		t.Errorf("the gateway is of generation %d while the window is closed, want %d", now, first+1)
	}
	annotate(nil)
	if now := settled(trusted); now != first+2 {
		t.Errorf("after its restart the gateway is of generation %d, want %d", now, first+2)
	}
	// One edit of both: the rollout makes its pods anew, and they have the setting.
	const both = "{" + egress + ", config: {trustDomain: mesh2.example.com, numTrustedProxies: 5}}"
	if now := settled(both); now != first+3 {
		t.Errorf("after a change of both the gateway is of generation %d, want %d", now, first+3)
	}
	settled("{" + egress + "}")
}

// A finalizer that a user takes off comes back: a mesh without a resource would be left else. So
// does a status.
func finalizer(t *testing.T) {
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":null,"description":"","state":"Error"}}`))
	must(t, admin.Status().Patch(t.Context(), named("second"), status))
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	must(t, admin.Patch(t.Context(), named("second"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	eventually(t, "the finalizer to come back", func() (bool, error) {
		now := named("second")
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(now), now)
		return controllerutil.ContainsFinalizer(now, v1alpha2.Finalizer), err
	})
}

// A mesh whose resource went without its finalizer stays while users have custom resources, its
// package says so, and another resource takes it over.
func orphan(t *testing.T) {
	manifest(t, istio("fourth", "{}"))
	state(t, "fourth", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	manifest(t, "{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: mine, namespace: default}, spec: {}}")
	before := deployed(t, "Deployment", "istiod")
	must(t, admin.Patch(t.Context(), named("fourth"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	must(t, admin.Delete(t.Context(), named("fourth")))
	eventually(t, "an event on the package", func() (bool, error) {
		events := &corev1.EventList{}
		err := admin.List(t.Context(), events, client.InNamespace("default"))
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == "MeshWithoutResource" && e.InvolvedObject.Name == "kyma-istio" && strings.Contains(e.Message, "Sidecar default/mine") {
				return true, nil
			}
		}
		return false, err
	})
	manifest(t, istio("fourth", "{}"))
	state(t, "fourth", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	if after := deployed(t, "Deployment", "istiod"); after == nil || after.GetUID() != before.GetUID() {
		t.Error("the mesh was taken away")
	}
	remove(t, untyped("networking.istio.io/v1", "Sidecar", "default", "mine"))
}

// What a mesh leaves in place goes with it when its resource asks for that.
func purge(t *testing.T) {
	state(t, "fourth", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	must(t, admin.Patch(t.Context(), named("fourth"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha2.AnnotationPurge+`":"true"}}}`))))
	crd := untyped("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "sidecars.networking.istio.io")
	namespace := untyped("v1", "Namespace", "", "istio-system")
	for _, o := range []*unstructured.Unstructured{crd, namespace} {
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	}
	remove(t, named("fourth"))
	for _, o := range []*unstructured.Unstructured{crd, namespace} {
		eventually(t, o.GetName()+" to be gone", func() (bool, error) {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			return apierrors.IsNotFound(err), err
		})
	}
}
