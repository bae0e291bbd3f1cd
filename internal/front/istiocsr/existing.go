// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

// existingSpec is the whole spec of a Deployment as it was found, so that applying it
// changes nothing, and a Deployment that is deleted comes back as it was. Only the number
// of pods may be asked for.
func (o objects) existingSpec() map[string]any {
	spec := runtime.DeepCopyJSON(o.found.spec)
	// No server takes it as a value, and older ones give it out.
	if template, ok := spec["template"].(map[string]any); ok {
		if metadata, ok := template["metadata"].(map[string]any); ok {
			delete(metadata, "creationTimestamp")
		}
	}
	spec["replicas"] = o.existingReplicas()
	return spec
}

// existingReplicas is how many pods there are to be: what is asked for, and else as many
// as there were, or one.
func (o objects) existingReplicas() int64 {
	agent, found := o.IstioCSR.Spec.AgentConfig, o.found.kept.Replicas
	if agent != nil && agent.Replicas != nil || found == nil || *found < 1 {
		return Replicas(o.IstioCSR)
	}
	return int64(*found)
}

// foundOrigin says in the origin what becomes of a Deployment that was found.
func (o objects) foundOrigin(origin *v1alpha1.Origin) {
	if o.found.kept != nil {
		if i := slices.IndexFunc(o.found.kept.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == AgentName }); i >= 0 {
			origin.Images = []string{o.found.kept.Template.Spec.Containers[i].Image}
		}
	}
	if text := o.takeoverText(); text != "" {
		origin.Reason += "; " + text
	} else if len(o.found.differences) > 0 {
		origin.Reason += "; the pods are not kept any longer as they were found: " + o.describeDifferences()
	}
}

// TakeoverText says what becomes of the pods of a Deployment that another tool has created,
// while it is being taken over. Empty when there is none.
func TakeoverText(in Input) string {
	if in.IstioCSR.Spec.Undecodable != "" {
		return ""
	}
	return newObjects(in).takeoverText()
}

// maxDifferences is how many differences are reported.
const maxDifferences = 8

func (o objects) takeoverText() string {
	if d := o.Facts.Deployment; d == nil || !d.Foreign {
		return ""
	}
	subject := fmt.Sprintf("%s %s/%s", takeoverSubject, o.namespace, AgentName)
	if len(o.found.differences) == 0 {
		return subject + ", and its pods stay"
	}
	return subject + ", and its pods are replaced by one rolling update, as it is not what is asked for: " + o.describeDifferences()
}

func (o objects) describeDifferences() string {
	shown := o.found.differences
	if more := len(shown) - maxDifferences; more > 0 {
		shown = append(slices.Clone(shown[:maxDifferences]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, "; ")
}

// takeoverSubject begins what is said of a takeover.
const takeoverSubject = "a Deployment from before is taken over:"

// TakeoverIn is the part of a condition's message that [TakeoverText] has put into it,
// empty when there is none.
func TakeoverIn(message string) string {
	at := strings.Index(message, takeoverSubject)
	if at < 0 {
		return ""
	}
	return message[at:]
}

// takeoverWarnings are what an admin ought to know of an agent that another tool has
// installed.
func takeoverWarnings(in Input) []string {
	var warnings []string
	if o := newObjects(in); o.found.kept != nil {
		if o.keepsNoRoot() {
			warnings = append(warnings, fmt.Sprintf("the pods are as they were found, without --%s: they trust the CA that the issuer publishes, and not ConfigMap %s, "+
				"so that a new root is not served beside the old one; the next change of the agent brings it", flagRoot, CAConfigMap))
		}
		if count := o.existingReplicas(); count != Replicas(in.IstioCSR) {
			warnings = append(warnings, fmt.Sprintf("there are %d replicas, as there were; set spec.agentConfig.replicas to %d to keep them when the agent changes", count, count))
		}
	}
	if namespace, name, ok := strings.Cut(in.Facts.Release, "/"); ok {
		warnings = append(warnings, fmt.Sprintf("Helm has the agent in its release %s, and would change or delete it: remove the release with "+
			"`kubectl delete secret -n %s -l owner=helm,name=%s`, and then `kubectl annotate deployment %s -n %s meta.helm.sh/release-name- meta.helm.sh/release-namespace-`; what the chart has made under other names stays",
			in.Facts.Release, namespace, name, AgentName, in.IstioCSR.Namespace))
	}
	return warnings
}

// keepsNoRoot says that the agent as it was found is given no CA certificates.
func (o objects) keepsNoRoot() bool {
	for i := range o.found.kept.Template.Spec.Containers {
		c := &o.found.kept.Template.Spec.Containers[i]
		if c.Name != AgentName {
			continue
		}
		flags, err := readFlags(argumentsOf(c), imageOf(o.IstioCSR, o.Image).Version)
		return err == nil && flags[flagRoot] == ""
	}
	return false
}

// The names of the volume with the CA certificates.
const (
	volumeName      = "root-ca"
	otherVolumeName = "issuer-ca-copy"
)

// volumeName is the name of the volume with the CA certificates. It is another name
// when the Deployment has a volume of that name from another manager, as the fields of
// both would merge into one volume of two types.
func (o objects) volumeName() string {
	d := o.Facts.Deployment
	if d == nil {
		return volumeName
	}
	pod := &workload{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(d.Spec, pod) != nil {
		return volumeName
	}
	for _, volume := range pod.Template.Spec.Volumes {
		isOurs := volume.ConfigMap != nil && volume.ConfigMap.Name == CAConfigMap
		if volume.Name == otherVolumeName && isOurs || volume.Name == volumeName && !isOurs {
			return otherVolumeName
		}
	}
	return volumeName
}
