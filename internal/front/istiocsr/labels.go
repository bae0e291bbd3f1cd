// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// Labels are those of every object that is made for an agent: the user's, and over
// them our own. Those that the API server would refuse are left out: nothing is rendered
// while there are any, but the copy of the CA certificates is kept all the same.
func Labels(ic *operatorv1alpha1.IstioCSR, image Image) map[string]string {
	labels := map[string]string{}
	if config := ic.Spec.ControllerConfig; config != nil {
		for key, value := range config.Labels {
			if !isReserved(key) && isLabel(key, value) {
				labels[key] = value
			}
		}
	}
	version := imageOf(ic, image).Version
	if !isLabel("app.kubernetes.io/version", version) {
		version = ""
	}
	maps.Copy(labels, agentLabels())
	labels["app.kubernetes.io/version"] = version
	return labels
}

// agentLabels are those that every object of every agent has, also of the operators before
// this one.
func agentLabels() map[string]string {
	return map[string]string{
		"app":                          AgentName,
		"app.kubernetes.io/name":       AgentName,
		"app.kubernetes.io/instance":   AgentName,
		"app.kubernetes.io/managed-by": "cert-manager-operator",
		"app.kubernetes.io/part-of":    "cert-manager-operator",
	}
}

// ClusterLabels are those by which the cluster-scoped objects of the agent in a namespace
// are found, whichever version it has.
func ClusterLabels(namespace string) map[string]string {
	labels := agentLabels()
	labels[LabelNamespace] = namespace
	return labels
}

// reserved are the labels that are never a user's.
var reserved = []string{
	"app", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of",
	LabelNamespace, labelPods,
}

func isReserved(key string) bool {
	return slices.Contains(reserved, key) || strings.HasPrefix(key, "strata.run/")
}

func isLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
}

// ignoredLabels are those of the user's labels that have no effect, sorted.
func ignoredLabels(ic *operatorv1alpha1.IstioCSR) []string {
	if ic.Spec.ControllerConfig == nil {
		return nil
	}
	return ignoredOf(ic.Spec.ControllerConfig.Labels)
}

func ignoredOf(labels map[string]string) []string {
	var ignored []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if isReserved(key) {
			ignored = append(ignored, key)
		}
	}
	return ignored
}
