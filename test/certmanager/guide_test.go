// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/test/guide"
)

var update = flag.Bool("update", false, "write the output into the guide anew")

// meshKinds are the definitions of what configures a mesh, as far as the guide needs them.
var meshKinds = []string{`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: istios.sailoperator.io}
spec:
  group: sailoperator.io
  names: {kind: Istio, plural: istios, singular: istio}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemeshcontrolplanes.maistra.io}
spec:
  group: maistra.io
  names: {kind: ServiceMeshControlPlane, plural: servicemeshcontrolplanes, singular: servicemeshcontrolplane}
  scope: Namespaced
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`}

// TestGuide_IstioCSR runs the commands of the guide in their order; with -update it
// writes their output into it.
func TestGuide_IstioCSR(t *testing.T) {
	withManager(t)
	m := newMesh(t)
	for _, manifest := range meshKinds {
		m.define(manifest)
	}
	// What other tests have left would be shown, too.
	for _, kind := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
		must(t, admin.DeleteAllOf(t.Context(), kind, client.MatchingLabels{"app": agentName}))
	}
	for _, name := range []string{"istio-system", "istio-csr", "second"} {
		t.Cleanup(func() {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			must(t, client.IgnoreNotFound(admin.Delete(context.Background(), namespace)))
			awaitNone(t, namespace)
		})
	}
	binaries, err := localplane.Build(t.Context(), localplane.BuildOptions{})
	must(t, err)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, plane.WriteKubeconfig(config, "alice", "system:masters"))
	guide.Guide{
		Path: filepath.Join("..", "..", "docs", "guides", "istiocsr.md"), Kubectl: binaries.Path("kubectl"), Kubeconfig: config, Update: *update,
	}.Run(t)
}

// isEstablished says whether a definition is served.
func isEstablished(definition map[string]any) bool {
	status, _ := definition["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}
