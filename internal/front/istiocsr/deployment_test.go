// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
)

// deploymentWith is a Deployment of the agent in namespace a, distinguished by its replicas.
func deploymentWith(replicas int64, metadata map[string]any) *unstructured.Unstructured {
	all := map[string]any{"namespace": "a", "name": AgentName}
	maps.Copy(all, metadata)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": all, "spec": map[string]any{"replicas": replicas},
	}}
}

// revisionWith is a revision of a package that has such a Deployment.
func revisionWith(t *testing.T, number int64, owner types.UID, deployment *unstructured.Unstructured) *v1alpha1.Revision {
	t.Helper()
	raw, err := json.Marshal(deployment.Object)
	if err != nil {
		t.Fatal(err)
	}
	name := PackageName("a")
	return &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d-%s", name, number, owner), Labels: map[string]string{v1alpha1.LabelPackage: name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: name, UID: owner, Controller: new(true)}},
		},
		Spec: v1alpha1.RevisionSpec{Package: name, Revision: number, Phases: []v1alpha1.Phase{{Name: "x", Objects: []v1alpha1.Object{
			{}, {Object: &runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cert-manager-istio-csr"}}`)}}, {Object: &runtime.RawExtension{Raw: raw}},
		}}}},
	}
}

// TestObserver_Deployment: what another installer has made is checked until it is ours, and
// then what the newest revision says, whatever other managers do to the object.
func TestObserver_Deployment(t *testing.T) {
	name := PackageName("a")
	controlled := func(kind, by, uid string) map[string]any {
		return map[string]any{"ownerReferences": []any{map[string]any{"apiVersion": "strata.run/v1alpha1", "kind": kind, "name": by, "uid": uid, "controller": true}}}
	}
	kept := map[string]any{"labels": map[string]any{"operator.openshift.io/istio-csr-pods": "as-found"}}
	spec := func(replicas int64) map[string]any { return map[string]any{"replicas": replicas} }
	for name, tc := range map[string]struct {
		reason    string
		current   *unstructured.Unstructured
		installed bool
		revisions []*v1alpha1.Revision
		want      *Deployment
		release   string
	}{
		"Nothing":      {reason: "there is none"},
		"Foreign":      {reason: "no owner controls it", current: deploymentWith(3, nil), want: &Deployment{Spec: spec(3), Foreign: true}},
		"ForeignLater": {reason: "it has come after our revision", current: deploymentWith(3, nil), installed: true, revisions: []*v1alpha1.Revision{revisionWith(t, 1, "u", deploymentWith(1, nil))}, want: &Deployment{Spec: spec(3), Foreign: true}},
		"Helm": {
			reason: "Helm says so", current: deploymentWith(3, map[string]any{"annotations": map[string]any{annotationReleaseName: "csr", annotationReleaseNamespace: "tools"}}),
			want: &Deployment{Spec: spec(3), Foreign: true}, release: "tools/csr",
		},
		"Others":    {reason: "it is not taken over", current: deploymentWith(3, controlled("Application", "x", "y"))},
		"Deleted":   {reason: "it goes", current: deploymentWith(3, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"}})},
		"OfABefore": {reason: "the package that controls it is gone", current: deploymentWith(3, controlled("Package", name, "before")), want: &Deployment{Spec: spec(3), Foreign: true}},
		"Ours":      {reason: "the revision counts, and not what is there", current: deploymentWith(3, controlled("Package", name, "u")), installed: true, revisions: []*v1alpha1.Revision{revisionWith(t, 1, "u", deploymentWith(1, nil))}, want: &Deployment{Spec: spec(1)}},
		"Unreferenced": {
			reason: "a user has taken our owner reference off", current: deploymentWith(3, map[string]any{"labels": map[string]any{v1alpha1.LabelPackage: name}}), installed: true,
			revisions: []*v1alpha1.Revision{revisionWith(t, 1, "u", deploymentWith(1, kept))}, want: &Deployment{Spec: spec(1), Existing: true},
		},
		"Missing": {reason: "it comes back as it was", installed: true, revisions: []*v1alpha1.Revision{revisionWith(t, 1, "u", deploymentWith(1, kept))}, want: &Deployment{Spec: spec(1), Existing: true}},
		"Newest": {
			reason: "the newest revision counts, of the package that is there", installed: true,
			revisions: []*v1alpha1.Revision{revisionWith(t, 2, "u", deploymentWith(2, nil)), revisionWith(t, 1, "u", deploymentWith(1, kept)), revisionWith(t, 7, "before", deploymentWith(7, kept))},
			want:      &Deployment{Spec: spec(2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*unstructured.Unstructured
			if tc.current != nil {
				objects = append(objects, tc.current)
			}
			o := newCluster(t, &fakeKeeper{}, nil, objects...)
			for _, revision := range tc.revisions {
				if err := o.cache.(client.Client).Create(t.Context(), revision); err != nil {
					t.Fatal(err)
				}
			}
			group := csrGroup{}
			if tc.installed {
				group.Existing = packagesOf("a")
				group.Existing[0].UID = "u"
			}
			facts := observed{}
			if err := o.observeDeployment(t.Context(), csrIn("a", false), group, &facts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, facts.Deployment); diff != "" || facts.Release != tc.release {
				t.Errorf("%s: release %q, Deployment (-want +got):\n%s", tc.reason, facts.Release, diff)
			}
		})
	}
}

// TestObserver_Injectors: what proxies are given is found beside istiod, and what cannot be
// found out is reported and stops nothing.
func TestObserver_Injectors(t *testing.T) {
	injector := func(name, values string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "mesh", "name": name}, "data": map[string]any{"values": values},
		}}
	}
	o := newCluster(t, &fakeKeeper{}, nil,
		injector("istio-sidecar-injector", `{"global": {"caAddress": "cert-manager-istio-csr.a.svc:443"}}`),
		injector("istio-sidecar-injector-canary", `{"global": {"caAddress": "cert-manager-istio-csr.b.svc:443"}}`),
		injector("istio-sidecar-injector-broken", `]`),
		injector("istio-sidecar-injector-unlisted", `{"global": {"caAddress": "cert-manager-istio-csr.a.svc:443"}}`),
	)
	a, b, c := csrIn("a", true), csrIn("b", true), csrIn("c", true)
	a.Spec.IstioCSRConfig.Istio.Revisions = []string{"default", "canary", "broken", "missing"}
	b.Spec.IstioCSRConfig.Istio.Revisions = []string{"canary"}
	c.Spec.IstioCSRConfig.Istio.Namespace = ""
	facts, err := o.Observe(t.Context(), csrGroup{Resources: []*operatorv1alpha1.IstioCSR{a, b, c, csrIn("d", false)}})
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string][]string{"a": {"ConfigMap mesh/istio-sidecar-injector"}, "b": {"ConfigMap mesh/istio-sidecar-injector-canary"}, "c": nil}
	for namespace, want := range clients {
		if diff := cmp.Diff(want, facts.Pointing.clients[namespace]); diff != "" {
			t.Errorf("pointing at the agent in %s (-want +got):\n%s", namespace, diff)
		}
	}
	unread := map[string][]string{
		"a": {"ConfigMap mesh/istio-sidecar-injector-broken: reading its values: invalid character ']' looking for beginning of value"},
		"c": {"the mesh: the spec does not say where it is"},
	}
	for namespace, want := range unread {
		if diff := cmp.Diff(want, facts.Pointing.unread[namespace]); diff != "" {
			t.Errorf("not known of the agent in %s (-want +got):\n%s", namespace, diff)
		}
	}
	if len(facts.Pointing.clients["d"])+len(facts.Pointing.unread["d"]) != 0 {
		t.Error("of an agent that stays no status should say anything")
	}
}
