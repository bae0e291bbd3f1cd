// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
)

// maxLabel is how long the value of a label may be.
const maxLabel = 63

// annotationApplied is what kubectl apply leaves on objects.
const annotationApplied = "kubectl.kubernetes.io/last-applied-configuration"

const (
	phaseDeploy      = "deploy"
	phaseAPIServices = "apiservices"
	phaseAdmission   = "admission"
	phaseResources   = "resources"
)

// phaseNames are the phases in their order, that of OLM. APIServices and the custom resources of the
// bundle's own definitions come after the pods that serve them, and the resources after the webhooks.
var phaseNames = []string{
	"namespaces", "policies", "identity", "configuration", "storage", "crds", "roles", "bindings", "infrastructure",
	phaseDeploy, phaseAPIServices, "scaling", "publish", phaseAdmission, phaseResources,
}

// phaseOf is where objects of a kind are rolled out. All others are deployed.
var phaseOf = map[schema.GroupKind]string{
	{Kind: "Namespace"}: "namespaces",

	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: "policies",
	{Group: "policy", Kind: "PodDisruptionBudget"}:      "policies",
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: "policies",

	{Kind: "ServiceAccount"}: "identity",
	{Kind: "ConfigMap"}:      "configuration",
	{Kind: "Secret"}:         "configuration",

	{Kind: "PersistentVolume"}:                            "storage",
	{Kind: "PersistentVolumeClaim"}:                       "storage",
	{Group: "storage.k8s.io", Kind: "StorageClass"}:       "storage",
	definitionKind:                                        "crds",
	{Group: rbacGroup, Kind: "ClusterRole"}:               "roles",
	{Group: rbacGroup, Kind: "Role"}:                      "roles",
	{Group: rbacGroup, Kind: "ClusterRoleBinding"}:        "bindings",
	{Group: rbacGroup, Kind: "RoleBinding"}:               "bindings",
	{Kind: "Service"}:                                     "infrastructure",
	{Group: "cert-manager.io", Kind: "Issuer"}:            "infrastructure",
	{Group: "cert-manager.io", Kind: "ClusterIssuer"}:     "infrastructure",
	{Group: "cert-manager.io", Kind: "Certificate"}:       "infrastructure",
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: phaseAPIServices,

	{Group: groupAutoscaler, Kind: "VerticalPodAutoscaler"}: "scaling",

	{Group: groupMonitoring, Kind: "PrometheusRule"}:  "publish",
	{Group: groupMonitoring, Kind: "ServiceMonitor"}:  "publish",
	{Group: groupMonitoring, Kind: "PodMonitor"}:      "publish",
	{Group: "networking.k8s.io", Kind: "Ingress"}:     "publish",
	{Group: "route.openshift.io", Kind: "Route"}:      "publish",
	{Group: groupConsole, Kind: "ConsoleCLIDownload"}: "publish",
	{Group: groupConsole, Kind: "ConsoleLink"}:        "publish",
	{Group: groupConsole, Kind: "ConsolePlugin"}:      "publish",
	{Group: groupConsole, Kind: "ConsoleQuickStart"}:  "publish",
	{Group: groupConsole, Kind: "ConsoleYAMLSample"}:  "publish",

	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   phaseAdmission,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: phaseAdmission,
}

// phaseFor is where one object is rolled out.
func phaseFor(object *unstructured.Unstructured, brought map[schema.GroupKind]bool) string {
	kind := object.GroupVersionKind().GroupKind()
	if brought[kind] {
		return phaseResources
	}
	if kind == (schema.GroupKind{Kind: "Service"}) {
		// A load balancer may have no address before there are pods, and a phase waits for it.
		if kind, _, err := unstructured.NestedString(object.Object, "spec", "type"); err == nil && kind == "LoadBalancer" {
			return phaseDeploy
		}
	}
	return cmp.Or(phaseOf[kind], phaseDeploy)
}

// Phases are objects that another program has rendered for a target, as Render gives those of a
// bundle. The error is a RefusedError.
func Phases(objects []*unstructured.Unstructured, target Target) ([]content.Phase, error) {
	placed, err := place(objects, target)
	if err != nil {
		return nil, err
	}
	return phases(placed, target)
}

// phases sorts objects into phases, as they are applied for a target. Those without objects are left
// out. The objects are not changed.
func phases(objects []*unstructured.Unstructured, target Target) ([]content.Phase, error) {
	brought := map[schema.GroupKind]bool{}
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() == definitionKind {
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
			brought[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	byName := map[string][]content.Object{}
	for _, object := range objects {
		applied, err := appliedFor(object, target)
		if err != nil {
			return nil, err
		}
		name := phaseFor(object, brought)
		byName[name] = append(byName[name], content.Object{Manifest: applied})
	}
	var all []content.Phase
	for _, name := range phaseNames {
		if sorted := byName[name]; len(sorted) > 0 {
			slices.SortFunc(sorted, func(a, b content.Object) int { return compare(a.Manifest, b.Manifest) })
			all = append(all, content.Phase{Name: name, CollisionProtection: v1alpha1.CollisionPrevent, Objects: sorted})
		}
	}
	return all, nil
}

// appliedFor is an object with the labels of its owner, and without what is not applied.
func appliedFor(object *unstructured.Unstructured, target Target) (*unstructured.Unstructured, error) {
	applied := object.DeepCopy()
	delete(applied.Object, "status")
	metadata := map[string]any{"name": object.GetName()}
	if namespace := object.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	applied.Object["metadata"] = metadata
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, annotationApplied)
	if len(annotations) > 0 {
		applied.SetAnnotations(annotations)
	}
	owner := target.Extension
	if len(owner) > maxLabel {
		owner = target.Package
	}
	applied.SetLabels(with(with(maps.Clone(object.GetLabels()), olmv1.LabelOwnerKind, "ClusterExtension"), olmv1.LabelOwnerName, owner))
	if content.IsSecret(applied) {
		if err := plain.EncodeStringData(applied); err != nil {
			return nil, refused(err.Error())
		}
	}
	return applied, nil
}

// compare orders by group, version, kind, namespace and name.
func compare(a, b *unstructured.Unstructured) int {
	ka, kb := a.GroupVersionKind(), b.GroupVersionKind()
	return cmp.Or(
		cmp.Compare(ka.Group, kb.Group), cmp.Compare(ka.Version, kb.Version), cmp.Compare(ka.Kind, kb.Kind),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()),
	)
}
