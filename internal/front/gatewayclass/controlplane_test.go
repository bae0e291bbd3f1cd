// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
)

// wantPhases are the 18 objects of the chart, our NetworkPolicies and the tag: the same
// in every version.
var wantPhases = map[string][]string{
	"rbac-and-config": {
		"ServiceAccount openshift-ingress/istiod-openshift-gateway",
		"ConfigMap openshift-ingress/istio-openshift-gateway",
		"ConfigMap openshift-ingress/istio-openshift-gateway-gatewayclass-openshift-default",
		"ConfigMap openshift-ingress/istio-sidecar-injector-openshift-gateway",
		"ConfigMap openshift-ingress/values-openshift-gateway",
		"Role openshift-ingress/istiod-openshift-gateway",
		"ClusterRole /istio-reader-clusterrole-openshift-gateway-openshift-ingress",
		"ClusterRole /istiod-clusterrole-openshift-gateway-openshift-ingress",
		"ClusterRole /istiod-gateway-controller-openshift-gateway-openshift-ingress",
		"RoleBinding openshift-ingress/istiod-openshift-gateway",
		"ClusterRoleBinding /istio-reader-clusterrole-openshift-gateway-openshift-ingress",
		"ClusterRoleBinding /istiod-clusterrole-openshift-gateway-openshift-ingress",
		"ClusterRoleBinding /istiod-gateway-controller-openshift-gateway-openshift-ingress",
		"NetworkPolicy openshift-ingress/istiod-allow",
		"NetworkPolicy openshift-ingress/gateways-allow",
		"Service openshift-ingress/istiod-revision-tag-default",
	},
	"control-plane": {
		"Service openshift-ingress/istiod-openshift-gateway",
		"Deployment openshift-ingress/istiod-openshift-gateway",
		"HorizontalPodAutoscaler openshift-ingress/istiod-openshift-gateway",
	},
	"webhooks": {
		"MutatingWebhookConfiguration /istio-sidecar-injector-openshift-gateway-openshift-ingress",
		"ValidatingWebhookConfiguration /istio-validator-openshift-gateway-openshift-ingress",
	},
}

func TestRender_ControlPlane(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			p := mustRender(t, input(version))[1]
			if p.Name != "istiod-openshift-gateway" || !cmp.Equal(p.After, []string{"istio-crds"}) {
				t.Errorf("got package %s after %v", p.Name, p.After)
			}
			var order []string
			got := map[string][]string{}
			for _, phase := range p.Phases {
				order = append(order, phase.Name)
				if phase.CollisionProtection != v1alpha1.CollisionIfNoController {
					t.Errorf("phase %s has collision protection %s: an older operator's objects, which no controller owns, must be taken over", phase.Name, phase.CollisionProtection)
				}
				for _, o := range phase.Objects {
					got[phase.Name] = append(got[phase.Name], o.Manifest.GetKind()+" "+o.Manifest.GetNamespace()+"/"+o.Manifest.GetName())
					stays := o.Manifest.GetName() == GatewaysPolicyName
					if (o.Deletion == v1alpha1.ObjectRetain) != stays || o.CollisionProtection != "" {
						t.Errorf("%s has deletion %q and collision protection %q of its own", o.Manifest.GetName(), o.Deletion, o.CollisionProtection)
					}
				}
			}
			if diff := cmp.Diff([]string{"rbac-and-config", "control-plane", "webhooks"}, order); diff != "" {
				t.Errorf("phases:\n%s", diff)
			}
			if diff := cmp.Diff(wantPhases, got); diff != "" {
				t.Errorf("objects:\n%s", diff)
			}
		})
	}
}

// An istiod that runs reads its ConfigMaps again at once, so they follow the new istiod, which
// understands those of before; on the way back they come first.
func TestRender_ConfigFollowsIstiod(t *testing.T) {
	for running, want := range map[string]string{"": PhaseWebhooks, "1.28.2": PhaseWebhooks, "1.29.1": PhaseWebhooks, "1.31.0": ""} {
		in := input("1.29")
		in.Running = running
		for _, phase := range mustRender(t, in)[1].Phases {
			for _, o := range phase.Objects {
				late := ""
				if o.Manifest.GetKind() == "ConfigMap" {
					late = want
				}
				if o.UpdatePhase != late {
					t.Errorf("while %q runs, %s %s is updated in phase %q, want %q", running, o.Manifest.GetKind(), o.Manifest.GetName(), o.UpdatePhase, late)
				}
			}
		}
	}
}

// TestRender_Adoptable shows that Helm would adopt every object of the chart, so
// an older operator can take over after a downgrade.
func TestRender_Adoptable(t *testing.T) {
	for _, version := range istio.Minors() {
		each(mustRender(t, input(version))[1:], func(o *unstructured.Unstructured) {
			if got := o.GetAnnotations()["meta.helm.sh/release-name"]; got != "openshift-gateway-istiod" {
				t.Errorf("%s: %s %s has release name %q", version, o.GetKind(), o.GetName(), got)
			}
			if got := o.GetAnnotations()["meta.helm.sh/release-namespace"]; got != "openshift-ingress" {
				t.Errorf("%s: %s %s has release namespace %q", version, o.GetKind(), o.GetName(), got)
			}
			managedBy, ofChart := o.GetLabels()["app.kubernetes.io/managed-by"], o.GetKind() != "NetworkPolicy" && o.GetName() != TagServiceName
			if (managedBy == "Helm") != ofChart {
				t.Errorf("%s: %s %s is managed by %q", version, o.GetKind(), o.GetName(), managedBy)
			}
			if got := o.GetLabels()["app.kubernetes.io/version"]; ofChart && !strings.HasPrefix(got, version+".") {
				t.Errorf("%s: %s %s is of version %q", version, o.GetKind(), o.GetName(), got)
			}
			if len(o.GetOwnerReferences()) > 0 {
				t.Errorf("%s: %s %s has owners", version, o.GetKind(), o.GetName())
			}
			if _, ok := o.Object["status"]; ok {
				t.Errorf("%s: %s %s has a status", version, o.GetKind(), o.GetName())
			}
			if strings.Contains(string(canonical(t, o)), "creationTimestamp") {
				t.Errorf("%s: %s %s has a time", version, o.GetKind(), o.GetName())
			}
		})
	}
}

func TestRender_Webhooks(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			packages := mustRender(t, input(version))
			for kind, want := range map[string]struct {
				name     string
				webhooks []string
				policy   any
			}{
				"MutatingWebhookConfiguration":   {name: "istio-sidecar-injector-openshift-gateway-openshift-ingress", webhooks: []string{"rev.namespace.sidecar-injector.istio.io", "rev.object.sidecar-injector.istio.io"}, policy: "Fail"},
				"ValidatingWebhookConfiguration": {name: "istio-validator-openshift-gateway-openshift-ingress", webhooks: []string{"rev.validation.istio.io"}},
			} {
				var names []string
				for _, item := range findObject(t, packages, kind, want.name).Object["webhooks"].([]any) {
					webhook := item.(map[string]any)
					names = append(names, webhook["name"].(string))
					if got := webhook["failurePolicy"]; got != want.policy {
						t.Errorf("%s: failurePolicy of %s is %v, want %v", kind, webhook["name"], got, want.policy)
					}
					config := webhook["clientConfig"].(map[string]any)
					if _, ok := config["caBundle"]; ok || config["service"] == nil {
						t.Errorf("%s: %s asks %v, want istiod's Service and no CA bundle", kind, webhook["name"], config)
					}
				}
				if diff := cmp.Diff(want.webhooks, names); diff != "" {
					t.Errorf("webhooks of %s:\n%s", kind, diff)
				}
			}
		})
	}
}

// object is a manifest of a kind.
func object(apiVersion, kind, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}}}
	if namespace != "" {
		o.SetNamespace(namespace)
	}
	return o
}

func TestToPhases_Errors(t *testing.T) {
	owned := object("v1", "ConfigMap", "openshift-ingress")
	_ = unstructured.SetNestedSlice(owned.Object, []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}}, "metadata", "ownerReferences")
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   []string
	}{
		"Secret":     {reason: "a Secret must not stand in a revision", object: object("v1", "Secret", "openshift-ingress"), want: []string{"Secret x", "not expected"}},
		"OtherKind":  {reason: "what a new chart brings must be looked at", object: object("policy.networking.k8s.io/v1", "ClusterNetworkPolicy", ""), want: []string{"ClusterNetworkPolicy x", "not expected"}},
		"OtherGroup": {reason: "a kind of the same name in another group is another kind", object: object("example.com/v1", "Service", "n"), want: []string{"Service x", "Service.example.com"}},
		"Namespace":  {reason: "a cluster-scoped object has no namespace", object: object("rbac.authorization.k8s.io/v1", "ClusterRole", "n"), want: []string{"ClusterRole x", "namespace n"}},
		"Owner":      {reason: "owners are the engine's to set", object: owned, want: []string{"ConfigMap x", "owner"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			phases, err := toPhases([]*unstructured.Unstructured{tc.object}, ReleaseName, false)
			if err == nil {
				t.Fatalf("%s: got %v", tc.reason, phases)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not contain %q", tc.reason, err, want)
				}
			}
		})
	}
}
