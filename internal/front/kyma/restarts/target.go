// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// defaultStatusPort is where sidecars serve metrics unless the mesh says otherwise.
const defaultStatusPort = "15020"

// Target is what the mesh wants pods to be.
type Target struct {
	// ProxyImage and Amounts are those of sidecars.
	ProxyImage string
	Amounts    Amounts
	// CNI says that the node agent redirects traffic, and no init container.
	CNI bool
	// PrometheusMerge says that sidecars serve the metrics of their workloads, at the
	// StatusPort.
	PrometheusMerge bool
	StatusPort      string
	// Egress says that the mesh has an egress gateway.
	Egress bool
	// Since is when the mesh was installed.
	Since time.Time
	// Spec is what was rolled out last.
	Spec v1alpha2.IstioSpec
	// GatewayUpdated and Updated are when resources of the mesh have changed last that only
	// the gateway, and that all proxies have to be restarted for. Zero for never.
	GatewayUpdated, Updated time.Time
	// Configured and Policed are since when the configuration of the mesh, and its network
	// policies, stand in the cluster. Zero when that is not known.
	Configured, Policed time.Time
}

// from is since when what a cause is about stands in the cluster, zero when that is not known.
func (t *Target) from(cause Cause) time.Time {
	switch cause {
	case CauseTrustedProxies, CauseClientCert, CauseStatsMatcher:
		return t.Configured
	case CauseNetworkPolicies:
		return t.Policed
	default:
		return time.Time{}
	}
}

// TargetOf reads what the mesh wants from the merged input of its rollout, in the shape of
// Istio's IstioOperator. The error names the field that cannot be read.
func TargetOf(operator map[string]any) (Target, error) {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedFieldNoCopy(operator, fields...)
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	t := Target{
		ProxyImage: text("spec", "values", "global", "proxy", "image"), CNI: text("spec", "components", "cni", "enabled") == "true",
		PrometheusMerge: text("spec", "meshConfig", "enablePrometheusMerge") == "true",
		StatusPort:      text("spec", "meshConfig", "defaultConfig", "statusPort"),
	}
	found, _, _ := unstructured.NestedFieldNoCopy(operator, "spec", "components", "egressGateways")
	gateways, _ := found.([]any)
	for _, item := range gateways {
		gateway, _ := item.(map[string]any)
		t.Egress = t.Egress || gateway["name"] == egressGateway && gateway["enabled"] == true
	}
	if t.StatusPort == "" {
		t.StatusPort = defaultStatusPort
	}
	if t.ProxyImage == "" {
		return t, fmt.Errorf("reading the merged input of the mesh: spec.values.global.proxy.image is missing")
	}
	var resources struct {
		Resources corev1.ResourceRequirements `json:"resources"`
	}
	found, _, _ = unstructured.NestedFieldNoCopy(operator, "spec", "values", "global", "proxy")
	proxy, _ := found.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(proxy, &resources); err != nil {
		return t, fmt.Errorf("reading the merged input of the mesh: spec.values.global.proxy.resources: %w", err)
	}
	t.Amounts = amountsOf(resources.Resources).defaulted()
	return t, nil
}

// Change is a value of something, and since when it is that.
type Change struct {
	// Value tells values apart.
	Value string `json:"value"`
	// Since is when it became this, to the second. Zero when that was before anybody looked.
	Since time.Time `json:"since,omitzero"`
	// From is since when it stands in the cluster, to the second: before Since, which is when
	// the rollout was over. Zero when that is not known.
	From time.Time `json:"from,omitzero"`
}

// String is the form for records.
func (e Change) String() string {
	if e.Since.IsZero() {
		return e.Value
	}
	return e.Value + "@" + strconv.FormatInt(e.Since.Unix(), 10)
}

// outdates says whether something that was made then is older than the change. What was made
// in the same second may be.
func (e Change) outdates(created time.Time) bool {
	return !e.Since.IsZero() && !created.After(e.Since)
}

// changeAt is the change of something that has a time of its own.
func changeAt(value string, at time.Time) Change {
	return Change{Value: value, Since: at.Truncate(time.Second)}
}

// Changes is since when which thing of the mesh is as it is.
type Changes map[Cause]Change

// String is the form for an annotation.
func (l Changes) String() string { return jsonOf(l) }

// Next are the changes up to a target. What is new in it has been so since before
// anybody looked; what has changed is so since now.
func (l Changes) Next(t *Target, now time.Time) Changes {
	next := Changes{}
	for _, p := range rules {
		if p.value == nil {
			continue
		}
		value := digest(p.value(t))
		known, found := l[p.cause]
		switch {
		case !found:
			known = Change{Value: value}
		case known.Value != value:
			known = Change{Value: value, Since: now.UTC().Truncate(time.Second), From: t.from(p.cause).UTC().Truncate(time.Second)}
		}
		next[p.cause] = known
	}
	return next
}

// Baseline are the changes of a mesh that another manager has rolled out: only what its spec
// says is known.
func Baseline(spec v1alpha2.IstioSpec) Changes {
	all := Changes{}.Next(&Target{Spec: spec}, time.Time{})
	for _, p := range rules {
		if !p.setting {
			delete(all, p.cause)
		}
	}
	return all
}

func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:4])
}

// optional tells an unset value from one that is set.
func optional[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf("%v!", *value)
}

// expressions are those of a matcher, in an order of their own.
func expressions(m *v1alpha2.ProxyStatsMatcher) string {
	if m == nil || len(m.InclusionRegexps) == 0 {
		return ""
	}
	all := slices.Clone(m.InclusionRegexps)
	slices.Sort(all)
	return strings.Join(all, "\n")
}
