// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
)

// serviceVersion is a ClusterServiceVersion of operators.coreos.com/v1alpha1, as far as it is rendered.
type serviceVersion struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		MinKubeVersion string        `json:"minKubeVersion"`
		InstallModes   []installMode `json:"installModes"`
		Install        struct {
			Strategy string `json:"strategy"`
			Spec     struct {
				Permissions        []permission `json:"permissions"`
				ClusterPermissions []permission `json:"clusterPermissions"`
				Deployments        []deployment `json:"deployments"`
			} `json:"spec"`
		} `json:"install"`
		Definitions struct {
			Owned []named `json:"owned"`
		} `json:"customresourcedefinitions"`
		APIServices struct {
			Owned []apiService `json:"owned"`
		} `json:"apiservicedefinitions"`
		Webhooks []webhook `json:"webhookdefinitions"`
	} `json:"spec"`
}

type installMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

// permission are rules for a ServiceAccount. Names of roles are made from its JSON: the fields, and
// their order, must stay.
type permission struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

type deployment struct {
	Name  string            `json:"name"`
	Label map[string]string `json:"label"`
	// Raw is the spec as it is written, and spec what was read of it.
	Raw  json.RawMessage `json:"spec"`
	spec appsv1.DeploymentSpec
}

type named struct {
	Name string `json:"name"`
}

type apiService struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// The types of webhooks.
const (
	validating = "ValidatingAdmissionWebhook"
	mutating   = "MutatingAdmissionWebhook"
	conversion = "ConversionWebhook"
)

type webhook struct {
	GenerateName   string              `json:"generateName"`
	Type           string              `json:"type"`
	DeploymentName string              `json:"deploymentName"`
	ContainerPort  int32               `json:"containerPort"`
	TargetPort     *intstr.IntOrString `json:"targetPort"`
	WebhookPath    *string             `json:"webhookPath"`
	ConversionCRDs []string            `json:"conversionCRDs"`

	Rules                   []admissionregistrationv1.RuleWithOperations    `json:"rules"`
	FailurePolicy           *admissionregistrationv1.FailurePolicyType      `json:"failurePolicy"`
	MatchPolicy             *admissionregistrationv1.MatchPolicyType        `json:"matchPolicy"`
	ObjectSelector          *metav1.LabelSelector                           `json:"objectSelector"`
	SideEffects             *admissionregistrationv1.SideEffectClass        `json:"sideEffects"`
	TimeoutSeconds          *int32                                          `json:"timeoutSeconds"`
	AdmissionReviewVersions []string                                        `json:"admissionReviewVersions"`
	ReinvocationPolicy      *admissionregistrationv1.ReinvocationPolicyType `json:"reinvocationPolicy"`
}

// readServiceVersion reads a CSV. The warnings name fields of Deployments that are not known and left
// out.
func readServiceVersion(object *unstructured.Unstructured) (*serviceVersion, []string, error) {
	place := "ClusterServiceVersion " + object.GetName()
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, nil, refused(place + " is not valid JSON")
	}
	csv := &serviceVersion{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, csv); err != nil {
		return nil, nil, refused(fmt.Sprintf("%s: %s", place, typeProblem("", err)))
	}
	var warnings []string
	for i := range csv.Spec.Install.Spec.Deployments {
		d := &csv.Spec.Install.Spec.Deployments[i]
		if len(d.Raw) == 0 {
			continue
		}
		unknown, err := kjson.UnmarshalStrict(d.Raw, &d.spec)
		if err != nil {
			return nil, nil, refused(fmt.Sprintf("%s: Deployment %s: %s", place, d.Name, typeProblem("spec", err)))
		}
		for _, field := range unknown {
			warnings = append(warnings, fmt.Sprintf("Deployment %s of the bundle: %v; the field is left out", d.Name, field))
		}
	}
	return csv, warnings, nil
}
