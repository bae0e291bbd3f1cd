// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const benchDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: istio-system, generation: 2, labels: {app: istiod, release: istio}}
spec: {replicas: 3}
status:
  observedGeneration: 2
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable}
`

// The engine asks every object of every live revision at each change, so the answer
// to a healthy object must cost next to nothing.
func benchmarks(tb testing.TB) map[string]struct {
	probe  Probe
	object *unstructured.Unstructured
} {
	deployment, _ := Default(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	healthy := object(tb, benchDeployment)
	unhealthy := healthy.DeepCopy()
	unhealthy.Object["status"].(map[string]any)["availableReplicas"] = int64(0)
	field := FieldValue{Path: path(tb, ".status.conditions[type=Available].status"), Value: "True"}
	equal := FieldsEqual{A: path(tb, ".spec.replicas"), B: path(tb, ".status.updatedReplicas")}
	return map[string]struct {
		probe  Probe
		object *unstructured.Unstructured
	}{
		"DeploymentTrue":  {deployment, healthy},
		"DeploymentFalse": {deployment, unhealthy},
		"Condition":       {Condition{Type: "Available"}, healthy},
		"FieldValue":      {field, healthy},
		"FieldsEqual":     {equal, healthy},
		"FieldAtLeast":    {FieldValue{Path: path(tb, ".status.availableReplicas"), Value: int64(2), Operator: AtLeast}, healthy},
		"FieldQuantity":   {FieldValue{Path: path(tb, ".spec.replicas"), Value: resource.MustParse("3")}, healthy},
		"Observed":        {ObservedGeneration{Inner: All{}, Required: true}, healthy},
		"AnyOfTwo":        {Any{Condition{Type: "Available"}, Condition{Type: "Progressing"}}, healthy},
		"AllOfFour": {All{
			ObservedGeneration{Inner: Condition{Type: "Available"}}, field, equal,
			Select{Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Inner: deployment},
		}, healthy},
	}
}

func BenchmarkProbe(b *testing.B) {
	for name, bm := range benchmarks(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bm.probe.Probe(bm.object)
			}
		})
	}
}

func TestProbes_TrueDoesNotAllocate(t *testing.T) {
	for name, bm := range benchmarks(t) {
		if bm.probe.Probe(bm.object).Status != True {
			continue
		}
		if n := testing.AllocsPerRun(100, func() { bm.probe.Probe(bm.object) }); n > 0 {
			t.Errorf("%s allocates %v times to say True, want 0", name, n)
		}
	}
}

func BenchmarkParsePath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePath(`.metadata.annotations["a.b/c"].status.conditions[type=Ready].status`); err != nil {
			b.Fatal(err)
		}
	}
}
