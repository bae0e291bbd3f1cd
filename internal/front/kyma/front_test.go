// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/istio"
)

func settingsOf(t *testing.T) servicemesh.Settings {
	t.Helper()
	o := DefaultOptions()
	if err := o.Complete(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	return o.rendering
}

// meshOf is the package of a mesh of which a revision runs, and another one is the target.
func meshOf(current, target int64, version string) front.Package {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.PackageIstio}}
	pkg.Status.CurrentRevision, pkg.Status.Version = current, version
	pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	return front.Package{Name: servicemesh.PackageIstio, Package: pkg, Need: history.NeedNone, Target: &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: target}}}
}

func TestAnnotations(t *testing.T) {
	const before = `{"config":{"numTrustedProxies":1,"telemetry":{"metrics":{}}},"IstioTag":"1.29.1"}`
	two := 2
	held := meshOf(2, 2, "1.29.1")
	held.Blocked = "the version gate"
	rejected := meshOf(4, 4, "1.29.1")
	rejected.Need = history.NeedRejected
	early := meshOf(2, 3, "1.30.2")
	early.Package.Status.TargetRevision = 3
	early.Target.Spec.Origin = &v1alpha1.Origin{AppVersion: "1.31.0-distroless"}
	early.Target.Status.Phases = []v1alpha1.PhaseStatus{{Name: servicemesh.PhaseGateways, State: v1alpha1.PhaseComplete}, {Name: servicemesh.PhaseResources, State: v1alpha1.PhaseProgressing}}
	cases := map[string]struct {
		reason  string
		oldest  string
		mesh    front.Package
		err     error
		applied string
		nothing bool
	}{
		"RolledOut": {reason: "the whole spec, when it runs", oldest: "default", mesh: meshOf(2, 2, "1.31.0-distroless"), applied: `{"config":{"numTrustedProxies":2,"telemetry":{"metrics":{}}},"IstioTag":"1.31.0-distroless"}`},
		"UnderWay":  {reason: "the version that runs is reported early, the spec is not", oldest: "default", mesh: meshOf(2, 3, "1.30.2"), applied: `{"config":{"numTrustedProxies":1,"telemetry":{"metrics":{}}},"IstioTag":"1.30.2"}`},
		"Early":     {reason: "Istio is in place, what belongs to it is not", oldest: "default", mesh: early, applied: `{"config":{"numTrustedProxies":1,"telemetry":{"metrics":{}}},"IstioTag":"1.31.0-distroless"}`},
		"Held":      {reason: "what is held back does not run", oldest: "default", mesh: held, applied: before},
		"Rejected":  {reason: "neither does what was rolled back", oldest: "default", mesh: rejected, applied: before},
		"Nothing":   {reason: "nothing has ever run", oldest: "default", mesh: meshOf(0, 1, ""), applied: ""},
		"Younger":   {reason: "another resource describes the mesh", oldest: "older", mesh: meshOf(2, 2, "1.31.0"), nothing: true},
		"Error":     {reason: "nothing is known", oldest: "default", err: errors.New("refused"), mesh: meshOf(2, 2, "1.31.0"), nothing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", Annotations: map[string]string{v1alpha2.AnnotationLastApplied: before}}}
			istio.Spec.Config.NumTrustedProxies = &two
			state := groupState{Facts: observed{Oldest: tc.oldest, Cluster: servicemesh.Cluster{Size: servicemesh.Production}}, Packages: []front.Package{tc.mesh}, Err: tc.err}
			want := map[string]string{annotationClusterSize: "Production", annotationSwitches: "{}"}
			if tc.applied != "" {
				want[v1alpha2.AnnotationLastApplied] = tc.applied
			}
			if tc.nothing {
				want = nil
			}
			if diff := cmp.Diff(want, annotations(settingsOf(t), istio, state)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// What the version gate compares with: what runs, and where nothing of ours does, what Kyma's
// own operator has left.
func TestRendering_Installed(t *testing.T) {
	cases := map[string]struct {
		reason     string
		annotation string
		existing   string
		target     int64
		held       bool
		fails      bool
	}{
		"First":     {reason: "nothing is installed"},
		"Left":      {reason: "by Kyma's own operator, two minor versions back", annotation: `{"IstioTag":"1.29.2-distroless"}`, held: true},
		"LeftClose": {reason: "one minor version back", annotation: `{"IstioTag":"1.30.2-distroless"}`},
		"Runs":      {reason: "what runs counts more than what is written", annotation: `{"IstioTag":"1.28.0"}`, existing: "1.30.1"},
		"RunsFar":   {reason: "also when that is refused", annotation: `{"IstioTag":"1.31.0"}`, existing: "1.29.1", held: true},
		"UnderWay":  {reason: "a rollout that is not over has it in place", annotation: `{"IstioTag":"1.30.1"}`, existing: "1.29.1", target: 4},
		"Garbled":   {reason: "what is written cannot be read, what runs can", annotation: `{`, existing: "1.29.1", target: 4, held: true},
		"Unknown":   {reason: "what runs has no version that can be read", existing: "mine", target: 4, fails: true},
		"GoingBack": {reason: "a rollback that is not over", annotation: `{"IstioTag":"1.30.1"}`, existing: "1.29.1", target: 2, held: true},
		"Malformed": {reason: "what is installed is unknown", annotation: `{`, fails: true},
		"NoTag":     {reason: "likewise", annotation: `{"config":{}}`, fails: true},
		"NoVersion": {reason: "likewise", annotation: `{"IstioTag":"latest"}`, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", Annotations: map[string]string{v1alpha2.AnnotationLastApplied: tc.annotation}}}
			in := groupInput{Group: front.Group[*v1alpha2.Istio]{Resources: []*v1alpha2.Istio{istio}}, Facts: observed{Oldest: "default", Cluster: servicemesh.Cluster{Size: servicemesh.Evaluation}}}
			if tc.existing != "" {
				in.Existing = []v1alpha1.Package{*meshOf(3, 3, tc.existing).Package}
				in.Existing[0].Status.TargetRevision = tc.target
			}
			packages, err := (&rendering{settings: settingsOf(t)}).render(in)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if err == nil && (packages[1].Blocked != "") != tc.held {
				t.Errorf("%s: it is held by %q", tc.reason, packages[1].Blocked)
			}
		})
	}
	if packages, err := (&rendering{settings: settingsOf(t)}).render(groupInput{}); packages != nil || err != nil {
		t.Errorf("without a resource: got %v, %v", packages, err)
	}
}

func TestSlimNode(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "1", Annotations: map[string]string{"x": "y"}}}
	node.Spec.ProviderID = "aws:///1"
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8G"), "pods": resource.MustParse("110")}
	node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.OSImage = "v1.33.0", "Garden Linux"
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"large"}}}
	slim, err := slimNode(node)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := slim.(*corev1.Node)
	if !ok || !nodeOf(got).Equal(nodeOf(node)) || len(got.Status.Images) > 0 || got.Annotations != nil {
		t.Errorf("got %+v", slim)
	}
	if other, err := slimNode("a tombstone"); other != "a tombstone" || err != nil {
		t.Errorf("got %v, %v", other, err)
	}
}

func TestIsForeign(t *testing.T) {
	yes := true
	cases := map[string]struct {
		reason     string
		pkg        string
		controlled bool
		want       bool
	}{
		"Unowned": {reason: "it was applied by hand"},
		"Own":     {reason: "it is ours", pkg: servicemesh.PackageCRDs, controlled: true},
		"Other":   {reason: "another package looks after it", pkg: "istio-crds", controlled: true, want: true},
		"Left":    {reason: "the package that had it is gone", pkg: "istio-crds"},
		"Foreign": {reason: "a controller that is no package of ours is reported by the collision", controlled: true},
	}
	for name, tc := range cases {
		crd := front.Definition()
		if tc.pkg != "" {
			crd.Labels = map[string]string{v1alpha1.LabelPackage: tc.pkg}
		}
		if tc.controlled {
			crd.OwnerReferences = []metav1.OwnerReference{{Kind: "Revision", Name: "r", Controller: &yes}}
		}
		if got := isForeign(crd); got != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
		// Nothing else tells of it but the watch.
		free := front.Definition()
		free.Name = istio.CRDNames()[0]
		crd.Name = free.Name
		if got := handsChange.Update(event.UpdateEvent{ObjectOld: crd, ObjectNew: free}); got != tc.want {
			t.Errorf("%s: %s: set free, the watch tells of it: %v", name, tc.reason, got)
		}
	}
}

// A resource that takes the place of another one neither resizes the mesh nor restarts gateways.
func TestHandedDown(t *testing.T) {
	at := func(namespace string, annotations map[string]string) *v1alpha2.Istio {
		return &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Annotations: annotations}}
	}
	cluster := servicemesh.Cluster{Size: servicemesh.Production, Provider: servicemesh.ProviderOpenStack}
	const since = "2026-01-02T03:04:05Z"
	kept := map[string]string{annotationClusterSize: "Production", annotationInfrastructure: "OpenStack", annotationFilter: servicemesh.FilterDigest(cluster) + " " + since, annotationSwitches: `{"features":{"disableCni":true}}`}
	cases := map[string]struct {
		reason  string
		own     map[string]string
		deleted []*v1alpha2.Istio
		known   map[string]string
		want    map[string]string
	}{
		"None":   {reason: "it is the first"},
		"Leaves": {reason: "the one before leaves", deleted: []*v1alpha2.Istio{at(v1alpha2.Namespace, kept)}, want: kept},
		"Own": {
			reason: "it has its own", own: map[string]string{annotationClusterSize: "Evaluation", annotationInfrastructure: "AWS", annotationFilter: "x y", annotationSwitches: "{}"},
			deleted: []*v1alpha2.Istio{at(v1alpha2.Namespace, kept)}, want: map[string]string{annotationClusterSize: "Evaluation", annotationInfrastructure: "AWS", annotationFilter: "x y", annotationSwitches: "{}"},
		},
		"Lost":      {reason: "a user has taken it off", known: kept, want: kept},
		"LeavesOld": {reason: "what the one before has counts more", deleted: []*v1alpha2.Istio{at(v1alpha2.Namespace, kept)}, known: map[string]string{annotationClusterSize: "Evaluation"}, want: kept},
		"Elsewhere": {reason: "that one never had a mesh", deleted: []*v1alpha2.Istio{at("default", kept)}},
	}
	for name, tc := range cases {
		got := handedDown(at(v1alpha2.Namespace, tc.own), tc.deleted, tc.known)
		if diff := cmp.Diff(tc.want, got.Annotations); diff != "" {
			t.Errorf("%s: %s\n%s", name, tc.reason, diff)
		}
	}
	// Nothing is written to know it, and it is kept on the new resource.
	k := &observer{now: time.Now}
	var err error
	if cluster.FilterUpdatedAt, err = k.filterUpdatedAt(t.Context(), at(v1alpha2.Namespace, kept), cluster); err != nil || cluster.FilterUpdatedAt != since {
		t.Fatalf("got %s, %v", cluster.FilterUpdatedAt, err)
	}
	switches := servicemesh.ParseSwitches(kept[annotationSwitches])
	state := groupState{Facts: observed{Oldest: "a", Cluster: cluster, Switches: switches}}
	if diff := cmp.Diff(kept, annotations(settingsOf(t), at(v1alpha2.Namespace, nil), state)); diff != "" {
		t.Error(diff)
	}
}

// A cluster of another size is reported once, however long the mesh stays as it is.
func TestObserver_Flips(t *testing.T) {
	k := &observer{}
	for i, step := range []struct {
		previous, size servicemesh.Size
		want           bool
	}{
		{"", servicemesh.Production, false},
		{servicemesh.Production, servicemesh.Production, false},
		{servicemesh.Production, servicemesh.Evaluation, true},
		{servicemesh.Production, servicemesh.Evaluation, false},
		{servicemesh.Evaluation, servicemesh.Evaluation, false},
		{servicemesh.Evaluation, servicemesh.Production, true},
		{servicemesh.Production, servicemesh.Production, false},
		{servicemesh.Production, servicemesh.Evaluation, true},
	} {
		if got := k.flips(step.previous, step.size); got != step.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		change func(*Options)
		image  string
		fails  bool
	}{
		"Default":  {change: func(*Options) {}},
		"Version":  {change: func(o *Options) { o.IstioVersion = "1.30" }, fails: true},
		"Interval": {change: func(o *Options) { o.Interval = 0 }, fails: true},
		"Images":   {change: func(*Options) {}, image: "latest", fails: true},
	}
	for name, tc := range cases {
		o := DefaultOptions()
		tc.change(&o)
		if err := o.Complete(func(string) string { return tc.image }); (err != nil) != tc.fails {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A manager that may not experiment does not ask for the IP stacks, which it could not use.
func TestObserver_ProvisioningUnread(t *testing.T) {
	k := &observer{} // which could not ask
	if info, err := k.provisioning(t.Context()); info != "" || err != nil {
		t.Errorf("got %q, %v", info, err)
	}
}
