// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serving is a Deployment with webhooks.
type serving struct {
	matchLabels map[string]string
	webhooks    []webhook
}

// servings are the Deployments with webhooks, by name.
func (r *registry) servings() map[string]*serving {
	all := map[string]*serving{}
	for _, w := range r.csv.Spec.Webhooks {
		if all[w.DeploymentName] == nil {
			all[w.DeploymentName] = &serving{}
		}
		all[w.DeploymentName].webhooks = append(all[w.DeploymentName].webhooks, w)
	}
	for _, d := range r.csv.Spec.Install.Spec.Deployments {
		if s := all[d.Name]; s != nil && d.spec.Selector != nil {
			s.matchLabels = d.spec.Selector.MatchLabels
		}
	}
	return all
}

// port is the one of the Service.
func (w webhook) port() int32 { return cmp.Or(w.ContainerPort, 443) }

// target is the port of the pods.
func (w webhook) target() intstr.IntOrString {
	if w.TargetPort != nil {
		return *w.TargetPort
	}
	return intstr.FromInt32(w.port())
}

// name is that of the configuration, and of the webhook in it.
func (w webhook) name() string { return strings.TrimSuffix(w.GenerateName, "-") }

// services have a port for each that webhooks of a Deployment are reached at.
func (g *rendering) services() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, deployment := range slices.Sorted(maps.Keys(g.served)) {
		s := g.served[deployment]
		service := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: serviceName(deployment), Namespace: g.target.Namespace},
			Spec:       corev1.ServiceSpec{Selector: s.matchLabels},
		}
		if g.target.Certificates == ServiceCA {
			service.Annotations = map[string]string{annotationServingCert: certificateName(deployment)}
		}
		for _, w := range s.webhooks {
			if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == w.port() }) {
				service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: strconv.Itoa(int(w.port())), Port: w.port(), TargetPort: w.target()})
			}
		}
		slices.SortFunc(service.Spec.Ports, func(a, b corev1.ServicePort) int { return cmp.Compare(a.Port, b.Port) })
		object, err := objectOf(service)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// clientConfig says where the API server finds a webhook. The CA is injected.
func (g *rendering) clientConfig(w webhook) admissionregistrationv1.WebhookClientConfig {
	port := w.port()
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: g.target.Namespace, Name: serviceName(w.DeploymentName), Path: w.WebhookPath, Port: &port,
	}}
}

// namespaceSelector limits a webhook to what the operator watches.
func (g *rendering) namespaceSelector() *metav1.LabelSelector {
	if g.watched.all() {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: g.watched,
	}}}
}

// configurations are those of the validating and the mutating webhooks.
func (g *rendering) configurations() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, w := range g.csv.Spec.Webhooks {
		var typed any
		meta := metav1.ObjectMeta{Name: w.name(), Annotations: g.injection(w.DeploymentName)}
		switch w.Type {
		case validating:
			typed = g.validating(w, meta)
		case mutating:
			typed = g.mutating(w, meta)
		default:
			continue
		}
		object, err := objectOf(typed)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func (g *rendering) validating(w webhook, meta metav1.ObjectMeta) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: w.name(), ClientConfig: g.clientConfig(w), Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: g.namespaceSelector(), ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		}},
	}
}

func (g *rendering) mutating(w webhook, meta metav1.ObjectMeta) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.name(), ClientConfig: g.clientConfig(w), Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: g.namespaceSelector(), ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, ReinvocationPolicy: w.ReinvocationPolicy,
		}},
	}
}
