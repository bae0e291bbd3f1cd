// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/revisions/probes"
)

func TestViews_Explain(t *testing.T) {
	all := fixtures()
	all["waiting"] = fixtureWaiting
	all["preflight"] = func(f *fixture) {
		r := f.upgrade(0)
		f.progressing(r, "False", v1alpha1.ReasonPreflightFailed, "system:serviceaccount:db:installer may not create clusterroles.rbac.authorization.k8s.io: grant it; Deployment openshift-ingress/x: spec.selector cannot be changed: set onImmutableChange: Replace")
		f.view.Package.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "db", Name: "installer"}
	}
	all["refused"] = func(f *fixture) {
		r := f.upgrade(16)
		notReady(r, "control-plane", istiod, "RolloutError", "the API server refuses it: spec.replicas: expected a number", "")
		f.progressing(r, "False", v1alpha1.ReasonObjectRefused, "Deployment openshift-ingress/istiod-openshift-gateway: spec.replicas: expected a number")
	}
	all["rollback_pinned"] = func(f *fixture) {
		fixtureRolledBack(f)
		f.view.Package.Spec.Rollback = &v1alpha1.Rollback{Pin: true}
		f.view.Package.Status.Rollback = &v1alpha1.RollbackStatus{Revision: 4, FromRevision: 3, ToRevision: 2}
	}
	all["rollback_lifted"] = func(f *fixture) {
		fixtureRolledBack(f)
		f.view.Package.Annotations = map[string]string{v1alpha1.AnnotationRejectionLifted: "4"}
	}
	all["rollback_by_hand"] = func(f *fixture) {
		fixtureRolledBack(f)
		f.view.Package.Labels = nil
	}
	all["fought"] = func(f *fixture) {
		f.done()
		r := &f.view.Revisions[2]
		r.Status.Interference = []v1alpha1.Interference{{ObjectReference: istiod, Manager: "kubectl-edit", Fields: []string{".spec.replicas"}, Count: 7, FirstSeen: ago(time.Hour), LastSeen: ago(time.Minute)}}
		r.Status.Flaps = []v1alpha1.Flap{{ObjectReference: istiod, Count: 3, LastChange: ago(5 * time.Minute)}}
	}
	for name, fill := range all {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			fill(f)
			e := f.view.Explanation(fixtureNow)
			golden(t, name+".explain", text(t, 80, func(p *output.Printer) { view.WriteExplanation(p, e, fixtureNow) }))
		})
	}
}

// event is an event as the API server keeps it.
func fixtureEvent(kind, namespace, name, reason, message string, when time.Duration) corev1.Event {
	api := map[string]string{"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "Pod": "v1", "Package": "strata.run/v1alpha1", "Revision": "strata.run/v1alpha1"}[kind]
	e := corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: strings.ToLower(name + "." + reason), Namespace: namespace, UID: types.UID(name + reason)},
		InvolvedObject: corev1.ObjectReference{APIVersion: api, Kind: kind, Namespace: namespace, Name: name},
		Type:           corev1.EventTypeNormal, Reason: reason, Message: message, EventTime: metav1.NewMicroTime(fixtureNow.Add(-when)),
	}
	if kind == "Package" || kind == "Revision" {
		e.Namespace, e.InvolvedObject.Namespace = view.ClusterEvents, ""
	}
	if strings.HasPrefix(reason, "Fail") || strings.HasSuffix(reason, "Failing") {
		e.Type = corev1.EventTypeWarning
	}
	return e
}

const (
	defaultEventsPath = "/api/v1/namespaces/default/events"
	ingressEventsPath = "/api/v1/namespaces/openshift-ingress/events"
)

// withEvents has events of everything that a package consists of, and of others.
func withEvents(t *testing.T) *terminal {
	t.Helper()
	kinds["events"] = [2]string{"v1", "Event"}
	// After the server, which is stopped first, has ended: others have a cluster without.
	t.Cleanup(func() { delete(kinds, "events") })
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	const ns = "openshift-ingress"
	for _, e := range []corev1.Event{
		fixtureEvent("Package", ns, fixturePackage, "RevisionCreated", "Revision 3 was created", 24*time.Second),
		fixtureEvent("Revision", ns, fixturePackage+"-3", "PhaseStarted", "Phase 2/3 control-plane has begun", 20*time.Second),
		fixtureEvent("Package", ns, "other", "RevisionCreated", "not ours", 20*time.Second),
		fixtureEvent("Deployment", ns, fixturePackage, "ScalingReplicaSet", "Scaled up", 19*time.Second),
		fixtureEvent("Pod", ns, fixturePackage+"-5c9d8f7b6d-x2x7p", "Failed", "Error: ErrImagePull", 3*time.Second),
		fixtureEvent("Pod", ns, fixturePackage+"-canary-5c9d8f7b6d-x2x7p", "Failed", "not ours", 2*time.Second),
	} {
		path := ingressEventsPath
		if e.Namespace == view.ClusterEvents {
			path = defaultEventsPath
		}
		tm.server.put(path, e)
	}
	return tm
}

func TestEvents(t *testing.T) {
	tm := withEvents(t)
	r := tm.run("events", fixturePackage)
	r.wants(t, CodeOK, "", "")
	golden(t, "events", r.out)
	golden(t, "events_wide", tm.run("events", fixturePackage, "-o", "wide").out)
	var doc view.Events
	parse(t, tm.run("events", fixturePackage, "-o", "yaml", "--types", "Warning"), &doc)
	if len(doc.Events) != 1 || doc.Events[0].Of != "Deployment/"+fixturePackage || doc.Events[0].Reason != "Failed" {
		t.Errorf("got %+v", doc.Events)
	}
	tm.run("events", fixturePackage, "--types", "Bad").wants(t, CodeUsage, "", "neither Normal nor Warning")
	tm.run("events", fixturePackage, "--timeout", "1s").wants(t, CodeUsage, "", "--watch")
	tm.run("events", "nothing").wants(t, CodeNotFound, "", "not in the cluster")
}

func TestEvents_Watch(t *testing.T) {
	tm := withEvents(t)
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, tm: tm, done: make(chan Code, 1)}
	go func() {
		w.done <- tm.start(ctx, &w.out, &w.err, "events", fixturePackage, "-w", "--timeout", "5m")
	}()
	w.sees("Error: ErrImagePull")
	next := fixtureEvent("Revision", "", fixturePackage+"-3", "ProbeFailing", "said later", 0)
	next.UID = "another"
	tm.server.put(defaultEventsPath, next)
	w.sees("said later")
	cancel()
	w.ends(CodeInterrupted)
	if n := strings.Count(w.out.String(), "ErrImagePull"); n != 1 {
		t.Errorf("an event is shown %d times", n)
	}
	tm.run("events", fixturePackage, "-w", "--timeout", "200ms").wants(t, CodeOK, "", "")
}

func TestExplain_Events(t *testing.T) {
	tm := withEvents(t)
	var e view.Explanation
	parse(t, tm.run("explain", fixturePackage, "-o", "json"), &e)
	var got []string
	for _, event := range e.Events {
		got = append(got, event.Kind+" "+event.Reason)
	}
	if diff := cmp.Diff([]string{"Deployment ScalingReplicaSet", "Pod Failed"}, got); diff != "" {
		t.Errorf("the events of what holds it: -want, +got:\n%s", diff)
	}
	if e.Blocking == nil || e.Blocking.Name != fixturePackage || e.Blocking.Message != "0 of 1 updated replicas are available" || len(e.Blocking.Pods) != 1 {
		t.Errorf("blocking: got %+v", e.Blocking)
	}
	if len(e.Next) < 2 || !strings.HasPrefix(e.Next[0].Command, "kubectl -n openshift-ingress describe pod "+fixturePackage) || e.Next[1].Command != "strata rollback "+fixturePackage {
		t.Errorf("next: got %+v", e.Next)
	}
	tm.run("explain", "nothing").wants(t, CodeNotFound, "", "not in the cluster")
}

func TestEventScope_LongestName(t *testing.T) {
	s := view.ScopeOf("web", []v1alpha1.Revision{{Status: v1alpha1.RevisionStatus{Inventory: []v1alpha1.InventoryEntry{
		{ObjectReference: v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "a", Name: "web"}},
		{ObjectReference: v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "StatefulSet", Namespace: "a", Name: "web-db"}},
		{ObjectReference: v1alpha1.ObjectReference{Group: "batch", Version: "v1", Kind: "Job", Namespace: "a", Name: "once"}},
	}}}})
	for name, want := range map[string]string{
		"web-5c9d8f7b6d-x2x7p": "Deployment/web", "web-db-0": "StatefulSet/web-db", "once-x2x7p": "Job/once", "web": "", "web-api-5c9d8f7b6d-x2x7p": "", "other-0": "",
	} {
		of, ok := s.Takes(corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "a", Name: name})
		if of != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", name, of, want)
		}
	}
	if _, ok := s.Takes(corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "b", Name: "web-db-0"}); ok {
		t.Error("a pod of another namespace is not the workload's")
	}
}

func TestTrace_Document(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	at := metav1.NewTime(fixtureNow.Add(-time.Minute))
	entries := []metav1.ManagedFieldsEntry{
		{Manager: "kubectl-edit", Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)},
		{Manager: "strata", Operation: "Apply", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"discovery\"}":{".":{},"f:image":{}}}}}}}`)},
	}
	summary := view.SummarisePackage(f.view.Package, f.view.Revisions)
	trace := view.Trace{
		Object: istiod, Managed: true, Package: &summary, Revisions: f.view.TraceRevisions(view.IdentityOf(istiod)), Managers: view.ManagersOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}),
		Origin: f.view.Revisions[2].Spec.Origin,
	}
	golden(t, "trace", text(t, 80, func(p *output.Printer) { view.WriteTrace(p, trace, false, fixtureNow) }))
	if len(trace.Revisions) != 3 || !trace.Revisions[0].Placed || trace.Revisions[1].Placed {
		t.Errorf("got %+v", trace.Revisions)
	}
}

// TestManagersOf: a path that trace prints can be given to --ignore and unmanaged-fields.
func TestManagersOf(t *testing.T) {
	managers := view.ManagersOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "helm", Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}}}`)},
	}}})
	if len(managers) != 1 || len(managers[0].Fields) != 1 {
		t.Fatalf("got %+v", managers)
	}
	labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "web", "other": "x"}}}
	pattern, err := probes.ParsePattern(managers[0].Fields[0])
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"labels": map[string]any{"other": "x"}}}
	if diff := cmp.Diff(want, pattern.Without(labels)); diff != "" {
		t.Errorf("without %s -want, +got:\n%s", managers[0].Fields[0], diff)
	}
}

func TestKindAndName(t *testing.T) {
	cases := map[string]struct {
		args       []string
		kind, name string
		fails      bool
	}{
		"Slash": {args: []string{"deploy/web"}, kind: "deploy", name: "web"},
		"Two":   {args: []string{"pods", "web-0"}, kind: "pods", name: "web-0"},
		"None":  {fails: true},
		"Only":  {args: []string{"deploy"}, fails: true},
		"Both":  {args: []string{"a/b", "c"}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind, object, err := kindAndName(tc.args)
			if kind != tc.kind || object != tc.name || (err != nil) != tc.fails {
				t.Errorf("got %q, %q, %v", kind, object, err)
			}
		})
	}
}
