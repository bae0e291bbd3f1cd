// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
	"github.com/strata-run/strata/revisions/cache"
)

type csrGroup = front.Group[*operatorv1alpha1.IstioCSR]

func csrIn(namespace string, removed bool) *operatorv1alpha1.IstioCSR {
	ic := &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorv1alpha1.Name}}
	ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
	ic.Spec.IstioCSRConfig.CertManager.IssuerRef = operatorv1alpha1.IssuerReference{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}
	if removed {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	}
	return ic
}

func packagesOf(namespaces ...string) []v1alpha1.Package {
	var all []v1alpha1.Package
	for _, namespace := range namespaces {
		all = append(all, v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: PackageName(namespace)}})
	}
	return all
}

func TestTeardown(t *testing.T) {
	all := func(ics ...*operatorv1alpha1.IstioCSR) []*operatorv1alpha1.IstioCSR { return ics }
	for name, tc := range map[string]struct {
		reason string
		group  csrGroup
		gone   []string // namespaces whose agent goes
	}{
		"Deleted":         {"an agent runs on by default", csrGroup{Deleting: all(csrIn("a", false)), Existing: packagesOf("a")}, nil},
		"Removed":         {"the annotation has it go", csrGroup{Deleting: all(csrIn("a", true)), Existing: packagesOf("a")}, []string{"a"}},
		"RemovedAndNext":  {"the agent of the next one is not meant", csrGroup{Resources: all(csrIn("b", false)), Deleting: all(csrIn("a", true)), Existing: packagesOf("a", "b")}, []string{"a"}},
		"OnlyTheLosers":   {"the annotation of one without an agent is about nothing", csrGroup{Deleting: all(csrIn("a", false), csrIn("b", true)), Existing: packagesOf("a")}, nil},
		"Both":            {"of two that go at once each goes as it says", csrGroup{Deleting: all(csrIn("a", false), csrIn("b", true)), Existing: packagesOf("a", "b")}, []string{"b"}},
		"FinalizerForced": {"no annotation says that it should go", csrGroup{Resources: all(csrIn("b", true)), Existing: packagesOf("a")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			existing := slices.Clone(tc.group.Existing)
			plan := teardown(groupInput{Group: tc.group})
			for _, namespace := range []string{"a", "b"} {
				name := PackageName(namespace)
				exists := slices.ContainsFunc(existing, func(pkg v1alpha1.Package) bool { return pkg.Name == name })
				running := Running(tc.group.Resources)
				if !exists || running != nil && running.Namespace == namespace {
					continue
				}
				if stays := slices.Contains(plan.Orphans, name); stays == slices.Contains(tc.gone, namespace) {
					t.Errorf("%s: the agent in %s stays: %v", tc.reason, namespace, stays)
				}
			}
			if plan.Blocked != nil || len(plan.Order) > 0 {
				t.Errorf("%s: it waits: %+v", tc.reason, plan)
			}
			if diff := cmp.Diff(existing, tc.group.Existing); diff != "" {
				t.Errorf("what it was given has changed:\n%s", diff)
			}
		})
	}
}

// fakeKeeper remembers which copies were kept, and which were let go of.
type fakeKeeper struct {
	kept, keptLast, forgotten, removed []string

	// state is the answer to who keeps a copy.
	state trust.State
	// refused is the answer to a removal.
	refused error
}

func (k *fakeKeeper) Keep(_ context.Context, request cabundle.Request) (trust.State, error) {
	k.kept = append(k.kept, request.Namespace)
	return k.state, nil
}

func (k *fakeKeeper) KeepLast(_ context.Context, namespace string) (trust.State, error) {
	k.keptLast = append(k.keptLast, namespace)
	return trust.State{}, nil
}
func (k *fakeKeeper) Forget(namespace string) { k.forgotten = append(k.forgotten, namespace) }
func (k *fakeKeeper) Remove(_ context.Context, namespace string) error {
	k.removed = append(k.removed, namespace)
	return k.refused
}

// The copy of the CA certificates goes last, and only with an agent that is removed.
func TestObserver_Release(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		ic       *operatorv1alpha1.IstioCSR
		existing []v1alpha1.Package
		agents   []string // namespaces with a Deployment
		removed  []string
	}{
		"Stays":        {"an agent that runs on reads it", csrIn("a", false), nil, []string{"a"}, nil},
		"StillThere":   {"the agent still reads it", csrIn("a", true), packagesOf("a"), []string{"a"}, nil},
		"AgentIsGone":  {"no client reads it any more", csrIn("a", true), nil, nil, []string{"a"}},
		"AnotherRuns":  {"the agent of another one does not matter", csrIn("a", true), packagesOf("b"), []string{"b"}, []string{"a"}},
		"AnotherStays": {"the agent of another one does not matter", csrIn("a", false), packagesOf("b"), []string{"b"}, nil},
		"LeftRunning":  {"one that never had an agent takes nothing from what an IstioCSR of before has left", csrIn("a", true), packagesOf("b"), []string{"a", "b"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			keeper := &fakeKeeper{}
			agents := fake.NewClientBuilder()
			for _, namespace := range tc.agents {
				agents.WithObjects(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: AgentName}})
			}
			o := &observer{keeper: keeper, live: agents.Build()}
			if got := o.release(t.Context(), csrGroup{Deleting: []*operatorv1alpha1.IstioCSR{tc.ic}, Existing: tc.existing}); len(got) > 0 {
				t.Fatal(got)
			}
			if diff := cmp.Diff([][]string{{"a"}, tc.removed}, [][]string{keeper.forgotten, keeper.removed}); diff != "" {
				t.Errorf("%s: forgotten and removed (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// watchable are the kinds of which single objects are watched whole.
var watchable = map[schema.GroupVersionKind]string{
	{Group: GroupCertManager, Version: "v1", Kind: KindIssuer}: "issuers",
	certificateKind: "certificates",
	deploymentKind:  "deployments",
	secretKind:      "secrets",
	configMapKind:   "configmaps",
	bindingKind:     "rolebindings",
	endpointsKind:   "endpointslices",

	bindingKind.GroupVersion().WithKind("ClusterRole"):        "clusterroles",
	bindingKind.GroupVersion().WithKind("ClusterRoleBinding"): "clusterrolebindings",
}

// newCluster is an observer of a cluster with these objects.
func newCluster(t *testing.T, keeper caKeeper, definitions []string, objects ...*unstructured.Unstructured) *observer {
	t.Helper()
	scheme, cached := runtime.NewScheme(), runtime.NewScheme()
	if err := errors.Join(metav1.AddMetaToScheme(scheme), corev1.AddToScheme(scheme), clientgoscheme.AddToScheme(cached), v1alpha1.AddToScheme(cached)); err != nil {
		t.Fatal(err)
	}
	mapper, lists := meta.NewDefaultRESTMapper(nil), map[schema.GroupVersionResource]string{}
	for kind, resource := range watchable {
		mapper.Add(kind, meta.RESTScopeNamespace)
		lists[kind.GroupVersion().WithResource(resource)] = kind.Kind + "List"
	}
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	crds := fake.NewClientBuilder().WithScheme(cached)
	for _, name := range definitions {
		crd := front.Definition()
		crd.Name = name
		crds.WithObjects(crd)
	}
	metadataClient := metadatafake.NewSimpleMetadataClient(scheme)
	dynamicClient := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	for _, o := range objects {
		var err error
		resource := o.GroupVersionKind().GroupVersion().WithResource(watchable[o.GroupVersionKind()])
		if o.GetKind() == "Namespace" {
			resource.Resource = "namespaces"
		}
		err = metadataClient.Tracker().Create(resource, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: o.GetAPIVersion(), Kind: o.GetKind()}, ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()},
		}, o.GetNamespace())
		if err == nil && o.GetKind() != "Namespace" {
			err = dynamicClient.Tracker().Create(resource, o, o.GetNamespace())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	watched := cache.New(t.Context(), cache.Config{Dynamic: dynamicClient, Metadata: metadataClient, Mapper: mapper}).Objects(func() {})
	return &observer{
		cache: crds.Build(), live: fake.NewClientBuilder().Build(), objects: watched, served: func(schema.GroupVersionKind) bool { return false }, keeper: keeper,
		image: Image{Reference: DefaultImage}, now: time.Now,
	}
}

// While it cannot be said which CA certificates are wanted the copy is kept as it was:
// what a user changes in it is repaired.
func TestObserver_KeepsLast(t *testing.T) {
	mesh := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "mesh"}}}
	issuer := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": map[string]any{"namespace": "mesh", "name": "ca"}, "spec": map[string]any{kind: map[string]any{}},
		}}
	}
	for name, tc := range map[string]struct {
		reason      string
		undecodable string
		definitions []string
		objects     []*unstructured.Unstructured
		kept        bool
	}{
		"Works":         {reason: "all is there", definitions: certManagerDefinitions, objects: []*unstructured.Unstructured{mesh, issuer("ca")}, kept: true},
		"Undecodable":   {reason: "the spec says nothing", undecodable: "banana"},
		"NoCertManager": {reason: "its kinds are away for a moment"},
		"NoNamespace":   {reason: "the mesh is away", definitions: certManagerDefinitions, objects: []*unstructured.Unstructured{issuer("ca")}},
		"NoIssuer":      {reason: "the issuer is away", definitions: certManagerDefinitions, objects: []*unstructured.Unstructured{mesh}},
		"SelfSigned":    {reason: "the issuer cannot sign", definitions: certManagerDefinitions, objects: []*unstructured.Unstructured{mesh, issuer("selfSigned")}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			state := trust.State{Roots: []trust.Root{{Name: `"root"`, NotAfter: now, Late: now.Add(-time.Hour)}}}
			keeper := &fakeKeeper{state: state}
			ic := csrIn("a", false)
			ic.Spec.Undecodable = tc.undecodable
			ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
			ic.Spec.IstioCSRConfig.CertManager.IssuerRef = operatorv1alpha1.IssuerReference{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}
			o := newCluster(t, keeper, tc.definitions, tc.objects...)
			facts, err := o.Observe(t.Context(), csrGroup{Resources: []*operatorv1alpha1.IstioCSR{ic}})
			if err != nil {
				t.Fatal(err)
			}
			want := &fakeKeeper{keptLast: []string{"a"}, state: state}
			if tc.kept {
				want = &fakeKeeper{kept: []string{"a"}, state: state}
			}
			if reported := slices.Equal(facts.CA.Ending, []string{`"root"`}); reported != tc.kept {
				t.Errorf("%s: of a CA that is about to expire it says %q", tc.reason, facts.CA.Ending)
			}
			if diff := cmp.Diff(want, keeper, cmp.AllowUnexported(fakeKeeper{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The annotation drops CAs by their digests, and says what is none.
func TestDroppedBy(t *testing.T) {
	ic := csrIn("a", false)
	ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDropCAs: "0123456789ABCDEF, short,,"}
	digests, malformed := droppedBy(ic)
	if !slices.Equal(digests, []string{"0123456789abcdef"}) || len(malformed) != 1 || !strings.HasPrefix(malformed[0], `" short" is not the digest`) {
		t.Errorf("digests %q, malformed %q", digests, malformed)
	}
}

// A copy that cannot be deleted keeps the IstioCSR that it was made for, and no other one
// from being observed.
func TestObserver_CannotRelease(t *testing.T) {
	refused := errors.New("a policy denies it")
	keeper := &fakeKeeper{refused: refused}
	o := newCluster(t, keeper, nil)
	deleted, running := csrIn("a", true), csrIn("b", false)
	facts, err := o.Observe(t.Context(), csrGroup{Resources: []*operatorv1alpha1.IstioCSR{running}, Deleting: []*operatorv1alpha1.IstioCSR{deleted}})
	if err != nil || facts.Running != "b" || !slices.Equal(keeper.keptLast, []string{"b"}) {
		t.Errorf("the one that runs is not observed: %+v (%v)", facts, err)
	}
	f := newFront(o)
	if got := f.Stays(deleted, facts); !errors.Is(got, refused) {
		t.Errorf("it goes and leaves the copy behind: %v", got)
	}
	if got := f.Stays(running, facts); got != nil {
		t.Errorf("the other one has the trouble, too: %v", got)
	}
	now := metav1.Unix(1, 0)
	deleted.DeletionTimestamp = &now
	f.Status(deleted, groupState{Facts: facts, Now: now})
	if ready := meta.FindStatusCondition(deleted.Status.Conditions, operatorv1alpha1.ConditionReady); ready == nil || !strings.Contains(ready.Message, refused.Error()) {
		t.Errorf("no status says so: %v", ready)
	}
}

// Each IstioCSR that goes with its agent tells of the meshes that point at its own, and
// one whose agent stays of none.
func TestFront_Clients(t *testing.T) {
	kind := ClientKinds()[0].Kind
	cluster := fake.NewClientBuilder()
	for name, namespace := range map[string]string{"z-of-a": "a", "a-of-a": "a", "of-b": "b", "of-c": "c"} {
		mesh := front.Untyped(kind)
		mesh.SetName(name)
		if err := unstructured.SetNestedField(mesh.Object, Endpoint(csrIn(namespace, false)), "spec", "values", "global", "caAddress"); err != nil {
			t.Fatal(err)
		}
		cluster.WithObjects(mesh)
	}
	o := newCluster(t, &fakeKeeper{}, nil)
	o.cache = cluster.Build()
	o.served = func(k schema.GroupVersionKind) bool { return k == kind }
	now := metav1.Unix(1, 0)
	deleted, running := csrIn("a", true), csrIn("b", true)
	deleted.DeletionTimestamp = &now
	group := csrGroup{Resources: []*operatorv1alpha1.IstioCSR{running, csrIn("c", false)}, Deleting: []*operatorv1alpha1.IstioCSR{deleted}, Existing: packagesOf("a")}
	facts, err := o.Observe(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"a": {"Istio a-of-a", "Istio z-of-a"}, "b": {"Istio of-b"}}
	if diff := cmp.Diff(want, facts.Pointing.clients); diff != "" {
		t.Errorf("meshes (-want +got):\n%s", diff)
	}
	f := newFront(o)
	f.Status(deleted, groupState{Facts: facts, Unwanted: group.Existing, Now: now})
	ready := meta.FindStatusCondition(deleted.Status.Conditions, operatorv1alpha1.ConditionReady)
	if ready == nil || !strings.Contains(ready.Message, "although Istio a-of-a, Istio z-of-a still points at") {
		t.Errorf("of those that lose their agent it says %v", ready)
	}
}
