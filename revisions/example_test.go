// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// A controller makes a pass whenever something has changed, and keeps the records.
func Example() {
	cluster := revisionstest.New()
	client := cluster.Client("controller")
	engine, err := revisions.New(revisions.Config{
		Writer: client, Live: client, Mapper: cluster.Mapper(),
		Cache: revisionstest.NewCache(cluster, "strata.run/package"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	manifest := func(apiVersion, kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "app", "name": name},
		}}
	}
	in := revisions.Rollout{
		Owner: revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: "1", Label: "strata.run/package"},
		Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{
			{Name: "run", Objects: []revisions.Object{{Manifest: manifest("apps/v1", "Deployment", "web"), Probe: probes.Condition{Type: "Available"}}}},
			{Name: "route", Objects: []revisions.Object{{Manifest: manifest("v1", "Service", "web")}}},
		}}.Prepared(),
	}
	pass := func() {
		result, err := engine.Reconcile(context.Background(), in)
		if err != nil {
			fmt.Println("error:", err)
		}
		for _, phase := range result.Target.Phases {
			fmt.Printf("%s %d/%d\n", phase.Name, phase.Ready(), phase.Size)
			for _, object := range phase.Objects {
				fmt.Println("  ", object)
			}
		}
		in.Target.Records = result.Target.Records
		in.Target.Succeeded = in.Target.Succeeded || err == nil && result.Target.Complete()
	}
	pass()
	cluster.SetStatus(revisions.IDOf(manifest("apps/v1", "Deployment", "web")), map[string]any{
		"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
	})
	pass()
	fmt.Println("succeeded:", in.Target.Succeeded)

	// Output:
	// run 0/1
	//    Deployment.apps app/web: Created: it does not exist; probe Unknown: the object has no condition "Available" yet
	// route 0/1
	// run 1/1
	//    Deployment.apps app/web: Unchanged: it is as it should be
	// route 1/1
	//    Service app/web: Created: it does not exist
	// succeeded: true
}

// Teardown is called again until it is complete.
func ExampleEngine_Teardown() {
	cluster := revisionstest.New()
	client := cluster.Client("controller")
	engine, err := revisions.New(revisions.Config{
		Writer: client, Live: client, Mapper: cluster.Mapper(),
		Cache: revisionstest.NewCache(cluster, "strata.run/package"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	owner := revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: "1", Label: "strata.run/package"}
	revision := revisions.Revision{Number: 1, Phases: []revisions.Phase{{Name: "config", Objects: []revisions.Object{{Manifest: &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "app", "name": "settings"}},
	}}}}}}
	result, err := engine.Reconcile(context.Background(), revisions.Rollout{Owner: owner, Target: revision})
	if err != nil {
		fmt.Println(err)
		return
	}
	revision.Records = result.Target.Records
	for range 2 {
		result, err := engine.Teardown(context.Background(), revisions.Teardown{Owner: owner, Revision: revision})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, object := range result.Objects {
			fmt.Printf("%s: %s %q\n", object.ID, object.State, object.Message)
		}
		fmt.Println("complete:", result.Complete)
	}

	// Output:
	// ConfigMap app/settings: Waiting "its deletion was asked for"
	// complete: false
	// ConfigMap app/settings: Gone ""
	// complete: true
}
