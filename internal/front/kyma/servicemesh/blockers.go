// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// BlockingKind is a kind of custom resources.
type BlockingKind struct {
	schema.GroupKind

	// Resource is what it is called in paths, such as virtualservices.
	Resource string
}

// Definition is the name of its CustomResourceDefinition.
func (k BlockingKind) Definition() string { return k.Resource + "." + k.Group }

// BlockingKinds are the custom resources of Istio that keep it from being taken away while
// users have any. The Gateway API's are not among them.
//
// They are looked for in whatever version is served.
var BlockingKinds = []BlockingKind{
	{schema.GroupKind{Group: "extensions.istio.io", Kind: "TrafficExtension"}, "trafficextensions"},
	{schema.GroupKind{Group: "extensions.istio.io", Kind: "WasmPlugin"}, "wasmplugins"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "DestinationRule"}, "destinationrules"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "EnvoyFilter"}, "envoyfilters"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "Gateway"}, "gateways"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "ProxyConfig"}, "proxyconfigs"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "ServiceEntry"}, "serviceentries"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "Sidecar"}, "sidecars"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "VirtualService"}, "virtualservices"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "WorkloadEntry"}, "workloadentries"},
	{schema.GroupKind{Group: "networking.istio.io", Kind: "WorkloadGroup"}, "workloadgroups"},
	{schema.GroupKind{Group: "security.istio.io", Kind: "AuthorizationPolicy"}, "authorizationpolicies"},
	{schema.GroupKind{Group: "security.istio.io", Kind: "PeerAuthentication"}, "peerauthentications"},
	{schema.GroupKind{Group: "security.istio.io", Kind: "RequestAuthentication"}, "requestauthentications"},
	{schema.GroupKind{Group: "telemetry.istio.io", Kind: "Telemetry"}, "telemetries"},
}

// CustomResource is one of Istio, in the cluster.
type CustomResource struct {
	Kind, Namespace, Name string
	Labels                map[string]string
}

// ownResources are those that versions of the module have made in the namespace of Istio,
// by kind, and not all of them with a label.
var ownResources = map[string]*regexp.Regexp{
	"EnvoyFilter":        regexp.MustCompile(`^((tcp-)?stats-filter-\d\.\d\d|kyma-referer|proxy-protocol)$`),
	"PeerAuthentication": regexp.MustCompile(`^default$`),
	"VirtualService":     regexp.MustCompile(`^istio-healthz$`),
}

// blocks says whether a custom resource is of a user.
func (r CustomResource) blocks() bool {
	if r.Labels[v1alpha2.LabelModule] == v1alpha2.ModuleName {
		return false
	}
	own := ownResources[r.Kind]
	return r.Namespace != IstioNamespace || own == nil || !own.MatchString(r.Name)
}

const (
	// namedBlockers is how many custom resources an error names.
	namedBlockers = 10
	// listedBlockers is how many it has for the log.
	listedBlockers = 100
)

// BlockedError says which custom resources of users keep Istio from being taken away.
type BlockedError struct {
	// Count is how many there are.
	Count int
	// Kinds has the number of each kind, such as "2 VirtualService", and Names the first of
	// them, such as "VirtualService shop/a". Both are sorted.
	Kinds, Names []string
	// Listed are the first 100 of them, in the same form and order.
	Listed []string
}

// Error counts and names them, and says what to do.
func (e *BlockedError) Error() string {
	more := ""
	if n := e.Count - len(e.Names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("custom resources of Istio that users have made block it (%s): %s%s. Delete them, or annotate the Istio resource with %s=true; to undo the deletion, create another Istio resource with the same spec",
		strings.Join(e.Kinds, ", "), strings.Join(e.Names, ", "), more, v1alpha2.AnnotationForceDelete)
}

// Blocking is a [BlockedError] if any of the custom resources is of a user, and else nil.
func Blocking(resources []CustomResource) error {
	users := slices.DeleteFunc(slices.Clone(resources), func(r CustomResource) bool { return !r.blocks() })
	if len(users) == 0 {
		return nil
	}
	slices.SortFunc(users, func(a, b CustomResource) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	e := &BlockedError{Count: len(users)}
	for i, first := 0, 0; i < len(users); i++ {
		if i < listedBlockers {
			e.Listed = append(e.Listed, fmt.Sprintf("%s %s/%s", users[i].Kind, users[i].Namespace, users[i].Name))
		}
		if i+1 == len(users) || users[i+1].Kind != users[first].Kind {
			e.Kinds = append(e.Kinds, fmt.Sprintf("%d %s", i+1-first, users[first].Kind))
			first = i + 1
		}
	}
	e.Names = e.Listed[:min(namedBlockers, len(e.Listed))]
	return e
}
