// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/probes"
)

// live is an object of a test on the plane, with the default probe of its kind.
type live struct {
	t   *testing.T
	obj *unstructured.Unstructured
}

// create makes an object of a manifest in which NS stands for the namespace.
func create(t *testing.T, namespace, manifest string) *live {
	t.Helper()
	l := &live{t: t, obj: &unstructured.Unstructured{}}
	must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NS", namespace)), &l.obj.Object))
	must(t, admin.Create(t.Context(), l.obj))
	t.Cleanup(func() {
		if l.obj.GetNamespace() == "" {
			_ = client.IgnoreNotFound(admin.Delete(context.Background(), l.obj))
		}
	})
	return l
}

// probe reads the object and asks the default probe of its kind.
func (l *live) probe() (probes.Result, error) {
	if err := admin.Get(l.t.Context(), client.ObjectKeyFromObject(l.obj), l.obj); err != nil {
		return probes.Result{}, err
	}
	probe, ok := probes.Default(l.obj.GroupVersionKind().GroupKind())
	if !ok {
		return probes.Result{}, fmt.Errorf("%s has no default probe", l.obj.GetKind())
	}
	return probe.Probe(l.obj), nil
}

// becomes waits until the probe gives an answer with a text in its message.
func (l *live) becomes(want probes.Status, text string) {
	l.t.Helper()
	planetest.Eventually(l.t, fmt.Sprintf("%s %s to be %s %q", l.obj.GetKind(), l.obj.GetName(), want, text), func() (bool, error) {
		got, err := l.probe()
		if err != nil {
			return false, err
		}
		return got.Status == want && strings.Contains(got.Message, text), fmt.Errorf("it is %s %q", got.Status, got.Message)
	})
}

// stays checks that the probe goes on giving an answer.
func (l *live) stays(want probes.Status) {
	l.t.Helper()
	for range 10 {
		got, err := l.probe()
		must(l.t, err)
		if got.Status != want {
			l.t.Errorf("%s %s is %s %q, want it to stay %s", l.obj.GetKind(), l.obj.GetName(), got.Status, got.Message, want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (l *live) patch(patch string) {
	l.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(patch))
	must(l.t, err)
	must(l.t, admin.Patch(l.t.Context(), l.obj, client.RawPatch("application/merge-patch+json", data)))
}

// stale checks that the probe does not take the status of before for one of the spec
// that the last patch has made.
func (l *live) stale() {
	l.t.Helper()
	probe, _ := probes.Default(l.obj.GroupVersionKind().GroupKind())
	if got := probe.Probe(l.obj); got.Status == probes.True {
		l.t.Errorf("%s is True with the status of the spec before", l.obj.GetKind())
	}
}

const podTemplate = `{metadata: {labels: {app: x}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: IMAGE}]}}`

func template(image string) string { return strings.ReplaceAll(podTemplate, "IMAGE", image) }

func TestProbes_Deployment(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	d := create(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {replicas: 2, progressDeadlineSeconds: 3,
  selector: {matchLabels: {app: x}}, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, template: `+template(goodImage)+`}}`)
	d.stale()
	d.becomes(probes.True, "")
	t.Run("Surge", func(t *testing.T) {
		// The condition Available stays True all the time: old pods serve.
		d.patch("spec: {template: " + template(badImage) + "}")
		d.stale()
		d.becomes(probes.False, "1 of 2 replicas updated")
		d.stays(probes.False)
	})
	t.Run("FailedRollout", func(t *testing.T) {
		d.becomes(probes.False, "ProgressDeadlineExceeded")
		d.patch("spec: {template: " + template(goodImage) + "}")
		d.stale()
		d.becomes(probes.True, "")
	})
	t.Run("Paused", func(t *testing.T) {
		d.patch("spec: {paused: true, template: " + template("registry.example/app:2.0") + "}")
		d.stale()
		d.becomes(probes.Unknown, "the rollout is paused: 0 of 2 replicas updated")
		d.patch("spec: {paused: false}")
		d.becomes(probes.True, "")
	})
	t.Run("ScaledToZero", func(t *testing.T) {
		d.patch("spec: {replicas: 0}")
		d.stale()
		d.becomes(probes.True, "")
		if n, _, _ := unstructured.NestedInt64(d.obj.Object, "status", "replicas"); n != 0 {
			t.Errorf("it is ready with %d replicas left", n)
		}
	})
	t.Run("Deleted", func(t *testing.T) {
		d.patch("metadata: {finalizers: [example.com/held]}")
		must(t, admin.Delete(t.Context(), d.obj))
		d.becomes(probes.False, "being deleted")
		d.patch("metadata: {finalizers: null}")
	})
}

func TestProbes_StatefulSet(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	s := create(t, ns, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: NS}, spec: {replicas: 3, serviceName: db,
  selector: {matchLabels: {app: x}}, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}, template: `+template(goodImage)+`}}`)
	s.stale()
	s.becomes(probes.True, "")
	t.Run("Partition", func(t *testing.T) {
		s.patch("spec: {template: " + template("registry.example/app:2.0") + "}")
		s.stale()
		s.becomes(probes.True, "")
		if n, _, _ := unstructured.NestedInt64(s.obj.Object, "status", "updatedReplicas"); n != 1 {
			t.Errorf("it is ready with %d replicas updated, want the one above the partition", n)
		}
		s.stays(probes.True)
	})
	t.Run("WholeUpdate", func(t *testing.T) {
		s.patch("spec: {updateStrategy: {rollingUpdate: {partition: 0}}}")
		s.stale()
		s.becomes(probes.True, "")
		if n, _, _ := unstructured.NestedInt64(s.obj.Object, "status", "updatedReplicas"); n != 3 {
			t.Errorf("it is ready with %d replicas updated, want 3", n)
		}
	})
	t.Run("OnDelete", func(t *testing.T) {
		s.patch("spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}, template: " + template("registry.example/app:3.0") + "}")
		s.stale()
		s.becomes(probes.True, "0 of 3 replicas updated, the others are updated when they are deleted (OnDelete)")
	})
	t.Run("BadImage", func(t *testing.T) {
		s.patch("spec: {updateStrategy: {type: RollingUpdate}, template: " + template(badImage) + "}")
		s.becomes(probes.False, "of 3 replicas updated")
		s.stays(probes.False)
	})
	t.Run("ScaledToZero", func(t *testing.T) {
		s.patch("spec: {replicas: 0}")
		s.stale()
		s.becomes(probes.True, "")
	})
}

func TestProbes_DaemonSet(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	d := create(t, ns, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: NS}, spec: {selector: {matchLabels: {app: x}}, template: `+template(goodImage)+`}}`)
	d.stale()
	d.becomes(probes.True, "")
	d.patch("spec: {template: " + template(badImage) + "}")
	d.stale()
	d.becomes(probes.False, "of 1 nodes")
	d.stays(probes.False)
	d.patch("spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}, template: " + template(goodImage) + "}")
	d.becomes(probes.False, "0 of 1 nodes available")
	pods := &unstructured.Unstructured{}
	pods.SetAPIVersion("v1")
	pods.SetKind("Pod")
	must(t, admin.DeleteAllOf(t.Context(), pods, client.InNamespace(ns)))
	d.becomes(probes.True, "")
	d.patch("spec: {template: {spec: {nodeSelector: {example.com/none: x}}}}")
	d.stale()
	d.becomes(probes.True, "no node is selected")
}

func TestProbes_Job(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	job := func(name, spec, image string) *live {
		return create(t, ns, `{apiVersion: batch/v1, kind: Job, metadata: {name: `+name+`, namespace: NS}, spec: {`+spec+`
  template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: main, image: `+image+`}]}}}}`)
	}
	suspended := job("suspended", "suspend: true,", goodImage)
	suspended.becomes(probes.Unknown, "the job is suspended")
	suspended.stays(probes.Unknown)
	suspended.patch("spec: {suspend: false}")
	suspended.becomes(probes.True, "")
	failed := job("failed", "backoffLimit: 0, activeDeadlineSeconds: 2,", badImage)
	failed.becomes(probes.False, "the job is not complete: 0 of 1 completions succeeded, 1 active")
	failed.becomes(probes.False, "the job has failed: DeadlineExceeded")
	failed.stays(probes.False)
}

const crdManifest = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: PLURAL.probes.example.com}, spec: {group: probes.example.com, scope: Cluster,
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND, listKind: KINDList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`

func TestProbes_CustomResourceDefinition(t *testing.T) {
	t.Parallel()
	named := func(plural, singular, kind string) string {
		return strings.NewReplacer("PLURAL", plural, "SINGULAR", singular, "KIND", kind).Replace(crdManifest)
	}
	first := create(t, "", named("widgets", "widget", "Widget"))
	first.becomes(probes.True, "")
	second := create(t, "", named("gadgets", "widget", "Gadget"))
	second.becomes(probes.False, "NamesAccepted")
	second.becomes(probes.False, "SingularConflict")
	second.stays(probes.False)
	must(t, admin.Delete(t.Context(), first.obj))
	second.becomes(probes.True, "")
}

func TestProbes_APIService(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	a := create(t, ns, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.aggregated.example.com}, spec: {group: aggregated.example.com, version: v1,
  groupPriorityMinimum: 100, versionPriority: 10, insecureSkipTLSVerify: true, service: {name: none, namespace: NS}}}`)
	a.becomes(probes.False, "ServiceNotFound")
	a.stays(probes.False)
	local := &live{t: t, obj: &unstructured.Unstructured{}}
	local.obj.SetAPIVersion("apiregistration.k8s.io/v1")
	local.obj.SetKind("APIService")
	local.obj.SetName("v1.apps")
	local.becomes(probes.True, "")
}

func TestProbes_PersistentVolumeClaim(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	class := func(mode string) string {
		name := ns + "-" + strings.ToLower(mode)
		create(t, ns, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: `+name+`}, provisioner: example.com/disk, volumeBindingMode: `+mode+`}`)
		return name
	}
	claim := func(name, class string) *live {
		return create(t, ns, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: `+name+`, namespace: NS}, spec: {storageClassName: `+class+`,
  accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	}
	waiting := claim("waiting", class("WaitForFirstConsumer"))
	waiting.becomes(probes.True, "waits for its first consumer")
	waiting.stays(probes.True)
	create(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: consumer, namespace: NS}, spec: {containers: [{name: main, image: x}], volumes: [{name: data, persistentVolumeClaim: {claimName: waiting}}]}}`)
	waiting.becomes(probes.True, "for its consumer on the node")
	immediate := claim("immediate", class("Immediate"))
	immediate.becomes(probes.False, "provisioned by \"example.com/disk\"")
	immediate.stays(probes.False)
	create(t, ns, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: `+ns+`}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: `+ns+`-immediate,
  hostPath: {path: /nowhere}, claimRef: {namespace: NS, name: immediate}}}`)
	immediate.becomes(probes.True, "")
}

func TestProbes_HorizontalPodAutoscaler(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	h := create(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: NS}, spec: {minReplicas: 1, maxReplicas: 3,
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
	h.becomes(probes.False, "FailedGetScale")
	h.stays(probes.False)
	create(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {selector: {matchLabels: {app: x}}, template: `+template(goodImage)+`}}`)
	h.becomes(probes.True, "scaling is not active")
}

func TestProbes_OtherKinds(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	t.Run("Service", func(t *testing.T) {
		s := create(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: NS}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`)
		s.becomes(probes.False, "no address")
		must(t, admin.SubResource("status").Patch(t.Context(), s.obj, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`))))
		s.becomes(probes.True, "")
	})
	t.Run("Namespace", func(t *testing.T) {
		n := create(t, ns, `{apiVersion: v1, kind: Namespace, metadata: {name: NS-2}}`)
		n.becomes(probes.True, "")
		create(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: NS-2, finalizers: [example.com/held]}}`)
		must(t, admin.Delete(t.Context(), n.obj))
		n.becomes(probes.False, "being deleted")
	})
	t.Run("PodDisruptionBudget", func(t *testing.T) {
		p := create(t, ns, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {app: none}}}}`)
		p.becomes(probes.True, "")
	})
	t.Run("ReplicaSet", func(t *testing.T) {
		r := create(t, ns, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: NS}, spec: {replicas: 2, selector: {matchLabels: {app: x}}, template: `+template(goodImage)+`}}`)
		r.stale()
		r.becomes(probes.True, "")
	})
	t.Run("Pod", func(t *testing.T) {
		p := create(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: NS}, spec: {containers: [{name: main, image: `+badImage+`}]}}`)
		p.becomes(probes.False, "container \"main\" waits: ErrImagePull")
	})
	t.Run("Webhook", func(t *testing.T) {
		w := create(t, ns, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NS}, webhooks: [{name: a.example.com, sideEffects: None,
  admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {service: {name: none, namespace: NS}}, namespaceSelector: {matchLabels: {none: none}}}]}`)
		w.becomes(probes.False, "a.example.com")
	})
}

// TestProbes_DefaultsOpenGates: a claim that waits for its consumer, a workload that is
// scaled to zero and a job that completes hold up no later phase.
func TestProbes_DefaultsOpenGates(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	create(t, ns, `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NS}, provisioner: example.com/disk, volumeBindingMode: WaitForFirstConsumer}`)
	manifest := func(text string) v1alpha1.Object {
		var content fields
		must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NS", ns)), &content))
		return object(t, content)
	}
	pkg := newPackage(t, v1alpha1.PackageSpec{},
		phase("storage", manifest(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: NS}, spec: {storageClassName: NS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)),
		phase("deploy",
			manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: none, namespace: NS}, spec: {replicas: 0, selector: {matchLabels: {app: x}}, template: `+template(badImage)+`}}`),
			manifest(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: none, namespace: NS}, spec: {replicas: 0, serviceName: none, selector: {matchLabels: {app: x}}, template: `+template(badImage)+`}}`)),
		phase("migrate", manifest(`{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: NS}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: `+goodImage+`}]}}}}`)),
		phase("after", configMapManifest(t, ns, "after", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if !exists(t, configMapType(), ns, "after") {
		t.Error("the last phase is missing")
	}
}

// probed makes a package with revision 1 of one phase, which the probe gates.
func probed(t *testing.T, spec v1alpha1.PackageSpec, probe v1alpha1.Probe, phases ...v1alpha1.Phase) *v1alpha1.Package {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}, Spec: spec}
	must(t, admin.Create(t.Context(), pkg))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), pkg)); err != nil {
			t.Errorf("deleting the test's package: %v", err)
		}
	})
	must(t, admin.Create(t.Context(), &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName(pkg.Name, 1)},
		Spec:       v1alpha1.RevisionSpec{Package: pkg.Name, Revision: 1, Phases: phases, Probes: []v1alpha1.Probe{probe}},
	}))
	return pkg
}

func valueProbe(value string) v1alpha1.Probe {
	return v1alpha1.Probe{
		Name: "value", Selector: v1alpha1.ProbeSelector{Kind: "ConfigMap"},
		Assertions: []v1alpha1.Assertion{{FieldValue: &v1alpha1.FieldValueAssertion{Path: `.metadata.annotations["example.com/state"]`, Value: v1alpha1.ScalarOf(value)}}},
	}
}

func setState(t *testing.T, namespace, name, value string) {
	t.Helper()
	object := configMap(t, namespace, name)
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, "example.com/state", value)
	must(t, admin.Patch(t.Context(), object, client.MergeFrom(before)))
}

// TestProbes_HoldsFor: a probe that holds opens the gate only when it has done so for
// long enough, and starts anew when it is interrupted.
func TestProbes_HoldsFor(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	probe := valueProbe("good")
	probe.HoldsFor = &metav1.Duration{Duration: 4 * time.Second}
	pkg := probed(t, v1alpha1.PackageSpec{}, probe, phase("one", configMapManifest(t, ns, "a", "1")))
	unready := func(text string) v1alpha1.ObjectStatus {
		var entry v1alpha1.ObjectStatus
		planetest.Eventually(t, "the object to wait: "+text, func() (bool, error) {
			list := getRevision(t, pkg.Name, 1).Status.Objects
			if len(list) == 1 {
				entry = list[0]
			}
			return len(list) == 1 && strings.Contains(list[0].Message, text), fmt.Errorf("objects: %v", list)
		})
		return entry
	}
	unready(`.metadata.annotations["example.com/state"] is missing, expected "good"`)
	setState(t, ns, "a", "good")
	time.Sleep(2 * time.Second)
	setState(t, ns, "a", "bad")
	unready(`is "bad", expected "good"`)
	again := time.Now()
	setState(t, ns, "a", "good")
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if took := revision.Status.SucceededAt.Sub(again); took < 3*time.Second {
		t.Errorf("the revision has succeeded %s after the probe held again, want 4s", took)
	}
	if revision.Status.Inventory[0].HeldSince == nil {
		t.Error("the status does not say since when the probe holds")
	}
	setState(t, ns, "a", "bad")
	planetest.Eventually(t, "the loss to be counted", func() (bool, error) {
		list := getRevision(t, pkg.Name, 1).Status.Flaps
		return len(list) == 1 && list[0].Count == 1 && list[0].Name == "a", fmt.Errorf("flaps: %v", list)
	})
}

// TestProbes_Within: an object that is not ready in time fails the rollout without
// waiting for the package's deadline, and the rollout can still recover.
func TestProbes_Within(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	probe := valueProbe("good")
	probe.Within = &metav1.Duration{Duration: 3 * time.Second}
	pkg := probed(t, v1alpha1.PackageSpec{}, probe, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonProgressDeadlineExceeded)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "ConfigMap "+ns+"/a had to be ready by ", "within", "is missing") {
		t.Errorf("the message names not the object, the time and the reason: %s", text)
	}
	setState(t, ns, "a", "good")
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestProbes_HangingPod: the status of a workload that hangs names a pod and its
// reason, for a handful of requests.
func TestProbes_HangingPod(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	since := time.Now()
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", deploymentManifest(t, ns, "app", badImage)))
	planetest.Eventually(t, "the status to name the pod", func() (bool, error) {
		text := message(getRevision(t, pkg.Name, 1).Status.Conditions, v1alpha1.ConditionProgressing)
		return containsAll(text, "Deployment "+ns+"/app", "Pod app-", "ErrImagePull", "registry.invalid"), errors.New(text)
	})
	lists := 0
	for _, e := range requests(t, since) {
		if e.Namespace == ns && e.Verb == "list" && e.Resource == "pods" {
			lists++
		}
	}
	if lists < 1 || lists > 2 {
		t.Errorf("the pods were listed %d times in %s, want once or twice", lists, time.Since(since).Round(time.Second))
	}
}

// TestProbes_Admission: the API server refuses what can be seen to be wrong, with the
// place; what it cannot see makes the revision invalid, with line and column.
func TestProbes_Admission(t *testing.T) {
	t.Parallel()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}, Spec: v1alpha1.PackageSpec{Paused: &v1alpha1.Pause{By: "tester", Reason: "only the API server is asked"}}}
	must(t, admin.Create(t.Context(), pkg))
	t.Cleanup(func() { _ = admin.Delete(context.Background(), pkg) })
	refused := func(assertions, timing string) error {
		revision := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(fmt.Sprintf(`{apiVersion: strata.run/v1alpha1, kind: Revision, metadata: {name: %[1]s-1}, spec: {package: %[1]s, revision: 1, phases: [],
  probes: [{name: p, selector: {kind: ConfigMap}, assertions: %s%s}]}}`, pkg.Name, assertions, timing)), &revision.Object))
		return admin.Create(t.Context(), revision, client.DryRunAll)
	}
	for name, tc := range map[string]struct{ reason, assertions, timing, want string }{
		"Fine": {"what is right is taken", `[{fieldValue: {path: '.a["b.c/d"][x=y][0]', value: true, operator: Equal}}, {observedGeneration: {}}, {default: {}},
  {not: {condition: {type: A}}}, {anyOf: [{condition: {type: A}}, {not: {cel: {expression: 'true'}}}]}]`, ", within: 2m, holdsFor: 10s", ""},
		"Path":        {"a path that is none", `[{fieldValue: {path: .metadata.annotations.example.com/x, value: 1}}]`, "", "spec.probes[0].assertions[0].fieldValue.path"},
		"NestedPath":  {"a path in an alternative", `[{anyOf: [{not: {fieldsEqual: {a: .a, b: ..b}}}]}]`, "", "spec.probes[0].assertions[0].anyOf[0].not.fieldsEqual.b"},
		"Two":         {"an assertion of two things", `[{observedGeneration: {}, default: {}}]`, "", "exactly one of"},
		"TwoNested":   {"a not of two things", `[{not: {observedGeneration: {}, default: {}}}]`, "", "spec.probes[0].assertions[0].not: Invalid"},
		"Nothing":     {"an alternative of nothing", `[{anyOf: [{}]}]`, "", "spec.probes[0].assertions[0].anyOf[0]: Invalid"},
		"NoValue":     {"a value that is missing", `[{fieldValue: {path: .a}}]`, "", "spec.probes[0].assertions[0].fieldValue.value: Required"},
		"Operator":    {"an operator that does not exist", `[{fieldValue: {path: .a, value: 1, operator: Like}}]`, "", "spec.probes[0].assertions[0].fieldValue.operator"},
		"NoTime":      {"a limit of nothing", `[{default: {}}]`, ", within: 0s", "spec.probes[0].within"},
		"NegativeFor": {"a negative time", `[{default: {}}]`, ", holdsFor: -1s", "spec.probes[0].holdsFor"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(tc.assertions, tc.timing)
			if tc.want == "" && err != nil || tc.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestProbes_InvalidExpression: an expression that does not compile is refused with
// its place before anything is written.
func TestProbes_InvalidExpression(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	probe := valueProbe("good")
	probe.Assertions = append(probe.Assertions, v1alpha1.Assertion{CEL: &v1alpha1.CELAssertion{Expression: "self.data.value == '1' &&\n  status.ready == true"}})
	pkg := probed(t, v1alpha1.PackageSpec{}, probe, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonInvalidSpec)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "spec.probes[0].assertions[1].cel.expression", "line 2, column 3", "status") {
		t.Errorf("the message names not the place: %s", text)
	}
	if exists(t, configMapType(), ns, "a") {
		t.Error("an object of an invalid revision was written")
	}
}
