// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane_test

import (
	"context"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/internal/localplane/planetest"
)

// podSpec is a pod with one container per image.
func podSpec(images ...string) corev1.PodSpec {
	var spec corev1.PodSpec
	for i, image := range images {
		spec.Containers = append(spec.Containers, corev1.Container{Name: string(rune('a' + i)), Image: image})
	}
	return spec
}

func createDeployment(t *testing.T, namespace, name string, replicas int32, spec corev1.PodSpec) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func deploymentStatus(t *testing.T, namespace, name string) appsv1.DeploymentStatus {
	t.Helper()
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Status
}

func TestDeploymentBecomesAvailable(t *testing.T) {
	namespace := planetest.Namespace(t, plane)
	spec := podSpec("registry.example/app:1.0", "registry.example/side@sha256:0000000000000000000000000000000000000000000000000000000000000000")
	spec.InitContainers = []corev1.Container{{Name: "init", Image: "registry.example/init:1.0"}}
	createDeployment(t, namespace, "app", 2, spec)
	planetest.Eventually(t, "2 available replicas", func() (bool, error) {
		return deploymentStatus(t, namespace, "app").AvailableReplicas == 2, nil
	})
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.Status.HostIP == "" {
			t.Errorf("pod %s: phase %s, pod IP %q, host IP %q", pod.Name, pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP)
		}
		if len(pod.Status.InitContainerStatuses) != 1 || pod.Status.InitContainerStatuses[0].State.Terminated == nil {
			t.Errorf("pod %s: the init container has not completed: %+v", pod.Name, pod.Status.InitContainerStatuses)
		}
	}
	// That their addresses differ is not asked for: KWOK makes the pool of a
	// node's addresses when the first pod asks, and two that ask at the same
	// moment each get a pool (pkg/kwok/controllers/pod_controller.go, ipPool).
	if len(pods.Items) != 2 {
		t.Errorf("%d pods, want 2", len(pods.Items))
	}
}

func TestJobCompletes(t *testing.T) {
	namespace := planetest.Namespace(t, plane)
	spec := podSpec("registry.example/job:1.0")
	spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "once"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the job to succeed", func() (bool, error) {
		job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), "once", metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == 1 && job.Status.CompletionTime != nil, err
	})
}

func TestBadImageIsNeverReady(t *testing.T) {
	namespace := planetest.Namespace(t, plane)
	initSpec := podSpec("registry.example/app:1.0")
	initSpec.InitContainers = []corev1.Container{{Name: "init", Image: "registry.example/init:does-not-exist"}}
	cases := map[string]struct {
		reason string
		spec   corev1.PodSpec
		bad    string
		ready  map[string]bool // by container
	}{
		"host":     {reason: "a host below .invalid cannot be reached", spec: podSpec("registry.invalid/app:1.0"), bad: "registry.invalid/app:1.0", ready: map[string]bool{"a": false}},
		"hostport": {reason: "a port does not change the host", spec: podSpec("registry.invalid:5000/app@sha256:0000000000000000000000000000000000000000000000000000000000000000"), bad: "registry.invalid:5000/app", ready: map[string]bool{"a": false}},
		"tag":      {reason: "the tag says that it does not exist", spec: podSpec("app:1.0-does-not-exist"), bad: "app:1.0-does-not-exist", ready: map[string]bool{"a": false}},
		"second":   {reason: "one bad container is enough, the others run", spec: podSpec("app:1.0", "app:does-not-exist"), bad: "app:does-not-exist", ready: map[string]bool{"a": true, "b": false}},
		"init":     {reason: "a bad init container keeps the others waiting", spec: initSpec, bad: "registry.example/init:does-not-exist", ready: map[string]bool{"a": false, "init": false}},
	}
	for name, tc := range cases {
		createDeployment(t, namespace, name, 1, tc.spec)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := waitForErrImagePull(t, namespace, name)
			message := ""
			for _, s := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
				if s.Ready != tc.ready[s.Name] {
					t.Errorf("%s: container %s: ready %t", tc.reason, s.Name, s.Ready)
				}
				if s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImagePull" {
					message = s.State.Waiting.Message
				}
			}
			if !strings.Contains(message, tc.bad) {
				t.Errorf("%s: the message %q does not name the image %s", tc.reason, message, tc.bad)
			}
			if pod.Status.Phase != corev1.PodPending {
				t.Errorf("%s: the pod is %s", tc.reason, pod.Status.Phase)
			}
			// The deployment controller counts the pod after the kubelet has
			// written its status.
			planetest.Eventually(t, "the deployment to count 1 unavailable replica", func() (bool, error) {
				got := deploymentStatus(t, namespace, name)
				if got.AvailableReplicas != 0 {
					t.Errorf("%s: %d available replicas", tc.reason, got.AvailableReplicas)
				}
				return got.UnavailableReplicas == 1, nil
			})
		})
	}
}

// waitForErrImagePull returns the only pod of a deployment once one of its
// containers has the reason ErrImagePull.
func waitForErrImagePull(t *testing.T, namespace, name string) (pod corev1.Pod) {
	t.Helper()
	planetest.Eventually(t, "ErrImagePull", func() (bool, error) {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(pods.Items) != 1 {
			return false, err
		}
		pod = pods.Items[0]
		for _, s := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
			if s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImagePull" {
				return true, nil
			}
		}
		return false, nil
	})
	return pod
}

func TestCorrectedImageBecomesReady(t *testing.T) {
	namespace := planetest.Namespace(t, plane)
	createDeployment(t, namespace, "app", 1, podSpec("app:does-not-exist"))
	pod := waitForErrImagePull(t, namespace, "app")
	// A patch, as the pod's status may change at the same time.
	correct := []byte(`{"spec":{"containers":[{"name":"a","image":"app:1.0"}]}}`)
	if _, err := client.CoreV1().Pods(namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, correct, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the pod to be Running", func() (bool, error) {
		pod, err := client.CoreV1().Pods(namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning && deploymentStatus(t, namespace, "app").AvailableReplicas == 1, err
	})
}

// webhooks is a configuration with two webhooks that nothing ever calls.
func webhooks(name string, labels map[string]string) *admissionv1.MutatingWebhookConfiguration {
	none := admissionv1.SideEffectClassNone
	path := "/inject"
	webhook := func(name string) admissionv1.MutatingWebhook {
		return admissionv1.MutatingWebhook{
			Name:                    name,
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             &none,
			ClientConfig:            admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "none", Name: "none", Path: &path}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{"never.example"}, APIVersions: []string{"v1"}, Resources: []string{"nevers"}},
			}},
		}
	}
	return &admissionv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Webhooks:   []admissionv1.MutatingWebhook{webhook("a.example.com"), webhook("b.example.com")},
	}
}

func TestStageForWebhookCA(t *testing.T) {
	api := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	for name, labels := range map[string]map[string]string{"with-revision": {"istio.io/rev": "default"}, "without-revision": nil} {
		if _, err := api.Create(t.Context(), webhooks(name, labels), metav1.CreateOptions{FieldManager: "author"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	var patched *admissionv1.MutatingWebhookConfiguration
	planetest.Eventually(t, "the CA in every webhook", func() (bool, error) {
		var err error
		patched, err = api.Get(t.Context(), "with-revision", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, w := range patched.Webhooks {
			if string(w.ClientConfig.CABundle) != "simulated CA\n" {
				return false, nil
			}
		}
		return len(patched.Webhooks) == 2, nil
	})
	for _, w := range patched.Webhooks {
		if w.ClientConfig.Service == nil || len(w.Rules) != 1 {
			t.Errorf("webhook %s lost what the author wrote: %+v", w.Name, w)
		}
	}
	var fields string
	for _, entry := range patched.ManagedFields {
		if entry.Manager == "kwok" {
			fields = entry.FieldsV1.GetRawString()
		}
	}
	const want = `{"f:webhooks":{"k:{\"name\":\"a.example.com\"}":{"f:clientConfig":{"f:caBundle":{}}},"k:{\"name\":\"b.example.com\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`
	if fields != want {
		t.Errorf("the field manager kwok owns %s, want %s", fields, want)
	}
	other, err := api.Get(t.Context(), "without-revision", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(other.Webhooks[0].ClientConfig.CABundle) != 0 {
		t.Error("a configuration without the label got a CA")
	}
}

func TestSimulateLater(t *testing.T) {
	stages, err := os.ReadFile("testdata/stages/load-balancer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.Simulate(stages); err != nil {
		t.Fatal(err)
	}
	namespace := planetest.Namespace(t, plane)
	_, err = client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "gateway"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the load balancer's address", func() (bool, error) {
		service, err := client.CoreV1().Services(namespace).Get(t.Context(), "gateway", metav1.GetOptions{})
		return err == nil && len(service.Status.LoadBalancer.Ingress) == 1 && service.Status.LoadBalancer.Ingress[0].IP == "203.0.113.1", err
	})
	if err := plane.Simulate([]byte("kind: Pod\napiVersion: v1\n")); err == nil || !strings.Contains(err.Error(), "document 1 is v1 Pod") {
		t.Errorf("a document that is no stage: %v", err)
	}
}
