// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/internal/content/plain"
)

// allowed are the kinds that a registry+v1 bundle may have besides its CSV and its definitions, and
// where their objects live.
var allowed = map[schema.GroupKind]plain.Scope{
	{Kind: "ConfigMap"}:      plain.ScopeNamespaced,
	{Kind: "Secret"}:         plain.ScopeNamespaced,
	{Kind: "Service"}:        plain.ScopeNamespaced,
	{Kind: "ServiceAccount"}: plain.ScopeNamespaced,

	{Group: rbacGroup, Kind: "ClusterRole"}:        plain.ScopeCluster,
	{Group: rbacGroup, Kind: "ClusterRoleBinding"}: plain.ScopeCluster,
	{Group: rbacGroup, Kind: "Role"}:               plain.ScopeNamespaced,
	{Group: rbacGroup, Kind: "RoleBinding"}:        plain.ScopeNamespaced,

	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:     plain.ScopeNamespaced,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          plain.ScopeNamespaced,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:     plain.ScopeCluster,
	{Group: groupAutoscaler, Kind: "VerticalPodAutoscaler"}: plain.ScopeNamespaced,
	{Group: groupMonitoring, Kind: "PodMonitor"}:            plain.ScopeNamespaced,
	{Group: groupMonitoring, Kind: "PrometheusRule"}:        plain.ScopeNamespaced,
	{Group: groupMonitoring, Kind: "ServiceMonitor"}:        plain.ScopeNamespaced,
	{Group: groupConsole, Kind: "ConsoleCLIDownload"}:       plain.ScopeCluster,
	{Group: groupConsole, Kind: "ConsoleLink"}:              plain.ScopeCluster,
	{Group: groupConsole, Kind: "ConsolePlugin"}:            plain.ScopeCluster,
	{Group: groupConsole, Kind: "ConsoleQuickStart"}:        plain.ScopeCluster,
	{Group: groupConsole, Kind: "ConsoleYAMLSample"}:        plain.ScopeCluster,
}

const (
	groupAutoscaler = "autoscaling.k8s.io"
	groupConsole    = "console.openshift.io"
	groupMonitoring = "monitoring.coreos.com"
)

// optional are the groups whose objects are left out while the cluster does not serve their kind: the
// operator runs without them.
var optional = map[string]bool{groupAutoscaler: true, groupConsole: true, groupMonitoring: true}
