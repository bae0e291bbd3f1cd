// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/revisionstest"
)

var benchOwner = revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: "owner", Label: "strata.run/package"}

// benchRevision has 35 objects of 6 kinds in 3 phases, with manifests of the size
// that charts render.
func benchRevision() revisions.Revision {
	counts := []struct {
		phase, apiVersion, kind string
		count                   int
	}{
		{"config", "v1", "ServiceAccount", 6}, {"config", "v1", "ConfigMap", 9}, {"config", "rbac.authorization.k8s.io/v1", "Role", 6},
		{"run", "apps/v1", "Deployment", 5}, {"run", "v1", "Service", 5}, {"route", "autoscaling/v2", "HorizontalPodAutoscaler", 4},
	}
	revision := revisions.Revision{Number: 1}
	for _, c := range counts {
		if n := len(revision.Phases); n == 0 || revision.Phases[n-1].Name != c.phase {
			revision.Phases = append(revision.Phases, revisions.Phase{Name: c.phase})
		}
		phase := &revision.Phases[len(revision.Phases)-1]
		for i := range c.count {
			object := revisions.Object{Manifest: benchManifest(c.apiVersion, c.kind, fmt.Sprintf("%s-%d", c.phase, i))}
			if c.kind == "Deployment" {
				object.Probe = probes.ObservedGeneration{Inner: probes.Condition{Type: "Available"}}
				object.Serving = object.Probe
			}
			phase.Objects = append(phase.Objects, object)
		}
	}
	return revision
}

func benchManifest(apiVersion, kind, name string) *unstructured.Unstructured {
	containers := make([]any, 0, 2)
	for _, container := range []string{"main", "proxy"} {
		environment := make([]any, 0, 10)
		for i := range 10 {
			environment = append(environment, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "some value"})
		}
		containers = append(containers, map[string]any{
			"name": container, "image": "registry.example.org/" + container + ":v1.2.3", "env": environment,
			"ports":     []any{map[string]any{"name": "http", "containerPort": int64(8080), "protocol": "TCP"}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "1Gi"}},
		})
	}
	labels := map[string]any{"app.kubernetes.io/name": "demo", "app.kubernetes.io/version": "v1.2.3", "app.kubernetes.io/part-of": "bench"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "app", "labels": labels, "annotations": map[string]any{"example.org/note": "text"}},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}},
		},
	}}
}

// atRest is an engine and a rollout of which everything is in place.
func atRest(tb testing.TB, revision revisions.Revision) (*revisions.Engine, revisions.Rollout, *revisionstest.Cluster) {
	tb.Helper()
	cluster := revisionstest.New()
	client := cluster.Client("engine")
	engine, err := revisions.New(revisions.Config{
		Writer: client, Live: client, Mapper: cluster.Mapper(), Cache: revisionstest.NewCache(cluster, benchOwner.Label),
	})
	if err != nil {
		tb.Fatal(err)
	}
	in := revisions.Rollout{Owner: benchOwner, Target: revision}
	for range 10 {
		result, err := engine.Reconcile(tb.Context(), in)
		if err != nil {
			tb.Fatal(err)
		}
		in.Target.Records = result.Target.Records
		if result.Target.Complete() {
			in.Target.Succeeded = true
			cluster.Requests("engine")
			return engine, in, cluster
		}
		for _, object := range cluster.Objects() {
			if object.GetKind() == "Deployment" {
				cluster.SetStatus(revisions.IDOf(object), map[string]any{
					"observedGeneration": object.GetGeneration(), "conditions": []any{map[string]any{"type": "Available", "status": "True"}},
				})
			}
		}
	}
	tb.Fatal("the rollout does not come to an end")
	return nil, in, nil
}

// BenchmarkReconcile_AtRest is a pass over a line in which nothing has changed.
// The budget is 1 ms and 100 kB for the prepared revision, and no request.
func BenchmarkReconcile_AtRest(b *testing.B) {
	for name, revision := range map[string]revisions.Revision{"Prepared": benchRevision().Prepared(), "Unprepared": benchRevision()} {
		b.Run(name, func(b *testing.B) {
			engine, in, cluster := atRest(b, revision)
			b.ReportAllocs()
			for b.Loop() {
				if result, err := engine.Reconcile(b.Context(), in); err != nil || !result.Target.Complete() {
					b.Fatalf("Reconcile() = complete %t, %v", result.Target.Complete(), err)
				}
			}
			if sent := len(cluster.Requests("engine")); sent > 0 {
				b.Errorf("%d requests at rest", sent)
			}
		})
	}
}

// TestReconcile_AtRestBudget holds what a pass over a line at rest may allocate.
// It has a third to spare.
func TestReconcile_AtRestBudget(t *testing.T) {
	const budget, passes = 100_000, 200
	engine, in, cluster := atRest(t, benchRevision().Prepared())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range passes {
		if _, err := engine.Reconcile(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / passes; bytes > budget {
		t.Errorf("a pass allocates %d bytes, and may allocate %d", bytes, budget)
	}
	if sent := len(cluster.Requests("engine")); sent > 0 {
		t.Errorf("%d requests at rest", sent)
	}
}

// BenchmarkReconcile_Handover is a pass over a line with a serving revision of the
// same content.
func BenchmarkReconcile_Handover(b *testing.B) {
	engine, in, _ := atRest(b, benchRevision().Prepared())
	next := in
	next.Target.Number = 2
	next.Serving = []revisions.Revision{in.Target}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.Reconcile(b.Context(), next); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRevision_Prepared is what is paid once for a revision.
func BenchmarkRevision_Prepared(b *testing.B) {
	revision := benchRevision()
	b.ReportAllocs()
	for b.Loop() {
		if prepared := revision.Prepared(); len(prepared.Phases) != 3 {
			b.Fatalf("%d phases", len(prepared.Phases))
		}
	}
}
