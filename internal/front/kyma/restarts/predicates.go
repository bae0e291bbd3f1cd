// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"time"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Cause is a kind of reason to restart a workload.
type Cause = v1alpha2.RestartCause

// The causes.
const (
	CauseProxyImage      Cause = "ProxyImage"               // the sidecar is of another version, or from another registry
	CauseProxyResources  Cause = "ProxyResources"           // the sidecar asks for other amounts than it should
	CauseCNI             Cause = "CNI"                      // the traffic is redirected in the other way than it should
	CausePrometheusMerge Cause = "PrometheusMerge"          // metrics are served in the other way than they should
	CauseJoin            Cause = "JoinMesh"                 // the pod has no sidecar and should have one
	CauseLeave           Cause = "LeaveMesh"                // the pod has a sidecar and should have none
	CauseDNSProxying     Cause = "DNSProxying"              // config.enableDNSProxying has changed
	CauseStatsMatcher    Cause = "ProxyStatsMatcher"        // config.proxyStatsMatcher has changed
	CauseCompatibility   Cause = "CompatibilityMode"        // compatibilityMode has changed, and sidecars depend on it
	CauseTrustedProxies  Cause = "NumTrustedProxies"        // config.numTrustedProxies has changed
	CauseClientCert      Cause = "ForwardClientCertDetails" // config.forwardClientCertDetails has changed
	CauseNetworkPolicies Cause = "NetworkPolicies"          // networkPoliciesEnabled has changed
	CauseUpdated         Cause = "ResourceUpdated"          // a resource of the mesh has changed that all proxies are restarted for
	CauseGatewayUpdated  Cause = "GatewayResourceUpdated"   // one has changed that gateways are restarted for
)

// rule finds one cause. A pod of a role that it has no function for is never outdated in it.
type rule struct {
	cause Cause
	// value is a value of the mesh whose last change the annotation keeps; setting says that it is a setting of
	// the Istio resource alone. Since is the change of a cause that has a time of its own.
	value   func(t *Target) string
	setting bool
	since   func(v view) Change
	// gateway says whether a pod of a gateway is outdated, sidecar whether one of a workload is, and
	// component whether one of the control plane or the node agent is.
	gateway, sidecar, component func(p *Pod, v view) bool
}

// view is what a rule compares a pod with: what the mesh wants, since when the rule's
// thing is as it is, and the namespace of the pod.
type view struct {
	target    *Target
	change    Change
	namespace Namespace
}

// outdated pods are from before a change of something that pods do not show.
func outdated(p *Pod, v view) bool { return v.change.outdates(p.CreationTimestamp.Time) }

func outdatedSidecar(p *Pod, v view) bool { return p.inMesh() && outdated(p, v) }

// rules are all there are, in the order in which causes are reported. The trust domain is none:
// it stands in the pod templates of gateways, so that the rollout of the mesh replaces their pods.
var rules = []rule{
	{cause: CauseProxyImage, value: func(t *Target) string { return t.ProxyImage }, sidecar: hasOtherImage},
	{cause: CauseProxyResources, value: func(t *Target) string { return fmt.Sprint(t.Amounts) }, sidecar: hasOtherAmounts},
	{cause: CauseCNI, value: func(t *Target) string { return fmt.Sprint(t.CNI) }, sidecar: hasOtherRedirection},
	{
		cause: CausePrometheusMerge, sidecar: hasOtherMetrics,
		value: func(t *Target) string { return fmt.Sprint(t.PrometheusMerge, t.StatusPort) },
	},
	{cause: CauseJoin, since: joinedSince, sidecar: joins},
	{cause: CauseLeave, since: leftSince, sidecar: leaves},
	{
		cause: CauseDNSProxying, setting: true, sidecar: outdatedSidecar,
		value: func(t *Target) string { return optional(t.Spec.Config.EnableDNSProxying) },
	},
	{
		cause: CauseStatsMatcher, setting: true, gateway: outdated, sidecar: outdatedSidecar,
		value: func(t *Target) string { return expressions(t.Spec.Config.ProxyStatsMatcher) },
	},
	// No variable of proxies depends on compatibilityMode in this version of Istio.
	{cause: CauseCompatibility, setting: true, sidecar: outdatedSidecar, value: func(*Target) string { return "" }},
	{
		cause: CauseTrustedProxies, setting: true, gateway: outdated,
		value: func(t *Target) string { return optional(t.Spec.Config.NumTrustedProxies) },
	},
	{
		cause: CauseClientCert, setting: true, gateway: outdated,
		value: func(t *Target) string { return optional(t.Spec.Config.ForwardClientCertDetails) },
	},
	{ // connections from before do not obey network policies
		cause: CauseNetworkPolicies, setting: true, gateway: outdated, component: outdated,
		value: func(t *Target) string { return fmt.Sprint(t.Spec.NetworkPoliciesEnabled) },
	},
	{cause: CauseUpdated, since: func(v view) Change { return changeAt("t", v.target.Updated) }, gateway: outdated, sidecar: outdatedSidecar},
	{
		cause: CauseGatewayUpdated, since: func(v view) Change { return changeAt("t", v.target.GatewayUpdated) },
		gateway: func(p *Pod, v view) bool { return p.Role == RoleGateway && outdated(p, v) },
	},
}

func hasOtherImage(p *Pod, v view) bool {
	return p.inMesh() && p.Proxy.Image != "" && !p.hasOwnImage() && p.Proxy.Image != v.target.ProxyImage
}

func hasOtherAmounts(p *Pod, v view) bool {
	// A pod with an image of its own has been configured by hand, as it is in Kyma.
	want, chosen, readable := p.ownAmounts()
	if !p.inMesh() || p.Proxy.Image == "" || p.hasOwnImage() || !readable {
		return false
	}
	if !chosen {
		want = v.target.Amounts
	}
	return amountsOf(p.Proxy.Resources) != want
}

func hasOtherRedirection(p *Pod, v view) bool {
	if v.target.CNI {
		return p.inMesh() && p.hasInit(initContainer)
	}
	return p.inMesh() && p.hasInit(validateCNI)
}

const mergedPath = "/stats/prometheus"

func hasOtherMetrics(p *Pod, v view) bool {
	path, port := p.Annotations[annotationScrapePath] == mergedPath, p.Annotations[annotationScrapePort] == v.target.StatusPort
	switch {
	case !p.inMesh() || p.Annotations[annotationMergeMetrics] == "false":
		return false
	case v.target.PrometheusMerge:
		return !path || !port
	}
	return path || port
}

// joins is true for pods without a sidecar that should have one, as of a namespace that was
// labelled after they were made.
func joins(p *Pod, v view) bool {
	wanted, _ := p.wantsSidecar(v.namespace)
	return !p.Injected && !p.Spec.HostNetwork && wanted
}

// joinedSince is of the mesh if that is newer: a mesh that is installed anew is another one, also for
// namespaces that were labelled before.
func joinedSince(v view) Change { return changeAt("n", latest(v.namespace.Since, v.target.Since)) }

// leaves is true for pods that have a sidecar of this mesh and would get none any more.
func leaves(p *Pod, v view) bool {
	wanted, known := p.wantsSidecar(v.namespace)
	return p.surelyInMesh() && known && !wanted && !v.namespace.Left.IsZero()
}

func leftSince(v view) Change { return changeAt("n", v.namespace.Left) }

// wantsSidecar says whether the pod would get a sidecar of this mesh if it was made now, and
// whether that is known: another Istio may decide, or make this one decide.
func (p *Pod) wantsSidecar(n Namespace) (wanted, known bool) {
	switch own := p.Labels[LabelRevision] == DefaultRevision; {
	case p.refuses():
		return false, true
	case p.Labels[LabelRevision] != "" && !own, n.Inject == InjectOther:
		return false, false
	case n.Inject == InjectOwn:
		return own || p.asks(), true
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
	return p.Injected && p.Revision == DefaultRevision && !p.isProxyOnly()
}

// GoneCauses are those of a pod after the mesh is gone, since some time: a sidecar that it has
// left behind. Empty for any other pod.
func GoneCauses(p *Pod, since time.Time) map[Cause]string {
	ofUser := p.Role == RoleModule || p.Role == RoleCustomer
	if !ofUser || !p.surelyInMesh() || p.CreationTimestamp.After(since) {
		return nil
	}
	return map[Cause]string{CauseLeave: Change{Value: "m", Since: since}.String()}
}

// Causes are what a pod is outdated in, each with its change as records have it. Empty for a
// pod that is up to date, or nothing to the mesh.
func Causes(p *Pod, t *Target, changes Changes, n Namespace) map[Cause]string {
	found := map[Cause]string{}
	for _, rule := range rules {
		v := view{target: t, namespace: n, change: changes[rule.cause]}
		if rule.since != nil {
			v.change = rule.since(v)
		}
		if matches := rule.of(p.Role, t); matches != nil && matches(p, v) {
			found[rule.cause] = v.change.String()
		}
	}
	return found
}

// of is what compares pods of a role, nil for nothing.
func (p *rule) of(role Role, t *Target) func(*Pod, view) bool {
	switch role {
	case RoleGateway:
		return p.gateway
	case RoleEgress:
		if t.Egress {
			return p.gateway
		}
	case RoleComponent:
		return p.component
	case RoleModule, RoleCustomer:
		return p.sidecar
	}
	return nil
}

// Replaced takes out the causes that the rollout of the mesh itself has seen to: it has made
// the pods of a gateway or component anew, from a template of its own, after what the cause is
// about stood in the cluster. Made is when their ReplicaSet was made. Pods alone do not show it:
// one that was made in the same second may be older.
func Replaced(causes map[Cause]string, p *Pod, changes Changes, made time.Time) {
	if !p.Role.ofMesh() {
		return // what injects their proxies may follow later
	}
	maps.DeleteFunc(causes, func(cause Cause, _ string) bool {
		from := changes[cause].From
		return !from.IsZero() && !made.Before(from)
	})
}
