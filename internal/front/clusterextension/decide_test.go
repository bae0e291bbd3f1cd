// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/status/statustest"
)

func TestSettingsOf(t *testing.T) {
	ce := extension()
	if diff := cmp.Diff(&content.Settings{}, settingsOf(ce)); diff != "" {
		t.Errorf("without any (-want +got):\n%s", diff)
	}
	ce.Spec.Namespace, ce.Spec.ServiceAccount, ce.Spec.ProgressDeadlineMinutes = "app", &olmv1.ServiceAccountReference{Name: "installer"}, 30
	ce.Spec.Install = &olmv1.InstallConfig{Preflight: &olmv1.PreflightConfig{CRDUpgradeSafety: &olmv1.CRDUpgradeSafetyConfig{Enforcement: olmv1.EnforcementNone}}}
	ce.Annotations = map[string]string{olmv1.AnnotationPaused: "freeze", olmv1.AnnotationApproval: "Manual", olmv1.AnnotationOnFailure: "Rollback"}
	want := &content.Settings{
		ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: "app", Name: "installer"}, ProgressDeadline: 30 * time.Minute, AllowUnsafeCRDs: true,
		Approval: v1alpha1.ApprovalManual, OnFailure: v1alpha1.FailureRollback, PauseReason: "freeze",
	}
	if diff := cmp.Diff(want, settingsOf(ce)); diff != "" {
		t.Errorf("with all (-want +got):\n%s", diff)
	}
	ce.Annotations = map[string]string{olmv1.AnnotationApproval: "manual", olmv1.AnnotationOnFailure: "Panic"}
	if got := settingsOf(ce); got.Approval != "" || got.OnFailure != "" {
		t.Errorf("values that the API would refuse reach the package: %+v", got)
	}
}

// answers are those of a resolver and a renderer that a test decides about.
type answers struct {
	answer  resolve.Answer
	forgot  string
	err     error
	bundle  rendered
	trouble *trouble
	// from is the installed bundle that was asked about.
	from *resolve.Identity
	// imported and refused are what is found of OLM's own controller, looked how often that was asked
	// for, and adopted the package that objects were handed over to.
	imported *migration.Import
	refused  error
	looked   int
	adopted  string
}

func (a *answers) Import(context.Context, *olmv1.ClusterExtension) (*migration.Import, error) {
	a.looked++
	return a.imported, a.refused
}

func (a *answers) Adopt(_ context.Context, _ *olmv1.ClusterExtension, pkg *v1alpha1.Package, _ []content.Phase) error {
	a.adopted = pkg.Name
	return nil
}

func (a *answers) Resolve(_ context.Context, _ *olmv1.ClusterExtension, installed *resolve.Identity) (resolve.Answer, error) {
	a.from = installed
	return a.answer, a.err
}

func (a *answers) Forget(name string) { a.forgot = name }

func (a *answers) Render(context.Context, *olmv1.ClusterExtension, resolve.Choice, []v1alpha1.Revision) (rendered, *trouble) {
	return a.bundle, a.trouble
}

// loop is the front with the shared loop, on an API server in memory.
type loop struct {
	*statustest.Server

	front *front.Reconciler[*olmv1.ClusterExtension, observed]
	is    *answers
	rests bool
	// events are those that the front records itself.
	events *events.FakeRecorder
	// observer is that of the front.
	observer *observer
}

func newLoop(t *testing.T) *loop {
	t.Helper()
	l := &loop{is: &answers{}, events: events.NewFakeRecorder(100), Server: statustest.NewServer(t, func(builder *fake.ClientBuilder) *fake.ClientBuilder {
		return builder.WithStatusSubresource(&olmv1.ClusterExtension{}, &olmv1.ClusterCatalog{})
	}, olmv1.AddToScheme, corev1.AddToScheme)}
	now := func() time.Time { return l.Now }
	l.front = &front.Reconciler[*olmv1.ClusterExtension, observed]{
		Client: l.API, Live: l.API,
		Publisher: &front.Publisher{Client: l.API, Now: now, Contents: &content.Store{Client: l.API, Live: l.API, Namespace: "strata-system", Now: now}},
	}
	l.restart()
	return l
}

// restart has the front remember nothing.
func (l *loop) restart() {
	l.observer = &observer{cache: l.API, live: l.API, notices: notices{recorder: l.events}, resolver: l.is, bundles: l.is, imports: l.is, now: func() time.Time { return l.Now }}
	l.front.Front = newFront(l.observer, nil, func() bool { return l.rests })
}

func (l *loop) pass() *olmv1.ClusterExtension {
	l.T.Helper()
	if _, err := l.front.Reconcile(l.T.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "demo"}}); err != nil {
		l.T.Logf("the pass: %v", err)
	}
	ce := &olmv1.ClusterExtension{}
	if err := l.API.Get(l.T.Context(), types.NamespacedName{Name: "demo"}, ce); client.IgnoreNotFound(err) != nil {
		l.T.Fatal(err)
	}
	return ce
}

func (l *loop) progressing(want string) {
	l.T.Helper()
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing); got != want {
		l.T.Errorf("Progressing is %q, want %q", got, want)
	}
}

func (l *loop) revisions() []string {
	l.T.Helper()
	list := &v1alpha1.RevisionList{}
	if err := l.API.List(l.T.Context(), list); err != nil {
		l.T.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func (l *loop) create() {
	ce := extension()
	ce.Spec.Namespace = "app"
	l.Create(ce)
	l.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
}

func TestFront(t *testing.T) {
	l := newLoop(t)
	l.rests = true
	l.create()
	if ce := l.pass(); len(ce.Finalizers)+len(ce.Status.Conditions) > 0 {
		t.Errorf("OLM leads, and the front writes %v %v", ce.Finalizers, ce.Status.Conditions)
	}
	l.rests = false
	l.is.answer = resolve.Answer{Outcome: resolve.Retrying, Message: `no bundles found for package "p"`}
	l.progressing(`True/Retrying: no bundles found for package "p"`)
	one := resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}, Image: "registry.example/p:1"}
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &one}
	l.is.trouble = &trouble{olmv1.ReasonRollingOut, "the bundle p.v1.0.0 is being pulled"}
	l.progressing("True/RollingOut: the bundle p.v1.0.0 is being pulled")
	if made := l.revisions(); len(made) > 0 {
		t.Errorf("there is no content yet, and the revisions are %v", made)
	}
	l.is.trouble, l.is.bundle = nil, rendered{image: "registry.example/p@sha256:1"}
	l.progressing("True/RollingOut: Revision 1 (1.0.0) is about to be rolled out")
	if diff := cmp.Diff([]string{"demo-1"}, l.revisions()); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	first := &v1alpha1.Revision{}
	l.Read("demo-1", first)
	if first.Labels[olmv1.LabelOwner] != "demo" || first.Annotations[olmv1.AnnotationBundleReference] != "registry.example/p@sha256:1" || first.Spec.Origin.Identity != "p/p.v1.0.0/1.0.0" {
		t.Errorf("the revision does not say what it is: %v %v %+v", first.Labels, first.Annotations, first.Spec.Origin)
	}

	pkg := &v1alpha1.Package{}
	l.Read("demo", pkg)
	pkg.Status = statustest.PackageAt("demo", 1, rolledOut, serves).Status
	pkg.Status.TargetRevision = 1
	if err := l.API.Status().Update(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	l.progressing("False/Succeeded: Desired state reached")
	if l.is.from == nil || l.is.from.Name != "p.v1.0.0" {
		t.Errorf("the resolver was asked about an upgrade from %v", l.is.from)
	}
	l.is.answer = resolve.Answer{Outcome: resolve.Kept, Warnings: []string{"no catalog has it"}}
	l.progressing("False/Succeeded: Desired state reached; no catalog has it")
	l.is.err = errors.New("the cache is closed")
	l.progressing("True/Retrying: the cache is closed")
	if ce := l.pass(); bundleText(ce) != "p.v1.0.0 1.0.0" || activeText(ce) != "demo-1" {
		t.Errorf("installed %s, active %s", bundleText(ce), activeText(ce))
	}
}

// A package of the same name that is not the front's stays as it is.
func TestFront_NameTaken(t *testing.T) {
	l := newLoop(t)
	l.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	l.create()
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}}}
	l.progressing(`False/Blocked: package demo exists and is not of front clusterextension (its label strata.run/front is ""): delete or rename it`)
}

// Trouble with the bundle counts against the deadline, from when it began for this spec, and ends when
// the trouble does.
func TestFront_Deadline(t *testing.T) {
	l := newLoop(t)
	l.create()
	asks := func(minutes int32) {
		ce := l.pass()
		ce.Spec.ProgressDeadlineMinutes = minutes
		ce.Generation++
		if err := l.API.Update(t.Context(), ce); err != nil {
			t.Fatal(err)
		}
	}
	l.is.answer = resolve.Answer{Outcome: resolve.Retrying, Message: "no bundles found"}
	l.progressing("True/Retrying: no bundles found")
	l.Now = l.Now.Add(time.Hour)
	l.progressing("True/Retrying: no bundles found")
	asks(10)
	l.progressing("True/Retrying: no bundles found")
	l.Now = l.Now.Add(9 * time.Minute)
	l.progressing("True/Retrying: no bundles found")
	l.Now = l.Now.Add(time.Minute)
	const late = "False/ProgressDeadlineExceeded: The ClusterExtension has not rolled out for 10 minute(s). Last status: no bundles found"
	l.progressing(late)
	l.restart()
	l.progressing(late)
	asks(20)
	l.progressing("True/Retrying: no bundles found")
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}}}
	l.progressing("True/RollingOut: Revision 1 (1.0.0) is about to be rolled out")
}
