// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/localplane/planetest"
)

// generated is a ClusterRole or a binding as the operator before has made it for an agent.
const generated = `
apiVersion: rbac.authorization.k8s.io/v1
metadata:
  generateName: cert-manager-istio-csr-
  labels:
    app: cert-manager-istio-csr
    app.kubernetes.io/name: cert-manager-istio-csr
    app.kubernetes.io/instance: cert-manager-istio-csr
    app.kubernetes.io/version: v0.13.0
    app.kubernetes.io/managed-by: cert-manager-operator
    app.kubernetes.io/part-of: cert-manager-operator
    cert-manager-istio-csr-namespace: NS
`

// TestIstioCSR_LeftClusterRoles: the ClusterRole that an agent has from the operator before
// is taken over although the IstioCSR that named it is gone. Where it cannot be said which it
// is nothing is rolled out, as the others would keep their rights.
func TestIstioCSR_LeftClusterRoles(t *testing.T) {
	withManager(t)
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	left := func(rest string) *unstructured.Unstructured {
		return m.create(strings.ReplaceAll(generated+rest, "NS", namespace))
	}
	role, other := left("kind: ClusterRole"), left("kind: ClusterRole")
	binding := left(`kind: ClusterRoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + role.GetName() + `}
subjects: [{kind: ServiceAccount, name: cert-manager-istio-csr, namespace: NS}]
`)
	younger(t)
	a := newInstallIn(m, namespace, nil)
	a.condition("Degraded", "True/", "ClusterRoles", role.GetName(), other.GetName(), "delete those that it does not use")

	must(t, admin.Delete(t.Context(), other))
	a.ready()
	same := func(a install, when string) {
		t.Helper()
		if a.ic.Status.ClusterRole != role.GetName() || a.ic.Status.ClusterRoleBinding != binding.GetName() {
			t.Errorf("%s they are %s and %s, and were %s and %s", when, a.ic.Status.ClusterRole, a.ic.Status.ClusterRoleBinding, role.GetName(), binding.GetName())
		}
		if fixed := agentName + "-" + namespace; a.exists(&rbacv1.ClusterRole{}, "", fixed) || a.exists(&rbacv1.ClusterRoleBinding{}, "", fixed) {
			t.Errorf("%s there is %s beside it", when, fixed)
		}
	}
	same(a, "taken over")

	must(t, admin.Delete(t.Context(), a.ic))
	a.awaitGone()
	again := newInstallIn(m, namespace, nil)
	again.ready()
	same(again, "once more")
}
