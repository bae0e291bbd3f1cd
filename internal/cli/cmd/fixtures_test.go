// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/pods"
)

const fixturePackage = "istiod-openshift-gateway"

// fixtureNow is the present of every fixture.
var fixtureNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(fixtureNow.Add(-d)) }

func agoPointer(d time.Duration) *metav1.Time {
	t := ago(d)
	return &t
}

// fixture is a package with its revisions, slices and failing pods.
type fixture struct {
	t    *testing.T
	view view.Snapshot
	objs []v1alpha1.ObjectSlice
	// cluster are further objects, such as pods.
	cluster []clusterObject
}

// clusterObject is an object and where it stands.
type clusterObject struct {
	collection string
	object     any
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t: t, view: view.Snapshot{
		Package: &v1alpha1.Package{
			ObjectMeta: metav1.ObjectMeta{
				Name: fixturePackage, Generation: 1, ResourceVersion: "7", CreationTimestamp: ago(72 * time.Hour),
				Labels: map[string]string{v1alpha1.LabelFront: "gatewayclass"},
			},
			Spec:   v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}},
			Status: v1alpha1.PackageStatus{ObservedGeneration: 1},
		},
		Manifests: view.Manifests{},
		Pods:      map[string][]pods.Trouble{},
	}}
}

func manifest(apiVersion, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(u.Object, more)
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// fixturePhases is the content of a version: 18 objects in three phases, one of
// which is too large to stand inline.
func fixturePhases(version string) []content.Phase {
	const ns = "openshift-ingress"
	phases := []content.Phase{{Name: "rbac-and-config"}, {Name: "control-plane"}, {Name: "webhooks"}}
	add := func(phase int, m *unstructured.Unstructured) {
		phases[phase].Objects = append(phases[phase].Objects, content.Object{Manifest: m})
	}
	add(0, manifest("v1", "ServiceAccount", ns, fixturePackage, nil))
	add(0, manifest("v1", "ConfigMap", ns, "istio-openshift-gateway", map[string]any{"data": map[string]any{"mesh": "version: " + version}}))
	add(0, manifest("v1", "ConfigMap", ns, "istio-sidecar-injector-openshift-gateway", map[string]any{
		"data": map[string]any{"config": strings.Repeat("template of "+version+"\n", 2000)},
	}))
	for i := range 10 {
		add(0, manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "", fmt.Sprintf("istio-reader-%d", i), nil))
	}
	add(1, manifest("v1", "Service", ns, fixturePackage, nil))
	add(1, manifest("apps/v1", "Deployment", ns, fixturePackage, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "istiod"}},
		"image":    "pilot:" + version,
	}}))
	add(1, manifest("policy/v1", "PodDisruptionBudget", ns, fixturePackage, nil))
	add(2, manifest("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", fixturePackage, nil))
	add(2, manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", fixturePackage, nil))
	if version == "1.29.1" {
		add(2, manifest("v1", "ConfigMap", ns, "only-in-1.29", nil))
	}
	return phases
}

// revision adds a revision with the content of a version.
func (f *fixture) revision(n int64, version string, made time.Duration) *v1alpha1.Revision {
	f.t.Helper()
	packed, err := content.Pack(fixturePhases(version), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range packed.Slices {
		held, err := content.Unpack(&packed.Slices[i])
		if err != nil {
			f.t.Fatal(err)
		}
		f.view.Manifests[content.Reference{Name: packed.Slices[i].Name}] = view.StoredOf(held)
		f.objs = append(f.objs, packed.Slices[i])
	}
	f.view.Revisions = append(f.view.Revisions, v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName(fixturePackage, n), Generation: 1, CreationTimestamp: ago(made)},
		Spec: v1alpha1.RevisionSpec{
			Package: fixturePackage, Revision: n, Previous: n - 1, LifecycleState: v1alpha1.LifecycleActive,
			Phases: packed.Phases, ContentDigest: packed.Digest,
			Origin: &v1alpha1.Origin{
				Kind: v1alpha1.OriginFront, Reference: "GatewayClass/openshift-default", AppVersion: version,
				Reason: "version " + version,
				Images: []string{"docker.io/istio/pilot:" + version},
			},
		},
		Status: v1alpha1.RevisionStatus{ObservedGeneration: 1},
	})
	return &f.view.Revisions[len(f.view.Revisions)-1]
}

func set(conditions *[]metav1.Condition, kind, status, reason, message string) {
	for i := range *conditions {
		if (*conditions)[i].Type == kind {
			(*conditions)[i] = metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
			return
		}
	}
	*conditions = append(*conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
}

// reached says how many objects of the revision are in place: action says what
// was done to the object at a place in the content.
func (f *fixture) reached(r *v1alpha1.Revision, objects int, action func(kind, name string) string) {
	place, complete, ready := 0, 0, 0
	for i, items := range view.ItemsOf(r, f.view.Manifests) {
		state := v1alpha1.PhaseStatus{Name: r.Spec.Phases[i].Name, State: v1alpha1.PhasePending, Objects: int32(len(items))}
		for _, it := range items {
			place++
			if place > objects {
				continue
			}
			r.Status.Inventory = append(r.Status.Inventory, v1alpha1.InventoryEntry{
				ObjectReference: it.Ref, UID: fmt.Sprintf("uid-%02d", place), Action: action(it.Ref.Kind, it.Ref.Name), Content: it.Digest[:8],
			})
			state.Ready++
			ready++
		}
		switch {
		case int(state.Ready) == len(items):
			state.State = v1alpha1.PhaseComplete
			complete++
		case state.Ready > 0:
			state.State = v1alpha1.PhaseProgressing
		}
		r.Status.Phases = append(r.Status.Phases, state)
	}
	r.Status.Phase = fmt.Sprintf("%d/%d", complete, len(r.Spec.Phases))
	r.Status.Probes = fmt.Sprintf("%d/%d", ready, place)
}

func created(string, string) string { return "Created" }

// upgraded is what an upgrade does: two config maps and the deployment differ.
func upgraded(kind, _ string) string {
	if kind == "Deployment" || kind == "ConfigMap" {
		return "Updated"
	}
	return "Unchanged"
}

// succeed marks a revision as rolled out.
func (f *fixture) succeed(r *v1alpha1.Revision, took time.Duration, action func(kind, name string) string) {
	f.reached(r, 99, action)
	at := metav1.NewTime(r.CreationTimestamp.Add(took))
	r.Status.SucceededAt, r.Status.LastProgressTime = &at, &at
	set(&r.Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonRolledOut, fmt.Sprintf("revision %d is rolled out", r.Spec.Revision))
	set(&r.Status.Conditions, v1alpha1.ConditionAvailable, "True", v1alpha1.ReasonProbesSucceeded, "every object is in place and every probe is true")
	set(&r.Status.Conditions, v1alpha1.ConditionSucceeded, "True", v1alpha1.ReasonRolloutSuccess, "the revision was rolled out")
}

// archive marks a revision as torn down.
func archive(r *v1alpha1.Revision, when time.Duration) {
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	r.Status.ArchivedAt = agoPointer(when)
	r.Status.Inventory, r.Status.Objects = nil, nil
	set(&r.Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonArchived, "the revision is history")
	set(&r.Status.Conditions, v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonArchived, "the revision is history")
}

// progressing sets what a revision waits for, and the package's status from it.
func (f *fixture) progressing(r *v1alpha1.Revision, status, reason, message string) {
	r.Status.LastProgressTime = agoPointer(12 * time.Second)
	set(&r.Status.Conditions, v1alpha1.ConditionProgressing, status, reason, message)
	if len(r.Status.Conditions) < 3 {
		set(&r.Status.Conditions, v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonRollingOut, "the revision has not been rolled out completely")
	}
	f.observe(r, status, reason, fmt.Sprintf("revision %d: %s", r.Spec.Revision, message))
}

// observe sets the package's status from its target.
func (f *fixture) observe(target *v1alpha1.Revision, status, reason, message string) {
	s := &f.view.Package.Status
	s.TargetRevision, s.Phase, s.Probes = target.Spec.Revision, target.Status.Phase, target.Status.Probes
	for i := range f.view.Revisions {
		r := &f.view.Revisions[i]
		if r.Status.SucceededAt != nil && r.Spec.LifecycleState != v1alpha1.LifecycleArchived {
			s.CurrentRevision, s.Version = r.Spec.Revision, r.Spec.Origin.AppVersion
		}
	}
	set(&s.Conditions, v1alpha1.ConditionProgressing, status, reason, message)
	switch {
	case s.CurrentRevision == 0:
		set(&s.Conditions, v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonRollingOut, "the first revision has not been rolled out yet")
		set(&s.Conditions, v1alpha1.ConditionReady, "False", v1alpha1.ReasonNotReady, message)
	case s.CurrentRevision != s.TargetRevision:
		set(&s.Conditions, v1alpha1.ConditionAvailable, "True", v1alpha1.ReasonServing,
			fmt.Sprintf("revision %d serves while revision %d is rolled out", s.CurrentRevision, s.TargetRevision))
		set(&s.Conditions, v1alpha1.ConditionReady, "False", v1alpha1.ReasonNotReady, message)
	default:
		set(&s.Conditions, v1alpha1.ConditionAvailable, "True", v1alpha1.ReasonProbesSucceeded, "the operand serves")
		set(&s.Conditions, v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady, message)
	}
}

// notReady adds an object that holds a revision.
func notReady(r *v1alpha1.Revision, phase string, ref v1alpha1.ObjectReference, reason, message, hint string) {
	r.Status.Objects = append(r.Status.Objects, v1alpha1.ObjectStatus{
		ObjectReference: ref, Phase: phase, Reason: reason, Message: message, Hint: hint, Since: ago(12 * time.Second),
	})
	for i := range r.Status.Phases {
		s := &r.Status.Phases[i]
		if s.Name == phase {
			s.Ready--
			s.State = v1alpha1.PhaseProgressing
		}
	}
}

var istiod = v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "openshift-ingress", Name: fixturePackage}

// fixtures are the states that every view is tested in.
func fixtures() map[string]func(f *fixture) {
	return map[string]func(f *fixture){
		"no_revision": func(f *fixture) {
			const message = "the package has no active revision: create a Revision, or wait for the front that makes them"
			for _, kind := range []string{v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable, v1alpha1.ConditionReady} {
				set(&f.view.Package.Status.Conditions, kind, "False", v1alpha1.ReasonNoRevision, message)
			}
		},
		"not_observed": func(f *fixture) { f.view.Package.Status.ObservedGeneration = 0 },
		"first_rollout": func(f *fixture) {
			r := f.revision(1, "1.29.1", 12*time.Second)
			f.reached(r, 14, created)
			f.progressing(r, "True", v1alpha1.ReasonRollingOut, "phase 2/3 control-plane")
		},
		"rolling_out": func(f *fixture) { f.upgrade(15) },
		"begun": func(f *fixture) {
			r := f.upgrade(15)
			f.view.Package.Status.Phase = "1/3"
			r.Status = v1alpha1.RevisionStatus{}
		},
		"bad_image": fixtureBadImage,
		"deadline": func(f *fixture) {
			fixtureBadImage(f)
			r := &f.view.Revisions[len(f.view.Revisions)-1]
			f.progressing(r, "False", v1alpha1.ReasonProgressDeadlineExceeded, "nothing moved for 10m0s: phase 2/3 control-plane waits for Deployment openshift-ingress/istiod-openshift-gateway: 0 of 1 updated replicas are available")
		},
		"collision": func(f *fixture) {
			r := f.upgrade(13)
			notReady(r, "control-plane", istiod, "Collision", "Deployment openshift-ingress/istiod-openshift-gateway is controlled by HelmRelease istio-system/istiod", "set collisionProtection: None on the object to take it over")
			r.Status.Phases[1].Ready = 0
			f.progressing(r, "False", v1alpha1.ReasonObjectCollisions, "Deployment openshift-ingress/istiod-openshift-gateway: is controlled by HelmRelease istio-system/istiod: set collisionProtection: None on the object to take it over")
		},
		"paused": func(f *fixture) {
			r := f.upgrade(13)
			f.view.Package.Spec.Paused = &v1alpha1.Pause{By: "alice", Reason: "change freeze"}
			f.progressing(r, "False", v1alpha1.ReasonPaused, "paused by alice: change freeze")
		},
		"flapping":    fixtureFlapping,
		"done":        func(f *fixture) { f.done() },
		"rolled_back": fixtureRolledBack,
		"deleting": func(f *fixture) {
			f.done()
			f.view.Package.DeletionTimestamp = agoPointer(4 * time.Second)
			const message = "waits for Deployment openshift-ingress/istiod-openshift-gateway of phase control-plane: it is being deleted"
			set(&f.view.Package.Status.Conditions, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonTearingDown, message)
			set(&f.view.Package.Status.Conditions, v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonTearingDown, message)
			set(&f.view.Package.Status.Conditions, v1alpha1.ConditionReady, "False", v1alpha1.ReasonTearingDown, message)
		},
	}
}

// upgrade has revision 2 serve and revision 3 rolled out as far as some objects.
func (f *fixture) upgrade(objects int) *v1alpha1.Revision {
	first := f.revision(1, "1.28.2", 72*time.Hour)
	f.succeed(first, 14*time.Second, created)
	archive(first, 3*time.Hour)
	serving := f.revision(2, "1.29.1", 3*time.Hour)
	f.succeed(serving, 9*time.Second, upgraded)
	target := f.revision(3, "1.31.0", 24*time.Second)
	f.reached(target, objects, upgraded)
	f.progressing(target, "True", v1alpha1.ReasonRollingOut, "phase 2/3 control-plane")
	return target
}

func fixtureBadImage(f *fixture) {
	r := f.upgrade(16)
	notReady(r, "control-plane", istiod, "ProbeFailed", "0 of 1 updated replicas are available", "")
	r.Status.Phase, r.Status.Probes = "1/3", "15/18"
	f.progressing(r, "True", v1alpha1.ReasonRollingOut, "phase 2/3 control-plane waits for Deployment openshift-ingress/istiod-openshift-gateway: 0 of 1 updated replicas are available")
	f.failingPod("uid-15")
}

// fixtureFlapping has a Deployment whose probe holds, but not yet for long enough, after
// it has ceased to hold twice, and a Service that flaps and is ready.
func fixtureFlapping(f *fixture) {
	r := f.upgrade(16)
	r.Spec.Probes = []v1alpha1.Probe{{
		Name: "steady", Selector: v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment"}, Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{Default: &v1alpha1.DefaultAssertion{}})},
		Within: &metav1.Duration{Duration: 3 * time.Minute}, HoldsFor: &metav1.Duration{Duration: 30 * time.Second},
	}}
	notReady(r, "control-plane", istiod, "ProbeUnknown", "the probe is true, and has to stay so for 30s", "")
	due := metav1.NewTime(fixtureNow.Add(100 * time.Second))
	r.Status.Objects[0].DueAt = &due
	service := v1alpha1.ObjectReference{Version: "v1", Kind: "Service", Namespace: "openshift-ingress", Name: fixturePackage}
	r.Status.Flaps = []v1alpha1.Flap{{ObjectReference: istiod, Count: 2, LastChange: ago(12 * time.Second)}, {ObjectReference: service, Count: 1, LastChange: ago(time.Minute)}}
	for i := range r.Status.Inventory {
		if r.Status.Inventory[i].Kind == "Deployment" {
			r.Status.Inventory[i].HeldSince = agoPointer(12 * time.Second)
		}
	}
	f.progressing(r, "True", v1alpha1.ReasonRollingOut, "phase 2/3 control-plane waits for Deployment openshift-ingress/istiod-openshift-gateway: the probe is true, and has to stay so for 30s")
}

func (f *fixture) done() {
	target := f.upgrade(99)
	target.Status.Inventory, target.Status.Phases = nil, nil
	f.succeed(target, 15*time.Second, upgraded)
	archive(&f.view.Revisions[1], 9*time.Second)
	f.observe(target, "False", v1alpha1.ReasonRolledOut, "revision 3 is rolled out")
}

func fixtureRolledBack(f *fixture) {
	f.upgrade(16)
	back := f.revision(4, "1.29.1", 20*time.Second)
	back.Spec.Origin.Kind = v1alpha1.OriginRollback
	back.Spec.Origin.Reference = "Revision/" + v1alpha1.RevisionName(fixturePackage, 2)
	back.Spec.Origin.Reason = "rollback from revision 3 to 2: 1.31.0 cannot be pulled"
	back.Spec.Origin.CreatedBy = "bob"
	f.succeed(back, 2*time.Second, upgraded)
	archive(&f.view.Revisions[1], 18*time.Second)
	archive(&f.view.Revisions[2], 18*time.Second)
	f.view.Revisions[2].Status.SucceededAt = nil
	f.observe(back, "False", v1alpha1.ReasonRolledOut, "revision 4 is rolled out")
	set(&f.view.Package.Status.Conditions, v1alpha1.ConditionReady, "True", v1alpha1.ReasonRolledBack, "the content of revision 2 runs; that of revision 3 was rejected")
}

// fixtureNamed builds a fixture.
func fixtureNamed(t *testing.T, name string) *fixture {
	t.Helper()
	f := newFixture(t)
	fixtures()[name](f)
	return f
}

// raw is a manifest as it stands inline.
func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// failingPod adds a pod of the Deployment whose image cannot be pulled, of a ReplicaSet
// of it; one of another ReplicaSet runs.
func (f *fixture) failingPod(deployment string) {
	f.t.Helper()
	isController := true
	podOf := func(hash, name string) corev1.Pod {
		set := "istiod-openshift-gateway-" + hash
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: set + "-" + name, Namespace: "openshift-ingress", Labels: map[string]string{"app": "istiod", "pod-template-hash": hash},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: set, UID: types.UID("uid of " + set), Controller: &isController}},
		}}
	}
	failing := podOf("5c9d8f7b6d", "x2x7p")
	failing.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "discovery", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ErrImagePull", Message: `image "docker.io/istio/pilot:1.31.0-does-not-exist" cannot be pulled`,
	}}}}
	running := podOf("7f6c5d4b3a", "k4k4k")
	running.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "discovery", Ready: true}}
	f.cluster = append(f.cluster, clusterObject{podsPath, failing}, clusterObject{podsPath, running})
	f.view.Pods[deployment] = pods.Failing([]corev1.Pod{failing, running})
}
