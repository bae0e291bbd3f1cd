// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// perNamespace makes the fleet of the test: 160 pods of 32 workloads, which take more than one
// page to read. "make bench" restarts 1,000 pods of 200 workloads.
var perNamespace = flag.Int("workloads", 8, "how many workloads of five pods each of the four namespaces of the fleet has")

const (
	fleetNamespaces = 4
	replicas        = 5

	istioVersion = "1.31"
)

// fleetSize is how many workloads the fleet has.
func fleetSize() int { return fleetNamespaces * *perNamespace }

// mostHeap bounds what a restart of the whole fleet may add to the live heap, in bytes, with
// what the test itself reads: 32 MiB for 200 workloads. The log of the test says what it was.
func mostHeap() uint64 { return 12<<20 + uint64(fleetSize())*100<<10 }

// Each cause restarts each workload once, whatever else happens, within few requests and
// little memory.
func TestRestarts(t *testing.T) {
	restartLimit *= 4
	t.Cleanup(func() { restartLimit /= 4 })
	must(t, startManager(t.Context(), istioVersion))
	injector := startInjector(t, "example.org/proxyv2:1.27.0", "{}")
	startFleet(t)
	istio := installMesh(t, injector)
	image := proxyImage(t)

	t.Run("FirstSurvey", func(t *testing.T) {
		// The fleet was there before the mesh, with proxies of another version.
		awaitRestarts(t, restarts.CauseProxyImage)
		restarted(t, time.Time{}, 1)
	})
	t.Run("Setting", func(t *testing.T) {
		since, heap := time.Now(), watchHeap(t)
		setDNSProxying(t, istio)
		awaitRestarts(t, restarts.CauseDNSProxying)
		grown := heap() // the test reads the whole audit log next
		t.Logf("restarting %d workloads took %s and %.1f MB of heap", fleetSize(), time.Since(since).Round(time.Second), float64(grown)/1e6)
		if grown > mostHeap() {
			t.Errorf("restarting %d workloads took %d bytes of heap, allowed are %d", fleetSize(), grown, mostHeap())
		}
		restarted(t, since, 1)
		bounded(t, since)
	})
	t.Run("Restart", func(t *testing.T) {
		since := time.Now()
		must(t, startManager(t.Context(), istioVersion))
		// Long enough for a survey, see the log.
		planetest.Stays(t, 3*time.Second, "another manager restarts nothing again", func() (bool, error) { restarted(t, since, 0); return true, nil })
		awaitRestarts(t, restarts.CauseDNSProxying)
	})
	t.Run("ByHand", func(t *testing.T) { byHand(t, injector, image) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func resources(cpu, memory, cpuLimit, memoryLimit string) corev1.ResourceRequirements {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return corev1.ResourceRequirements{Requests: list(cpu, memory), Limits: list(cpuLimit, memoryLimit)}
}

func fleetNamespace(i int) string { return fmt.Sprintf("fleet-%d", i) }

// startFleet makes the workloads, and waits until their pods run.
func startFleet(t *testing.T) {
	t.Helper()
	for i := range fleetNamespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleetNamespace(i), Labels: map[string]string{injectHere: "on"}}}
		must(t, admin.Create(t.Context(), namespace))
		t.Cleanup(func() { must(t, admin.Delete(context.Background(), namespace)) })
		for j := range *perNamespace {
			must(t, admin.Create(t.Context(), deployment(namespace.Name, fmt.Sprintf("w%02d", j), replicas)))
		}
	}
	await(t, "the fleet runs", patience, func() error {
		list := &appsv1.DeploymentList{}
		if err := admin.List(t.Context(), list); err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Namespace, "fleet-") && list.Items[i].Status.AvailableReplicas == replicas {
				ready++
			}
		}
		if ready < fleetSize() {
			return fmt.Errorf("%d of %d run", ready, fleetSize())
		}
		return nil
	})
}

func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.org/app:1"}}},
			},
		},
	}
}

// installMesh makes an Istio resource, and takes it away at the end. Injectors give its sidecars
// before it is rolled out, as istiod does: afterwards workloads are restarted at once.
func installMesh(t *testing.T, injectors ...*injector) types.NamespacedName {
	t.Helper()
	name := types.NamespacedName{Namespace: v1alpha2.Namespace, Name: "default"}
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name.Namespace+"}}")
	manifest(t, "{apiVersion: operator.kyma-project.io/v1alpha2, kind: Istio, metadata: {name: default, namespace: "+name.Namespace+"}}")
	t.Cleanup(func() {
		istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		must(t, admin.Delete(context.Background(), istio))
		await(t, "the mesh is gone", patience, func() error {
			if err := admin.Get(context.Background(), name, istio); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is %s: %s (%w)", istio.Status.State, istio.Status.Description, err)
			}
			return nil
		})
	})
	if len(injectors) > 0 {
		await(t, "the input of the mesh", patience, func() error {
			key := types.NamespacedName{Namespace: "istio-system", Name: "kyma-istio-operator"}
			return admin.Get(t.Context(), key, &corev1.ConfigMap{})
		})
	}
	for _, i := range injectors {
		i.give(proxyImage(t))
	}
	await(t, "the mesh is rolled out", patience, func() error {
		istio := &v1alpha2.Istio{}
		if err := admin.Get(t.Context(), name, istio); err != nil || istio.Annotations[v1alpha2.AnnotationLastApplied] == "" {
			return fmt.Errorf("it is %s: %s (%w)", istio.Status.State, istio.Status.Description, err)
		}
		return nil
	})
	return name
}

// proxyImage is what the mesh wants.
func proxyImage(t *testing.T) string {
	t.Helper()
	input := &corev1.ConfigMap{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "kyma-istio-operator"}, input))
	for line := range strings.SplitSeq(input.Data["istiooperator.yaml"], "\n") {
		if _, image, ok := strings.Cut(line, "image: "); ok && strings.Contains(image, "/proxyv2:") {
			return image
		}
	}
	t.Fatal("the mesh has no image for proxies")
	return ""
}

func setDNSProxying(t *testing.T, name types.NamespacedName) {
	t.Helper()
	istio := &v1alpha2.Istio{}
	must(t, admin.Get(t.Context(), name, istio))
	before := istio.DeepCopy()
	on := true
	istio.Spec.Config.EnableDNSProxying = &on
	must(t, admin.Patch(t.Context(), istio, client.MergeFrom(before)))
}

// awaitRestarts waits until the whole fleet was restarted for a cause and is up.
func awaitRestarts(t *testing.T, cause restarts.Cause) {
	t.Helper()
	await(t, "restarts for "+string(cause), 8*time.Minute, func() error {
		list := &appsv1.DeploymentList{}
		if err := admin.List(t.Context(), list); err != nil {
			return err
		}
		done := 0
		for i := range list.Items {
			d := &list.Items[i]
			_, found := v1alpha2.ParseRestartRecord(d.Annotations[v1alpha2.AnnotationRestartedFor]).Causes[cause]
			if strings.HasPrefix(d.Namespace, "fleet-") && found && d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas && d.Status.Replicas == replicas {
				done++
			}
		}
		if done < fleetSize() {
			return fmt.Errorf("%d of %d are restarted", done, fleetSize())
		}
		istio := &v1alpha2.Istio{}
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: v1alpha2.Namespace, Name: "default"}, istio); err != nil {
			return err
		}
		for _, c := range *istio.Status.Conditions {
			if c.Type == v1alpha2.ConditionProxySidecarRestartSucceeded && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the Istio resource does not tell that all is done: %+v", istio.Status)
	})
}

// restarted checks that the manager has written to each workload as often as wanted since a time.
func restarted(t *testing.T, since time.Time, want int) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range audit(t, since) {
		if e.Resource == "deployments" && e.Verb == "patch" && e.Code == 200 && strings.HasPrefix(e.Namespace, "fleet-") {
			counts[e.Namespace+"/"+e.Name]++
		}
	}
	for i := range fleetNamespaces {
		for j := range *perNamespace {
			if name := fmt.Sprintf("%s/w%02d", fleetNamespace(i), j); counts[name] != want {
				t.Errorf("%s was restarted %d times, want %d", name, counts[name], want)
			}
		}
	}
}

// bounded checks the requests for one restart of the fleet.
func bounded(t *testing.T, since time.Time) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range audit(t, since) {
		switch {
		case e.Resource == "pods" && e.Verb == "list" && strings.Contains(e.RequestURI, "limit=100"):
			counts["list pods"]++
		case e.Resource == "pods" && e.Verb == "list" && e.Namespace == "" && !strings.Contains(e.RequestURI, "limit="):
			counts["list all pods"]++
		case strings.HasPrefix(e.Namespace, "fleet-"):
			counts[e.Verb+" "+e.Resource]++
		}
	}
	t.Logf("requests: %v", counts)
	for what, most := range map[string]int{
		"list pods":       2 * (fleetSize()*replicas*2/100 + 2), // two surveys, of at most twice the pods
		"list all pods":   0,
		"get replicasets": fleetSize(),
		// Two looks for the restart, the rest at its rollout.
		"get deployments":   fleetSize() * 12,
		"patch deployments": fleetSize(),
	} {
		if counts[what] > most {
			t.Errorf("%d times %s, allowed are %d", counts[what], what, most)
		}
	}
}

// byHand checks what cannot be restarted: a bare pod is listed, a workload that is excluded is left
// alone, and one that stays outdated is restarted once, and then listed.
func byHand(t *testing.T, injector *injector, image string) {
	t.Helper()
	old := "example.org/proxyv2:1.27.0"
	injector.give(old)
	t.Cleanup(func() { injector.give(image) })
	namespace, since := fleetNamespace(0), time.Now()
	excluded := deployment(namespace, "excluded", 1)
	excluded.Annotations = map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bare"}, Spec: deployment("", "", 1).Spec.Template.Spec}
	for _, o := range []client.Object{excluded, deployment(namespace, "stubborn", 1), bare} {
		must(t, admin.Create(t.Context(), o))
	}
	await(t, "the pods run", patience, func() error {
		pods := &corev1.PodList{}
		if err := admin.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		running := 0
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.Spec.InitContainers[0].Image == old {
				running++
			}
		}
		if running < 3 {
			return fmt.Errorf("%d run: %d pods", running, len(pods.Items))
		}
		return nil
	})
	must(t, startManager(t.Context(), istioVersion)) // which looks at all pods
	await(t, "a person is asked", patience, func() error {
		istio := &v1alpha2.Istio{}
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: v1alpha2.Namespace, Name: "default"}, istio); err != nil {
			return err
		}
		for _, c := range *istio.Status.Conditions {
			if c.Reason == v1alpha2.ReasonProxySidecarManualRestartRequired && strings.Contains(c.Message, namespace+"/Pod/bare") &&
				strings.Contains(c.Message, namespace+"/Deployment/stubborn") && !strings.Contains(c.Message, "excluded (") {
				return nil
			}
		}
		return fmt.Errorf("the status is %+v", istio.Status)
	})
	counts := map[string]int{}
	for _, e := range audit(t, since) {
		if e.Verb == "patch" && e.Code == 200 && e.Namespace == namespace && e.Resource != "events" {
			counts[e.Resource+"/"+e.Name]++
		}
	}
	if len(counts) != 1 || counts["deployments/stubborn"] != 1 {
		t.Errorf("the manager has written to %v, want one restart of the one workload that can be", counts)
	}
}

// audit are the manager's requests since a time.
func audit(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return setup.Requests(t, plane, setup.Manager, since)
}

// watchHeap says how much more of the heap was live at most than now, garbage left aside.
func watchHeap(t *testing.T) func() uint64 {
	t.Helper()
	live := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, most := live(), atomic.Uint64{}
	go func() {
		wait.UntilWithContext(t.Context(), func(context.Context) {
			if now := live(); now > before && now-before > most.Load() {
				most.Store(now - before)
			}
		}, 20*time.Millisecond)
	}()
	return most.Load
}

// await asks until there is no error.
func await(t *testing.T, what string, within time.Duration, ask func() error) {
	t.Helper()
	planetest.Within(t, within, what, func() (bool, error) {
		err := ask()
		return err == nil, err
	})
}
