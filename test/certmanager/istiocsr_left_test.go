// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// leading has the agent of an install hold the Lease of the mesh, as one of the real agents
// does.
func (a install) leading() {
	a.t.Helper()
	list := &corev1.PodList{}
	must(a.t, admin.List(a.t.Context(), list, client.InNamespace(a.ic.Namespace), client.MatchingLabels{"app": agentName}))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "istio-csr"}}
	lease.Spec.HolderIdentity = new(list.Items[0].Name + "_0123")
	must(a.t, admin.Create(a.t.Context(), lease))
}

// marked waits until the pods of an agent were prompted to read the CAs of its copy.
func (a install) marked() {
	a.t.Helper()
	planetest.Eventually(a.t, "the pods in "+a.ic.Namespace+" to be prompted", func() (bool, error) {
		list := &corev1.PodList{}
		err := admin.List(a.t.Context(), list, client.InNamespace(a.ic.Namespace), client.MatchingLabels{"app": agentName})
		for i := range list.Items {
			if got := list.Items[i].Annotations[v1alpha1.AnnotationCABundle]; len(got) != 16 {
				return false, fmt.Errorf("pod %s has %q", list.Items[i].Name, got)
			}
		}
		return len(list.Items) > 0, err
	})
}

// TestIstioCSR_LeftAgent: an agent whose IstioCSR is deleted in the midst of a rotation goes
// on with the same CAs as the one that takes its place, whichever of them publishes, and no
// certificate that is in use is refused by either.
func TestIstioCSR_LeftAgent(t *testing.T) {
	first := working(t, nil)
	before := first.agent()
	before.round()
	first.renew("root")
	first.renew("istiod")
	planetest.Eventually(t, "two CAs", func() (bool, error) { return countCAs(before.cas()) == 2, nil })
	first.marked()
	second := newInstall(first.mesh, nil)
	first.leading()
	must(t, admin.Delete(t.Context(), first.ic))
	second.ready()
	second.condition("Ready", "True/Ready", "in namespace "+first.ic.Namespace+" without an IstioCSR; it holds Lease "+first.namespace+"/istio-csr, and so it is the one that publishes",
		"kubectl delete deployment cert-manager-istio-csr -n "+first.ic.Namespace)
	copies := func() string {
		own, left := copiedIn(t, second.ic.Namespace), copiedIn(t, first.ic.Namespace)
		if own != left {
			return ""
		}
		return own
	}
	issued := before.handed[0].certificates
	if err := verify(issued, copiedIn(t, second.ic.Namespace), time.Now()); err != nil {
		t.Errorf("a workload's certificate of before the promotion is refused: %v", err)
	}

	second.renew("root")
	second.renew("istiod")
	root := second.ofSecret("root", "ca.crt")
	planetest.Eventually(t, "the newest root to be first in both copies", func() (bool, error) { return strings.HasPrefix(copies(), root), nil })
	if err := verify(issued, copies(), time.Now()); err != nil {
		t.Errorf("a workload's certificate is refused: %v", err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: first.ic.Namespace, Name: cabundle.Name}}
	planetest.Eventually(t, "three CAs in the status", func() (bool, error) {
		second.get(kept)
		second.get(second.ic)
		cas := second.ic.Status.CACertificates
		if len(cas) != 3 || cas[0].Leaving {
			return false, fmt.Errorf("they are %v", cas)
		}
		ends := 0
		for _, ca := range cas[1:] {
			if ca.Leaving && ca.Until != nil && strings.Contains(kept.Annotations[v1alpha1.AnnotationLeavingCAs], ca.Digest+"="+ca.Until.UTC().Format(time.RFC3339)) {
				ends++
			}
		}
		return ends == 2, fmt.Errorf("they are %v, recorded are %v", cas, kept.Annotations)
	})
}
