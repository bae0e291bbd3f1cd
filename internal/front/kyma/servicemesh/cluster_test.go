// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func node(cpu, memory string) Node {
	return Node{CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory)}
}

func TestSizeOf(t *testing.T) {
	cases := map[string]struct {
		reason   string
		nodes    []Node
		previous Size
		want     Size
	}{
		"NoNodes":        {reason: "a cluster without nodes has nothing", want: Evaluation},
		"NodesGone":      {reason: "nothing is nothing, whatever was", previous: Production, want: Evaluation},
		"Enough":         {reason: "the sum counts", nodes: []Node{node("3", "6G"), node("2", "4G")}, want: Production},
		"LittleCPU":      {reason: "a tenth of a CPU is missing", nodes: []Node{node("4900m", "64G")}, want: Evaluation},
		"LittleMemory":   {reason: "memory is decimal", nodes: []Node{node("16", "9999M")}, want: Evaluation},
		"Binary":         {reason: "10G are less than 10Gi", nodes: []Node{node("5", "9537Mi")}, want: Production},
		"Grows":          {reason: "a cluster grows at once", nodes: []Node{node("5", "10G")}, previous: Evaluation, want: Production},
		"StaysSmall":     {reason: "what was small is measured as at first", nodes: []Node{node("4500m", "9G")}, previous: Evaluation, want: Evaluation},
		"ShrinksALittle": {reason: "less than a fifth is missing", nodes: []Node{node("4", "8G")}, previous: Production, want: Production},
		"Shrinks":        {reason: "more than a fifth is missing", nodes: []Node{node("3900m", "8G")}, previous: Production, want: Evaluation},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := SizeOf(tc.nodes, tc.previous); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// Nodes that come and go around the limit make one change, not one each time.
func TestSizeOf_Flapping(t *testing.T) {
	size, changes := Size(""), 0
	for i := range 100 {
		nodes := []Node{node("4", "16G")}
		if i%2 == 0 {
			nodes = append(nodes, node("1", "4G"))
		}
		next := SizeOf(nodes, size)
		if size != "" && next != size {
			changes++
		}
		size = next
	}
	if changes != 0 {
		t.Errorf("the size changed %d times", changes)
	}
}

// A cluster whose nodes go, or do not report yet what they are, is where it was.
func TestInfrastructure(t *testing.T) {
	aws, openStack := Cluster{Provider: ProviderAWS}, Cluster{Provider: ProviderOpenStack, GardenOS: true}
	cases := map[string]struct {
		nodes []Node
		known Cluster
		want  Cluster
	}{
		"First":     {want: Cluster{Provider: ProviderOther}},
		"NoNodes":   {known: aws, want: aws},
		"NotYet":    {known: openStack, nodes: []Node{{Kubelet: "v1.33.0"}}, want: openStack},
		"Elsewhere": {known: aws, nodes: []Node{{ProviderID: "azure:///x", OSImage: "Ubuntu"}}, want: Cluster{Provider: ProviderOther}},
		"Back":      {known: openStack, nodes: []Node{{ProviderID: "aws:///1", OSImage: "Ubuntu"}}, want: aws},
	}
	for name, tc := range cases {
		provider, garden := Infrastructure(tc.nodes, tc.known.Infrastructure())
		if got := (Cluster{Provider: provider, GardenOS: garden}); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestProviderOf(t *testing.T) {
	cases := map[string]struct {
		nodes []Node
		want  Provider
	}{
		"None":        {want: ProviderOther},
		"Unknown":     {nodes: []Node{{Kubelet: "v1.33.0", ProviderID: "azure:///x"}}, want: ProviderOther},
		"GKE":         {nodes: []Node{{Kubelet: "v1.33.4-gke.1172000", ProviderID: "gce://x"}}, want: ProviderGKE},
		"K3d":         {nodes: []Node{{Kubelet: "v1.33.4+k3s1"}}, want: ProviderK3d},
		"AWS":         {nodes: []Node{{Kubelet: "v1.33.4", ProviderID: "aws:///eu-central-1a/i-1"}}, want: ProviderAWS},
		"OpenStack":   {nodes: []Node{{ProviderID: "openstack:///1"}}, want: ProviderOpenStack},
		"FirstCounts": {nodes: []Node{{ProviderID: "kwok://1"}, {ProviderID: "openstack:///1"}, {ProviderID: "aws:///1"}}, want: ProviderOpenStack},
	}
	for name, tc := range cases {
		if got := ProviderOf(tc.nodes); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
	if HasGardenOS(nil) || !HasGardenOS([]Node{{OSImage: "Ubuntu"}, {OSImage: "Garden Linux 1592.1"}}) {
		t.Error("Garden Linux is not distinguished")
	}
}

func TestParseFeatures(t *testing.T) {
	cases := map[string]struct {
		value string
		want  Features
		fails bool
	}{
		"Empty":   {},
		"Both":    {value: `{"disableCni": true, "enableControlPlaneVPA": true}`, want: Features{DisableCNI: true, EnableControlPlaneVPA: true}},
		"Unknown": {value: `{"later": 1}`},
		"NoJSON":  {value: "disableCni: true", fails: true},
		"Type":    {value: `{"disableCni": "yes"}`, fails: true},
	}
	for name, tc := range cases {
		got, err := ParseFeatures(tc.value)
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if dual, err := ParseDualStack("networkDetails: {dualStackIPEnabled: true}"); !dual || err != nil {
		t.Errorf("got %v, %v", dual, err)
	}
	if dual, err := ParseDualStack("worker: []"); dual || err != nil {
		t.Errorf("got %v, %v", dual, err)
	}
	if _, err := ParseDualStack("a: b: c"); err == nil {
		t.Error("malformed YAML is no error")
	}
}

func TestKeepsELB(t *testing.T) {
	const kind = "service.beta.kubernetes.io/aws-load-balancer-type"
	cases := map[string]struct {
		reason  string
		service map[string]string
		want    bool
	}{
		"None":     {reason: "there is no Service yet", want: true},
		"Classic":  {reason: "it has a classic one", service: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-proxy-protocol": "*"}, want: true},
		"Network":  {reason: "its address would change", service: map[string]string{kind: "nlb"}},
		"External": {reason: "likewise", service: map[string]string{kind: "external"}},
	}
	for name, tc := range cases {
		if got := KeepsELB(tc.service); got != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
	}
}
