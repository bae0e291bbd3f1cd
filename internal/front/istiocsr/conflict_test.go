// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// TestRender_TakeoverOfCertificate: an agent of the chart that makes the Certificate of istiod is
// replaced before Strata makes it, in whatever way the two make it; what stays is one Certificate.
func TestRender_TakeoverOfCertificate(t *testing.T) {
	const enabled = "--istiod-cert-enabled=true"
	for name, tc := range map[string]struct {
		arg, asked, want string
		stays            bool
	}{
		"StaticToStatic":    {"--istiod-cert-enabled=false", "Static", "access certificate agent", true},
		"StaticToDynamic":   {"--istiod-cert-enabled=false", "Dynamic", "access agent", false},
		"DynamicToStatic":   {enabled, "Static", "access agent certificate", false},
		"DynamicToDynamic":  {enabled, "Dynamic", "access agent", false},
		"OursToStatic":      {enabled + " --istiod-cert-name=istiod", "Static", "access agent certificate", false},
		"OursToDynamic":     {enabled + " --istiod-cert-name=istiod --istiod-cert-key-size=2048", "Dynamic", "access agent", true},
		"AnotherNamespaces": {enabled + " --istiod-cert-namespace=elsewhere", "Static", "access certificate agent", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
			in.IstioCSR.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{IstiodCertificate: tc.asked}
			spec, more := byChart(t), []any{}
			for arg := range strings.FieldsSeq(tc.arg) {
				more = append(more, arg)
			}
			found{"agent.args": replaceArg(t, "--istiod-cert-enabled=false", "", more...)}.in(t, spec)
			in.Facts.Deployment = &Deployment{Spec: spec, Foreign: true}
			p := Render(in)
			var names []string
			for _, phase := range p.Phases {
				names = append(names, phase.Name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("phases are %q, want %q: %s", got, tc.want, p.Blocked)
			}
			if text := TakeoverText(in); strings.HasSuffix(text, "and its pods stay") != tc.stays {
				t.Errorf("it is reported as %q", text)
			}
		})
	}
}

// certificateOf is a Certificate in the mesh with the field managers of its spec.
func certificateOf(name string, managers ...string) *unstructured.Unstructured {
	u := front.Untyped(certificateKind)
	u.SetNamespace("mesh")
	u.SetName(name)
	u.Object["spec"] = map[string]any{"secretName": CertificateTarget}
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range managers {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "cert-manager.io/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:secretName": {}}}`),
		})
	}
	u.SetManagedFields(entries)
	return u
}

// What a user has made, or has changed, is not taken for an agent's.
func TestIsByAgent(t *testing.T) {
	for name, tc := range map[string]struct {
		managers []string
		change   func(u *unstructured.Unstructured)
		want     bool
	}{
		"Agent": {managers: []string{AgentName}, want: true},
		"Labelled": {managers: []string{AgentName}, want: true, change: func(u *unstructured.Unstructured) {
			u.SetManagedFields(append(u.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: "kubectl-label", FieldsV1: metav1.NewFieldsV1(`{"f:metadata": {"f:labels": {}}}`)},
				metav1.ManagedFieldsEntry{Manager: "cert-manager", Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:status": {}}`)}))
		}},
		"User":      {managers: []string{"kubectl-client-side-apply"}},
		"Edited":    {managers: []string{AgentName, "kubectl-edit"}},
		"Unknown":   {},
		"Owned":     {managers: []string{AgentName}, change: func(u *unstructured.Unstructured) { u.SetOwnerReferences([]metav1.OwnerReference{{Name: "x"}}) }},
		"OfPackage": {managers: []string{AgentName}, change: func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{v1alpha1.LabelPackage: "x"}) }},
		"OfRelease": {managers: []string{AgentName}, change: func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{annotationReleaseName: "x", annotationReleaseNamespace: "y"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := certificateOf("istiod-dynamic", tc.managers...)
			if tc.change != nil {
				tc.change(u)
			}
			if got := isByAgent(u); got != tc.want {
				t.Errorf("an agent has made it: %v", got)
			}
		})
	}
}

// agentPods are a Deployment, or a pod, of an agent that makes a Certificate, or none.
func agentPods(kind, namespace, certificate string) map[string]any {
	args := []any{}
	switch certificate {
	case "":
	case "?":
		args = append(args, "serve")
	default:
		args = append(args, "--istiod-cert-enabled", "--istiod-cert-namespace=mesh", "--istiod-cert-name="+certificate)
	}
	spec := map[string]any{"containers": []any{map[string]any{"name": AgentName, "args": args}}}
	if kind == "Pod" {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": "agent-1"}, "spec": spec}
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": AgentName}, "spec": map[string]any{"template": map[string]any{"spec": spec}}}
}

// holderCase is a case of [TestObserver_Holder].
type holderCase struct {
	reason    string
	issuedFor string
	owned     bool // the Secret
	own       *unstructured.Unstructured
	holder    *unstructured.Unstructured
	made      map[string]string // by the Deployments in namespaces
	live      []client.Object
	deleted   string
	want      *Conflict
	marked    bool
}

const holderLeft = "istiod-dynamic"

var holderNow = time.Now()

var holderLease = func(renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "mesh", Name: LeaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("agent-1_0"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(renewed)),
	}}
}

var holderPod = func(certificate string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: agentPods("Pod", "a", certificate)}
}

// holderCases are the cases of [TestObserver_Holder].
var holderCases = map[string]holderCase{
	"Left":      {reason: "no agent makes it", deleted: "Background"},
	"OwnedLeft": {reason: "the Secret would go with it", owned: true, deleted: "Orphan"},
	"Ours":      {reason: "it is as it should be", issuedFor: CertificateName},
	"NotYet":    {reason: "without another Certificate the Secret would not be renewed", own: &unstructured.Unstructured{}},
	"Elsewhere": {reason: "it is issued into another Secret", marked: true, holder: func() *unstructured.Unstructured {
		u := certificateOf(holderLeft, AgentName)
		u.Object["spec"] = map[string]any{"secretName": "other"}
		return u
	}()},
	"Gone":     {reason: "it is gone", holder: &unstructured.Unstructured{}, marked: true},
	"Users":    {reason: "a user has made it", holder: certificateOf(holderLeft, "kubectl"), want: &Conflict{Name: holderLeft}},
	"Replaced": {reason: "its agent makes ours", made: map[string]string{"a": CertificateName}, live: []client.Object{holderLease(holderNow), holderPod(CertificateName)}, deleted: "Background"},
	"Made":     {reason: "its agent is there", made: map[string]string{"a": holderLeft}, want: &Conflict{Name: holderLeft, ByAgent: true, Maker: "the agent in namespace a"}},
	"MadeLeft": {reason: "another agent makes it", made: map[string]string{"a": "", "left": holderLeft}, want: &Conflict{Name: holderLeft, ByAgent: true, Maker: "the agent in namespace left"}},
	"Unread":   {reason: "what another agent makes is not known", made: map[string]string{"left": "?"}, want: &Conflict{Name: holderLeft, ByAgent: true, Maker: "the agent in namespace left"}},
	"Ending":   {reason: "the pod of before has not ended", made: map[string]string{"a": ""}, live: []client.Object{holderLease(holderNow), holderPod(holderLeft)}, want: &Conflict{Name: holderLeft, ByAgent: true, Maker: "pod a/agent-1"}},
	"Unknown":  {reason: "who leads is not known", live: []client.Object{holderLease(holderNow)}, want: &Conflict{Name: holderLeft, ByAgent: true, Maker: "the unknown agent that holds Lease mesh/istio-csr"}},
	"Expired":  {reason: "who has led has ended", live: []client.Object{holderLease(holderNow.Add(-time.Minute))}, deleted: "Background"},
}

// TestObserver_Holder: a Certificate that an agent has left in the way of that of istiod goes when
// no agent makes it again, its Secret stays, and nothing else is deleted.
func TestObserver_Holder(t *testing.T) {
	for name, tc := range holderCases {
		t.Run(name, func(t *testing.T) {
			own, holder := tc.own, tc.holder
			if own == nil {
				own = certificateOf(CertificateName, v1alpha1.FieldOwner)
			}
			if holder == nil {
				holder = certificateOf(holderLeft, AgentName)
			}
			holder.SetUID("uid")
			secret := front.Untyped(secretKind)
			secret.SetNamespace("mesh")
			secret.SetName(CertificateTarget)
			secret.SetAnnotations(map[string]string{annotationCertificateName: holderLeft})
			if tc.issuedFor != "" {
				secret.SetAnnotations(map[string]string{annotationCertificateName: tc.issuedFor})
			}
			if tc.owned {
				secret.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: holderLeft, UID: "uid"}})
			}
			objects, live := []*unstructured.Unstructured{secret}, fake.NewClientBuilder().WithReturnManagedFields().WithObjects(tc.live...)
			for _, certificate := range []*unstructured.Unstructured{own, holder} {
				if certificate.GetName() != "" {
					objects = append(objects, certificate)
					live.WithObjects(certificate.DeepCopy())
				}
			}
			for namespace, certificate := range tc.made {
				objects = append(objects, &unstructured.Unstructured{Object: agentPods("Deployment", namespace, certificate)})
			}
			deleted := ""
			o := newCluster(t, &fakeKeeper{}, nil, objects...)
			writer := interceptor.NewClient(live.Build(), interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
				set := (&client.DeleteOptions{}).ApplyOptions(options)
				if object.GetName() != holderLeft || *set.Preconditions.UID != "uid" || set.Preconditions.ResourceVersion == nil {
					t.Errorf("%s %s is deleted on %v", object.GetObjectKind(), object.GetName(), set.Preconditions)
				}
				deleted = string(*set.PropagationPolicy)
				return c.Delete(ctx, object, options...)
			}})
			o.live, o.writer, o.now = writer, writer, func() time.Time { return holderNow }
			ic := csrIn("a", false)
			ic.Spec.IstioCSRConfig.Istio.Namespace = "mesh"
			facts := observed{Facts: Facts{LeftRunning: []string{"left"}}}
			if err := o.observeConflict(t.Context(), ic, &facts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, facts.Conflict); diff != "" || deleted != tc.deleted {
				t.Errorf("%s: deleted is %q, the holder (-want +got):\n%s", tc.reason, deleted, diff)
			}
			replaced := front.Untyped(certificateKind)
			err := writer.Get(t.Context(), client.ObjectKey{Namespace: "mesh", Name: CertificateName}, replaced)
			if got := replaced.GetAnnotations()[annotationReplaces]; (got == holderLeft) != tc.marked || client.IgnoreNotFound(err) != nil {
				t.Errorf("the Certificate of istiod is in the place of %q: %v", got, err)
			}
			if waits := tc.want != nil && tc.want.ByAgent; waits != (facts.Again > 0) {
				t.Errorf("it is checked again after %s", facts.Again)
			}
		})
	}
}

// TestCheck_Holder: what is in the way of istiod's certificate is named, with what to do.
func TestCheck_Holder(t *testing.T) {
	for want, holder := range map[string]*Conflict{
		"Secret istio-system/istiod-tls is issued for Certificate x, and cert-manager does not issue it for Certificate istiod meanwhile: it is deleted when the agent in namespace y does not make it any longer":                                                                           {Name: "x", ByAgent: true, Maker: "the agent in namespace y"},
		"Secret istio-system/istiod-tls is issued for Certificate x, and cert-manager does not issue it for Certificate istiod meanwhile: run `kubectl delete certificates.cert-manager.io x -n istio-system --cascade=orphan`, which leaves the Secret, or have it issued into another one": {Name: "x"},
	} {
		in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
		in.Facts.Conflict = holder
		if diff := cmp.Diff([]Problem{{Waiting: true, Message: want}}, Check(in)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
