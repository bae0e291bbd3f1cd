// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/probes"
)

// dynamicRoles are the rights with which an agent of the chart makes a Certificate.
var dynamicRoles = []string{`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cert-manager-istio-csr-dynamic-istiod, namespace: NS}
rules: [{apiGroups: [cert-manager.io], resources: [certificates], verbs: [get, create, update, delete, watch, list]}]
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cert-manager-istio-csr-dynamic-istiod, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cert-manager-istio-csr-dynamic-istiod}
subjects: [{kind: ServiceAccount, name: cert-manager-istio-csr, namespace: CSR}]
`}

// serving fails the test if istiod has no certificate at some time, until the test ends.
func (a install) serving() {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	lost, stopped := 0, make(chan struct{})
	go func() {
		defer close(stopped)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			secret := &corev1.Secret{}
			err := admin.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: "istiod-tls"}, secret)
			if apierrors.IsNotFound(err) || err == nil && len(secret.Data["tls.crt"]) == 0 {
				lost++
			}
		}, 20*time.Millisecond)
	}()
	a.t.Cleanup(func() {
		cancel()
		<-stopped
		if lost > 0 {
			a.t.Errorf("istiod had no certificate %d times", lost)
		}
	})
}

// TestIstioCSR_HelmDynamic: an agent of the chart that makes the Certificate of istiod is taken
// over with it: the Secret goes to the Certificate of Strata, or of the agent that Strata runs,
// and is there all the time. The Certificate that the agent of the chart has made goes.
func TestIstioCSR_HelmDynamic(t *testing.T) {
	for _, mode := range []string{"Static", "Dynamic"} {
		t.Run(mode, func(t *testing.T) {
			m := newMesh(t)
			m.root("root")
			m.issuer("istio-ca", "root")
			namespace := planetest.Namespace(t, plane)
			chart := install{mesh: m, ic: &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}}
			isStatic := func(manifest string) bool {
				return manifest == istiodCertificate("istio-ca") || manifest == chartDeployment
			}
			dynamic := strings.ReplaceAll(chartDeployment, "--istiod-cert-enabled=false", "--istiod-cert-enabled=true")
			installByHelm(m, namespace, false, slices.Concat(slices.DeleteFunc(slices.Clone(chartObjects), isStatic), dynamicRoles, []string{dynamic})...)
			chart.provision()
			left := m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod-dynamic, namespace: NS}}`)
			chart.issuedBy(left, "istio-ca")
			chart.serving()

			a := newInstallIn(m, namespace, func(ic *operatorv1alpha1.IstioCSR) {
				ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{IstiodCertificate: mode}
			})
			a.ready()
			a.issuedBy(m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`), "istio-ca")
			awaitNone(t, left)
		})
	}
}

// TestIstioCSR_UsersCertificate: a Certificate that a user has made for the Secret of istiod is
// named with what to do, and stays until the user deletes it.
func TestIstioCSR_UsersCertificate(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	users := m.create(strings.Replace(istiodCertificate("istio-ca"), "name: istiod,", "name: users,", 1))
	m.becomes(users, probes.True, "")
	a := newInstall(m, nil)
	a.condition("Ready", "False/Progressing: Secret "+m.namespace+"/istiod-tls is issued for Certificate users", "run `kubectl delete certificates.cert-manager.io users -n "+m.namespace+" --cascade=orphan`")
	must(t, admin.Delete(t.Context(), users))
	a.ready()
}
