// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// check finds everything for which a registry+v1 bundle is refused.
func (r *registry) check(target Target) []string {
	return slices.Concat(
		r.checkPackage(target), r.checkVersion(target), r.checkDeployments(), r.checkDefinitions(), r.checkKinds(),
		r.checkWebhooks(target), r.checkConversion(), r.checkRules(), r.checkPorts(),
	)
}

func (r *registry) checkPackage(target Target) (problems []string) {
	switch r.packageName {
	case "":
		problems = append(problems, "metadata/annotations.yaml does not name the package: "+annotationPackage+" is missing")
	case target.PackageName:
	default:
		problems = append(problems, fmt.Sprintf("it is of the package %q, and not of %q", r.packageName, target.PackageName))
	}
	if r.csv.modes() == (modes{}) {
		problems = append(problems, fmt.Sprintf("it supports none of the install modes %s, %s and %s", allNamespaces, singleNamespace, ownNamespace))
	}
	for _, service := range r.csv.Spec.APIServices.Owned {
		problems = append(problems, fmt.Sprintf("APIServices are not supported, and it owns %s.%s for %s", service.Version, service.Group, service.Kind))
	}
	return problems
}

// checkVersion compares with the API server. A version that is not known is not compared.
func (r *registry) checkVersion(target Target) []string {
	if r.csv.Spec.MinKubeVersion == "" {
		return nil
	}
	needed, err := version.ParseGeneric(r.csv.Spec.MinKubeVersion)
	if err != nil {
		return []string{fmt.Sprintf("minKubeVersion %q is no version", r.csv.Spec.MinKubeVersion)}
	}
	if current, err := version.ParseGeneric(target.KubeVersion); err == nil && current.LessThan(needed) {
		return []string{fmt.Sprintf("it needs Kubernetes %s, and the cluster has %s", needed, target.KubeVersion)}
	}
	return nil
}

func (r *registry) checkDeployments() (problems []string) {
	if strategy := r.csv.Spec.Install.Strategy; strategy != "" && strategy != "deployment" {
		problems = append(problems, fmt.Sprintf("its install strategy is %q, and only deployment is supported", strategy))
	}
	var names []string
	for _, d := range r.csv.Spec.Install.Spec.Deployments {
		if slices.Contains(names, d.Name) {
			problems = append(problems, fmt.Sprintf("Deployment %s stands twice in the ClusterServiceVersion", d.Name))
		}
		if len(validation.IsDNS1123Subdomain(d.Name)) > 0 {
			problems = append(problems, fmt.Sprintf("%q is not a valid name of a Deployment", d.Name))
		}
		names = append(names, d.Name)
	}
	return problems
}

func (r *registry) checkDefinitions() (problems []string) {
	var names []string
	for _, d := range r.definitions {
		if slices.Contains(names, d.GetName()) {
			problems = append(problems, fmt.Sprintf("CustomResourceDefinition %s stands twice in the bundle", d.GetName()))
		}
		names = append(names, d.GetName())
	}
	for _, owned := range r.csv.Spec.Definitions.Owned {
		if !slices.Contains(names, owned.Name) {
			problems = append(problems, fmt.Sprintf("CustomResourceDefinition %s is owned by the ClusterServiceVersion, and is not in the bundle", owned.Name))
		}
	}
	return problems
}

func (r *registry) checkKinds() (problems []string) {
	for _, o := range r.others {
		if _, known := allowed[o.GroupVersionKind().GroupKind()]; !known {
			problems = append(problems, fmt.Sprintf("objects of kind %s are not supported in this format: %s", o.GroupVersionKind().GroupKind(), o.GetName()))
		}
	}
	return problems
}

func (r *registry) checkWebhooks(target Target) (problems []string) {
	var names []string
	for _, w := range r.csv.Spec.Webhooks {
		name := w.Type + " " + w.name()
		if !slices.Contains([]string{validating, mutating, conversion}, w.Type) {
			problems = append(problems, fmt.Sprintf("webhook %s has the unknown type %q", w.GenerateName, w.Type))
		}
		if slices.Contains(names, name) {
			problems = append(problems, fmt.Sprintf("%s stands twice in the ClusterServiceVersion", name))
		}
		if len(validation.IsDNS1123Subdomain(w.GenerateName)) > 0 {
			problems = append(problems, fmt.Sprintf("%q is not a valid name of a webhook", w.GenerateName))
		}
		if !slices.ContainsFunc(r.csv.Spec.Install.Spec.Deployments, func(d deployment) bool { return d.Name == w.DeploymentName }) {
			problems = append(problems, fmt.Sprintf("webhook %s names Deployment %q, which the ClusterServiceVersion does not have", w.GenerateName, w.DeploymentName))
		}
		names = append(names, name)
	}
	if len(names) > 0 && target.Certificates == NoCertificates {
		problems = append(problems, "it has webhooks, which need certificates: install cert-manager")
	}
	return problems
}

func (r *registry) checkConversion() (problems []string) {
	var names []string
	for _, w := range r.csv.Spec.Webhooks {
		if w.Type != conversion {
			continue
		}
		if r.csv.modes() != (modes{all: true}) {
			problems = append(problems, fmt.Sprintf("conversion webhook %s needs %s to be the only install mode", w.GenerateName, allNamespaces))
		}
		for _, name := range w.ConversionCRDs {
			if slices.Contains(names, name) {
				problems = append(problems, fmt.Sprintf("CustomResourceDefinition %s has more than one conversion webhook", name))
			}
			if !slices.ContainsFunc(r.csv.Spec.Definitions.Owned, func(o named) bool { return o.Name == name }) {
				problems = append(problems, fmt.Sprintf("conversion webhook %s is for CustomResourceDefinition %s, which the ClusterServiceVersion does not own", w.GenerateName, name))
			}
			if slices.ContainsFunc(r.definitions, func(d *unstructured.Unstructured) bool { return d.GetName() == name && preservesUnknown(d) }) {
				problems = append(problems, fmt.Sprintf("CustomResourceDefinition %s has a conversion webhook, and preserveUnknownFields has to be false for that", name))
			}
			names = append(names, name)
		}
	}
	return problems
}

func preservesUnknown(definition *unstructured.Unstructured) bool {
	preserves, _, err := unstructured.NestedBool(definition.Object, "spec", "preserveUnknownFields")
	return err == nil && preserves
}

// guarded are the groups that no webhook of a bundle may intercept: it could keep the manager from
// working, or from taking the webhook away.
var guarded = []string{"*", "olm.operatorframework.io", "strata.run"}

func (r *registry) checkRules() (problems []string) {
	for _, w := range r.csv.Spec.Webhooks {
		for _, rule := range w.Rules {
			for _, group := range rule.APIGroups {
				if slices.Contains(guarded, group) {
					problems = append(problems, fmt.Sprintf("webhook %s has a rule for the group %q, which is not allowed", w.GenerateName, group))
				}
			}
			if slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") && slices.ContainsFunc(rule.Resources, isWebhookConfiguration) {
				problems = append(problems, fmt.Sprintf("webhook %s has a rule for webhook configurations, which is not allowed", w.GenerateName))
			}
		}
	}
	return problems
}

func isWebhookConfiguration(resource string) bool {
	name, _, _ := strings.Cut(strings.ToLower(resource), "/")
	return name == "*" || slices.Contains([]string{"validatingwebhookconfiguration", "mutatingwebhookconfiguration"}, strings.TrimSuffix(name, "s"))
}

// checkPorts finds webhooks that need one port of a Service to lead to two ports of its pods.
func (r *registry) checkPorts() (problems []string) {
	for i, w := range r.csv.Spec.Webhooks {
		for _, o := range r.csv.Spec.Webhooks[:i] {
			if w.DeploymentName == o.DeploymentName && w.port() == o.port() && w.target() != o.target() {
				problems = append(problems, fmt.Sprintf("webhooks %s and %s of Deployment %s have the port %d in common, and different target ports", o.GenerateName, w.GenerateName, w.DeploymentName, w.port()))
			}
		}
	}
	return problems
}

// twice finds objects of one identity.
func twice(objects []*unstructured.Unstructured) (problems []string) {
	seen := map[string]bool{}
	for _, o := range objects {
		id := strings.Join([]string{o.GroupVersionKind().GroupKind().String(), o.GetNamespace(), o.GetName()}, " ")
		if seen[id] {
			problems = append(problems, fmt.Sprintf("%s %s stands twice in the bundle", o.GetKind(), o.GetName()))
		}
		seen[id] = true
	}
	return problems
}
