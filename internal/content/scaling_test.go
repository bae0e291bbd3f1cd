// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/probes"
)

// TestRevision_ScaledToZero: what a Deployment at zero replicas, and the autoscaler that
// this has switched off, say.
func TestLoadRevision_ScaledToZero(t *testing.T) {
	autoscaler := func(fields map[string]any) *unstructured.Unstructured {
		spec := map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "istiod"}}
		maps.Copy(spec, fields)
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"name": "istiod", "namespace": "istio-system"}, "spec": spec,
		}}
	}
	asked := func(replicas int64) *unstructured.Unstructured {
		manifest := deployment()
		manifest.Object["spec"] = map[string]any{"replicas": replicas}
		return manifest
	}
	elsewhere := deployment()
	elsewhere.SetNamespace("other")
	tests := map[string]struct {
		reason     string
		manifests  []*unstructured.Unstructured
		want       probes.Status
		autoscaler probes.Status
	}{
		"WithAutoscaler": {
			reason:    "the manifests want it to run, and nothing brings it back",
			manifests: []*unstructured.Unstructured{deployment(), autoscaler(nil)}, want: probes.False, autoscaler: probes.False,
		},
		"Alone": {
			reason:    "another program may scale it to nothing while it is not needed",
			manifests: []*unstructured.Unstructured{deployment()}, want: probes.True,
		},
		"AskedFor": {
			reason:    "the manifest says so itself",
			manifests: []*unstructured.Unstructured{asked(0), autoscaler(nil)}, want: probes.True, autoscaler: probes.True,
		},
		"AskedForMore": {
			reason:    "two replicas are wanted",
			manifests: []*unstructured.Unstructured{asked(2), autoscaler(nil)}, want: probes.False, autoscaler: probes.False,
		},
		"AutoscalerFromZero": {
			reason:    "the autoscaler itself goes down to nothing",
			manifests: []*unstructured.Unstructured{deployment(), autoscaler(map[string]any{"minReplicas": int64(0)})}, want: probes.True, autoscaler: probes.False,
		},
		"AutoscalerOfAnother": {
			reason:    "an autoscaler scales in its own namespace",
			manifests: []*unstructured.Unstructured{elsewhere, autoscaler(nil)}, want: probes.True, autoscaler: probes.False,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			phase := v1alpha1.Phase{Name: "plane"}
			for _, manifest := range tc.manifests {
				data, err := manifest.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				phase.Objects = append(phase.Objects, raw(string(data)))
			}
			loaded, err := LoadRevision(t.Context(), &fakeSlices{}, &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{phase}}})
			if err != nil {
				t.Fatal(err)
			}
			live := deployment()
			live.Object["spec"] = map[string]any{"replicas": int64(0)}
			live.Object["status"] = map[string]any{"observedGeneration": int64(2)}
			object := loaded.Phases[0].Objects[0]
			for what, probe := range map[string]probes.Probe{"ready": object.Probe, "serving": object.Serving} {
				if got := probe.Probe(live); got.Status != tc.want {
					t.Errorf("%s: %s is %s (%s), want %s", tc.reason, what, got.Status, got.Message, tc.want)
				}
			}
			if tc.autoscaler == "" {
				return
			}
			off := autoscaler(nil)
			off.Object["status"] = map[string]any{"conditions": []any{
				map[string]any{"type": "AbleToScale", "status": "True"},
				map[string]any{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"},
			}}
			if got := loaded.Phases[0].Objects[1].Probe.Probe(off); got.Status != tc.autoscaler {
				t.Errorf("%s: the autoscaler is %s (%s), want %s", tc.reason, got.Status, got.Message, tc.autoscaler)
			}
		})
	}
}
