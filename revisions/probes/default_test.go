// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaultKinds are those with a default probe, sorted by group, then by kind.
func defaultKinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(defaults), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

func TestDefaultKinds(t *testing.T) {
	var got []string
	for _, kind := range defaultKinds() {
		got = append(got, kind.String())
		if _, ok := Default(kind); !ok {
			t.Errorf("%s is listed but has no default probe", kind)
		}
	}
	want := []string{
		"Namespace", "PersistentVolumeClaim", "Pod", "Service",
		"MutatingWebhookConfiguration.admissionregistration.k8s.io",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io",
		"CustomResourceDefinition.apiextensions.k8s.io",
		"APIService.apiregistration.k8s.io",
		"DaemonSet.apps", "Deployment.apps", "ReplicaSet.apps", "StatefulSet.apps",
		"HorizontalPodAutoscaler.autoscaling",
		"Job.batch",
		"Certificate.cert-manager.io", "ClusterIssuer.cert-manager.io", "Issuer.cert-manager.io",
		"PodDisruptionBudget.policy",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("the default probes: -want, +got:\n%s", diff)
	}
}

func TestDefault_NoneFor(t *testing.T) {
	for _, kind := range []schema.GroupKind{
		{},
		{Kind: "Secret"},
		{Kind: "Deployment"},
		{Group: "extensions", Kind: "Deployment"},
		{Group: "networking.k8s.io", Kind: "Ingress"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
	} {
		if p, ok := Default(kind); ok || p != nil {
			t.Errorf("Default(%s) = %v, want none", kind, p)
		}
	}
}

func TestDefault_Conditions(t *testing.T) {
	testDefault(t, "apiregistration.k8s.io", "APIService", map[string]probeCase{
		"Local": {
			reason: "An API of the server itself is available at once.",
			object: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: "True", reason: Local, message: Local APIServices are always available}]}}`,
			want:   Result{Status: True},
		},
		"MissingEndpoints": {
			reason: "The aggregator says why it cannot reach the server.",
			object: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: 'endpoints for service/metrics-server in "kube-system" have no addresses'}]}}`,
			want:   Result{False, `condition "Available" is "False", expected "True": MissingEndpoints: endpoints for service/metrics-server in "kube-system" have no addresses`},
		},
		"Unseen": {
			reason: "The aggregator has not looked at it.",
			object: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {}}`,
			want:   Result{Unknown, `the object has no condition "Available" yet`},
		},
	})
	testDefault(t, "cert-manager.io", "Certificate", map[string]probeCase{
		"Ready": {
			reason: "The certificate was issued.",
			object: `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "True", reason: Ready, observedGeneration: 1}], revision: 1}}`,
			want:   Result{Status: True},
		},
		"Changed": {
			reason: "The certificate was issued for the spec before.",
			object: `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", reason: Ready, observedGeneration: 1}]}}`,
			want:   Result{Unknown, `condition "Ready" is not up to date (generation 2, observed 1)`},
		},
		"Issuing": {
			reason: "The certificate is being issued.",
			object: `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {generation: 1}, status: {conditions: [{type: Issuing, status: "True", reason: DoesNotExist, observedGeneration: 1}, {type: Ready, status: "False", reason: DoesNotExist, message: Issuing certificate as Secret does not exist, observedGeneration: 1}]}}`,
			want:   Result{False, `condition "Ready" is "False", expected "True": DoesNotExist: Issuing certificate as Secret does not exist`},
		},
	})
	for _, kind := range []string{"Issuer", "ClusterIssuer"} {
		testDefault(t, "cert-manager.io", kind, map[string]probeCase{
			kind + "Ready": {
				reason: "The issuer is verified.",
				object: `{apiVersion: cert-manager.io/v1, kind: ` + kind + `, metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "True", reason: IsReady, observedGeneration: 1}]}}`,
				want:   Result{Status: True},
			},
			kind + "Unseen": {
				reason: "cert-manager does not run, or has not looked at it.",
				object: `{apiVersion: cert-manager.io/v1, kind: ` + kind + `, metadata: {generation: 1}}`,
				want:   Result{Unknown, `the object has no condition "Ready" yet`},
			},
		})
	}
}

func TestDefault_CustomResourceDefinition(t *testing.T) {
	testDefault(t, "apiextensions.k8s.io", "CustomResourceDefinition", map[string]probeCase{
		"Established": {
			reason: "The resource is served.",
			object: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wasmplugins.extensions.istio.io, generation: 1}
status:
  acceptedNames: {kind: WasmPlugin, plural: wasmplugins}
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted}
  storedVersions: [v1alpha1]`,
			want: Result{Status: True},
		},
		"Installing": {
			reason: "The names are accepted, the resource is not served yet.",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing, message: the initial names have been accepted}]}}`,
			want:   Result{False, `condition "Established" is "False", expected "True": Installing: the initial names have been accepted`},
		},
		"NamesConflict": {
			reason: "Another definition has the name.",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "False", reason: KindConflict, message: '"Widget" is already in use'}, {type: Established, status: "False", reason: NotAccepted, message: not all names are accepted}]}}`,
			want:   Result{False, `condition "NamesAccepted" is "False", expected "True": KindConflict: "Widget" is already in use`},
		},
		"NamesConflictLater": {
			reason: "It is served, but a changed short name belongs to another.",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: "True"}, {type: NamesAccepted, status: "False", reason: ShortNamesConflict, message: '"w" is already in use'}]}}`,
			want:   Result{False, `condition "NamesAccepted" is "False", expected "True": ShortNamesConflict: "w" is already in use`},
		},
		"Terminating": {
			reason: "The objects of the resource are being deleted.",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}, {type: Terminating, status: "True", reason: InstanceDeletionInProgress}]}}`,
			want:   Result{False, "the definition is being deleted"},
		},
		"Unseen": {
			reason: "The server has not looked at it.",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [], storedVersions: [v1]}}`,
			want:   Result{Unknown, `the object has no condition "Established" yet`},
		},
	})
}

func TestDefault_Webhooks(t *testing.T) {
	const (
		bundle  = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI=" // begins like a certificate
		newline = "Cg=="
	)
	cases := map[string]probeCase{
		"AllHaveOne": {
			reason: "The server behind each webhook can be verified.",
			object: `{webhooks: [{name: a.istio.io, clientConfig: {caBundle: ` + bundle + `, service: {name: istiod, namespace: istio-system}}}, {name: b.istio.io, clientConfig: {caBundle: ` + bundle + `, service: {name: istiod}}}]}`,
			want:   Result{Status: True},
		},
		"OneLacks": {
			reason: "The webhook that cannot be reached is named.",
			object: `{webhooks: [{name: a.istio.io, clientConfig: {caBundle: ` + bundle + `, service: {name: istiod}}}, {name: b.istio.io, clientConfig: {service: {name: istiod}}}]}`,
			want:   Result{False, `no certificate in .clientConfig.caBundle of the webhook "b.istio.io"`},
		},
		"EmptyAndPlaceholder": {
			reason: "An empty bundle is none, and a line break is no certificate.",
			object: `{webhooks: [{name: a.istio.io, clientConfig: {caBundle: "", service: {name: istiod}}}, {name: b.istio.io, clientConfig: {caBundle: ` + newline + `, service: {name: istiod}}}]}`,
			want:   Result{False, `no certificate in .clientConfig.caBundle of the webhook "a.istio.io", "b.istio.io"`},
		},
		"NotBase64": {
			reason: "Text that is no base64 is no bundle.",
			object: `{webhooks: [{name: a.istio.io, clientConfig: {caBundle: "-----BEGIN CERTIFICATE-----"}}]}`,
			want:   Result{False, `no certificate in .clientConfig.caBundle of the webhook "a.istio.io"`},
		},
		"URLWithout": {
			reason: "A server named by URL may have a certificate that everybody trusts.",
			object: `{webhooks: [{name: a.example.org, clientConfig: {url: "https://example.org/hook"}}]}`,
			want:   Result{Status: True},
		},
		"URLWithPlaceholder": {
			reason: "A bundle that is given has to hold a certificate, with a URL as well.",
			object: `{webhooks: [{name: a.example.org, clientConfig: {url: "https://example.org/hook", caBundle: ` + newline + `}}]}`,
			want:   Result{False, `no certificate in .clientConfig.caBundle of the webhook "a.example.org"`},
		},
		"NoName": {
			reason: "Without a name the place is reported.",
			object: `{webhooks: [{name: a.istio.io, clientConfig: {caBundle: ` + bundle + `}}, text]}`,
			want:   Result{False, `no certificate in .clientConfig.caBundle of the webhook "webhooks[1]"`},
		},
		"NoWebhooks": {
			reason: "A configuration without webhooks asks nothing of anybody.",
			object: `{webhooks: []}`,
			want:   Result{Status: True},
		},
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		of := map[string]probeCase{}
		for name, tc := range cases {
			tc.object = "{apiVersion: admissionregistration.k8s.io/v1, kind: " + kind + ", " + tc.object[1:]
			of[kind+name] = tc
		}
		testDefault(t, "admissionregistration.k8s.io", kind, of)
	}
}

func TestDefault_HorizontalPodAutoscaler(t *testing.T) {
	testDefault(t, "autoscaling", "HorizontalPodAutoscaler", map[string]probeCase{
		"Scaling": {
			reason: "It can scale and has metrics.",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: AbleToScale, status: "True", reason: ReadyForNewScale}, {type: ScalingActive, status: "True", reason: ValidMetricFound}, {type: ScalingLimited, status: "True", reason: TooFewReplicas}]}}`,
			want:   Result{Status: True},
		},
		"NotAble": {
			reason: "The target does not exist.",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: 'deployments.apps "istiod" not found'}]}}`,
			want:   Result{False, `condition "AbleToScale" is "False", expected "True": FailedGetScale: deployments.apps "istiod" not found`},
		},
		"NoMetrics": {
			reason: "Without a metrics server it never is active, and the workload runs all the same.",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: AbleToScale, status: "True", reason: SucceededGetScale}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: unable to get metrics for resource cpu}]}}`,
			want:   Result{True, "scaling is not active: FailedGetResourceMetric: unable to get metrics for resource cpu"},
		},
		"SwitchedOff": {
			reason: "Its target was scaled to nothing, and it brings nothing back.",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: [{type: AbleToScale, status: "True", reason: SucceededGetScale}, {type: ScalingActive, status: "False", reason: ScalingDisabled, message: scaling is disabled since the replica count of the target is zero}]}}`,
			want:   Result{False, "scaling is not active: ScalingDisabled: scaling is disabled since the replica count of the target is zero"},
		},
		"Unseen": {
			reason: "The controller has not looked at it.",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {currentReplicas: 0, desiredReplicas: 0}}`,
			want:   Result{Unknown, `the object has no condition "AbleToScale" yet`},
		},
		"V1": {
			reason: "In autoscaling/v1 the conditions stand in an annotation.",
			object: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"True","reason":"SucceededGetScale"}]'}}, status: {currentReplicas: 1}}`,
			want:   Result{Status: True},
		},
		"V1NotAble": {
			reason: "They count there as well.",
			object: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]'}}}`,
			want:   Result{False, `condition "AbleToScale" is "False", expected "True": FailedGetScale`},
		},
		"V1Garbage": {
			reason: "An annotation that is no JSON says nothing.",
			object: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{'}}}`,
			want:   Result{Unknown, `the object has no condition "AbleToScale" yet`},
		},
	})
}
