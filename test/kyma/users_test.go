// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	istiorelease "github.com/strata-run/strata/internal/istio"
)

// TestUsers: a user who may view or edit a namespace may do so with Istio's custom resources and
// with Istio resources of Kyma there, and nowhere else.
func TestUsers(t *testing.T) {
	for _, role := range []string{"view", "edit", "admin"} {
		manifest(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: kyma-%[1]s, namespace: default}, "+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: a-%[1]s}]}", role))
	}
	resources := append([]string{"istios.operator.kyma-project.io"}, istiorelease.CRDNames()...)
	for _, resource := range resources {
		name, group, _ := strings.Cut(resource, ".")
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			reads := verb == "get" || verb == "list" || verb == "watch"
			of := authorizationv1.ResourceAttributes{Namespace: "default", Group: group, Resource: name, Verb: verb}
			may(t, "a-view", of, reads)
			may(t, "a-edit", of, true)
			may(t, "a-admin", of, true)
			of.Namespace = "kube-system"
			may(t, "a-edit", of, false)
		}
	}
	may(t, "a-edit", authorizationv1.ResourceAttributes{Namespace: "default", Group: "operator.kyma-project.io", Resource: "istios", Subresource: "status", Verb: "patch"}, false)
}

// may checks what a user may do. The rights are added to the roles a moment after these are made.
func may(t *testing.T, user string, of authorizationv1.ResourceAttributes, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s to %s %s.%s in %s: %v", user, of.Verb, of.Resource, of.Group, of.Namespace, want), func() (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &of}}
		err := admin.Create(t.Context(), review)
		return review.Status.Allowed == want, err
	})
}

// usage are the metrics of the mesh.
func usage(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			all[name] = metric.GetGauge().GetValue()
		}
	}
	maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "istio_") })
	return all
}

// measured: metrics tell what the resource makes use of, as soon as it does.
func measured(t *testing.T) {
	want := map[string]float64{
		"istio_compatibility_mode_enabled": 0, "istio_dnsproxy_used": 0, "istio_egress_gateway_used": 1,
		"istio_ext_auth_providers_total": 0, "istio_ext_auth_timeout_configured_number_total": 0, "istio_ext_auth_path_prefix_configured_number_total": 0,
		"istio_network_policies_enabled": 0, "istio_num_trusted_proxies_configured": 0, "istio_prometheus_merge_enabled": 0, "istio_trust_domain_configured": 0,
	}
	eventually(t, "the metrics of the mesh", func() (bool, error) { return cmp.Equal(want, usage(t)), fmt.Errorf("%s", cmp.Diff(want, usage(t))) })
	manifest(t, istio("second", "{components: {egressGateway: {enabled: true}}, config: {forwardClientCertDetails: SANITIZE}}"))
	want["istio_forward_client_cert_details_setting SANITIZE"] = 1
	eventually(t, "the metrics of a change", func() (bool, error) { return cmp.Equal(want, usage(t)), nil })
}
