// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/probes"
)

// provisioner plays the part of an agent that makes the Certificate of istiod: with the
// rights of its ServiceAccount and by the arguments of its pods, for as long as the one
// that leads asks for it. It writes the whole spec, as agents do.
type provisioner struct {
	install

	account client.Client
	failed  error

	// leader is the pod that leads, and renewed is when the Lease was renewed last.
	leader  string
	renewed time.Time
}

// provision plays it until the test ends, and says then what the agent was refused.
func (a install) provision() {
	a.t.Helper()
	config := rest.CopyConfig(plane.Config())
	config.Impersonate.UserName = "system:serviceaccount:" + a.ic.Namespace + ":" + agentName
	config.UserAgent = agentName + "/v0.14.2" // which names what it writes
	account, err := client.New(config, client.Options{})
	must(a.t, err)
	p := &provisioner{install: a, account: account}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := p.round(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
				p.failed = err
			}
		}, 50*time.Millisecond)
	}()
	a.t.Cleanup(func() {
		cancel()
		<-stopped
		if p.failed != nil {
			a.t.Errorf("the agent was refused: %v", p.failed)
		}
	})
}

// round makes the Certificate what the agent wants it to be.
func (p *provisioner) round(ctx context.Context) error {
	arguments, err := p.arguments(ctx)
	if err != nil || arguments["istiod-cert-enabled"] != "true" {
		return err
	}
	issuer := map[string]any{"name": arguments["issuer-name"], "kind": arguments["issuer-kind"], "group": arguments["issuer-group"]}
	if name := arguments["runtime-issuance-config-map-name"]; name != "" {
		config := &corev1.ConfigMap{}
		err := p.account.Get(ctx, client.ObjectKey{Namespace: arguments["runtime-issuance-config-map-namespace"], Name: name}, config)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		for field := range issuer {
			issuer[field] = cmp.Or(config.Data["issuer-"+field], issuer[field].(string))
		}
	}
	host := "istiod." + arguments["istiod-cert-namespace"] + ".svc"
	certificate := p.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: ` + arguments["istiod-cert-name"] + `, namespace: NS}}`)
	spec := map[string]any{
		"commonName": host, "dnsNames": []any{host}, "uris": []any{"spiffe://cluster.local/ns/" + p.namespace + "/sa/istiod-service-account"},
		"secretName": "istiod-tls", "duration": "1h0m0s", "renewBefore": "30m0s", "revisionHistoryLimit": int64(1), "issuerRef": issuer,
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
	}
	err = p.account.Get(ctx, client.ObjectKeyFromObject(certificate), certificate)
	switch {
	case apierrors.IsNotFound(err):
		certificate.Object["spec"] = spec
		return p.account.Create(ctx, certificate)
	case err != nil:
		return err
	}
	if current, _ := certificate.Object["spec"].(map[string]any); fmt.Sprint(current["issuerRef"]) == fmt.Sprint(issuer) && current["isCA"] == nil {
		return nil
	}
	certificate.Object["spec"] = spec
	return p.account.Update(ctx, certificate)
}

// arguments are those of the pod that leads: the one that has led for as long as it runs.
func (p *provisioner) arguments(ctx context.Context) (map[string]string, error) {
	list := &corev1.PodList{}
	if err := admin.List(ctx, list, client.InNamespace(p.ic.Namespace), client.MatchingLabels{"app": agentName}); err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
	if len(pods) == 0 {
		return nil, nil
	}
	leader := max(0, slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == p.leader }))
	if err := p.lead(ctx, pods[leader].Name); err != nil {
		return nil, err
	}
	arguments := map[string]string{}
	for _, arg := range pods[leader].Spec.Containers[0].Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		arguments[name] = value
	}
	return arguments, nil
}

// lead has a pod hold the Lease of the mesh, and renews it.
func (p *provisioner) lead(ctx context.Context, pod string) error {
	if pod == p.leader && time.Since(p.renewed) < time.Second {
		return nil
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "istio-csr"}}
	_, err := controllerutil.CreateOrUpdate(ctx, admin, lease, func() error {
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = new(pod+"_0123"), new(int32(15)), new(metav1.NowMicro())
		return nil
	})
	p.leader, p.renewed = pod, time.Now()
	return err
}

// roots writes the CAs of issuers into a ConfigMap beside the IstioCSR.
func (m mesh) roots(namespace string, names ...string) {
	m.t.Helper()
	var cas strings.Builder
	for _, name := range names {
		cas.WriteString(m.secret(m.object(`{spec: {secretName: `+name+`}, metadata: {namespace: NS}}`), "tls.crt"))
	}
	config := &corev1.ConfigMap{Data: map[string]string{"ca.crt": cas.String()}}
	config.Namespace, config.Name = namespace, "roots"
	must(m.t, admin.Create(m.t.Context(), config))
}

// TestIstioCSR_Dynamic: the agent makes the Certificate of istiod with the rights that it has,
// follows the issuer that a ConfigMap names, and hands the Certificate over to Strata and back:
// it is one object in both, so that no two of them are issued into one Secret.
func TestIstioCSR_Dynamic(t *testing.T) {
	m := newMesh(t)
	m.root("first")
	m.root("second")
	m.issuer("istio-ca", "first")
	m.issuer("other", "second")
	withManager(t)
	younger(t)
	namespace := planetest.Namespace(t, plane)
	m.roots(namespace, "first", "second")
	a := newInstallIn(m, namespace, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "roots", Key: "ca.crt"}
		ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{IstiodCertificate: "Dynamic", RuntimeIssuerConfigMap: "issuer"}
	})
	a.condition("Ready", "False/Progressing: Certificate "+m.namespace+"/istiod, which the agent creates, does not exist yet")
	a.provision()
	a.condition("Ready", "True/Ready: istio-csr v0.14.2 answers", "ConfigMap "+namespace+"/issuer: it does not exist, and the agent has issuerRef sign")

	issuer := &corev1.ConfigMap{Data: map[string]string{"issuer-name": "other", "issuer-kind": "Issuer", "issuer-group": "cert-manager.io"}}
	issuer.Namespace, issuer.Name = namespace, "issuer"
	must(t, admin.Create(t.Context(), issuer))
	a.readyWithoutWarning("the agent to follow the ConfigMap")
	certificate := m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`)
	a.issuedBy(certificate, "other")

	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.AgentConfig.IstiodCertificate = "Static" })
	a.ready()
	a.issuedBy(certificate, "istio-ca")
	planetest.Eventually(t, "Strata to have the Certificate", func() (bool, error) {
		a.get(certificate)
		return certificate.GetLabels()[v1alpha1.LabelPackage] != "" && len(certificate.GetOwnerReferences()) == 1, nil
	})

	serving := m.secret(certificate, "tls.crt")
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.AgentConfig.IstiodCertificate = "Dynamic" })
	a.ready()
	planetest.Eventually(t, "the agent to have the Certificate", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(certificate), certificate)
		return err == nil && certificate.GetLabels()[v1alpha1.LabelPackage] == "" && len(certificate.GetOwnerReferences()) == 0, client.IgnoreNotFound(err)
	})
	a.issuedBy(certificate, "other")
	if now := m.secret(certificate, "tls.crt"); now == "" || now == serving {
		t.Error("istiod has no certificate of the issuer that the ConfigMap names")
	}
}

// issuedBy waits until the Certificate is of an issuer, and is issued.
func (a install) issuedBy(certificate *unstructured.Unstructured, issuer string) {
	a.t.Helper()
	planetest.Eventually(a.t, "the Certificate of istiod to be of issuer "+issuer, func() (bool, error) {
		if err := admin.Get(a.t.Context(), client.ObjectKeyFromObject(certificate), certificate); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		name, _, err := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
		return name == issuer, err
	})
	a.becomes(certificate, probes.True, "")
}
