// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// find is the object of a kind and name, nil when there is none.
func find(packages []content.Package, kind, name string) *unstructured.Unstructured {
	for _, p := range packages {
		for _, phase := range p.Phases {
			for _, o := range phase.Objects {
				if o.Manifest.GetKind() == kind && o.Manifest.GetName() == name {
					return o.Manifest
				}
			}
		}
	}
	return nil
}

// need is the object of a kind and name, which must be there.
func need(t *testing.T, packages []content.Package, kind, name string) tree {
	t.Helper()
	o := find(packages, kind, name)
	if o == nil {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return o.Object
}

const rich = `
config:
  numTrustedProxies: 2
  authorizers: [{name: a, service: a.b, port: 1, headers: {inCheck: {add: {x-b: "1", x-a: "2", x-d: "3", x-c: "4"}}}}, {name: b, service: a.b, port: 2}]
components:
  pilot: {k8s: {resources: {limits: {cpu: 3000m}, requests: {memory: 600Mi}}}}
  egressGateway: {enabled: true}
compatibilityMode: true
experimental: {pilot: {enableAlphaGatewayAPI: true, enableMultiNetworkDiscoverGatewayAPI: true}, enableAmbient: true}
`

// The same input gives the same content, byte for byte: a revision is made of what changed,
// and of nothing else.
func TestRender_Deterministic(t *testing.T) {
	digests := map[string]int{}
	for range 100 {
		in := input(t, rich)
		in.Settings.Experimental, in.Cluster.Provider, in.Cluster.DualStack = true, ProviderAWS, true
		sum := sha256.New()
		for _, p := range mustRender(t, in) {
			fmt.Fprintln(sum, p.Name, p.Origin.Reason, p.Origin.AppVersion, p.Origin.Images, p.After, p.Blocked)
			for _, phase := range p.Phases {
				for _, o := range phase.Objects {
					data, err := json.Marshal(o.Manifest.Object)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintln(sum, phase.Name, o.Deletion, string(data))
				}
			}
		}
		digests[fmt.Sprintf("%x", sum.Sum(nil))]++
	}
	if len(digests) != 1 {
		t.Errorf("100 renders give %d contents: %v", len(digests), digests)
	}
}

// The workloads as they are applied.
func TestRender_Workloads(t *testing.T) {
	for _, size := range []Size{Production, Evaluation} {
		in := input(t, "config: {gatewayExternalTrafficPolicy: Local}\ncomponents: {egressGateway: {enabled: true}}")
		in.Cluster.Size = size
		b := &strings.Builder{}
		for _, phase := range mustRender(t, in)[1].Phases {
			if phase.Name != PhaseControlPlane && phase.Name != PhaseGateways && phase.Name != PhaseNamespace {
				continue
			}
			for _, o := range phase.Objects {
				data, err := yaml.Marshal(o.Manifest.Object)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(b, "---\n%s", data)
			}
		}
		golden(t, "workloads-"+strings.ToLower(string(size))+".yaml", b.String())
	}
}

func TestRender_Objects(t *testing.T) {
	packages := mustRender(t, input(t, "{}"))
	for _, p := range packages {
		for _, phase := range p.Phases {
			if phase.CollisionProtection != v1alpha1.CollisionIfNoController {
				t.Errorf("phase %s has collision protection %s", phase.Name, phase.CollisionProtection)
			}
			for _, o := range phase.Objects {
				name := o.Manifest.GetKind() + " " + o.Manifest.GetName()
				if o.Manifest.GetAnnotations()[v1alpha2.AnnotationDisclaimer] == "" {
					t.Errorf("%s has no disclaimer", name)
				}
				if o.Manifest.GetKind() != "Namespace" && o.Manifest.GetLabels()[v1alpha2.LabelModule] != "istio" {
					t.Errorf("%s does not say that it is of the module", name)
				}
				if retained := o.Deletion == v1alpha1.ObjectRetain; retained != (p.Name == PackageCRDs) {
					t.Errorf("%s is retained: %v", name, retained)
				}
				if template := value(o.Manifest.Object, "spec/template"); template != nil && value(template, "metadata/labels/kyma-project.io") == nil {
					labels, _ := value(template, "metadata/labels").(tree)
					if labels[v1alpha2.LabelModule] != "istio" {
						t.Errorf("the pods of %s do not say that they are of the module", name)
					}
				}
				raw, err := json.Marshal(o.Manifest.Object)
				if err != nil || strings.Contains(string(raw), "caBundle") || value(o.Manifest.Object, "spec/replicas") != nil {
					t.Errorf("%s holds what others rightly own (%v)", name, err)
				}
			}
		}
	}
	operator := tree{}
	text, _ := value(need(t, packages, "ConfigMap", InputConfigMap), "data/"+InputKey).(string)
	if err := yaml.Unmarshal([]byte(text), &operator); err != nil || value(operator, "spec/tag") != "1.31.0-distroless" {
		t.Errorf("the merged input cannot be read (%v):\n%s", err, text)
	}
}

func TestRender_Switches(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*Input)
		present []string
		absent  []string
	}{
		"Production": {reason: "budgets, validation, the node agent", change: func(*Input) {}, present: []string{
			"DaemonSet istio-cni-node", "PodDisruptionBudget istiod", "PodDisruptionBudget istio-ingressgateway", "ValidatingWebhookConfiguration istiod-default-validator",
		}, absent: []string{"Deployment istio-egressgateway", "DaemonSet ztunnel", "ResourceQuota istio-cni-resource-quota"}},
		"Evaluation": {reason: "a budget would block every drain", change: func(in *Input) { in.Cluster.Size = Evaluation }, present: []string{"HorizontalPodAutoscaler istiod", "ValidatingWebhookConfiguration istiod-default-validator"}, absent: []string{
			"PodDisruptionBudget istiod", "PodDisruptionBudget istio-ingressgateway",
		}},
		"NoCNI":  {reason: "by the feature", change: func(in *Input) { in.Cluster.Features.DisableCNI = true }, absent: []string{"DaemonSet istio-cni-node", "ClusterRole istio-cni"}},
		"Egress": {change: func(in *Input) { in.Istio = mesh(t, "components: {egressGateway: {enabled: true}}") }, present: []string{"Deployment istio-egressgateway", "Service istio-egressgateway"}},
		"GKE":    {change: func(in *Input) { in.Cluster.Provider = ProviderGKE }, present: []string{"ResourceQuota istio-cni-resource-quota"}},
		"One": {reason: "a single replica has no budget", change: func(in *Input) {
			in.Istio = mesh(t, "components: {ingressGateway: {k8s: {hpaSpec: {minReplicas: 1}}}}")
		}, present: []string{"PodDisruptionBudget istiod"}, absent: []string{"PodDisruptionBudget istio-ingressgateway"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "{}")
			tc.change(&in)
			packages := mustRender(t, in)
			for want, objects := range map[bool][]string{true: tc.present, false: tc.absent} {
				for _, o := range objects {
					kind, name, _ := strings.Cut(o, " ")
					if got := find(packages, kind, name) != nil; got != want {
						t.Errorf("%s: %s is there: %v", tc.reason, o, got)
					}
				}
			}
		})
	}
	injector, _ := value(need(t, mustRender(t, input(t, "{}")), "ConfigMap", "istio-sidecar-injector"), "data/values").(string)
	in := input(t, "{}")
	in.Cluster.Features.DisableCNI = true
	without, _ := value(need(t, mustRender(t, in), "ConfigMap", "istio-sidecar-injector"), "data/values").(string)
	if injector == without {
		t.Error("sidecars do not learn whether there is a node agent")
	}
}

func TestRender_Held(t *testing.T) {
	cases := map[string]struct {
		reason    string
		installed string
		crds      string
		allowed   string
		mesh      bool
		held      []string
	}{
		"First":     {reason: "nothing is there"},
		"Minor":     {reason: "one minor up", installed: "1.30.2-distroless", crds: "1.30.2"},
		"TwoMinors": {reason: "refused, with both versions", installed: "1.29.1-distroless", crds: "1.29.1", mesh: true, held: []string{"1.29.1", "1.31.0"}},
		"Allowed":   {reason: "a person allows it", installed: "1.29.1", crds: "1.29.1", allowed: "1.31.0"},
		"NewerCRDs": {reason: "CRDs never go back", installed: "1.31.0", crds: "1.32.0", held: []string{"1.32.0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "{}")
			in.Installed, in.CRDVersion = tc.installed, tc.crds
			in.Istio.Annotations = map[string]string{v1alpha2.AnnotationAllowVersion: tc.allowed}
			packages := mustRender(t, in)
			crds, mesh := packages[0], packages[1]
			if (crds.Blocked != "") != (len(tc.held) > 0) || (mesh.Blocked != "") != tc.mesh {
				t.Fatalf("%s: the CRDs are held by %q, the rest by %q", tc.reason, crds.Blocked, mesh.Blocked)
			}
			for _, want := range tc.held {
				if !strings.Contains(crds.Blocked, want) {
					t.Errorf("%s: %q does not name %s", tc.reason, crds.Blocked, want)
				}
			}
			if diff := cmp.Diff(len(tc.held) == 0, len(mesh.After) == 1); diff != "" {
				t.Errorf("%s: the rest comes after %v", tc.reason, mesh.After)
			}
		})
	}
}

func TestRender_ForeignCRDs(t *testing.T) {
	in := input(t, "")
	in.ForeignCRDs = true
	packages := mustRender(t, in)
	if len(packages) != 1 || packages[0].Name != PackageIstio || len(packages[0].After) > 0 {
		t.Errorf("got %d packages, the first %s after %v: CRDs of another package are left alone", len(packages), packages[0].Name, packages[0].After)
	}
}

func TestRender_Invalid(t *testing.T) {
	_, err := Render(input(t, "config: {authorizers: [{name: a, service: a.b, port: 1}, {name: a, service: a.b, port: 1}]}"))
	if _, ok := errors.AsType[*ValidationError](err); !ok {
		t.Errorf("got %v, want a ValidationError", err)
	}
}

// TestRender_Labels: what Kyma's operator labels beyond its module has the same labels of us.
func TestRender_Labels(t *testing.T) {
	in := input(t, "")
	want := map[string]string{
		"kyma-project.io/module": "istio", "app.kubernetes.io/name": "istio-operator", "app.kubernetes.io/instance": "istio-operator-default",
		"app.kubernetes.io/component": "operator", "app.kubernetes.io/part-of": "istio", "app.kubernetes.io/version": in.Settings.Images.Tag,
	}
	found := false
	for _, phase := range mustRender(t, in)[1].Phases {
		for _, o := range phase.Objects {
			if o.Manifest.GetKind() != "PeerAuthentication" {
				continue
			}
			found = true
			if diff := cmp.Diff(want, o.Manifest.GetLabels()); diff != "" {
				t.Errorf("labels of %s (-want +got):\n%s", o.Manifest.GetName(), diff)
			}
		}
	}
	if !found {
		t.Error("there is no PeerAuthentication")
	}
}

func TestRender_Resources(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		change func(*Cluster)
		want   []string
	}{
		"Always":    {reason: "mutual TLS", want: []string{"PeerAuthentication default"}},
		"Policies":  {reason: "by the resource", spec: "networkPoliciesEnabled: true", want: []string{"NetworkPolicy kyma-project.io--allow-istio-controller-manager", "NetworkPolicy kyma-project.io--istio-cni-node", "NetworkPolicy kyma-project.io--istio-egressgateway", "NetworkPolicy kyma-project.io--istio-ingressgateway", "NetworkPolicy kyma-project.io--istio-ingressgateway-egress", "NetworkPolicy kyma-project.io--istio-pilot", "NetworkPolicy kyma-project.io--istio-pilot-jwks", "PeerAuthentication default"}},
		"OpenStack": {reason: "by the provider", change: func(c *Cluster) { c.Provider = ProviderOpenStack }, want: []string{"EnvoyFilter proxy-protocol", "PeerAuthentication default"}},
		"AWS":       {reason: "a network load balancer keeps the address", change: func(c *Cluster) { c.Provider = ProviderAWS }, want: []string{"PeerAuthentication default"}},
		"NoVPA":     {reason: "the feature alone is not enough", change: func(c *Cluster) { c.Features.EnableControlPlaneVPA = true }, want: []string{"PeerAuthentication default"}},
		"NoFeature": {reason: "the kind alone is not enough", change: func(c *Cluster) { c.VPA = true }, want: []string{"PeerAuthentication default"}},
		"VPA": {reason: "for what is installed", change: func(c *Cluster) { c.VPA, c.Features.EnableControlPlaneVPA = true, true }, want: []string{
			"PeerAuthentication default", "VerticalPodAutoscaler istio-cni-node-vpa", "VerticalPodAutoscaler istio-ingressgateway-vpa", "VerticalPodAutoscaler istiod-vpa",
		}},
		"VPAEgress": {reason: "and for nothing else", spec: "components: {egressGateway: {enabled: true}}", change: func(c *Cluster) {
			c.VPA, c.Features = true, Features{EnableControlPlaneVPA: true, DisableCNI: true}
		}, want: []string{"PeerAuthentication default", "VerticalPodAutoscaler istio-egressgateway-vpa", "VerticalPodAutoscaler istio-ingressgateway-vpa", "VerticalPodAutoscaler istiod-vpa"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, tc.spec)
			if tc.change != nil {
				tc.change(&in.Cluster)
			}
			var got []string
			for _, phase := range mustRender(t, in)[1].Phases {
				for _, o := range phase.Objects {
					if phase.Name == PhasePolicies || phase.Name == PhaseResources {
						got = append(got, o.Manifest.GetKind()+" "+o.Manifest.GetName())
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// Network policies guard nothing before they are in place.
func TestRender_PoliciesFirst(t *testing.T) {
	phases := mustRender(t, input(t, "networkPoliciesEnabled: true"))[1].Phases
	if phases[2].Name != PhasePolicies || phases[3].Name != PhaseControlPlane || phases[len(phases)-1].Name != PhaseResources {
		t.Errorf("the phases are %s, %s and at last %s", phases[2].Name, phases[3].Name, phases[len(phases)-1].Name)
	}
}

func TestRender_Policies(t *testing.T) {
	b := &strings.Builder{}
	for _, o := range policies(true, 6443) {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "---\n%s", data)
	}
	golden(t, "policies.yaml", b.String())
}

func TestRender_FilterUpdatedAt(t *testing.T) {
	in := input(t, "")
	in.Cluster.Provider, in.Cluster.FilterUpdatedAt = ProviderOpenStack, "2026-06-30T12:00:00Z"
	filter := find(mustRender(t, in), "EnvoyFilter", "proxy-protocol")
	if got := filter.GetAnnotations()[v1alpha2.AnnotationUpdatedAt]; got != "2026-06-30T12:00:00Z" {
		t.Errorf("the time is %q", got)
	}
	if FilterDigest(in.Cluster) == "" || FilterDigest(Cluster{}) != "" {
		t.Error("there is a digest where there is a filter, and nowhere else")
	}
}

// BenchmarkRender is one render of both packages with the charts parsed already.
func BenchmarkRender(b *testing.B) {
	in := input(b, rich)
	in.Settings.Experimental = true
	mustRender(b, in)
	b.ReportAllocs()
	for b.Loop() {
		mustRender(b, in)
	}
}
