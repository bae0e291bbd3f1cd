// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// intrude patches an object as another manager.
func (a install) intrude(object client.Object, namespace, name, patch string) {
	a.t.Helper()
	object.SetNamespace(namespace)
	object.SetName(name)
	must(a.t, admin.Patch(a.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("intruder")))
}

// TestIstioCSR_NothingElse: what is added to the objects that the safety of a mesh rests on
// is taken out again, although nothing that is asked for has changed.
func TestIstioCSR_NothingElse(t *testing.T) {
	a := working(t, nil)
	namespace, pods := a.ic.Namespace, a.pods()
	policy, certificate, service := &networkingv1.NetworkPolicy{}, a.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`), &corev1.Service{}
	account, role := &corev1.ServiceAccount{}, &rbacv1.ClusterRole{}
	a.intrude(policy, namespace, "istio-csr-deny-all", `{"spec": {"egress": [{}], "ingress": [{}]}}`)
	a.intrude(certificate, a.namespace, "istiod", `{"spec": {"isCA": true, "usages": ["cert sign"], "secretTemplate": {"labels": {"a": "b"}}}}`)
	a.intrude(service, namespace, agentName, `{"spec": {"externalIPs": ["192.0.2.1"], "ports": [{"name": "web", "port": 8443, "targetPort": 6443, "protocol": "TCP"}]}}`)
	a.intrude(account, namespace, agentName, `{"automountServiceAccountToken": false}`)
	a.intrude(role, "", agentName+"-"+namespace, `{"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]}`)
	deployment := a.deployment()
	a.intrude(deployment, namespace, agentName, `{"spec": {"paused": true, "template": {"spec": {"hostNetwork": true}}}}`)
	planetest.Eventually(t, "all of it to go", func() (bool, error) {
		for _, object := range []client.Object{policy, certificate, service, account, role, deployment} {
			a.get(object)
		}
		_, usages, _ := unstructured.NestedSlice(certificate.Object, "spec", "usages")
		_, template, _ := unstructured.NestedMap(certificate.Object, "spec", "secretTemplate")
		isCA, _, _ := unstructured.NestedBool(certificate.Object, "spec", "isCA")
		left := map[string]bool{
			"the policy":      len(policy.Spec.Egress)+len(policy.Spec.Ingress) > 0,
			"the certificate": usages || template || isCA,
			"the Service":     len(service.Spec.ExternalIPs) > 0 || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 443,
			"the account":     account.AutomountServiceAccountToken != nil,
			"the role":        slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") }),
			"the Deployment":  deployment.Spec.Paused || deployment.Spec.Template.Spec.HostNetwork,
		}
		for _, is := range left {
			if is {
				return false, fmt.Errorf("left is %v", left)
			}
		}
		return true, nil
	})
	a.ready()
	planetest.Eventually(t, "the pods that were", func() (bool, error) {
		return slices.Equal(a.pods(), pods), fmt.Errorf("they are %q, and were %q", a.pods(), pods)
	})
}

// TestIstioCSR_ForeignRole: a binding that was deleted and made again for another role is the
// agent's again.
func TestIstioCSR_ForeignRole(t *testing.T) {
	a := working(t, nil)
	name := agentName + "-" + a.ic.Namespace
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	planetest.Eventually(t, "another binding before the manager has made its own", func() (bool, error) {
		must(t, client.IgnoreNotFound(admin.Delete(t.Context(), binding.DeepCopy())))
		other := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}}
		err := admin.Create(t.Context(), other)
		return err == nil, err
	})
	planetest.Eventually(t, "the role of the agent", func() (bool, error) {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
			return false, err // it is being replaced
		}
		return binding.RoleRef.Name == name, fmt.Errorf("it is %s", binding.RoleRef.Name)
	})
	a.ready()
}

// TestIstioCSR_Undone: a status and a finalizer that are taken off come back by themselves, and
// a role that a status names is not believed.
func TestIstioCSR_Undone(t *testing.T) {
	a := working(t, nil)
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Finalizers = nil })
	planetest.Eventually(t, "the finalizer", func() (bool, error) { a.get(a.ic); return len(a.ic.Finalizers) == 1, nil })
	a.get(a.ic)
	before := a.ic.DeepCopy()
	a.ic.Status = operatorv1alpha1.IstioCSRStatus{ClusterRole: agentName + "-any"}
	must(t, admin.Status().Patch(t.Context(), a.ic, client.MergeFrom(before)))
	planetest.Eventually(t, "the status", func() (bool, error) {
		a.get(a.ic)
		return a.ic.Status.ClusterRole == agentName+"-"+a.ic.Namespace && len(a.ic.Status.Conditions) == 2, fmt.Errorf("it is %v", a.ic.Status)
	})
	a.ready()
	if got := a.revision(); got != 1 {
		t.Errorf("it is at revision %d", got)
	}
}
