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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

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
		Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{FieldValue: &v1alpha1.FieldValueAssertion{Path: `.metadata.annotations["example.com/state"]`, Value: v1alpha1.ScalarOf(value)}})},
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
	probe.HoldsFor = &metav1.Duration{Duration: 10 * time.Second} // much longer than it holds at first
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
	planetest.Stays(t, 2*time.Second, "a probe that has to hold for longer keeps the gate closed", func() (bool, error) {
		return !meta.IsStatusConditionTrue(getRevision(t, pkg.Name, 1).Status.Conditions, v1alpha1.ConditionSucceeded), nil
	})
	setState(t, ns, "a", "bad")
	unready(`is "bad", expected "good"`)
	again := time.Now()
	setState(t, ns, "a", "good")
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	// Times of a status have whole seconds.
	if took := revision.Status.SucceededAt.Sub(again); took < 9*time.Second {
		t.Errorf("the revision has succeeded %s after the probe held again, want 10s", took)
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
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "ConfigMap "+ns+"/a was not ready in time ", "within", "is missing") {
		t.Errorf("the message names not the object, the time and the reason: %s", text)
	}
	setState(t, ns, "a", "good")
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestProbes_HangingPod: the status of a workload that hangs names a pod and its
// reason, for a handful of requests: one after 5 s, and one more after 10 s, 20 s and so on.
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
	most, took := 2, time.Since(since)
	for at, wait := 35*time.Second, 40*time.Second; took > at; at, wait = at+wait, 2*wait {
		most++ // on a slow machine
	}
	if lists < 1 || lists > most {
		t.Errorf("the pods were listed %d times in %s, want at most %d", lists, took.Round(time.Second), most)
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
			t.Parallel()
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
	probe.Assertions = append(probe.Assertions, v1alpha1.AssertionOf(v1alpha1.Check{CEL: &v1alpha1.CELAssertion{Expression: "self.data.value == '1' &&\n  status.ready == true"}}))
	pkg := probed(t, v1alpha1.PackageSpec{}, probe, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonInvalidSpec)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "spec.probes[0].assertions[1].cel.expression", "line 2, column 3", "status") {
		t.Errorf("the message names not the place: %s", text)
	}
	if exists(t, configMapType(), ns, "a") {
		t.Error("an object of an invalid revision was written")
	}
}
