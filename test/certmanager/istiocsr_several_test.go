// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// may says whether the agent of an install has the rights in the mesh without which it
// signs nothing, and ends.
func (a install) may() bool {
	a.t.Helper()
	for _, right := range []authorizationv1.ResourceAttributes{
		{Group: "cert-manager.io", Resource: "certificaterequests", Verb: "create"},
		{Group: "coordination.k8s.io", Resource: "leases", Verb: "update"},
	} {
		right.Namespace = a.namespace
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + a.ic.Namespace + ":" + agentName, ResourceAttributes: &right,
		}}
		must(a.t, admin.Create(a.t.Context(), review))
		if !review.Status.Allowed {
			return false
		}
	}
	return true
}

// TestIstioCSR_Several: the oldest runs, the others say why they do not, and one takes
// its place when it goes. The agent of the first runs on with all its rights, until
// a user removes it.
func TestIstioCSR_Several(t *testing.T) {
	first := working(t, nil)
	second := newInstall(first.mesh, nil)
	third := newInstall(first.mesh, nil)
	for _, a := range []install{second, third} {
		a.condition("Ready", "False/Failed: IstioCSR "+first.ic.Namespace+"/default is older")
		if c := meta.FindStatusCondition(a.ic.Status.Conditions, "Degraded"); c != nil {
			t.Errorf("nothing is wrong with it: %v", c)
		}
	}
	pods := first.pods()
	// At any time the first has its rights.
	lost := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go first.countLost(ctx, lost)
	must(t, admin.Delete(t.Context(), first.ic))
	next, other := second, third
	if third.ic.CreationTimestamp.Equal(&second.ic.CreationTimestamp) && third.ic.Namespace < second.ic.Namespace {
		next, other = third, second
	}
	next.ready()
	next.condition("Ready", "True/Ready", "with warning: another agent runs for this mesh in namespace "+first.ic.Namespace)
	other.condition("Ready", "False/Failed: IstioCSR "+next.ic.Namespace+"/default is older")
	cancel()
	if times := <-lost; times > 0 {
		t.Errorf("the agent of the first was without its rights %d times", times)
	}
	if got := first.pods(); len(got) != len(pods) || got[0] != pods[0] {
		t.Errorf("the pods of the first are %v, and were %v", got, pods)
	}
	planetest.Eventually(t, "the rights of the agent that runs", func() (bool, error) { return next.may(), nil })
	if other.may() {
		t.Error("one that does not run has rights")
	}
	revision := next.revision()
	must(t, admin.Delete(t.Context(), first.deployment()))
	next.condition("Ready", "True/Ready: istio-csr v0.14.2 answers at cert-manager-istio-csr."+next.ic.Namespace+".svc:443")
	planetest.Eventually(t, "the rights of the first to go with its agent", func() (bool, error) { return !first.may(), nil })
	planetest.Eventually(t, "the warning to go", func() (bool, error) {
		next.get(next.ic)
		c := meta.FindStatusCondition(next.ic.Status.Conditions, "Ready")
		return c.Message == "istio-csr v0.14.2 answers at cert-manager-istio-csr."+next.ic.Namespace+".svc:443", nil
	})
	if got := next.revision(); got != revision+1 {
		t.Errorf("it is at revision %d, want %d", got, revision+1)
	}
}

// countLost asks all the time whether the agent has its rights. No answer says nothing.
func (a install) countLost(ctx context.Context, lost chan<- int) {
	times := 0
	for ctx.Err() == nil {
		binding := &rbacv1.RoleBinding{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: agentName}, binding)
		bound := false
		for _, subject := range binding.Subjects {
			bound = bound || subject.Namespace == a.ic.Namespace
		}
		if ctx.Err() == nil && client.IgnoreNotFound(err) == nil && !bound {
			times++
		}
	}
	lost <- times
}

// TestIstioCSR_SameSecond: of two of one age the name of the namespace decides, whichever
// came first.
func TestIstioCSR_SameSecond(t *testing.T) {
	withManager(t)
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	before, after := planetest.Namespace(t, plane), planetest.Namespace(t, plane)
	if before > after {
		before, after = after, before
	}
	var winner, loser install
	planetest.Eventually(t, "two of one second", func() (bool, error) {
		planetest.NextSecond() // there is time for both
		loser = newInstallIn(m, after, nil)
		winner = newInstallIn(m, before, nil)
		if winner.ic.CreationTimestamp.Equal(&loser.ic.CreationTimestamp) {
			return true, nil
		}
		winner.remove()
		loser.remove()
		return false, nil
	})
	winner.ready()
	loser.condition("Ready", "False/Failed: IstioCSR "+before+"/default", "a cluster has one agent")
	must(t, admin.Delete(t.Context(), winner.ic))
	loser.ready()
}

// TestIstioCSR_RemovalBesideLeftAgent: an IstioCSR that is made again where an agent was
// left running, while another one runs the cluster's, never gets that agent. Its annotation
// takes nothing from it either.
func TestIstioCSR_RemovalBesideLeftAgent(t *testing.T) {
	left := working(t, nil)
	must(t, admin.Delete(t.Context(), left.ic))
	left.awaitGone()
	running := newInstall(left.mesh, nil)
	running.ready()
	pods, cas := left.pods(), copiedIn(t, left.ic.Namespace)

	younger(t)
	again := newInstallIn(left.mesh, left.ic.Namespace, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	})
	again.condition("Ready", "False/Failed: IstioCSR "+running.ic.Namespace+"/default is older")
	must(t, admin.Delete(t.Context(), again.ic))
	again.awaitGone()
	if got := copiedIn(t, left.ic.Namespace); cas == "" || got != cas {
		t.Errorf("the agent that was left has the CAs\n%s\nand had\n%s", got, cas)
	}
	if got := left.pods(); len(got) != 1 || got[0] != pods[0] || !left.exists(&appsv1.Deployment{}, left.ic.Namespace, agentName) {
		t.Errorf("the agent that was left has the pods %v, and had %v", got, pods)
	}
	if !left.may() {
		t.Error("the agent that was left has no rights any more")
	}
	running.ready()

	// When the agent beside it is removed, what both have in the mesh stays.
	running.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	})
	must(t, admin.Delete(t.Context(), running.ic))
	running.awaitGone()
	if running.exists(&appsv1.Deployment{}, running.ic.Namespace, agentName) || copiedIn(t, running.ic.Namespace) != "" {
		t.Error("the agent that was to be removed is still there")
	}
	certificate := left.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`)
	left.get(certificate)
	if owners := certificate.GetOwnerReferences(); !left.may() || len(owners) > 0 {
		t.Errorf("the agent that was left has its rights: %v; the owners of the certificate are %v", left.may(), owners)
	}

	// An IstioCSR has it again, with what it was left.
	taken := newInstallIn(left.mesh, left.ic.Namespace, nil)
	taken.ready()
	if got := taken.pods(); len(got) != 1 || got[0] != pods[0] {
		t.Errorf("the agent that was left has the pods %v now, and had %v", got, pods)
	}
}

// TestIstioCSR_PackageTaken: a package of the agent's name that is not the front's is left
// alone, and named.
func TestIstioCSR_PackageTaken(t *testing.T) {
	withManager(t)
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	taken := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istio-csr-" + namespace}}
	must(t, admin.Create(t.Context(), taken))
	a := newInstallIn(m, namespace, nil)
	a.condition("Ready", "False/Progressing: ", "package istio-csr-"+namespace+" exists and is not of front istiocsr")
	must(t, admin.Delete(t.Context(), taken))
	planetest.Eventually(t, "the package to be gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(taken), taken)
		return apierrors.IsNotFound(err) || taken.Labels[v1alpha1.LabelFront] != "", err
	})
	a.ready()
}

// TestIstioCSR_RemovedAndPromoted: what an agent that is removed has in the mesh's
// namespace is made again for the next one, and istiod keeps its certificate meanwhile.
func TestIstioCSR_RemovedAndPromoted(t *testing.T) {
	first := working(t, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	})
	second := newInstall(first.mesh, nil)
	second.condition("Ready", "False/Failed: IstioCSR "+first.ic.Namespace+"/default is older")
	must(t, admin.Delete(t.Context(), first.ic))
	second.ready()
	first.awaitGone()
	if second.hasEvent("AgentDegraded") {
		t.Error("while the first was going the second was Degraded, although nothing was to be mended")
	}
	if first.exists(&corev1.ServiceAccount{}, first.ic.Namespace, agentName) {
		t.Error("what the first had is still there")
	}
	if !second.exists(&rbacv1.Role{}, second.namespace, agentName) || !second.exists(&corev1.Secret{}, second.namespace, "istiod-tls") {
		t.Error("what the second needs is not there")
	}
}
