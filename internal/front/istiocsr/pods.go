// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// checkPods finds what the API server would refuse in a pod, so that the status
// names the field of the IstioCSR before anything is rolled out.
func checkPods(r *refusals, path string, c operatorv1alpha1.IstioCSRConfig) {
	checkLabels(r, path+".nodeSelector", c.NodeSelector)
	for i, toleration := range c.Tolerations {
		checkToleration(r, fmt.Sprintf("%s.tolerations[%d]", path, i), toleration)
	}
	checkResources(r, path+".resources", c.Resources)
	if c.Affinity != nil {
		checkNodeAffinity(r, path+".affinity.nodeAffinity", c.Affinity.NodeAffinity)
		if a := c.Affinity.PodAffinity; a != nil {
			checkPodTerms(r, path+".affinity.podAffinity", a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a := c.Affinity.PodAntiAffinity; a != nil {
			checkPodTerms(r, path+".affinity.podAntiAffinity", a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
}

func checkToleration(r *refusals, path string, t corev1.Toleration) {
	if t.Key != "" {
		r.addAll(path+".key", t.Key, validation.IsQualifiedName(t.Key))
	} else if t.Operator != corev1.TolerationOpExists {
		r.add(path+".operator", "must be Exists when key is empty, which means every taint")
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		r.addAll(path+".value", t.Value, validation.IsValidLabelValue(t.Value))
	case corev1.TolerationOpExists:
		if t.Value != "" {
			r.add(path+".value", "%q must be empty when operator is Exists", t.Value)
		}
	default:
		r.add(path+".operator", "%q must be Equal or Exists", t.Operator)
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		r.add(path+".effect", "must be NoExecute when tolerationSeconds is set")
	}
	if !slices.Contains([]corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}, t.Effect) {
		r.add(path+".effect", "%q must be NoSchedule, PreferNoSchedule or NoExecute", t.Effect)
	}
}

func checkResources(r *refusals, path string, resources corev1.ResourceRequirements) {
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"limits", resources.Limits}, {"requests", resources.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(part.list)) {
			at, quantity := fmt.Sprintf("%s.%s[%s]", path, part.name, name), part.list[name]
			if !isResource(name) {
				r.add(at, "no resource of containers: use cpu, memory, ephemeral-storage, hugepages-SIZE, or a resource with a domain such as example.com/device")
			}
			if quantity.Sign() < 0 {
				r.add(at, "%s must not be negative", quantity.String())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		if limit, ok := resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			r.add(fmt.Sprintf("%s.requests[%s]", path, name), "%s is more than the limit, which is %s", request.String(), limit.String())
		}
	}
	if len(resources.Claims) > 0 {
		r.add(path+".claims", "the pods of the agent have no resource claims: remove it")
	}
}

func isResource(name corev1.ResourceName) bool {
	switch {
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage:
		return true
	case strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		_, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
		return err == nil
	default:
		domain, _, found := strings.Cut(string(name), "/")
		return found && domain != "kubernetes.io" && len(validation.IsQualifiedName(string(name))) == 0
	}
}

func checkNodeAffinity(r *refusals, path string, affinity *corev1.NodeAffinity) {
	if affinity == nil {
		return
	}
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := path + ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		if len(required.NodeSelectorTerms) == 0 {
			r.add(at, "must have one or more terms")
		}
		for i, term := range required.NodeSelectorTerms {
			checkNodeTerm(r, fmt.Sprintf("%s[%d]", at, i), term)
		}
	}
	for i, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", path, i)
		checkWeight(r, at, preferred.Weight)
		checkNodeTerm(r, at+".preference", preferred.Preference)
	}
}

func checkWeight(r *refusals, path string, weight int32) {
	if weight < 1 || weight > 100 {
		r.add(path+".weight", "%d must be from 1 to 100", weight)
	}
}

func checkNodeTerm(r *refusals, path string, term corev1.NodeSelectorTerm) {
	for i, e := range term.MatchExpressions {
		at := fmt.Sprintf("%s.matchExpressions[%d]", path, i)
		r.addAll(at+".key", e.Key, validation.IsQualifiedName(e.Key))
		checkValues(r, at, e)
	}
	for i, e := range term.MatchFields {
		at := fmt.Sprintf("%s.matchFields[%d]", path, i)
		if e.Key != "metadata.name" {
			r.add(at+".key", "%q must be metadata.name", e.Key)
		}
		if e.Operator != corev1.NodeSelectorOpIn && e.Operator != corev1.NodeSelectorOpNotIn || len(e.Values) != 1 {
			r.add(at, "must have the operator In or NotIn, and one value")
		}
	}
}

func checkValues(r *refusals, path string, e corev1.NodeSelectorRequirement) {
	switch e.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(e.Values) == 0 {
			r.add(path+".values", "must have one or more values when operator is %s", e.Operator)
		}
		for _, value := range e.Values {
			r.addAll(path+".values", value, validation.IsValidLabelValue(value))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			r.add(path+".values", "must be empty when operator is %s", e.Operator)
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(e.Values) != 1 {
			r.add(path+".values", "must have one value when operator is %s", e.Operator)
		}
	default:
		r.add(path+".operator", "%q must be In, NotIn, Exists, DoesNotExist, Gt or Lt", e.Operator)
	}
}

func checkPodTerms(r *refusals, path string, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for i, term := range required {
		checkPodTerm(r, fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", path, i), term)
	}
	for i, term := range preferred {
		at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", path, i)
		checkWeight(r, at, term.Weight)
		checkPodTerm(r, at+".podAffinityTerm", term.PodAffinityTerm)
	}
}

func checkPodTerm(r *refusals, path string, term corev1.PodAffinityTerm) {
	if term.TopologyKey == "" {
		r.add(path+".topologyKey", "must not be empty; kubernetes.io/hostname is each node for itself")
	} else {
		r.addAll(path+".topologyKey", term.TopologyKey, validation.IsQualifiedName(term.TopologyKey))
	}
	checkSelector(r, path+".labelSelector", term.LabelSelector)
	checkSelector(r, path+".namespaceSelector", term.NamespaceSelector)
	for _, namespace := range term.Namespaces {
		r.addAll(path+".namespaces", namespace, validation.IsDNS1123Label(namespace))
	}
}
