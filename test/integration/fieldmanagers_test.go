// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// patchAs changes an object as the field manager given.
func patchAs(t *testing.T, object client.Object, manager string, patch fields) {
	t.Helper()
	data, err := json.Marshal(patch)
	must(t, err)
	must(t, admin.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, data), client.FieldOwner(manager)))
}

func deployment(t *testing.T, namespace, name string) *appsv1.Deployment {
	t.Helper()
	object := &appsv1.Deployment{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
	return object
}

// writesTo counts what the manager has written in a namespace, by object.
func writesTo(t *testing.T, namespace string, since time.Time) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range requests(t, since) {
		if e.Namespace == namespace && e.Verb != "get" && e.Verb != "list" {
			counts[e.Resource+" "+e.Name]++
		}
	}
	return counts
}

// notWritten wants the manager to write nothing in a namespace for a time that has begun.
func notWritten(t *testing.T, span time.Duration, namespace string, since time.Time) {
	t.Helper()
	planetest.Stays(t, span, "the manager writes nothing", func() (bool, error) {
		counts := writesTo(t, namespace, since)
		return len(counts) == 0, errors.New(describe(counts))
	})
}

// scaleAs scales the Deployment app through the subresource.
func scaleAs(t *testing.T, namespace, manager string, replicas int32) {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	must(t, admin.SubResource("scale").Update(t.Context(), deployment(t, namespace, "app"), client.WithSubResourceBody(scale), client.FieldOwner(manager)))
}

// TestYield: an autoscaler's replicas and a restart are left alone, also by the next
// revision, and what people add stays. Only what is ours is repaired.
func TestYield(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", deploymentManifest(t, ns, "app", goodImage)))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	pastLastWrite(t, deployment(t, ns, "app"))
	since := time.Now()
	// As a HorizontalPodAutoscaler does.
	scaleAs(t, ns, "kube-controller-manager", 3)
	// As kubectl rollout restart and a person do.
	patchAs(t, deployment(t, ns, "app"), "kubectl-rollout", fields{"spec": fields{"template": fields{"metadata": fields{"annotations": fields{"kubectl.kubernetes.io/restartedAt": "now"}}}}})
	patchAs(t, deployment(t, ns, "app"), "kubectl-edit", fields{"metadata": fields{"labels": fields{"team": "blue"}, "annotations": fields{"note": "x"}}})
	notWritten(t, 3*time.Second, ns, since)
	newRevision(t, pkg, 2, phase("one", deploymentManifest(t, ns, "app", "registry.example/app:2.0")))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	app := deployment(t, ns, "app")
	if *app.Spec.Replicas != 3 || app.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "now" || app.Labels["team"] != "blue" || app.Annotations["note"] != "x" {
		t.Errorf("the next revision has taken back what other managers have set: replicas %d, template %v, labels %v, annotations %v",
			*app.Spec.Replicas, app.Spec.Template.Annotations, app.Labels, app.Annotations)
	}
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		patched := deployment(t, ns, "app")
		patched.Spec.Template.Spec.Containers[0].Image = "registry.example/app:mine"
		return admin.Update(t.Context(), patched, client.FieldOwner("kubectl-edit"))
	}))
	planetest.Eventually(t, "the image to be put back", func() (bool, error) {
		return deployment(t, ns, "app").Spec.Template.Spec.Containers[0].Image == "registry.example/app:2.0", nil
	})
}

// webhooks is a validating webhook whose owner sets bundle and policy.
const webhooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS.example.org}
webhooks:
- name: none.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  rules: [{apiGroups: [none.example.org], apiVersions: [v1], operations: [CREATE], resources: [nones]}]
  clientConfig: {url: "https://127.0.0.1:1/never"}
`

// TestYield_Webhook: a running operand sets CA bundle and failure policy of its
// webhook, as istiod does, and no manager takes them back.
func TestYield_Webhook(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	withBundle := strings.Replace(webhooks, `never"}`, `never", caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=}`, 1)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", manifests(t, ns, withBundle)...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	get := func() *unstructured.Unstructured {
		config := &unstructured.Unstructured{}
		config.SetAPIVersion("admissionregistration.k8s.io/v1")
		config.SetKind("ValidatingWebhookConfiguration")
		must(t, admin.Get(context.Background(), types.NamespacedName{Name: ns + ".example.org"}, config))
		return config
	}
	const other = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1RPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	pastLastWrite(t, get())
	config := get()
	list, _, err := unstructured.NestedSlice(config.Object, "webhooks")
	must(t, err)
	webhook, ok := list[0].(map[string]any)
	if !ok {
		t.Fatalf("the webhook is %v", list[0])
	}
	webhook["failurePolicy"] = "Fail"
	must(t, unstructured.SetNestedField(webhook, other, "clientConfig", "caBundle"))
	must(t, unstructured.SetNestedSlice(config.Object, list, "webhooks"))
	since := time.Now()
	must(t, admin.Update(t.Context(), config, client.FieldOwner("pilot-discovery")))
	notWritten(t, 2*time.Second, ns, since)
	newRevision(t, pkg, 2, phase("one", manifests(t, ns, strings.Replace(withBundle, "[nones]", "[nones, others]", 1))...))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	list, _, err = unstructured.NestedSlice(get().Object, "webhooks")
	must(t, err)
	text := fmt.Sprint(list)
	if !containsAll(text, other, "failurePolicy:Fail", "others") {
		t.Errorf("after the next revision the webhook is %s", text)
	}
	writes := 0
	for _, e := range requests(t, since) {
		if e.Name == ns+".example.org" && e.Verb != "get" {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("%d writes of the webhook configuration, want one, for the new revision", writes)
	}
}

// TestFight: another manager sets a field back each time. It is repaired at once at first,
// and less and less often then; the status names who it is and what.
func TestFight(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	since := time.Now()
	for range 6 {
		patchAs(t, configMap(t, ns, "a"), "gitops", fields{"data": fields{"value": "mine"}})
		planetest.Eventually(t, "the object to be repaired", func() (bool, error) {
			return configMap(t, ns, "a").Data["value"] == "1", nil
		})
	}
	until := time.Now()
	patchAs(t, configMap(t, ns, "a"), "gitops", fields{"data": fields{"value": "mine"}}) // which is not soon repaired
	patchAs(t, configMap(t, ns, "b"), "kubectl-edit", fields{"data": fields{"value": "mine"}})
	planetest.Eventually(t, "the other object to be repaired meanwhile", func() (bool, error) {
		return configMap(t, ns, "b").Data["value"] == "1", nil
	})
	var repairs []time.Time
	for _, e := range requests(t, since) {
		if e.Namespace == ns && e.Resource == "configmaps" && e.Name == "a" && e.Verb != "get" && e.Time.Before(until) {
			repairs = append(repairs, e.Time)
		}
	}
	// At once three times, and then after 1, 2, 4 and 8 seconds. Of a second that has begun
	// hardly anything may be left, and a repair may come late itself.
	if len(repairs) != 6 || repairs[5].Sub(repairs[0]) < 5*time.Second {
		t.Errorf("the repairs were at %v, want 6 within 5 seconds or more", repairs)
	}
	planetest.Eventually(t, "the status to tell of the fight", func() (bool, error) {
		found := getRevision(t, pkg.Name, 1).Status.Interference
		for _, entry := range found {
			if entry.Name == "a" && entry.Manager == "gitops" && entry.Count >= 5 && len(entry.Fields) == 1 && entry.Fields[0] == ".data.value" {
				return true, nil
			}
		}
		return false, fmt.Errorf("status.interference is %+v", found)
	})
}

// TestInterference_Path: the path that status.interference has of an entry with two keys is
// one that unmanagedFields takes, and leaves the field to the other manager.
func TestInterference_Path(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	service := manifests(t, ns, "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NS}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}")[0]
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", service))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	get := func() *corev1.Service {
		object := &corev1.Service{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "web"}, object))
		return object
	}
	disturb := func() {
		patchAs(t, get(), "gitops", fields{"spec": fields{"ports": []any{fields{"port": 80, "protocol": "TCP", "targetPort": 9090}}}})
	}
	path := ""
	planetest.Eventually(t, "the status to name the field", func() (bool, error) {
		if get().Spec.Ports[0].TargetPort.IntValue() != 9090 {
			disturb()
		}
		found := getRevision(t, pkg.Name, 1).Status.Interference
		for _, entry := range found {
			if entry.Manager == "gitops" && len(entry.Fields) == 1 {
				path = entry.Fields[0]
			}
		}
		return path != "", fmt.Errorf("status.interference is %+v", found)
	})
	if path != ".spec.ports[port=80,protocol=TCP].targetPort" {
		t.Errorf("the path is %s", path)
	}
	service.UnmanagedFields = []string{path}
	newRevision(t, pkg, 2, phase("one", service))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	since := time.Now()
	disturb()
	// A change of a field that is managed is repaired: by then the other has been seen, too.
	patchAs(t, get(), "gitops", fields{"spec": fields{"selector": fields{"app": "other"}}})
	planetest.Eventually(t, "the selector to be repaired", func() (bool, error) { return get().Spec.Selector["app"] == "web", nil })
	if port := get().Spec.Ports[0].TargetPort.IntValue(); port != 9090 {
		t.Errorf("the field is not managed, and targetPort is %d:%s", port, describe(writesTo(t, ns, since)))
	}
}

// TestUnmanagedFields: what is not managed is never applied.
func TestUnmanagedFields(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	app := deploymentManifest(t, ns, "app", goodImage)
	app.UnmanagedFields = []string{".spec.replicas", ".spec.template.spec.containers[name=main].resources"}
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", app))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	pastLastWrite(t, deployment(t, ns, "app"))
	since := time.Now()
	patchAs(t, deployment(t, ns, "app"), "operator", fields{"spec": fields{"replicas": 2}})
	notWritten(t, 2*time.Second, ns, since)
	if replicas := *deployment(t, ns, "app").Spec.Replicas; replicas != 2 {
		t.Errorf("replicas are not managed, and are %d", replicas)
	}
}

// TestScaledByPerson: a person who scales is no autoscaler.
func TestScaledByPerson(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", deploymentManifest(t, ns, "app", goodImage)))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	scaleAs(t, ns, "kubectl", 3)
	planetest.Eventually(t, "the replicas to be set back", func() (bool, error) {
		return *deployment(t, ns, "app").Spec.Replicas == 1, nil
	})
}
