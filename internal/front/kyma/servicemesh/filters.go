// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// ConfiguresIngress says whether an EnvoyFilter is of a user and configures the ingress
// gateway: it stands in the namespace of Istio, selects the gateway's pods, and neither a
// module of Kyma nor a RateLimit has made it.
func ConfiguresIngress(filter *unstructured.Unstructured) bool {
	if _, ofModule := filter.GetLabels()[v1alpha2.LabelModule]; ofModule || filter.GetNamespace() != IstioNamespace {
		return false
	}
	if slices.ContainsFunc(filter.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Kind == "RateLimit" }) {
		return false
	}
	selected, _, _ := unstructured.NestedStringMap(filter.Object, "spec", "workloadSelector", "labels")
	return selected["istio"] == "ingressgateway" || selected["app"] == IngressGateway
}
