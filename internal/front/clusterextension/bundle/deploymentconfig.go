// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"
)

// deploymentConfig changes every Deployment of the CSV.
type deploymentConfig struct {
	Env          []corev1.EnvVar              `json:"env"`
	EnvFrom      []corev1.EnvFromSource       `json:"envFrom"`
	Volumes      []corev1.Volume              `json:"volumes"`
	VolumeMounts []corev1.VolumeMount         `json:"volumeMounts"`
	Tolerations  []corev1.Toleration          `json:"tolerations"`
	Resources    *corev1.ResourceRequirements `json:"resources"`
	NodeSelector map[string]string            `json:"nodeSelector"`
	Affinity     *corev1.Affinity             `json:"affinity"`
	Annotations  map[string]string            `json:"annotations"`
}

// readDeploymentConfig reads the field of that name, nil for none.
func readDeploymentConfig(value json.RawMessage) (*deploymentConfig, []string) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	read := &deploymentConfig{}
	unknown, err := kjson.UnmarshalStrict(value, read)
	if err != nil {
		return nil, []string{typeProblem(fieldDeploymentConfig, err)}
	}
	var problems []string
	for _, field := range unknown {
		problems = append(problems, strings.Replace(field.Error(), `field "`, `field "`+fieldDeploymentConfig+".", 1))
	}
	return read, problems
}

// apply changes a Deployment. A nil config changes nothing.
func (c *deploymentConfig) apply(d *appsv1.Deployment) {
	if c == nil {
		return
	}
	pod := &d.Spec.Template.Spec
	for i := range pod.Containers {
		c.applyTo(&pod.Containers[i])
	}
	pod.Volumes = merged(pod.Volumes, c.Volumes, func(v corev1.Volume) string { return v.Name })
	for _, toleration := range c.Tolerations {
		pod.Tolerations = appended(pod.Tolerations, toleration)
	}
	if c.NodeSelector != nil {
		pod.NodeSelector = maps.Clone(c.NodeSelector)
	}
	c.applyAffinity(pod)
	for key, value := range c.Annotations {
		d.Annotations = unlessSet(d.Annotations, key, value)
		d.Spec.Template.Annotations = unlessSet(d.Spec.Template.Annotations, key, value)
	}
}

func (c *deploymentConfig) applyTo(container *corev1.Container) {
	container.Env = merged(container.Env, c.Env, func(e corev1.EnvVar) string { return e.Name })
	for _, source := range c.EnvFrom {
		container.EnvFrom = appended(container.EnvFrom, source)
	}
	container.VolumeMounts = merged(container.VolumeMounts, c.VolumeMounts, func(m corev1.VolumeMount) string { return m.Name })
	if c.Resources != nil {
		container.Resources = *c.Resources.DeepCopy()
	}
}

// applyAffinity replaces what is set: {} erases all, an empty field erases that field.
func (c *deploymentConfig) applyAffinity(pod *corev1.PodSpec) {
	if c.Affinity == nil {
		return
	}
	if *c.Affinity == (corev1.Affinity{}) {
		pod.Affinity = nil
		return
	}
	set := c.Affinity.DeepCopy()
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if node := set.NodeAffinity; node != nil {
		if required := node.RequiredDuringSchedulingIgnoredDuringExecution; required != nil && len(required.NodeSelectorTerms) == 0 {
			node.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		pod.Affinity.NodeAffinity = unlessEmpty(node)
	}
	if set.PodAffinity != nil {
		pod.Affinity.PodAffinity = unlessEmpty(set.PodAffinity)
	}
	if set.PodAntiAffinity != nil {
		pod.Affinity.PodAntiAffinity = unlessEmpty(set.PodAntiAffinity)
	}
	pod.Affinity = unlessEmpty(pod.Affinity)
}

// unlessEmpty is nil for a value without anything in it.
func unlessEmpty[T any](value *T) *T {
	var empty T
	if equality.Semantic.DeepEqual(*value, empty) {
		return nil
	}
	return value
}

// merged has the items of over take the place of those with the same key, and stand after them else.
func merged[T any](base, over []T, key func(T) string) []T {
	all := slices.Clone(base)
	for _, item := range over {
		if i := slices.IndexFunc(all, func(o T) bool { return key(o) == key(item) }); i >= 0 {
			all[i] = item
		} else {
			all = append(all, item)
		}
	}
	return all
}

// appended has one more item, unless an equal one is there.
func appended[T any](all []T, item T) []T {
	if slices.ContainsFunc(all, func(o T) bool { return equality.Semantic.DeepEqual(o, item) }) {
		return all
	}
	return append(slices.Clone(all), item)
}

func unlessSet(values map[string]string, key, value string) map[string]string {
	if _, isSet := values[key]; isSet {
		return values
	}
	return with(values, key, value)
}
