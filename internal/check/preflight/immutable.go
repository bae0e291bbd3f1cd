// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions/probes"
)

// remedyImmutable is what helps against a field that cannot be changed.
const remedyImmutable = "set onImmutableChange: Replace on the object, which deletes it and creates it anew, or give it another name"

// fixed is a field that the API server does not let any client change.
type fixed struct {
	path []string
	// compare finds the first difference of the wanted value from the live one.
	compare comparer
	// unless says when it can be changed all the same. Optional.
	unless func(wanted, live map[string]any) bool
}

// fixedFields are the fields that cannot be changed, by kind, as the validation of
// Kubernetes 1.36 has them. What it does not know, the write shows.
var fixedFields = map[schema.GroupKind][]fixed{
	{Group: "apps", Kind: "Deployment"}:  {field("spec.selector", exact)},
	{Group: "apps", Kind: "ReplicaSet"}:  {field("spec.selector", exact)},
	{Group: "apps", Kind: "DaemonSet"}:   {field("spec.selector", exact)},
	{Group: "apps", Kind: "StatefulSet"}: {field("spec.selector", exact), field("spec.serviceName", exact), field("spec.podManagementPolicy", exact), field("spec.volumeClaimTemplates", partial)},
	{Group: "batch", Kind: "Job"}: {
		field("spec.selector", exact), field("spec.completionMode", exact), field("spec.backoffLimitPerIndex", exact),
		field("spec.podFailurePolicy", partial), field("spec.successPolicy", partial), field("spec.managedBy", exact),
		{path: []string{"spec", "template"}, compare: partial, unless: suspended},
		{path: []string{"spec", "completions"}, compare: exact, unless: indexed},
	},
	{Kind: "Service"}: {
		{path: []string{"spec", "clusterIP"}, compare: exact, unless: external}, {path: []string{"spec", "clusterIPs"}, compare: first, unless: external},
		{path: []string{"spec", "ipFamilies"}, compare: first, unless: external}, {path: []string{"spec", "loadBalancerClass"}, compare: exact, unless: otherType},
	},
	{Kind: "PersistentVolumeClaim"}: {
		field("spec.accessModes", exact), field("spec.selector", exact), field("spec.storageClassName", exact), field("spec.volumeMode", exact),
		field("spec.volumeName", exact), field("spec.dataSource", partial), field("spec.resources.requests.storage", shrunk),
	},
	{Kind: "PersistentVolume"}: {{path: []string{"spec"}, compare: but(partial,
		"capacity", "accessModes", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName")}},
	{Kind: "ConfigMap"}: {
		{path: []string{"data"}, compare: exact, unless: mutable}, {path: []string{"binaryData"}, compare: exact, unless: mutable}, {path: []string{"immutable"}, compare: exact, unless: mutable},
	},
	{Kind: "Secret"}: {
		field("type", exact), {path: []string{"data"}, compare: exact, unless: mutable}, {path: []string{"stringData"}, compare: text, unless: mutable},
		{path: []string{"immutable"}, compare: exact, unless: mutable},
	},
	{Group: rbacGroup, Kind: "RoleBinding"}:                    {field("roleRef", exact)},
	{Group: rbacGroup, Kind: "ClusterRoleBinding"}:             {field("roleRef", exact)},
	{Group: "storage.k8s.io", Kind: "StorageClass"}:            {field("provisioner", exact), field("parameters", exact), field("reclaimPolicy", exact), field("volumeBindingMode", exact)},
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:               {field("spec.attachRequired", exact), field("spec.volumeLifecycleModes", exact)},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:        {field("value", exact), field("preemptionPolicy", exact)},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:         {field("spec.controller", exact)},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:               {field("handler", exact)},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:         {field("addressType", exact)},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}: {field("spec.signerName", exact)},
}

func field(path string, compare comparer) fixed {
	return fixed{path: strings.Split(path, "."), compare: compare}
}

// checkImmutable finds changes of fields that cannot be changed, in objects that
// are in place. The manifests say whether there may be one, and only then the
// live object is read, which decides.
func (c *Checker) checkImmutable(ctx context.Context, in Input, changes []change, found *findings) error {
	for _, change := range changes {
		if change.before == nil || change.object.Replace {
			continue
		}
		suspects := suspectsOf(change)
		if len(suspects) == 0 {
			continue
		}
		live, exists, err := c.read(ctx, in, change, found)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		for _, suspect := range suspects {
			if d := suspect.differs(wantedOf(change), live.Object); d != nil {
				found.add(CheckImmutable, change.id, change.id.String()+": "+d.text(probes.ContainsSecrets(live)), remedyImmutable)
			}
		}
	}
	return nil
}

// wantedOf is what is applied of a manifest.
func wantedOf(change change) map[string]any {
	content := change.object.Manifest.Object
	for _, path := range change.object.Unmanaged {
		content = without(content, path)
	}
	return content
}

// suspectsOf are the fixed fields that a change sets to something else than the
// manifest before.
func suspectsOf(change change) []fixed {
	var suspects []fixed
	wanted := wantedOf(change)
	for _, f := range fixedFields[change.id.GroupKind] {
		is, set := at(wanted, f.path)
		was, _ := at(change.before.Object, f.path)
		if set && !equality.Semantic.DeepEqual(was, is) {
			suspects = append(suspects, f)
		}
	}
	return suspects
}

// differs is the difference of what is wanted from what is live, nil when there is
// none, or when one of the two sets nothing.
func (f fixed) differs(wanted, live map[string]any) *difference {
	if f.unless != nil && f.unless(wanted, live) {
		return nil
	}
	is, set := at(wanted, f.path)
	path := f.path
	if len(path) == 1 && path[0] == "stringData" {
		path = []string{"data"}
	}
	was, there := at(live, path)
	if !set || !there {
		return nil
	}
	return f.compare("."+strings.Join(f.path, "."), is, was)
}

func at(content map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(content, path...)
	return value, found && err == nil && value != nil && value != ""
}

func textAt(content map[string]any, path ...string) string {
	value, _ := at(content, path)
	text, _ := value.(string)
	return text
}

// suspended: the template of a Job can be changed before it starts.
func suspended(wanted, live map[string]any) bool {
	is, _ := at(wanted, []string{"spec", "suspend"})
	was, _ := at(live, []string{"spec", "suspend"})
	return is == true || was == true
}

// indexed: the completions of such a Job can be changed with its parallelism.
func indexed(_, live map[string]any) bool {
	return textAt(live, "spec", "completionMode") == "Indexed"
}

// external: such a Service has no addresses, which another type brings.
func external(wanted, live map[string]any) bool {
	return textAt(wanted, "spec", "type") == "ExternalName" || textAt(live, "spec", "type") == "ExternalName"
}

// otherType: the class of a load balancer goes with the type.
func otherType(wanted, live map[string]any) bool {
	return textAt(wanted, "spec", "type") != textAt(live, "spec", "type")
}

// mutable: only a ConfigMap or Secret that says so cannot be changed.
func mutable(_, live map[string]any) bool { return live["immutable"] != true }
