// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions/probes"
)

var autoscalerKind = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}

// workload names an object that can be scaled.
type workload struct {
	kind            schema.GroupKind
	namespace, name string
}

func workloadOf(manifest *unstructured.Unstructured) workload {
	return workload{kind: manifest.GroupVersionKind().GroupKind(), namespace: manifest.GetNamespace(), name: manifest.GetName()}
}

// targetOf is what an autoscaler scales.
func targetOf(autoscaler *unstructured.Unstructured) workload {
	field := func(name string) string {
		text, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", name)
		return text
	}
	kind := schema.FromAPIVersionAndKind(field("apiVersion"), field("kind"))
	return workload{kind: kind.GroupKind(), namespace: autoscaler.GetNamespace(), name: field("name")}
}

// scaling says of the workloads that a revision has an autoscaler for whether they are
// meant to run: false for one whose manifest asks for no replicas. Without an autoscaler
// in the revision, a user who scales a workload to nothing may mean it.
type scaling map[workload]bool

func scalingOf(manifests [][]manifest) scaling {
	meant := scaling{}
	each := func(do func(object *unstructured.Unstructured)) {
		for _, phase := range manifests {
			for _, m := range phase {
				do(m.manifest)
			}
		}
	}
	each(func(object *unstructured.Unstructured) {
		least, set := replicasOf(object, "minReplicas")
		if object.GroupVersionKind().GroupKind() == autoscalerKind && (!set || least > 0) {
			meant[targetOf(object)] = true
		}
	})
	each(func(object *unstructured.Unstructured) {
		replicas, set := replicasOf(object, "replicas")
		if _, scaled := meant[workloadOf(object)]; scaled && set && replicas == 0 {
			meant[workloadOf(object)] = false
		}
	})
	return meant
}

func replicasOf(object *unstructured.Unstructured, field string) (int64, bool) {
	n, found, err := unstructured.NestedInt64(object.Object, "spec", field)
	return n, found && err == nil
}

// probe is what is asked of an object, besides what is asked of its kind: that a workload
// with an autoscaler runs. Zero replicas switch the autoscaler off, so that nothing brings
// them back. An autoscaler that the manifests themselves switch off need not scale.
func (s scaling) probe(manifest *unstructured.Unstructured, ofKind probes.Probe) probes.Probe {
	if manifest.GroupVersionKind().GroupKind() == autoscalerKind {
		if meant, known := s[targetOf(manifest)]; known && !meant {
			return probes.Condition{Type: "AbleToScale"}
		}
		return ofKind
	}
	if s[workloadOf(manifest)] {
		return probes.All{ofKind, probes.Func(scaledUp)}
	}
	return ofKind
}

// scaledUp asks that a workload has any replicas.
func scaledUp(object *unstructured.Unstructured) probes.Result {
	if replicas, set := replicasOf(object, "replicas"); set && replicas == 0 {
		return probes.NewResult(probes.False, "scaled to 0 replicas, which switches its autoscaler off: scale it to 1 or more, for example with kubectl scale --replicas=1")
	}
	return probes.Result{Status: probes.True}
}
