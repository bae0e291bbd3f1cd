// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/probes"
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
	planetest.Stays(l.t, time.Second, fmt.Sprintf("%s %s is %s", l.obj.GetKind(), l.obj.GetName(), want), func() (bool, error) {
		got, err := l.probe()
		must(l.t, err)
		return got.Status == want, fmt.Errorf("it is %s %q", got.Status, got.Message)
	})
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
	d := create(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {replicas: 2,
  selector: {matchLabels: {app: x}}, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, template: `+template(goodImage)+`}}`)
	d.stale()
	d.becomes(probes.True, "")
	// Surge: the condition Available stays True all the time: old pods serve.
	d.patch("spec: {template: " + template(badImage) + "}")
	d.stale()
	d.becomes(probes.False, "1 of 2 replicas updated")
	d.stays(probes.False)
	// Failed rollout. The deadline is near only now: what is above must be seen before it.
	d.patch("spec: {progressDeadlineSeconds: 1}")
	d.becomes(probes.False, "ProgressDeadlineExceeded")
	d.patch("spec: {template: " + template(goodImage) + "}")
	d.stale()
	d.becomes(probes.True, "")
	// Paused.
	d.patch("spec: {paused: true, template: " + template("registry.example/app:2.0") + "}")
	d.stale()
	d.becomes(probes.Unknown, "the rollout is paused: 0 of 2 replicas updated")
	d.patch("spec: {paused: false}")
	d.becomes(probes.True, "")
	// Scaled to zero.
	d.patch("spec: {replicas: 0}")
	d.stale()
	d.becomes(probes.True, "")
	if n, _, _ := unstructured.NestedInt64(d.obj.Object, "status", "replicas"); n != 0 {
		t.Errorf("it is ready with %d replicas left", n)
	}
	// Being deleted.
	d.patch("metadata: {finalizers: [example.com/held]}")
	must(t, admin.Delete(t.Context(), d.obj))
	d.becomes(probes.False, "being deleted")
	d.patch("metadata: {finalizers: null}")
}

func TestProbes_StatefulSet(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	s := create(t, ns, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: NS}, spec: {replicas: 3, serviceName: db,
  selector: {matchLabels: {app: x}}, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}, template: `+template(goodImage)+`}}`)
	s.stale()
	s.becomes(probes.True, "")
	// A partition.
	s.patch("spec: {template: " + template("registry.example/app:2.0") + "}")
	s.stale()
	s.becomes(probes.True, "")
	if n, _, _ := unstructured.NestedInt64(s.obj.Object, "status", "updatedReplicas"); n != 1 {
		t.Errorf("it is ready with %d replicas updated, want the one above the partition", n)
	}
	s.stays(probes.True)
	// Whole update.
	s.patch("spec: {updateStrategy: {rollingUpdate: {partition: 0}}}")
	s.stale()
	s.becomes(probes.True, "")
	if n, _, _ := unstructured.NestedInt64(s.obj.Object, "status", "updatedReplicas"); n != 3 {
		t.Errorf("it is ready with %d replicas updated, want 3", n)
	}
	// Updates of pods that are deleted.
	s.patch("spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}, template: " + template("registry.example/app:3.0") + "}")
	s.stale()
	s.becomes(probes.True, "0 of 3 replicas updated, the others are updated when they are deleted (OnDelete)")
	// Bad image.
	s.patch("spec: {updateStrategy: {type: RollingUpdate}, template: " + template(badImage) + "}")
	s.becomes(probes.False, "of 3 replicas updated")
	s.stays(probes.False)
	// Scaled to zero.
	s.patch("spec: {replicas: 0}")
	s.stale()
	s.becomes(probes.True, "")
}

func TestProbes_DaemonSet(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	d := create(t, ns, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: NS}, spec: {selector: {matchLabels: {app: x}}, template: `+template(goodImage)+`}}`)
	d.stale()
	d.becomes(probes.True, "")
	d.patch("spec: {template: " + template(badImage) + "}")
	d.stale()
	// On every node the pod of before has made way for one that does not run.
	d.becomes(probes.False, "0 of 1 nodes available")
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
	failed := job("failed", "backoffLimit: 0,", badImage)
	failed.becomes(probes.False, "the job is not complete: 0 of 1 completions succeeded, 1 active")
	failed.patch("spec: {activeDeadlineSeconds: 1}")
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
		t.Parallel()
		s := create(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: NS}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`)
		s.becomes(probes.False, "no address")
		must(t, admin.SubResource("status").Patch(t.Context(), s.obj, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`))))
		s.becomes(probes.True, "")
	})
	t.Run("Namespace", func(t *testing.T) {
		t.Parallel()
		n := create(t, ns, `{apiVersion: v1, kind: Namespace, metadata: {name: NS-2}}`)
		n.becomes(probes.True, "")
		create(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: NS-2, finalizers: [example.com/held]}}`)
		must(t, admin.Delete(t.Context(), n.obj))
		n.becomes(probes.False, "being deleted")
	})
	t.Run("PodDisruptionBudget", func(t *testing.T) {
		t.Parallel()
		p := create(t, ns, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {app: none}}}}`)
		p.becomes(probes.True, "")
	})
	t.Run("ReplicaSet", func(t *testing.T) {
		t.Parallel()
		r := create(t, ns, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs, namespace: NS}, spec: {replicas: 2, selector: {matchLabels: {app: x}}, template: `+template(goodImage)+`}}`)
		r.stale()
		r.becomes(probes.True, "")
	})
	t.Run("Pod", func(t *testing.T) {
		t.Parallel()
		p := create(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: bad, namespace: NS}, spec: {containers: [{name: main, image: `+badImage+`}]}}`)
		p.becomes(probes.False, "container \"main\" waits: ErrImagePull")
	})
	t.Run("Webhook", func(t *testing.T) {
		t.Parallel()
		w := create(t, ns, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NS}, webhooks: [{name: a.example.com, sideEffects: None,
  admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {service: {name: none, namespace: NS}}, namespaceSelector: {matchLabels: {none: none}}}]}`)
		w.becomes(probes.False, "a.example.com")
	})
}
