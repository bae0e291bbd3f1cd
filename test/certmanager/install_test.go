// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const agentName = "cert-manager-istio-csr"

// install is an IstioCSR and what is made for it. A cluster has one, so these tests run
// one after the other.
type install struct {
	mesh

	ic *operatorv1alpha1.IstioCSR
}

// newInstall makes an IstioCSR in a namespace of its own, for a mesh, with an issuer named
// istio-ca.
func newInstall(m mesh, change func(ic *operatorv1alpha1.IstioCSR)) install {
	m.t.Helper()
	withManager(m.t)
	younger(m.t)
	return newInstallIn(m, planetest.Namespace(m.t, plane), change)
}

// younger waits until what is created next is younger than every IstioCSR: ages are in
// seconds, and of two of one age the namespace's name decides.
func younger(t *testing.T) {
	t.Helper()
	list := &operatorv1alpha1.IstioCSRList{}
	must(t, admin.List(t.Context(), list))
	planetest.Eventually(t, "the second of the last IstioCSR to be over", func() (bool, error) {
		return !slices.ContainsFunc(list.Items, func(ic operatorv1alpha1.IstioCSR) bool { return time.Since(ic.CreationTimestamp.Time) < time.Second }), nil
	})
}

func newInstallIn(m mesh, namespace string, change func(ic *operatorv1alpha1.IstioCSR)) install {
	m.t.Helper()
	withManager(m.t)
	a := install{mesh: m, ic: newInstallSpec(m)}
	a.ic.Namespace = namespace
	if change != nil {
		change(a.ic)
	}
	must(m.t, admin.Create(m.t.Context(), a.ic))
	m.t.Cleanup(a.remove)
	return a
}

// newInstallSpec is an IstioCSR for a mesh.
func newInstallSpec(m mesh) *operatorv1alpha1.IstioCSR {
	return &operatorv1alpha1.IstioCSR{
		TypeMeta:   metav1.TypeMeta{APIVersion: operatorv1alpha1.GroupVersion.String(), Kind: "IstioCSR"},
		ObjectMeta: metav1.ObjectMeta{Name: operatorv1alpha1.Name},
		Spec: operatorv1alpha1.IstioCSRSpec{IstioCSRConfig: operatorv1alpha1.IstioCSRConfig{
			CertManager:     operatorv1alpha1.CertManagerConfig{IssuerRef: operatorv1alpha1.IssuerReference{Name: "istio-ca", Kind: "Issuer", Group: "cert-manager.io"}},
			IstiodTLSConfig: operatorv1alpha1.IstiodTLSConfig{TrustDomain: "cluster.local", PrivateKeyAlgorithm: "ECDSA", PrivateKeySize: 256},
			Istio:           operatorv1alpha1.IstioConfig{Namespace: m.namespace},
		}},
	}
}

// replaced is a manifest with the namespace of an agent for CSR.
func replaced(manifest, namespace string) string {
	return strings.ReplaceAll(manifest, "CSR", namespace)
}

// relax takes the rules off the durations in the definition of IstioCSR, as a laxer one
// has none.
func relax(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	before := definition.DeepCopy()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	must(t, err)
	version, ok := versions[0].(map[string]any)
	if !ok {
		t.Fatal("the definition has no version")
	}
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "istioCSRConfig", "properties",
		"istiodTLSConfig", "properties", "certificateDuration", "x-kubernetes-validations")
	must(t, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	must(t, admin.Patch(t.Context(), definition, client.MergeFrom(before)))
}

// remove takes the IstioCSR away and waits until nothing of it can meet the next test.
func (a install) remove() {
	// The garbage collector finds a new kind within half a minute, and lets a package go then.
	ctx := context.Background()
	if err := client.IgnoreNotFound(admin.Delete(ctx, a.ic.DeepCopy())); err != nil {
		a.t.Error(err)
	}
	planetest.Within(a.t, 3*time.Minute, "IstioCSR "+a.ic.Namespace+" to go", func() (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(a.ic), a.ic.DeepCopy())
		packages := &v1alpha1.PackageList{}
		if listErr := admin.List(ctx, packages, client.MatchingLabels{v1alpha1.LabelFront: "istiocsr"}); listErr != nil {
			return false, listErr
		}
		gone := !slices.ContainsFunc(packages.Items, func(p v1alpha1.Package) bool { return p.Name == "istio-csr-"+a.ic.Namespace })
		return apierrors.IsNotFound(err) && gone, err
	})
}

// condition waits until a condition begins with STATUS/REASON: MESSAGE, and is about the
// newest spec.
func (a install) condition(kind, want string, parts ...string) {
	a.t.Helper()
	planetest.Eventually(a.t, fmt.Sprintf("%s of IstioCSR %s to be %q %q", kind, a.ic.Namespace, want, parts), func() (bool, error) {
		if err := admin.Get(a.t.Context(), client.ObjectKeyFromObject(a.ic), a.ic); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(a.ic.Status.Conditions, kind)
		if c == nil {
			return false, fmt.Errorf("it is not there: %v", a.ic.Status.Conditions)
		}
		text := string(c.Status) + "/" + c.Reason + ": " + c.Message
		ok := strings.HasPrefix(text, want) && c.ObservedGeneration == a.ic.Generation
		for _, part := range parts {
			ok = ok && strings.Contains(c.Message, part)
		}
		return ok, fmt.Errorf("it is %s (generation %d of %d)", text, c.ObservedGeneration, a.ic.Generation)
	})
}

func (a install) ready() {
	a.t.Helper()
	a.condition("Ready", "True/Ready: istio-csr v0.14.2 answers at cert-manager-istio-csr."+a.ic.Namespace+".svc:443")
}

// readyWithoutWarning waits until it is ready and warns of nothing.
func (a install) readyWithoutWarning(what string) {
	a.t.Helper()
	planetest.Eventually(a.t, what, func() (bool, error) {
		a.get(a.ic)
		c := meta.FindStatusCondition(a.ic.Status.Conditions, "Ready")
		return c != nil && c.Status == "True" && !strings.Contains(c.Message, "warning"), fmt.Errorf("it is %v", c)
	})
}

// update changes the IstioCSR.
func (a install) update(change func(ic *operatorv1alpha1.IstioCSR)) {
	a.t.Helper()
	a.get(a.ic)
	before := a.ic.DeepCopy()
	change(a.ic)
	must(a.t, admin.Patch(a.t.Context(), a.ic, client.MergeFrom(before)))
}

// deployment is the agent's.
func (a install) deployment() *appsv1.Deployment {
	a.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: a.ic.Namespace, Name: agentName}}
	a.get(d)
	return d
}

// pods are the UIDs of the agent's, sorted, without those that are going: after a rollout the
// old ones are for a moment.
func (a install) pods() []string {
	a.t.Helper()
	list := &corev1.PodList{}
	must(a.t, admin.List(a.t.Context(), list, client.InNamespace(a.ic.Namespace), client.MatchingLabels{"app": agentName}))
	var uids []string
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			uids = append(uids, string(list.Items[i].UID))
		}
	}
	slices.Sort(uids)
	return uids
}

// revision is the number of the current revision of the agent's package.
func (a install) revision() int64 {
	a.t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istio-csr-" + a.ic.Namespace}}
	a.get(pkg)
	return pkg.Status.CurrentRevision
}

// exists says whether an object exists.
func (a install) exists(object client.Object, namespace, name string) bool {
	a.t.Helper()
	err := admin.Get(a.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
	must(a.t, client.IgnoreNotFound(err))
	return err == nil
}

// working is an agent that is ready, of a mesh with an issuer of its own root.
func working(t *testing.T, change func(ic *operatorv1alpha1.IstioCSR)) install {
	t.Helper()
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	a := newInstall(m, change)
	a.ready()
	return a
}
