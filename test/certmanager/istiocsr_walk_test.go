// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/test/setup"
)

// since is from when on a condition has been what it is. All conditions have to be as
// the contract of conditions says.
func (a install) since(kind string) time.Time {
	a.t.Helper()
	a.get(a.ic)
	statustest.Conditions(a.t, istiocsr.Rows().Statuses(), a.ic.Generation, a.ic.Status.Conditions, "Ready", "Degraded")
	c := meta.FindStatusCondition(a.ic.Status.Conditions, kind)
	if c == nil {
		a.t.Fatalf("there is no condition %s", kind)
	}
	return c.LastTransitionTime.Time
}

// TestIstioCSR_StuckCertificate takes the issuer away, and then the certificate that
// no issuer can issue any more: Ready goes once, and its message follows the causes.
func TestIstioCSR_StuckCertificate(t *testing.T) {
	a := working(t, nil)
	issuer := "Issuer " + a.namespace + "/istio-ca"
	must(t, admin.Delete(t.Context(), a.issuerObject()))
	a.condition("Ready", "False/Progressing: "+issuer+" does not exist: create it; the agent that runs answers meanwhile")
	a.condition("Degraded", "False/Ready")
	since := a.since("Ready")
	planetest.NextSecond() // times are in seconds
	must(t, admin.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "istiod-tls"}}))
	a.condition("Ready", "False/Progressing: "+issuer+" does not exist: create it; ", "Certificate", a.namespace+"/istiod")
	a.condition("Degraded", "False/Ready")
	if got := a.since("Ready"); !got.Equal(since) {
		t.Errorf("another message of the same status counts as a change: since %s, was %s", got, since)
	}
	a.copyIs("the copy of before", a.ofSecret("root", "ca.crt"))
	// One that is there and cannot sign yet.
	a.issuer("istio-ca", "missing")
	a.condition("Ready", "False/Progressing: "+issuer+" is not ready: ", `"missing"`, "Certificate")
	a.edit(a.issuerObject(), "root", "ca", "secretName")
	a.ready()
	a.condition("Degraded", "False/Ready")
	if got := a.since("Ready"); !got.After(since) {
		t.Errorf("it has been ready since %s, and was not at %s", got, since)
	}
}

// TestIstioCSR_DegradedGoesAndComes: what only the user can mend is Degraded, each time
// with the cause of the moment, and it goes when it is mended.
func TestIstioCSR_DegradedGoesAndComes(t *testing.T) {
	a := working(t, nil)
	root := a.ofSecret("root", "ca.crt")
	chosen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "mine"}, Data: map[string]string{"roots": root}}
	set := func(text string) {
		t.Helper()
		chosen.Data["roots"], chosen.ResourceVersion = text, ""
		must(t, admin.Update(t.Context(), chosen))
	}
	must(t, admin.Create(t.Context(), chosen))
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Namespace: a.namespace, Name: "mine", Key: "roots"}
	})
	a.ready()
	for range 2 {
		a.condition("Degraded", "False/Ready")
		mended := a.since("Degraded")
		planetest.NextSecond()
		set("x")
		a.condition("Degraded", "True/Failed", "it contains no certificate in PEM")
		a.condition("Ready", "False/Failed", "it contains no certificate in PEM")
		since := a.since("Degraded")
		if !since.After(mended) {
			t.Errorf("it has been degraded since %s, and was not at %s", since, mended)
		}
		planetest.NextSecond()
		set(root + root[:100])
		a.condition("Degraded", "True/Failed", "block 2: it is not valid PEM")
		// What goes by itself does not hide it.
		a.edit(a.issuerObject(), "missing", "ca", "secretName")
		a.condition("Degraded", "True/Failed", "block 2: it is not valid PEM")
		a.edit(a.issuerObject(), "root", "ca", "secretName")
		a.condition("Ready", "False/Failed", "block 2: it is not valid PEM")
		if got := a.since("Degraded"); !got.Equal(since) {
			t.Errorf("another message of the same status counts as a change: since %s, was %s", got, since)
		}
		set(root)
		a.ready()
	}
}

// churn does for a time what goes on in a cluster in which nothing has to be done: workloads
// get certificates, istiod's is renewed, and kubelets report on pods. Where that takes long it
// goes on until enough has happened.
func (a install) churn(span time.Duration) {
	a.t.Helper()
	g := a.agent()
	renewals, rounds := 0, time.NewTicker(500*time.Millisecond)
	defer rounds.Stop()
	for began := time.Now(); time.Since(began) < span || renewals < 2 || len(g.handed) < 10; {
		g.round()
		pods := &corev1.PodList{}
		must(a.t, admin.List(a.t.Context(), pods, client.InNamespace(a.ic.Namespace)))
		for i := range pods.Items {
			before := pods.Items[i].DeepCopy()
			pods.Items[i].Status.Message = fmt.Sprintf("seen %d times", len(g.handed))
			must(a.t, admin.Status().Patch(a.t.Context(), &pods.Items[i], client.MergeFrom(before)))
		}
		if due := int(3 * time.Since(began) / span); renewals < min(due, 3) {
			a.renew("istiod")
			renewals++
		}
		<-rounds.C
	}
}

// TestIstioCSR_QuietMinute: after Ready there is a minute in which the manager sends nothing
// but watches when nothing happens, and one in which it writes nothing when nothing happens
// that is its own.
func TestIstioCSR_QuietMinute(t *testing.T) {
	// One that knows of no other test: what these have left, such as a series of events, would
	// be written about for minutes.
	withManager(t)
	withoutManager(t, func() {})
	a := working(t, nil)
	quiet(t, time.Minute)
	since := time.Now()
	a.churn(time.Minute)
	planetest.Stays(t, 5*time.Second, "nothing is written late", func() (bool, error) {
		return len(writesSince(t, since)) == 0, fmt.Errorf("written are %+v", writesSince(t, since))
	})
	a.ready()
}

// writesSince are what the manager has written since a time.
func writesSince(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return slices.DeleteFunc(setup.Requests(t, plane, setup.Manager, since), func(e localplane.AuditEvent) bool { return e.Verb == "get" || e.Verb == "list" })
}
