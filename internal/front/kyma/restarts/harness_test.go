// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

const (
	newImage = "example.org/proxyv2:1.31.0"
	oldImage = "example.org/proxyv2:1.30.0"
)

// counts is a meter.
type counts struct {
	causes                  map[string]int
	pending, failed, manual int
}

func (c *counts) Restarted(cause string) { c.causes[cause]++ }
func (c *counts) Restarts(pending, failed, manual int) {
	c.pending, c.failed, c.manual = pending, failed, manual
}

// cluster is a controller on an API server in memory, with a mesh that may be rolled out. The
// cluster's other controllers are played by settle.
type cluster struct {
	t      *testing.T
	api    client.WithWatch
	c      *Controller
	meter  *counts
	events *toolsevents.FakeRecorder
	now    time.Time
	timers map[Workload]time.Time

	// injected is the image that new pods get a sidecar with, empty for none, and injectorStatus what the
	// injector tells of it on them.
	injected, injectorStatus string
	// egress says that the mesh has an egress gateway.
	egress bool
	// broken workloads have pods that do not come up.
	broken map[string]bool
	// refuse, when set, is the answer to a restart of a workload.
	refuse map[string]error
	// unlisted, when set, is the answer to a list of pods.
	unlisted error
	// undeletable, when set, is the answer to a deletion.
	undeletable error
	// unreadable, when set, is the answer to a read of an object.
	unreadable map[string]error
	// configured is when the configuration of the mesh was written, which the API in memory would
	// tell by the clock of this machine.
	configured time.Time
	// filters are the EnvoyFilters of the mesh.
	filters []metav1.PartialObjectMetadata
	// sets are workloads that keep their pods.
	sets []set
	// stale, when set, is what the cache tells of Istio resources.
	stale    *v1alpha2.IstioList
	restarts map[string]int
	// rolled is how many of them were played.
	rolled   map[string]int
	requests int
	passes   int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(corev1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme), appsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), injected: newImage, injectorStatus: "{}", meter: &counts{causes: map[string]int{}},
		broken: map[string]bool{}, refuse: map[string]error{}, unreadable: map[string]error{}, restarts: map[string]int{}, rolled: map[string]int{}, events: toolsevents.NewFakeRecorder(100),
	}
	phase := func(o client.Object) []string { return []string{string(o.(*corev1.Pod).Status.Phase)} }
	c.api = fake.NewClientBuilder().WithScheme(scheme).WithIndex(&corev1.Pod{}, "status.phase", phase).WithReturnManagedFields().Build()
	c.namespace("shop", nil)
	c.start()
	return c
}

// start makes another controller, which remembers nothing.
func (c *cluster) start() {
	cached := interceptor.NewClient(c.api, interceptor.Funcs{List: c.listCached})
	live := interceptor.NewClient(c.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			c.requests++
			if err := c.unreadable[key.String()]; err != nil {
				return err
			}
			if config, ok := o.(*metav1.PartialObjectMetadata); ok && key.Name == servicemesh.MeshConfigMap && !c.configured.IsZero() {
				config.ManagedFields = []metav1.ManagedFieldsEntry{
					{Manager: "early", Time: new(metav1.NewTime(c.configured.Add(-time.Hour)))}, {Manager: "strata", Time: new(metav1.NewTime(c.configured))},
				}
				return nil
			}
			return api.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			c.requests++
			if _, pods := list.(*corev1.PodList); pods && c.unlisted != nil {
				return c.unlisted
			}
			if partial, ok := list.(*metav1.PartialObjectMetadataList); ok && partial.Kind == filterKind.Kind+"List" {
				partial.Items = c.filters
				return nil
			}
			return api.List(ctx, list, options...)
		},
		Patch: c.patched,
		Delete: func(ctx context.Context, api client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			c.requests++
			if c.undeletable != nil {
				return c.undeletable
			}
			return api.Delete(ctx, o, options...)
		},
	})
	c.timers = map[Workload]time.Time{}
	c.c = &Controller{
		Config: Config{
			Recorder: c.events, Meter: c.meter, Changed: func() {},
			Settings: Settings{Limit: 2, Deadline: 10 * time.Minute, Interval: 10 * time.Hour},
		},
		cache: cached, live: live, writer: live, served: func() bool { return true }, now: func() time.Time { return c.now },
		requests: workqueue.NewTyped[Workload](),
	}
}

func (c *cluster) listCached(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if istios, ok := list.(*v1alpha2.IstioList); ok && c.stale != nil {
		c.stale.DeepCopyInto(istios)
		return nil
	}
	return api.List(ctx, list, options...)
}

func (c *cluster) patched(ctx context.Context, api client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	c.requests++
	name := o.GetNamespace() + "/" + o.GetName()
	if err := c.refuse[name]; err != nil {
		return err
	}
	if err := api.Patch(ctx, o, patch, options...); err != nil {
		return err
	}
	if _, note := o.(*metav1.PartialObjectMetadata); !note {
		c.restarts[name]++
	}
	return nil
}

func (c *cluster) put(o client.Object) {
	c.t.Helper()
	var status appsv1.DeploymentStatus // which no other write takes
	var podStatus corev1.PodStatus
	switch o := o.(type) {
	case *appsv1.Deployment:
		status = o.Status
	case *corev1.Pod:
		podStatus = o.Status
	}
	o.SetResourceVersion("")
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%T/%s/%s", o, o.GetNamespace(), o.GetName())))
	}
	err := c.api.Create(c.t.Context(), o)
	if err != nil {
		current := &metav1.PartialObjectMetadata{}
		gvk, _ := apiutil.GVKForObject(o, c.api.Scheme())
		current.SetGroupVersionKind(gvk)
		_ = c.api.Get(c.t.Context(), client.ObjectKeyFromObject(o), current) // or the update tells
		o.SetResourceVersion(current.ResourceVersion)
		err = c.api.Update(c.t.Context(), o)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		o.Status = status
		err = c.api.Status().Update(c.t.Context(), o)
	case *corev1.Pod:
		o.Status = podStatus
		err = c.api.Status().Update(c.t.Context(), o)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) namespace(name string, labels map[string]string) {
	c.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

// istio makes or changes the Istio resource, and what it says was rolled out last.
func (c *cluster) istio(spec v1alpha2.IstioSpec, applied *v1alpha2.IstioSpec, annotations ...string) {
	c.t.Helper()
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default"}}
	_ = c.api.Get(c.t.Context(), client.ObjectKeyFromObject(istio), istio) // or it is a new one
	istio.Spec = spec
	if istio.Annotations == nil {
		istio.Annotations = map[string]string{}
	}
	if applied != nil {
		istio.Annotations[v1alpha2.AnnotationLastApplied] = servicemesh.LastApplied{IstioSpec: *applied, IstioTag: "1.31.0"}.String()
	}
	for i := 0; i < len(annotations); i += 2 {
		istio.Annotations[annotations[i]] = annotations[i+1]
	}
	c.put(istio)
}

// mesh makes a revision of the mesh what runs, or what is being rolled out.
func (c *cluster) mesh(revision int64, ready metav1.ConditionStatus, image string) {
	c.t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.PackageIstio}}
	pkg.Status.CurrentRevision, pkg.Status.TargetRevision = revision, revision
	pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}
	c.put(pkg)
	c.put(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: servicemesh.IstioNamespace, Name: servicemesh.InputConfigMap},
		Data: map[string]string{servicemesh.InputKey: fmt.Sprintf(
			"spec: {components: {cni: {enabled: true}, egressGateways: [{name: istio-egressgateway, enabled: %t}]}, values: {global: {proxy: {image: %q}}}}", c.egress, image)},
	})
}

// rolledOut makes a spec what the resource asks for, and what runs.
func (c *cluster) rolledOut(spec v1alpha2.IstioSpec, annotations ...string) {
	c.t.Helper()
	c.istio(spec, &spec, annotations...)
	c.mesh(1, metav1.ConditionTrue, newImage)
}

// workload makes a Deployment with a pod.
func (c *cluster) workload(namespace, name, image string) {
	c.t.Helper()
	one := int32(1)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &one}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1000, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	c.put(d)
	c.put(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-1", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: name}},
	}})
	c.pod(namespace, name, image)
}

// pod makes the pod of a Deployment, with a sidecar unless the image is empty.
func (c *cluster) pod(namespace, name, image string) {
	c.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-1-a", CreationTimestamp: metav1.NewTime(c.now), Labels: map[string]string{"app": name}, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-1", UID: types.UID("*v1.ReplicaSet/" + namespace + "/" + name + "-1")}},
	}}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	p.Spec.Containers = []corev1.Container{{Name: "app"}}
	if image != "" {
		p.Annotations["sidecar.istio.io/status"] = c.injectorStatus
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "istio-proxy", Image: image})
	}
	if err := client.IgnoreNotFound(c.api.Delete(c.t.Context(), p.DeepCopy())); err != nil {
		c.t.Fatal(err)
	}
	c.put(p)
}

// deployment changes a Deployment.
func (c *cluster) deployment(namespace, name string, change func(*appsv1.Deployment)) {
	c.t.Helper()
	d := &appsv1.Deployment{}
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
		c.t.Fatal(err)
	}
	change(d)
	c.put(d)
}

type appsDeployment = appsv1.Deployment

func exclude(d *appsv1.Deployment) {
	d.Annotations = map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}
}

func setAvailable(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Status.AvailableReplicas = n }
}

// change changes the pod of a Deployment.
func (c *cluster) change(namespace, name string, change func(*corev1.Pod)) {
	c.t.Helper()
	p := &corev1.Pod{}
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name + "-1-a"}, p); err != nil {
		c.t.Fatal(err)
	}
	change(p)
	c.put(p)
}

// only leaves a pod nothing but its proxy.
func (c *cluster) only(namespace, name string) {
	c.change(namespace, name, func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[1:] })
}

// unready keeps a pod from serving.
func (c *cluster) unready(namespace, name string) {
	c.change(namespace, name, func(p *corev1.Pod) { p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil })
}

// labelledAt says when a namespace got its labels.
func (c *cluster) labelledAt(name string, at time.Time) {
	c.t.Helper()
	namespace := &corev1.Namespace{}
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: name}, namespace); err != nil {
		c.t.Fatal(err)
	}
	when := metav1.NewTime(at)
	namespace.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "test", Operation: "Update", Time: &when, FieldsType: "FieldsV1", APIVersion: "v1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:istio-injection":{}}}}`),
	}}
	c.put(namespace)
}

// installedAt says when the package of the mesh was made.
func (c *cluster) installedAt(at time.Time) {
	c.t.Helper()
	pkg := &v1alpha1.Package{}
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: servicemesh.PackageIstio}, pkg); err != nil {
		c.t.Fatal(err)
	}
	pkg.CreationTimestamp = metav1.NewTime(at)
	c.put(pkg)
}

// mend lets a workload come up that was broken.
func (c *cluster) mend(namespace, name string) {
	c.t.Helper()
	c.deployment(namespace, name, func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 })
	c.pod(namespace, name, c.injected)
}

// breakLater breaks a workload that has come up: because of another image, or by itself.
func (c *cluster) breakLater(namespace, name, image string) {
	c.t.Helper()
	c.deployment(namespace, name, func(d *appsv1.Deployment) {
		d.Status.AvailableReplicas = 0
		if image == "" {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable"}}
			return
		}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	})
}

// settle does what the cluster's own controllers do after a restart.
func (c *cluster) settle() {
	c.t.Helper()
	list := &appsv1.DeploymentList{}
	if err := c.api.List(c.t.Context(), list); err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		name := d.Namespace + "/" + d.Name
		if c.rolled[name] != c.restarts[name] {
			c.rolled[name] = c.restarts[name]
			d.Status.AvailableReplicas = 1
			if c.broken[name] {
				d.Status.AvailableReplicas = 0
			} else {
				c.pod(d.Namespace, d.Name, c.injected)
			}
			c.put(d)
		}
	}
	for i := range c.sets {
		c.fill(&c.sets[i])
	}
}

// run lets the controller and the cluster work for some time, beginning with a look.
func (c *cluster) run(during time.Duration) State {
	c.t.Helper()
	c.c.requests.Add(Workload{})
	for end := c.now.Add(during); c.now.Before(end); {
		for w, at := range c.timers {
			if !at.After(c.now) {
				delete(c.timers, w)
				c.c.requests.Add(w)
			}
		}
		for c.c.requests.Len() > 0 {
			w, _ := c.c.requests.Get()
			result, err := c.c.Reconcile(c.t.Context(), w)
			c.passes++
			if c.passes > 10_000 {
				c.t.Fatalf("it never comes to rest, at %s: %q, %+v", c.now, w, c.c.run.queue.state())
			}
			c.c.requests.Done(w)
			if err != nil {
				result.RequeueAfter = time.Second
				c.t.Logf("%s: %v", w, err)
			}
			if at, timed := c.timers[w]; result.RequeueAfter > 0 && (!timed || c.now.Add(result.RequeueAfter).Before(at)) {
				c.timers[w] = c.now.Add(result.RequeueAfter)
			}
		}
		c.settle()
		next := end
		for _, at := range c.timers {
			if at.Before(next) {
				next = at
			}
		}
		if c.now = c.now.Add(time.Second); next.After(c.now) {
			c.now = next // nothing happens meanwhile
		}
	}
	return c.c.State()
}
