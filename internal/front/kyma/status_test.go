// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma_test

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status/statustest"
)

var kymaNow = metav1.NewTime(time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC))

func kymaIstio(change func(*v1alpha2.Istio)) *v1alpha2.Istio {
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", Generation: 4}}
	if change != nil {
		change(istio)
	}
	return istio
}

// kymaAt is a package whose revision 2 is rolled out as far as the conditions say.
func kymaAt(name, progressing, ready, message string) front.Package {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pkg.Status.TargetRevision = 2
	pkg.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionProgressing, Reason: progressing, Message: message},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionStatus(ready), Message: message},
	}
	return front.Package{Name: name, Package: pkg, Target: &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 2}}}
}

// kymaLate is a rollout that is at the last phase.
func kymaLate(progressing string) front.Package {
	p := kymaAt(servicemesh.PackageIstio, progressing, "False", "PeerAuthentication default")
	p.Target.Spec.Origin = &v1alpha1.Origin{AppVersion: "1.31.0-distroless"}
	p.Target.Status.Phases = []v1alpha1.PhaseStatus{{Name: servicemesh.PhaseGateways, State: v1alpha1.PhaseComplete}, {Name: servicemesh.PhaseResources, State: v1alpha1.PhaseProgressing}}
	return p
}

func kymaDone(name string) front.Package {
	return kymaAt(name, v1alpha1.ReasonRolledOut, "True", "rolled out")
}

func going(name, reason string) v1alpha1.Package {
	pkg := v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Reason: reason, Message: "waits for Deployment istiod"}}
	return pkg
}

// wasReady makes a resource one that was ready at a generation, relative to its own.
func wasReady(generation int64) func(*v1alpha2.Istio) {
	return func(istio *v1alpha2.Istio) {
		istio.Status.Conditions = &[]metav1.Condition{{
			Type: v1alpha2.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha2.ReasonReconcileSucceeded, ObservedGeneration: istio.Generation + generation, LastTransitionTime: kymaNow,
		}}
	}
}

// kymaCase is what is known about an Istio resource, and what its status says.
type kymaCase struct {
	reason string
	change func(*v1alpha2.Istio)
	state  kyma.State
	want   v1alpha2.State
	ready  string
	says   []string
}

func (tc kymaCase) check(t *testing.T) {
	istio := kymaIstio(tc.change)
	tc.state.Version, tc.state.Size, tc.state.Now = "1.31.0-distroless", servicemesh.Production, kymaNow
	kyma.SetStatus(istio, tc.state)
	statustest.Conditions(t, kyma.Rows().Statuses(), istio.Generation, *istio.Status.Conditions, v1alpha2.ConditionReady)
	ready := (*istio.Status.Conditions)[0]
	if got := string(ready.Status) + "/" + ready.Reason; istio.Status.State != tc.want || got != tc.ready {
		t.Fatalf("%s: got %s, Ready %s: %s", tc.reason, istio.Status.State, got, ready.Message)
	}
	if (istio.Status.Description == "") != (tc.want == v1alpha2.StateReady) {
		t.Errorf("%s: the description is %q", tc.reason, istio.Status.Description)
	}
	for _, want := range tc.says {
		if !strings.Contains(ready.Message, want) {
			t.Errorf("%s: %q does not say %s", tc.reason, ready.Message, want)
		}
	}
	checkDocumented(t, *istio.Status.Conditions)
	if !slices.ContainsFunc(kyma.Rows(), func(r front.Row) bool {
		return r.Status+"/"+r.Reason == tc.ready && slices.Contains(statesOf(r), string(tc.want))
	}) {
		t.Errorf("the reference does not know %s with state %s", tc.ready, tc.want)
	}
	before := istio.DeepCopy()
	tc.state.Now = metav1.NewTime(kymaNow.Add(time.Minute))
	kyma.SetStatus(istio, tc.state)
	stableKyma(t, before, istio)
}

// kymaRestartCases are those of a mesh that is done, and of which workloads are restarted.
func kymaRestartCases(done []front.Package) map[string]kymaCase {
	return map[string]kymaCase{
		"Manual": {
			reason: "the mesh is ready, a person has to see to something", want: v1alpha2.StateWarning, ready: "True/ReconcileSucceeded", says: []string{"shop/Job/a"},
			state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Manual: []string{"shop/Job/a"}}},
		},
		"Restarting": {reason: "sidecars do not take away Ready", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 3}}, want: v1alpha2.StateReady, ready: "True/ReconcileSucceeded"},
		"ManualToo": {
			reason: "what needs a user is reported while others are restarted", want: v1alpha2.StateWarning, ready: "True/ReconcileSucceeded", says: []string{"shop/Job/a", "3 workloads", "before the window for restarts opens"},
			state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 3, Manual: []string{"shop/Job/a"}, WindowClosed: true}},
		},
		"Awaited":        {reason: "gateways may have to be restarted yet", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true}, Awaited: true}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown", says: []string{"outdated"}},
		"AwaitedBegin":   {reason: "another manager makes it no less ready", change: wasReady(0), state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{}, Awaited: true}, want: v1alpha2.StateReady, ready: "True/ReconcileSucceeded"},
		"AwaitedAnew":    {reason: "but a change of its spec does", change: wasReady(-1), state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{}, Awaited: true}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown"},
		"AwaitedProblem": {reason: "what cannot be found out is reported", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Problem: errors.New("listing pods: refused")}, Awaited: true}, want: v1alpha2.StateWarning, ready: "True/ReconcileSucceeded", says: []string{"refused"}},
		"Gateway":        {reason: "the gateway counts", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Gateway: restarts.GatewayState{Err: errors.New("refused")}}}, want: v1alpha2.StateError, ready: "False/IngressGatewayRestartFailed"},
		"GatewayRolls":   {reason: "until the gateway has its new settings", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 1, Gateway: restarts.GatewayState{Rolling: true}}}, want: v1alpha2.StateProcessing, ready: "False/IngressGatewayRestartSucceeded"},
		"GatewayWaits": {
			reason: "what is asked for does not hold before the window opens", want: v1alpha2.StateProcessing, ready: "False/ReconcileRequeued", says: []string{"ingress gateway", "NumTrustedProxies", "before the window for restarts opens"},
			state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 1, Gateway: restarts.GatewayState{Waits: "NumTrustedProxies"}, WindowClosed: true}},
		},
		"GatewayStopped": {
			reason: "a failure keeps the gateway from its restart", want: v1alpha2.StateWarning, ready: "False/ReconcileRequeued", says: []string{"egress gateway", "shop/Deployment/a", "restarts have stopped, as"},
			state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 2, Egress: restarts.GatewayState{Waits: "NumTrustedProxies"}, Failed: []string{"shop/Deployment/a"}, Stopped: true}},
		},
		"GatewayProblem": {
			reason: "a window that cannot be read does, too", want: v1alpha2.StateWarning, ready: "False/ReconcileRequeued", says: []string{"that is not a window"},
			state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 1, Gateway: restarts.GatewayState{Waits: "NumTrustedProxies"}, Problem: errors.New("that is not a window")}},
		},
		"Egress":      {reason: "the egress gateway counts, too", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Egress: restarts.GatewayState{Err: errors.New("refused")}}}, want: v1alpha2.StateError, ready: "False/EgressGatewayRestartFailed", says: []string{"refused"}},
		"EgressRolls": {reason: "until the egress gateway has its new settings", state: kyma.State{Oldest: "default", Packages: done, Restarts: restarts.State{Known: true, Pending: 1, Egress: restarts.GatewayState{Rolling: true}}}, want: v1alpha2.StateProcessing, ready: "False/EgressGatewayRestartSucceeded"},
	}
}

func TestSetKyma(t *testing.T) {
	const crds, mesh = servicemesh.PackageCRDs, servicemesh.PackageIstio
	deleting := func(istio *v1alpha2.Istio) {
		istio.DeletionTimestamp, istio.Finalizers = &kymaNow, []string{v1alpha2.Finalizer}
	}
	freed := func(istio *v1alpha2.Istio) {
		istio.DeletionTimestamp, istio.Finalizers = &kymaNow, []string{"example.com/other"}
	}
	done := []front.Package{kymaDone(crds), kymaDone(mesh)}
	with := func(p front.Package) []front.Package { return []front.Package{kymaDone(crds), p} }
	rejected := kymaDone(mesh)
	rejected.Need = history.NeedRejected
	behind := kymaDone(mesh)
	behind.Target = &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 3}}
	waiting := front.Package{Name: mesh, Waiting: crds, Package: kymaDone(mesh).Package, Target: kymaDone(mesh).Target}
	down := kymaLate(v1alpha1.ReasonRolledOut)
	down.Package.Status.CurrentRevision = 2
	blocked := servicemesh.Blocking([]servicemesh.CustomResource{{Kind: "VirtualService", Namespace: "shop", Name: "web"}})
	cases := map[string]kymaCase{
		"Ready": {reason: "everything runs", state: kyma.State{Oldest: "default", Packages: done}, want: v1alpha2.StateReady, ready: "True/ReconcileSucceeded", says: []string{"1.31.0", "Production"}},
		"About": {reason: "nothing is there yet", state: kyma.State{Oldest: "default", Packages: []front.Package{{Name: crds}, {Name: mesh}}}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown", says: []string{crds}},
		"RollingOut": {
			reason: "until the probes hold; the object is named",
			state:  kyma.State{Oldest: "default", Packages: with(kymaAt(mesh, v1alpha1.ReasonRollingOut, "False", "Deployment istiod: 0 of 3 replicas, pod istiod-1 has ImagePullBackOff"))},
			want:   v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown", says: []string{"Deployment istiod", "pod istiod-1"},
		},
		"Waiting":  {reason: "the CRDs come first", state: kyma.State{Oldest: "default", Packages: with(waiting)}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown", says: []string{crds}},
		"Behind":   {reason: "the package's status is of the revision before", state: kyma.State{Oldest: "default", Packages: with(behind)}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown", says: []string{"revision 3"}},
		"Deadline": {reason: "it does not get on", state: kyma.State{Oldest: "default", Packages: with(kymaAt(mesh, v1alpha1.ReasonProgressDeadlineExceeded, "False", "Deployment istiod"))}, want: v1alpha2.StateError, ready: "False/IstioInstallUninstallFailed", says: []string{"Deployment istiod"}},
		"CRDsFail": {reason: "the first that is not there counts", state: kyma.State{Oldest: "default", Packages: []front.Package{kymaAt(crds, v1alpha1.ReasonObjectCollisions, "False", "another owner's"), kymaDone(mesh)}}, want: v1alpha2.StateError, ready: "False/IstioInstallUninstallFailed", says: []string{crds, "another owner's"}},
		"Late":     {reason: "Istio is there, its resources are not", state: kyma.State{Oldest: "default", Packages: with(kymaLate(v1alpha1.ReasonRollingOut))}, want: v1alpha2.StateProcessing, ready: "False/IstioInstallSucceeded", says: []string{"PeerAuthentication default"}},
		"LateFail": {reason: "nor do they come", state: kyma.State{Oldest: "default", Packages: with(kymaLate(v1alpha1.ReasonRolloutError))}, want: v1alpha2.StateError, ready: "False/CustomResourcesReconcileFailed", says: []string{"PeerAuthentication default"}},
		"Down":     {reason: "a rollout that was over says nothing of now", state: kyma.State{Oldest: "default", Packages: with(down)}, want: v1alpha2.StateProcessing, ready: "Unknown/ReconcileUnknown"},
		"Paused":   {reason: "a person has to go on", state: kyma.State{Oldest: "default", Packages: with(kymaAt(mesh, v1alpha1.ReasonPaused, "False", "paused by ann"))}, want: v1alpha2.StateWarning, ready: "Unknown/ReconcileUnknown", says: []string{"ann"}},
		"Rejected": {reason: "what is asked for is not what runs", state: kyma.State{Oldest: "default", Packages: with(rejected)}, want: v1alpha2.StateWarning, ready: "False/ReconcileFailed", says: []string{"a rollback excludes the newest content"}},
		"Held": {
			reason: "the version gate", want: v1alpha2.StateWarning, ready: "False/IstioVersionUpdateNotAllowed", says: []string{"Istio version update is not allowed", "both versions"},
			state: kyma.State{Oldest: "default", Packages: []front.Package{{Name: crds, Blocked: "both versions"}, {Name: mesh, Blocked: "both versions"}}},
		},
		"NewerCRDs": {reason: "CRDs that are newer serve", state: kyma.State{Oldest: "default", Packages: []front.Package{{Name: crds, Blocked: "never back"}, kymaDone(mesh)}}, want: v1alpha2.StateReady, ready: "True/ReconcileSucceeded"},
		"Invalid": {
			reason: "the field is named, and harm is distinguished from none", want: v1alpha2.StateWarning, ready: "False/ValidationFailed", says: []string{"spec.a"},
			state: kyma.State{Oldest: "default", Err: &servicemesh.ValidationError{Field: "spec.a", Problem: "is wrong", Warn: true}, Unrendered: true},
		},
		"Experimental": {
			reason: "what the manager does not allow is not wrong", want: v1alpha2.StateError, ready: "Unknown/ReconcileUnknown", says: []string{"spec.experimental", "--kyma-experimental", "stays as it is"},
			state: kyma.State{Oldest: "default", Err: servicemesh.Validate(&v1alpha2.Istio{Spec: v1alpha2.IstioSpec{Experimental: &v1alpha2.Experimental{}}}, false), Unrendered: true},
		},
		"Switches": {
			reason: "a ConfigMap that cannot be read", want: v1alpha2.StateWarning, ready: "True/ReconcileSucceeded", says: []string{"istio-features"},
			state: kyma.State{Oldest: "default", Packages: done, Warning: "reading key features of ConfigMap istio-features: no JSON"},
		},
		"InvalidHarm":   {reason: "and is an error else", state: kyma.State{Oldest: "default", Err: &servicemesh.ValidationError{Field: "spec.a", Problem: "is wrong"}, Unrendered: true}, want: v1alpha2.StateError, ready: "False/ValidationFailed"},
		"Misconfigured": {reason: "what cannot be rendered", state: kyma.State{Oldest: "default", Err: errors.New("no chart"), Unrendered: true}, want: v1alpha2.StateError, ready: "False/IstioCustomResourceMisconfigured", says: []string{"stays as it is"}},
		"NotObserved":   {reason: "the cluster cannot be asked", state: kyma.State{Oldest: "default", Err: errors.New("listing nodes: refused")}, want: v1alpha2.StateError, ready: "False/ReconcileFailed", says: []string{"listing nodes"}},
		"Older":         {reason: "one describes the mesh", state: kyma.State{Oldest: "first", Packages: done}, want: v1alpha2.StateError, ready: "False/OlderCRExists", says: []string{"first"}},
		"OlderInvalid":  {reason: "who is the older is checked first", state: kyma.State{Oldest: "first", Err: errors.New("of the other")}, want: v1alpha2.StateError, ready: "False/OlderCRExists"},
		"NoOldest":      {reason: "it is unknown", want: v1alpha2.StateWarning, ready: "False/OldestCRNotFound"},
		"Blocked": {
			reason: "custom resources of users", change: deleting, want: v1alpha2.StateWarning, ready: "False/IstioCustomResourcesDangling", says: []string{"1 VirtualService", "shop/web"},
			state: kyma.State{Deleting: []v1alpha1.Package{going(mesh, "")}, Blocked: blocked},
		},
		"Deleting":     {reason: "it is going", change: deleting, state: kyma.State{Deleting: []v1alpha1.Package{going(crds, ""), going(mesh, v1alpha1.ReasonTearingDown)}}, want: v1alpha2.StateDeleting, ready: "Unknown/ReconcileUnknown", says: []string{"waits for"}},
		"Stuck":        {reason: "it does not go", change: deleting, state: kyma.State{Deleting: []v1alpha1.Package{going(mesh, v1alpha1.ReasonTeardownStuck)}}, want: v1alpha2.StateError, ready: "False/IstioInstallUninstallFailed", says: []string{"waits for"}},
		"Gone":         {reason: "all is gone", change: deleting, want: v1alpha2.StateDeleting, ready: "False/IstioUninstallSucceeded"},
		"NotNeeded":    {reason: "nothing was installed for it", change: freed, want: v1alpha2.StateDeleting, ready: "False/IstioInstallNotNeeded", says: []string{"nothing is installed"}},
		"HandedOn":     {reason: "another takes over, nothing goes", change: deleting, state: kyma.State{Oldest: "next", Packages: done}, want: v1alpha2.StateDeleting, ready: "False/IstioInstallNotNeeded", says: []string{"next"}},
		"GoneError":    {reason: "what cannot be asked", change: deleting, state: kyma.State{Err: errors.New("listing Gateways: refused")}, want: v1alpha2.StateError, ready: "False/IstioInstallUninstallFailed"},
		"GoneSidecars": {reason: "sidecars are left", change: deleting, state: kyma.State{Restarts: restarts.State{Pending: 7}}, want: v1alpha2.StateDeleting, ready: "False/IstioUninstallSucceeded", says: []string{"7 workloads"}},
		"Filter":       {reason: "an EnvoyFilter of a user", state: kyma.State{Oldest: "default", Packages: done, Filters: []string{"istio-system/x"}}, want: v1alpha2.StateWarning, ready: "False/ReconcileFailed", says: []string{"istio-system/x"}},
		"NoFilters":    {reason: "they cannot be looked for", state: kyma.State{Oldest: "default", Packages: done, FiltersErr: errors.New("refused")}, want: v1alpha2.StateError, ready: "False/ReconcileFailed", says: []string{"refused"}},
	}
	maps.Copy(cases, kymaRestartCases(done))
	seen := map[string]bool{}
	for name, tc := range cases {
		seen[string(tc.want)+" "+tc.ready] = true
		t.Run(name, tc.check)
	}
	for _, row := range kyma.Rows() {
		for _, state := range statesOf(row) {
			if text := state + " " + row.Status + "/" + row.Reason; row.Condition == v1alpha2.ConditionReady && !seen[text] {
				t.Errorf("the reference has %s, which no case is about", text)
			}
		}
	}
}

// states begin the situations of a row.
var states = regexp.MustCompile(`(?:^|; )([A-Z][a-z]+(?: or [A-Z][a-z]+)*): `)

// statesOf are the states that come with a row.
func statesOf(row front.Row) []string {
	var all []string
	for _, found := range states.FindAllStringSubmatch(row.When, -1) {
		all = append(all, strings.Split(found[1], " or ")...)
	}
	return all
}

// stableKyma checks that the same state a minute later leaves the status as it is.
func stableKyma(t *testing.T, before, after *v1alpha2.Istio) {
	t.Helper()
	a, b := *before.Status.Conditions, *after.Status.Conditions
	if len(a) != len(b) || before.Status.Description != after.Status.Description {
		t.Fatalf("the status changes with time: %+v, then %+v", before.Status, after.Status)
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("the condition changes with time: %+v, then %+v", a[i], b[i])
		}
	}
}

// Each row of the conditions besides Ready.
func TestSetKyma_Further(t *testing.T) {
	done := []front.Package{kymaDone(servicemesh.PackageCRDs), kymaDone(servicemesh.PackageIstio)}
	cases := map[string]struct {
		state kyma.State
		kind  string
		want  string
	}{
		"Restarted":   {state: kyma.State{Restarts: restarts.State{Known: true}}, kind: v1alpha2.ConditionProxySidecarRestartSucceeded, want: "True/ProxySidecarRestartSucceeded"},
		"Restarting":  {state: kyma.State{Restarts: restarts.State{Known: true, Pending: 7, Manual: []string{"a"}}}, kind: v1alpha2.ConditionProxySidecarRestartSucceeded, want: "False/ProxySidecarRestartPartiallySucceeded"},
		"Failed":      {state: kyma.State{Restarts: restarts.State{Known: true, Failed: []string{"a"}, Pending: 7}}, kind: v1alpha2.ConditionProxySidecarRestartSucceeded, want: "False/ProxySidecarRestartFailed"},
		"Manual":      {state: kyma.State{Restarts: restarts.State{Known: true, Manual: []string{"a"}}}, kind: v1alpha2.ConditionProxySidecarRestartSucceeded, want: "False/ProxySidecarManualRestartRequired"},
		"NotYet":      {state: kyma.State{}, kind: v1alpha2.ConditionProxySidecarRestartSucceeded, want: ""},
		"Filter":      {state: kyma.State{Filters: []string{"a/b"}}, kind: v1alpha2.ConditionIngressTargetingUserResourceFound, want: "True/IngressTargetingUserResourceFound"},
		"NoFilter":    {state: kyma.State{}, kind: v1alpha2.ConditionIngressTargetingUserResourceFound, want: "False/IngressTargetingUserResourceNotFound"},
		"FilterError": {state: kyma.State{FiltersErr: errors.New("x")}, kind: v1alpha2.ConditionIngressTargetingUserResourceFound, want: "Unknown/IngressTargetingUserResourceDetectionFailed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			istio := kymaIstio(nil)
			tc.state.Oldest, tc.state.Packages, tc.state.Now = "default", done, kymaNow
			kyma.SetStatus(istio, tc.state)
			got := ""
			for _, c := range *istio.Status.Conditions {
				if c.Type == tc.kind {
					got = string(c.Status) + "/" + c.Reason
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got != "" {
				statustest.Conditions(t, kyma.Rows().Statuses(), istio.Generation, *istio.Status.Conditions, tc.kind)
			}
			checkDocumented(t, *istio.Status.Conditions)
			// One that is not the oldest any more says nothing of the mesh.
			tc.state.Oldest = "other"
			kyma.SetStatus(istio, tc.state)
			if n := len(*istio.Status.Conditions); n != 1 {
				t.Errorf("a resource that does not describe the mesh has %d conditions", n)
			}
		})
	}
}

// The reference knows every reason that can be written, with the status that it comes with.
func TestKymaRows(t *testing.T) {
	now := kymaNow
	var conditions []metav1.Condition
	for _, r := range kyma.Rows() {
		conditions = append(conditions, metav1.Condition{
			Type: r.Condition, Status: metav1.ConditionStatus(r.Status), Reason: r.Reason, Message: r.Message, ObservedGeneration: 1, LastTransitionTime: now,
		})
	}
	for _, c := range conditions {
		if problems := statustest.Problems(kyma.Rows().Statuses(), 1, []metav1.Condition{c}); len(problems) > 0 {
			t.Errorf("%s: %v", c.Reason, problems)
		}
	}
	// The reason of the API that is not written: another one stands for it.
	statustest.DeclaredIn(t, kyma.Rows().Statuses(), "../../../api/operator.kyma-project.io/v1alpha2/conditions.go", v1alpha2.ReasonCustomResourcesReconcileSucceeded)
}

// checkDocumented checks that the reference knows conditions as they are.
func checkDocumented(t *testing.T, conditions []metav1.Condition) {
	t.Helper()
	for _, c := range conditions {
		if !slices.ContainsFunc(kyma.Rows(), func(r front.Row) bool {
			return r.Condition == c.Type && r.Status == string(c.Status) && r.Reason == c.Reason
		}) {
			t.Errorf("the reference does not know %s %s/%s", c.Type, c.Status, c.Reason)
		}
	}
}

// What is counted is reported as a person would.
func TestSetKyma_Counts(t *testing.T) {
	for pending, want := range map[int]string{1: "1 workload is still to be restarted, as proxies are outdated", 2: "2 workloads are still to be restarted, as proxies are outdated"} {
		istio := kymaIstio(nil)
		kyma.SetStatus(istio, kyma.State{Oldest: "default", Now: kymaNow, Restarts: restarts.State{Known: true, Pending: pending}})
		c := meta.FindStatusCondition(*istio.Status.Conditions, v1alpha2.ConditionProxySidecarRestartSucceeded)
		if c == nil || c.Message != want {
			t.Errorf("of %d it is reported: %+v", pending, c)
		}
	}
}
