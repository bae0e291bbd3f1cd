// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import "github.com/strata-run/strata/internal/istio"

// Names that users, other modules of Kyma and Istio rely on.
const (
	// IstioNamespace is where Istio runs.
	IstioNamespace = "istio-system"

	// IngressGateway is the name of the gateway for traffic into the cluster: of its
	// Deployment, Service and autoscaler.
	IngressGateway = "istio-ingressgateway"
	// EgressGateway is that of the gateway for traffic out of the cluster.
	EgressGateway = "istio-egressgateway"

	// PriorityClass is that of everything installed.
	PriorityClass = "istio-kyma-priority"

	// InputConfigMap contains the merged input of a revision: what the Istio resource and the
	// defaults give together, under the key [InputKey].
	InputConfigMap = "kyma-istio-operator"
	// InputKey is the key in [InputConfigMap].
	InputKey = "istiooperator.yaml"

	// MeshConfigMap contains the configuration of the mesh that proxies and istiod read.
	MeshConfigMap = "istio"

	// FeaturesConfigMap in the namespace of the Istio resource has switches of [Features],
	// as JSON, under the key [FeaturesKey].
	FeaturesConfigMap = "istio-features"
	// FeaturesKey is the key in [FeaturesConfigMap].
	FeaturesKey = "features"

	// DeprecatedELB is the ConfigMap in [IstioNamespace] whose existence keeps a classic
	// load balancer on AWS.
	DeprecatedELB = "elb-deprecated"

	// ProvisioningInfo in the namespace of the Istio resource says how the cluster was
	// made, as YAML, under the key [ProvisioningKey].
	ProvisioningInfo = "kyma-provisioning-info"
	// ProvisioningKey is the key in [ProvisioningInfo].
	ProvisioningKey = "details"
)

// Names of the packages and their phases, in the order of the rollout.
const (
	// PackageCRDs is the package of Istio's CRDs. They are retained, and never go back.
	PackageCRDs = "kyma-istio-crds"
	// PackageIstio is the package of everything else.
	PackageIstio = "kyma-istio"

	// PhaseCRDs is the only phase of [PackageCRDs].
	PhaseCRDs = "crds"

	// PhaseNamespace contains the namespace and the priority class.
	PhaseNamespace = "namespace"
	// PhaseConfig contains accounts, rights and configuration.
	PhaseConfig = istio.PhaseConfig
	// PhasePolicies contains network policies, before anything that they guard.
	PhasePolicies = istio.PhasePolicies
	// PhaseControlPlane contains istiod. A new node agent is created in it, too.
	PhaseControlPlane = istio.PhaseControlPlane
	// PhaseWebhooks contains what makes the API server call istiod. The injection and
	// configuration of proxies stay as they are until then: an istiod that does not come up
	// changes nothing for them.
	PhaseWebhooks = istio.PhaseWebhooks
	// PhaseNodeAgent is when a node agent that runs is replaced.
	PhaseNodeAgent = "node-agent"
	// PhaseGateways contains the gateways: they stay as they are until istiod works.
	PhaseGateways = "gateways"
	// PhaseResources contains Istio's own custom resources and autoscalers.
	PhaseResources = "mesh-resources"
)

const (
	// cniConfigMap is what the node agent reads.
	cniConfigMap = "istio-cni-config"

	// releaseName is what charts see as the Helm release.
	releaseName = "istio"

	// owner is the value of the label install.operator.istio.io/owning-resource.
	owner = "kyma-istio"

	// disclaimer is the value of the annotation of that name.
	disclaimer = "This resource is managed by the Istio module of Kyma. Changes to it are reverted."

	// AnnotationCRDVersion on a CRD of Istio is the version that it is from.
	AnnotationCRDVersion = "app.kubernetes.io/version"

	labelWarden = "namespaces.warden.kyma-project.io/validate"
)
