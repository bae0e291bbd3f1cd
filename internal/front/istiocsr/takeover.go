// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/revisions/probes"
)

// Deployment is an agent's, as far as a rendering depends on it: one that another tool
// has created, or else that of the newest revision.
type Deployment struct {
	// Spec is its spec.
	Spec map[string]any
	// Foreign says that another tool has created it, and that it is to be taken over.
	Foreign bool
	// Existing says that the newest revision has it as the other tool had created it.
	Existing bool
}

// labelPods is on a Deployment whose pods are as another tool had created them. It is in
// the revisions, so that what was found stays in use however often it is rendered. It is
// a label, as an annotation would count as a new generation of the Deployment.
const (
	labelPods    = "operator.openshift.io/istio-csr-pods"
	podsExisting = "as-found"
)

// maxExisting is how large the spec of a Deployment may be that is kept: what is larger
// stands in no revision itself, where it has to be found again.
const maxExisting = 12 << 10

// maxValue is how many bytes of a value a message shows.
const maxValue = 200

// IsExisting says whether a Deployment of a revision is as another tool had created it.
func IsExisting(labels map[string]string) bool { return labels[labelPods] == podsExisting }

// takeover is what becomes of a Deployment that another tool has created.
type takeover struct {
	// kept is what of it stays in use, nil when the agent is rendered as any other.
	kept *workload
	spec map[string]any
	// differences say why its pods cannot stay.
	differences []string
}

// workload is the part of a Deployment's spec that is compared.
type workload struct {
	Replicas *int32                 `json:"replicas,omitempty"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// takeover compares what was found with what is asked for by what it means: the pods of a
// Deployment that works as it should are not replaced only because the chart writes it
// differently. What would not change it by being applied is rendered as ours.
func (o objects) takeover() takeover {
	d := o.Facts.Deployment
	if d == nil || !d.Foreign && !d.Existing {
		return takeover{}
	}
	template, _ := d.Spec["template"].(map[string]any)
	// What Helm owns is handed over to us, and would go if it were not in our manifest.
	found := &workload{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Spec, found); err != nil {
		return takeover{differences: []string{"it cannot be read: " + err.Error()}}
	}
	if d.Foreign && o.Facts.Release == "" && contains(template, o.template()) && !o.hasMore(&found.Template.Spec) {
		return takeover{}
	}
	if size, err := json.Marshal(d.Spec); err != nil || len(size) > maxExisting {
		return takeover{differences: []string{fmt.Sprintf("it has %d bytes, and can be kept with %d", len(size), maxExisting)}}
	}
	if differences := o.differences(&found.Template); len(differences) > 0 {
		if wanted := selector(); d.Foreign && !equality.Semantic.DeepEqual(d.Spec["selector"], map[string]any{"matchLabels": wanted}) {
			differences = append([]string{difference("selector", d.Spec["selector"], map[string]any{"matchLabels": wanted}) + ", which cannot be changed: delete the Deployment so that it is created again"}, differences...)
		}
		return takeover{differences: differences}
	}
	return takeover{kept: found, spec: d.Spec}
}

// hasMore says whether pods have something that would be taken from them, besides what is
// rendered: see exclusiveFields.
func (o objects) hasMore(pod *corev1.PodSpec) bool {
	if len(pod.Containers) != 1 || len(pod.InitContainers)+len(pod.HostAliases) > 0 || pod.HostNetwork || pod.HostPID || pod.HostIPC || pod.AutomountServiceAccountToken != nil {
		return true
	}
	agent := pod.Containers[0].DeepCopy()
	if len(agent.Ports) > 2 || len(agent.VolumeMounts) > 1 || !equality.Semantic.DeepEqual(agent.Resources, o.IstioCSR.Spec.IstioCSRConfig.Resources) {
		return true
	}
	// What is rendered is compared already, and these are filled in.
	agent.Name, agent.Image, agent.ImagePullPolicy, agent.Args, agent.TerminationMessagePath, agent.TerminationMessagePolicy = "", "", "", nil, "", ""
	agent.Ports, agent.VolumeMounts, agent.ReadinessProbe, agent.SecurityContext, agent.Resources = nil, nil, nil, nil, corev1.ResourceRequirements{}
	return !equality.Semantic.DeepEqual(agent, &corev1.Container{})
}

// differences are what pods that were found mean otherwise than the IstioCSR. What it says
// nothing about, such as probes, security contexts and scheduling that it leaves open, may
// be as it is.
func (o objects) differences(found *corev1.PodTemplateSpec) []string {
	var all []string
	differ := func(is bool, what string, found, wanted any) {
		if is {
			all = append(all, difference(what, found, wanted))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.labels)) {
		value, ok := found.Labels[key]
		if key == "app" || !isReserved(key) {
			differ(!ok || value != o.labels[key], "label "+key, value, o.labels[key])
		}
	}
	spec, c := &found.Spec, o.IstioCSR.Spec.IstioCSRConfig
	differ(spec.ServiceAccountName != AgentName, "serviceAccountName", spec.ServiceAccountName, AgentName)
	differ(c.Affinity != nil && !equality.Semantic.DeepEqual(c.Affinity, spec.Affinity), "affinity", spec.Affinity, c.Affinity)
	differ(c.Tolerations != nil && !equality.Semantic.DeepEqual(c.Tolerations, spec.Tolerations), "tolerations", spec.Tolerations, c.Tolerations)
	differ(c.NodeSelector != nil && !equality.Semantic.DeepEqual(c.NodeSelector, spec.NodeSelector), "nodeSelector", spec.NodeSelector, c.NodeSelector)
	if agent := o.IstioCSR.Spec.AgentConfig; agent != nil {
		differ(agent.PriorityClassName != "" && agent.PriorityClassName != spec.PriorityClassName, "priorityClassName", spec.PriorityClassName, agent.PriorityClassName)
		differ(len(agent.TopologySpreadConstraints) > 0 && !equality.Semantic.DeepEqual(spreadOf(agent), spec.TopologySpreadConstraints),
			"topologySpreadConstraints", spec.TopologySpreadConstraints, spreadOf(agent))
	}
	agent := askedOf(o.IstioCSR)
	differ(len(agent.ImagePullSecrets) > 0 && !equality.Semantic.DeepEqual(pullSecretsOf(&agent), spec.ImagePullSecrets), "imagePullSecrets", spec.ImagePullSecrets, pullSecretsOf(&agent))
	for _, key := range slices.Sorted(maps.Keys(agent.PodAnnotations)) {
		value, ok := found.Annotations[key]
		differ(!ok || value != agent.PodAnnotations[key], "annotation "+key, value, agent.PodAnnotations[key])
	}
	at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == AgentName })
	if at < 0 {
		return append(all, "no container is named "+AgentName)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			all = append(all, repeated(&list[i])...)
		}
	}
	return append(all, o.differencesOf(&spec.Containers[at], spec.Volumes)...)
}

// difference says what was found in place of what the IstioCSR asks for.
func difference(what string, found, wanted any) string {
	return fmt.Sprintf("%s differs from the IstioCSR: %s, want %s", what, compact(found), compact(wanted))
}

// compact is a value as short JSON, cut where it is too long for a message.
func compact(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return probes.Cut(string(data), maxValue, "...")
}

// differencesOf are those of the agent's container.
func (o objects) differencesOf(found *corev1.Container, volumes []corev1.Volume) []string {
	var all []string
	if wanted := o.Image.Reference; !o.hasImage(found.Image) {
		if agent := o.IstioCSR.Spec.AgentConfig; agent != nil && agent.Image != nil {
			wanted = agent.Image.Reference
		}
		all = append(all, difference("image", found.Image, wanted))
	}
	if wanted := o.IstioCSR.Spec.IstioCSRConfig.Resources; len(wanted.Limits)+len(wanted.Requests) > 0 && !equality.Semantic.DeepEqual(wanted, found.Resources) {
		all = append(all, difference("resources", found.Resources, wanted))
	}
	if len(found.Command) > 0 && path.Base(found.Command[0]) != AgentName {
		return append(all, difference("command", found.Command, []string{AgentName}))
	}
	return append(all, o.differencesOfFlags(argumentsOf(found), found.VolumeMounts, volumes)...)
}

func (o objects) differencesOfFlags(given []string, mounts []corev1.VolumeMount, volumes []corev1.Volume) []string {
	version := imageOf(o.IstioCSR, o.Image).Version
	is, err := readFlags(given, version)
	if err != nil {
		return []string{err.Error()}
	}
	wanted, err := readFlags(texts(o.args()), version)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if isMaterial(name, is) && is[name] != wanted[name] {
			all = append(all, difference("--"+name, is[name], wanted[name]))
		}
	}
	switch root := is[flagRoot]; {
	case root == "" && o.IstioCSR.Spec.IstioCSRConfig.CertManager.IstioCACertificate == nil:
		// The agent trusts the CA that the issuer tells, which is the one that is meant.
	case root != wanted[flagRoot]:
		all = append(all, difference("--"+flagRoot, root, wanted[flagRoot]))
	case caVolume(mounts, volumes) == "":
		all = append(all, fmt.Sprintf("ConfigMap %s is not mounted at %s", CAConfigMap, caMountPath))
	}
	return all
}

// hasImage says whether an image is the one that is asked for. One that the IstioCSR
// does not name may come from another registry.
func (o objects) hasImage(found string) bool {
	wanted := imageOf(o.IstioCSR, o.Image)
	if agent := o.IstioCSR.Spec.AgentConfig; found == wanted.Reference || agent != nil && agent.Image != nil {
		return found == wanted.Reference
	}
	tag := tagOf(found)
	return tag != "" && (tag == tagOf(wanted.Reference) || strings.TrimPrefix(tag, "v") == strings.TrimPrefix(wanted.Version, "v"))
}

// caVolume is the name of the volume that is mounted where the agent reads the CA
// certificates, if that is the ConfigMap with them.
func caVolume(mounts []corev1.VolumeMount, volumes []corev1.Volume) string {
	for _, mount := range mounts {
		if mount.MountPath != caMountPath {
			continue
		}
		for _, volume := range volumes {
			if volume.Name == mount.Name && volume.ConfigMap != nil && volume.ConfigMap.Name == CAConfigMap {
				return volume.Name
			}
		}
	}
	return ""
}

// repeated are the entries of a container that are in it twice, which the API server
// stores but does not accept in an apply.
func repeated(c *corev1.Container) []string {
	seen := map[string]bool{}
	var all []string
	add := func(what string) {
		if seen[what] {
			all = append(all, fmt.Sprintf("container %s has %s twice", c.Name, what))
		}
		seen[what] = true
	}
	for _, variable := range c.Env {
		add("variable " + variable.Name)
	}
	for _, port := range c.Ports {
		add(fmt.Sprintf("port %d/%s", port.ContainerPort, port.Protocol))
	}
	return all
}

// contains says whether an object has all of another: applying that to it would change
// nothing. Entries of lists are found by the names that the API server knows them by.
func contains(found, wanted any) bool {
	switch want := wanted.(type) {
	case map[string]any:
		is, ok := found.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if !contains(is[key], value) {
				return false
			}
		}
		return true
	case []any:
		is, ok := found.([]any)
		return ok && containsAll(is, want)
	default:
		return equality.Semantic.DeepEqual(found, wanted)
	}
}

func containsAll(found, wanted []any) bool {
	for i, want := range wanted {
		id := identity(want)
		if id == "" {
			if len(found) != len(wanted) || !contains(found[i], want) {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(found, func(is any) bool { return identity(is) == id && contains(is, want) }) {
			return false
		}
	}
	return true
}

// identity is what tells entries of a list apart, empty for entries of a list that has to
// be equal as a whole.
func identity(entry any) string {
	fields, _ := entry.(map[string]any)
	for _, key := range []string{"containerPort", "mountPath", "name"} {
		if value, ok := fields[key]; ok {
			return fmt.Sprint(key, "=", value, " ", fields["protocol"])
		}
	}
	return ""
}

func texts(values []any) []string {
	all := make([]string, 0, len(values))
	for _, value := range values {
		text, _ := value.(string)
		all = append(all, text)
	}
	return all
}
