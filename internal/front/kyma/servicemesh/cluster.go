// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// Size is how much a cluster has to offer.
type Size string

// The sizes of clusters.
const (
	// Production is the normal size.
	Production Size = "Production"
	// Evaluation has less than 5 CPUs or less than 10 GB of memory.
	Evaluation Size = "Evaluation"
)

// Provider is whose infrastructure a cluster runs on.
type Provider string

// The providers that have defaults of their own. Any other is ProviderOther.
const (
	ProviderOther     Provider = "Other"
	ProviderAWS       Provider = "AWS"
	ProviderGKE       Provider = "GKE"
	ProviderK3d       Provider = "k3d"
	ProviderOpenStack Provider = "OpenStack"
)

// Node is what counts of a node.
type Node struct {
	// Name is its name.
	Name string
	// CPU and Memory are its capacity.
	CPU, Memory resource.Quantity
	// Kubelet is the version of its kubelet, such as v1.33.4-gke.1.
	Kubelet string
	// ProviderID is its spec.providerID, such as aws:///eu-central-1a/i-1.
	ProviderID string
	// OSImage names its operating system.
	OSImage string
}

// Equal says whether two nodes count the same.
func (n Node) Equal(other Node) bool {
	return n.CPU.Cmp(other.CPU) == 0 && n.Memory.Cmp(other.Memory) == 0 &&
		n.Name == other.Name && n.Kubelet == other.Kubelet && n.ProviderID == other.ProviderID && n.OSImage == other.OSImage
}

// Cluster is what rendering depends on of the cluster.
type Cluster struct {
	// Size chooses the defaults.
	Size Size `json:"size"`
	// Provider and GardenOS (whether a node runs Garden Linux) choose the overrides for the
	// infrastructure.
	Provider Provider `json:"provider"`
	GardenOS bool     `json:"gardenOS"`
	// DualStack says that the cluster has IPv4 and IPv6.
	DualStack bool `json:"dualStack"`
	// ELB says that the ingress gateway keeps a classic load balancer on AWS.
	ELB bool `json:"elb"`
	// APIServerPort is the port that the API server listens on. 0 stands for 443.
	APIServerPort int32 `json:"apiServerPort"`
	// VPA says that vertical autoscalers are served.
	VPA bool `json:"vpa"`
	// FilterUpdatedAt is when the EnvoyFilter for the proxy protocol became what it is, in
	// RFC 3339. Empty where that is not known, or there is none.
	FilterUpdatedAt string `json:"filterUpdatedAt"`
	// Features are the switches that are set.
	Features Features `json:"features"`
}

// Features are switches of the module that are in no Istio resource.
type Features struct {
	// DisableCNI goes without the node agent: every pod redirects its own traffic.
	DisableCNI bool `json:"disableCni,omitempty"`
	// EnableControlPlaneVPA scales the memory of what is installed, where vertical
	// autoscalers are served.
	EnableControlPlaneVPA bool `json:"enableControlPlaneVPA,omitempty"`
}

// ParseFeatures reads the value of [FeaturesKey]. Empty has none of them set; the error says
// that it is no JSON of that form.
func ParseFeatures(value string) (Features, error) {
	f := Features{}
	if strings.TrimSpace(value) == "" {
		return f, nil
	}
	if err := json.Unmarshal([]byte(value), &f); err != nil {
		return Features{}, fmt.Errorf("reading key %s of ConfigMap %s: %w", FeaturesKey, FeaturesConfigMap, err)
	}
	return f, nil
}

// ParseDualStack reads the value of [ProvisioningKey]. What does not say so has one stack;
// the error says that it is no YAML.
func ParseDualStack(value string) (bool, error) {
	info := struct {
		NetworkDetails struct {
			DualStackIPEnabled bool `json:"dualStackIPEnabled"`
		} `json:"networkDetails"`
	}{}
	if err := yaml.Unmarshal([]byte(value), &info); err != nil {
		return false, fmt.Errorf("reading key %s of ConfigMap %s: %w", ProvisioningKey, ProvisioningInfo, err)
	}
	return info.NetworkDetails.DualStackIPEnabled, nil
}

// What a cluster of normal size has at least, together. The memory is decimal.
var (
	productionCPU    = resource.MustParse("5")
	productionMemory = resource.MustParse("10G")
	// A cluster that has been of normal size stays that while it has this much: a node that
	// is replaced, or an autoscaler that breathes, does not resize the mesh.
	keptCPU    = resource.MustParse("4")
	keptMemory = resource.MustParse("8G")
)

// SizeOf is the size of a cluster with these nodes. Previous is the one that it had so far,
// empty at first: a cluster grows at once, and shrinks only when it lacks a fifth.
func SizeOf(nodes []Node, previous Size) Size {
	cpu, memory := resource.Quantity{}, resource.Quantity{}
	for i := range nodes {
		cpu.Add(nodes[i].CPU)
		memory.Add(nodes[i].Memory)
	}
	leastCPU, leastMemory := productionCPU, productionMemory
	if previous == Production && len(nodes) > 0 {
		leastCPU, leastMemory = keptCPU, keptMemory
	}
	if cpu.Cmp(leastCPU) < 0 || memory.Cmp(leastMemory) < 0 {
		return Evaluation
	}
	return Production
}

var (
	gkeKubelet = regexp.MustCompile(`^v\d+\.\d+\.\d+-gke\.\d+`)
	k3sKubelet = regexp.MustCompile(`^v\d+\.\d+\.\d+\+k3s\d+`)
)

// ProviderOf is the provider of the first node that shows it.
func ProviderOf(nodes []Node) Provider {
	for i := range nodes {
		switch n := nodes[i]; {
		case gkeKubelet.MatchString(n.Kubelet):
			return ProviderGKE
		case k3sKubelet.MatchString(n.Kubelet):
			return ProviderK3d
		case strings.HasPrefix(n.ProviderID, "aws://"):
			return ProviderAWS
		case strings.HasPrefix(n.ProviderID, "openstack://"):
			return ProviderOpenStack
		}
	}
	return ProviderOther
}

// HasGardenOS says whether a node runs Garden Linux.
func HasGardenOS(nodes []Node) bool {
	for i := range nodes {
		if strings.Contains(nodes[i].OSImage, "Garden") {
			return true
		}
	}
	return false
}

// Infrastructure is what nodes show of the infrastructure, or previous when they show nothing or
// there are none: a node has it only a moment after it registers, and a load balancer that is
// replaced meanwhile has another address.
func Infrastructure(nodes []Node, previous string) (provider Provider, gardenOS bool) {
	before, system, _ := strings.Cut(previous, " ")
	provider, gardenOS = ProviderOf(nodes), HasGardenOS(nodes)
	known := slices.ContainsFunc(nodes, func(n Node) bool { return n.ProviderID != "" })
	if provider == ProviderOther && !known && before != "" {
		provider = Provider(before)
	}
	if !slices.ContainsFunc(nodes, func(n Node) bool { return n.OSImage != "" }) {
		gardenOS = gardenOS || system == gardenSystem
	}
	return provider, gardenOS
}

// gardenSystem is what [Cluster.Infrastructure] says of Garden Linux.
const gardenSystem = "GardenLinux"

// Infrastructure is what [Infrastructure] takes for what was known before.
func (c Cluster) Infrastructure() string {
	if c.GardenOS {
		return string(c.Provider) + " " + gardenSystem
	}
	return string(c.Provider)
}

// ProxyProtocol says whether the load balancer of the ingress gateway passes the address of
// the client by the proxy protocol, which the gateway has to expect then.
func (c Cluster) ProxyProtocol() bool {
	switch c.Provider {
	case ProviderAWS:
		return c.ELB || c.DualStack
	case ProviderOpenStack:
		return true
	default:
		return false
	}
}

// KeepsELB says whether the ingress gateway has no network load balancer on AWS yet, by the
// annotations of its Service. One that it has is never exchanged for a classic one.
func KeepsELB(service map[string]string) bool {
	kind := service[awsPrefix+"type"]
	return kind != awsNetwork && kind != awsExternal
}
