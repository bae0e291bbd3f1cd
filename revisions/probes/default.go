// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Default returns the probe that says when an object of a kind is ready, and whether
// there is one. The package documentation lists what each of them asks.
//
// All default probes have in common that an object which is being deleted is False,
// whatever its status says, and that an object of another kind is Unknown.
func Default(kind schema.GroupKind) (Probe, bool) {
	ready, ok := defaults[kind]
	if !ok {
		return nil, false
	}
	return defaultProbe{kind: kind, ready: ready}, true
}

// defaults is the whole list. It is never changed.
var defaults = map[schema.GroupKind]func(content map[string]any) Result{
	{Group: "", Kind: "Namespace"}:             namespaceReady,
	{Group: "", Kind: "PersistentVolumeClaim"}: persistentVolumeClaimReady,
	{Group: "", Kind: "Pod"}:                   podReady,
	{Group: "", Kind: "Service"}:               serviceReady,

	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   webhooksReady,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: webhooksReady,

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: customResourceDefinitionReady,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiServiceReady,

	{Group: "apps", Kind: "DaemonSet"}:   daemonSetReady,
	{Group: "apps", Kind: "Deployment"}:  deploymentReady,
	{Group: "apps", Kind: "ReplicaSet"}:  replicaSetReady,
	{Group: "apps", Kind: "StatefulSet"}: statefulSetReady,

	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: horizontalPodAutoscalerReady,
	{Group: "batch", Kind: "Job"}:                           jobReady,

	{Group: "cert-manager.io", Kind: "Certificate"}:   certManagerReady,
	{Group: "cert-manager.io", Kind: "ClusterIssuer"}: certManagerReady,
	{Group: "cert-manager.io", Kind: "Issuer"}:        certManagerReady,

	{Group: "policy", Kind: "PodDisruptionBudget"}: podDisruptionBudgetReady,
}

// defaultProbe guards the probe of one kind.
type defaultProbe struct {
	kind  schema.GroupKind
	ready func(content map[string]any) Result
}

// Probe asks the probe of the kind.
func (d defaultProbe) Probe(obj *unstructured.Unstructured) Result {
	if groupKindOf(obj) != d.kind {
		return NewResult(Unknown, "the object is no "+d.kind.String())
	}
	content := contentOf(obj)
	if _, ok := fieldAt(content, "metadata", "deletionTimestamp"); ok {
		return Result{Status: False, Message: "the object is being deleted"}
	}
	return d.ready(content)
}

func (d defaultProbe) claim() string { return "the " + d.kind.Kind + " is ready" }
