// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestObserver_APIServer: the ports are those of the API server's own endpoints; while it has
// none, nothing changes.
func TestObserver_APIServer(t *testing.T) {
	endpoints := func(ports ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": map[string]any{"namespace": "default", "name": "kubernetes"}, "ports": ports,
		}}
	}
	for name, tc := range map[string]struct {
		reason    string
		endpoints []*unstructured.Unstructured
		want      []int32
	}{
		"There": {reason: "the API server says it", endpoints: []*unstructured.Unstructured{endpoints(map[string]any{"port": int64(443)})}, want: []int32{443}},
		"Empty": {reason: "the revision remembers it", endpoints: []*unstructured.Unstructured{endpoints()}, want: []int32{8443}},
		"Gone":  {reason: "the revision remembers it", want: []int32{8443}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newCluster(t, &fakeKeeper{}, nil, tc.endpoints...)
			revision := revisionWith(t, 1, "u", deploymentWith(1, nil))
			const policy = `{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "istio-csr-allow-egress-to-api-server"},
				"spec": {"egress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}]}}`
			revision.Spec.Phases[0].Objects = append(revision.Spec.Phases[0].Objects, v1alpha1.Object{Object: &runtime.RawExtension{Raw: []byte(policy)}})
			if err := o.cache.(client.Client).Create(t.Context(), revision); err != nil {
				t.Fatal(err)
			}
			group := csrGroup{Existing: packagesOf("a")}
			group.Existing[0].UID = "u"
			facts := observed{}
			if err := o.observeAPIServer(t.Context(), csrIn("a", false), group, &facts); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(facts.APIServerPorts, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, facts.APIServerPorts, tc.want)
			}
		})
	}
}
