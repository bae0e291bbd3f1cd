// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"time"
)

// Predicate finds one cause. It implements [GatewayPredicate], [SidecarPredicate],
// [ComponentPredicate] or several of them, which says whose pods it restarts.
type Predicate interface {
	// Cause is what it finds.
	Cause() Cause
}

// GatewayPredicate looks at pods of the gateways: of the ingress gateway, and of the egress
// gateway where the mesh has one.
type GatewayPredicate interface {
	Predicate
	// Gateway says whether the pod is outdated.
	Gateway(p *Pod, v View) bool
}

// SidecarPredicate looks at pods of workloads.
type SidecarPredicate interface {
	Predicate
	// Sidecar says whether the pod is outdated.
	Sidecar(p *Pod, v View) bool
}

// ComponentPredicate looks at pods of the control plane and the node agent.
type ComponentPredicate interface {
	Predicate
	// Component says whether the pod is outdated.
	Component(p *Pod, v View) bool
}

// View is what a predicate compares a pod with.
type View struct {
	// Target is what the mesh wants.
	Target *Target
	// Epoch is since when the predicate's thing is as it is.
	Epoch Epoch
	// Namespace is the pod's.
	Namespace Namespace
}

// valued is a predicate whose epoch the ledger keeps: since when a value is what it is.
type valued interface {
	Value(t *Target) string
}

// dated is a predicate whose epoch does not come from the ledger.
type dated interface {
	At(v View) Epoch
}

// specific is a predicate about a setting of the Istio resource alone.
type specific interface{ specific() }

// Predicates are all there are, in the order in which causes are reported.
func Predicates() []Predicate {
	return []Predicate{
		proxyImage{}, proxyResources{}, cni{}, prometheusMerge{}, join{}, leave{},
		sidecarSetting{setting{CauseDNSProxying, func(t *Target) string { return optional(t.Spec.Config.EnableDNSProxying) }}},
		bothSetting{setting{CauseStatsMatcher, func(t *Target) string { return expressions(t.Spec.Config.ProxyStatsMatcher) }}},
		sidecarSetting{setting{CauseCompatibility, compatibility}},
		gatewaySetting{setting{CauseTrustedProxies, func(t *Target) string { return optional(t.Spec.Config.NumTrustedProxies) }}},
		gatewaySetting{setting{CauseClientCert, func(t *Target) string { return optional(t.Spec.Config.ForwardClientCertDetails) }}},
		policySetting{gatewaySetting{setting{CauseNetworkPolicies, func(t *Target) string { return fmt.Sprint(t.Spec.NetworkPoliciesEnabled) }}}},
		updated{}, gatewayUpdated{},
	}
}

// compatibilityProxies are the variables of proxies that compatibilityMode sets, today none:
// while there is none, proxies do not depend on it.
var compatibilityProxies map[string]string

func compatibility(t *Target) string {
	if !t.Spec.CompatibilityMode || len(compatibilityProxies) == 0 {
		return ""
	}
	return fmt.Sprint(compatibilityProxies) // maps are printed in the order of their keys
}

// setting is a setting of the Istio resource that pods do not show: those from before its
// last change are outdated. The trust domain is none: it stands in the pod templates of gateways,
// so that the rollout of the mesh replaces their pods.
type setting struct {
	cause Cause
	value func(t *Target) string
}

// Cause implements [Predicate].
func (s setting) Cause() Cause { return s.cause }

// Value is what the ledger keeps.
func (s setting) Value(t *Target) string { return s.value(t) }
func (setting) specific()                {}

// gatewaySetting is one that counts for gateways.
type gatewaySetting struct{ setting }

// Gateway implements [GatewayPredicate].
func (gatewaySetting) Gateway(p *Pod, v View) bool { return v.Epoch.outdates(p.Created) }

// sidecarSetting is one that counts for sidecars.
type sidecarSetting struct{ setting }

// Sidecar implements [SidecarPredicate].
func (sidecarSetting) Sidecar(p *Pod, v View) bool { return p.inMesh() && v.Epoch.outdates(p.Created) }

// bothSetting is one that counts for both.
type bothSetting struct{ setting }

// Gateway implements [GatewayPredicate].
func (bothSetting) Gateway(p *Pod, v View) bool { return v.Epoch.outdates(p.Created) }

// Sidecar implements [SidecarPredicate].
func (bothSetting) Sidecar(p *Pod, v View) bool { return p.inMesh() && v.Epoch.outdates(p.Created) }

// policySetting is about network policies, which connections from before do not obey.
type policySetting struct{ gatewaySetting }

// Component implements [ComponentPredicate].
func (policySetting) Component(p *Pod, v View) bool { return v.Epoch.outdates(p.Created) }

// updated is about resources of the mesh that carry when they have changed.
type updated struct{}

// Cause implements [Predicate].
func (updated) Cause() Cause { return CauseUpdated }

// At is since when the thing is as it is.
func (updated) At(v View) Epoch { return epochOf(v.Target.Updated) }

// Gateway implements [GatewayPredicate].
func (updated) Gateway(p *Pod, v View) bool { return v.Epoch.outdates(p.Created) }

// Sidecar implements [SidecarPredicate].
func (updated) Sidecar(p *Pod, v View) bool { return p.inMesh() && v.Epoch.outdates(p.Created) }

// gatewayUpdated is about those that only the ingress gateway takes in.
type gatewayUpdated struct{}

// Cause implements [Predicate].
func (gatewayUpdated) Cause() Cause { return CauseGatewayUpdated }

// At is since when the thing is as it is.
func (gatewayUpdated) At(v View) Epoch { return epochOf(v.Target.GatewayUpdated) }

// Gateway implements [GatewayPredicate].
func (gatewayUpdated) Gateway(p *Pod, v View) bool {
	return p.Role == RoleGateway && v.Epoch.outdates(p.Created)
}

// proxyImage is about the version of sidecars.
type proxyImage struct{}

// Cause implements [Predicate].
func (proxyImage) Cause() Cause { return CauseProxyImage }

// Value is what the ledger keeps.
func (proxyImage) Value(t *Target) string { return t.ProxyImage }

// Sidecar implements [SidecarPredicate].
func (proxyImage) Sidecar(p *Pod, v View) bool {
	return p.inMesh() && p.Image != "" && !p.CustomImage && p.Image != v.Target.ProxyImage
}

// proxyResources is about what sidecars ask for.
type proxyResources struct{}

// Cause implements [Predicate].
func (proxyResources) Cause() Cause { return CauseProxyResources }

// Value is what the ledger keeps.
func (proxyResources) Value(t *Target) string { return fmt.Sprint(t.Amounts) }

// Sidecar implements [SidecarPredicate].
func (proxyResources) Sidecar(p *Pod, v View) bool {
	// A pod with an image of its own has been configured by hand, as it is in Kyma.
	if !p.inMesh() || p.Image == "" || p.CustomImage || p.Unreadable {
		return false
	}
	want := v.Target.Amounts
	if p.Chosen {
		want = p.Own
	}
	return p.Amounts != want
}

// cni is about who redirects the traffic of a pod.
type cni struct{}

// Cause implements [Predicate].
func (cni) Cause() Cause { return CauseCNI }

// Value is what the ledger keeps.
func (cni) Value(t *Target) string { return fmt.Sprint(t.CNI) }

// Sidecar implements [SidecarPredicate].
func (cni) Sidecar(p *Pod, v View) bool {
	if v.Target.CNI {
		return p.inMesh() && p.Init
	}
	return p.inMesh() && p.ValidatesCNI
}

// prometheusMerge is about where the metrics of a pod are asked for.
type prometheusMerge struct{}

const mergedPath = "/stats/prometheus"

// Cause implements [Predicate].
func (prometheusMerge) Cause() Cause { return CausePrometheusMerge }

// Value is what the ledger keeps.
func (prometheusMerge) Value(t *Target) string { return fmt.Sprint(t.PrometheusMerge, t.StatusPort) }

// Sidecar implements [SidecarPredicate].
func (prometheusMerge) Sidecar(p *Pod, v View) bool {
	path, port := p.ScrapePath == mergedPath, p.ScrapePort == v.Target.StatusPort
	switch {
	case !p.inMesh() || p.OwnMetrics:
		return false
	case v.Target.PrometheusMerge:
		return !path || !port
	}
	return path || port
}

// join is about pods without a sidecar that should have one, as of a namespace that was
// labelled after they were made.
type join struct{}

// Cause implements [Predicate].
func (join) Cause() Cause { return CauseJoin }

// At is since when the thing is as it is. A mesh that is installed anew is another one, also
// for namespaces that were labelled before.
func (join) At(v View) Epoch {
	since := v.Namespace.Since
	if v.Target.Since.After(since) {
		since = v.Target.Since
	}
	e := epochOf(since)
	e.Value = "n"
	return e
}

// Sidecar implements [SidecarPredicate].
func (join) Sidecar(p *Pod, v View) bool {
	wanted, _ := p.wantsSidecar(v.Namespace)
	return !p.Injected && !p.HostNetwork && wanted
}

// leave is about pods that have a sidecar of this mesh and would get none any more.
type leave struct{}

// Cause implements [Predicate].
func (leave) Cause() Cause { return CauseLeave }

// At is since when the thing is as it is.
func (leave) At(v View) Epoch {
	e := epochOf(v.Namespace.Left)
	e.Value = "n"
	return e
}

// Sidecar implements [SidecarPredicate].
func (leave) Sidecar(p *Pod, v View) bool {
	wanted, known := p.wantsSidecar(v.Namespace)
	return p.surelyInMesh() && known && !wanted && !v.Namespace.Left.IsZero()
}

// wantsSidecar says whether the pod would get a sidecar of this mesh if it was made now, and
// whether that is known: another Istio may decide, or make this one decide.
func (p *Pod) wantsSidecar(n Namespace) (wanted, known bool) {
	switch own := p.WantedRevision == DefaultRevision; {
	case p.Inject == "false":
		return false, true
	case p.WantedRevision != "" && !own, n.Inject == InjectOther:
		return false, false
	case n.Inject == InjectOwn:
		return own || p.Inject == "true", true
	default:
		return n.Inject == InjectAll, true
	}
}

// inMesh says whether the pod has a sidecar of this mesh, and not of another Istio's.
func (p *Pod) inMesh() bool {
	return p.Injected && (p.Revision == "" || p.Revision == DefaultRevision)
}

// surelyInMesh says whether the pod has a sidecar that only this mesh can have given it. A
// pod that is nothing but a proxy would be nothing without it.
func (p *Pod) surelyInMesh() bool {
	return p.Injected && p.Revision == DefaultRevision && !p.ProxyOnly
}

// GoneCauses are those of a pod after the mesh is gone, since some time: a sidecar that it has
// left behind. Empty for any other pod.
func GoneCauses(p *Pod, since time.Time) map[Cause]string {
	ofUser := p.Role == RoleModule || p.Role == RoleCustomer
	if !ofUser || !p.surelyInMesh() || p.Created.After(since) {
		return nil
	}
	return map[Cause]string{CauseLeave: Epoch{Value: "m", Since: since}.String()}
}

// Causes are what a pod is outdated in, each with its epoch as records have it. Empty for a
// pod that is up to date, or nothing to the mesh.
func Causes(p *Pod, t *Target, ledger Ledger, n Namespace) map[Cause]string {
	var found map[Cause]string
	for _, predicate := range Predicates() {
		v := View{Target: t, Namespace: n, Epoch: ledger[predicate.Cause()]}
		if d, ok := predicate.(dated); ok {
			v.Epoch = d.At(v)
		}
		if !matches(predicate, p, v) {
			continue
		}
		if found == nil {
			found = map[Cause]string{}
		}
		found[predicate.Cause()] = v.Epoch.String()
	}
	return found
}

// Replaced takes out the causes that the rollout of the mesh itself has seen to: it has made
// the pods of a gateway or component anew, from a template of its own, after what the cause is
// about stood in the cluster. Made is when their ReplicaSet was made. Pods alone do not show it:
// one that was made in the same second may be older.
func Replaced(causes map[Cause]string, p *Pod, ledger Ledger, made time.Time) {
	if !p.Role.ofMesh() {
		return // what injects their proxies may follow later
	}
	maps.DeleteFunc(causes, func(cause Cause, _ string) bool {
		from := ledger[cause].From
		return !from.IsZero() && !made.Before(from)
	})
}

func matches(predicate Predicate, p *Pod, v View) bool {
	switch p.Role {
	case RoleGateway, RoleEgress:
		g, ok := predicate.(GatewayPredicate)
		return ok && (p.Role == RoleGateway || v.Target.Egress) && g.Gateway(p, v)
	case RoleComponent:
		c, ok := predicate.(ComponentPredicate)
		return ok && c.Component(p, v)
	case RoleModule, RoleCustomer:
		s, ok := predicate.(SidecarPredicate)
		return ok && s.Sidecar(p, v)
	default:
		return false
	}
}
