// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// TestCluster_RollOut: what fails is tried again until the target is complete, and what can
// never be rolled out is not.
func TestCluster_RollOut(t *testing.T) {
	cases := map[string]struct {
		reason   string
		manifest string
		faults   int
		complete bool
		want     func(error) bool
	}{
		"Complete": {reason: "one pass is enough", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: web}}", complete: true},
		"Repeated": {reason: "the API server answers again", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: web}}", faults: 3, complete: true},
		"Invalid": {
			reason: "no try mends a manifest without a name", manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app}}",
			want: func(err error) bool { var invalid *revisions.ValidationError; return errors.As(err, &invalid) },
		},
		"Waiting": {
			reason: "a probe does not hold before the context ends", manifest: "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: app, name: web}}",
			want: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := revisionstest.New()
				api := server.Client("engine")
				if tc.faults > 0 {
					server.Fail(revisionstest.Fault{Client: "engine", Verb: revisionstest.VerbAnyWrite, Code: 500, Times: tc.faults})
				}
				engine, err := revisions.New(revisions.Config{Writer: api, Live: api, Cache: revisionstest.NewCache(server, label), Mapper: server.Mapper()})
				if err != nil {
					t.Fatal(err)
				}
				objects, err := revisions.Objects(tc.manifest)
				if err != nil {
					t.Fatal(err)
				}
				c := &Cluster{Engine: engine, changed: make(chan struct{}, 1)}
				ctx, cancel := context.WithTimeout(t.Context(), 10*interval)
				defer cancel()
				result, err := c.RollOut(ctx, revisions.Rollout{
					Owner:  revisions.Owner{APIVersion: "v1", Kind: "Namespace", Name: "shop", UID: "1", Label: label},
					Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{{Name: "run", Objects: objects}}},
				})
				if result.Target.Complete() != tc.complete || (tc.want == nil) != (err == nil) || tc.want != nil && !tc.want(err) {
					t.Errorf("%s: complete is %t, %v", tc.reason, result.Target.Complete(), err)
				}
			})
		})
	}
}

// TestCluster_RollOutOwner: the UID of an owner is read, and the cluster has its label and field owner.
func TestCluster_RollOutOwner(t *testing.T) {
	server := revisionstest.New()
	api := server.Client("engine")
	shop := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "app", "name": "shop"}}}
	if err := server.Client("user").Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	engine, err := revisions.New(revisions.Config{Writer: api, Live: api, Cache: revisionstest.NewCache(server, label), Mapper: server.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := revisions.Objects("{apiVersion: v1, kind: Secret, metadata: {namespace: app, name: web}}")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Engine: engine, reader: api, label: label, fieldOwner: "shop-operator", changed: make(chan struct{}, 1)}
	rollout := revisions.Rollout{
		Owner:  revisions.Owner{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app", Name: "shop"},
		Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{{Name: "run", Objects: objects}}},
	}
	if _, err := c.RollOut(t.Context(), rollout); err != nil {
		t.Fatal(err)
	}
	web := objects[0].Manifest.DeepCopy()
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	owners, managers := web.GetOwnerReferences(), web.GetManagedFields()
	if len(owners) != 1 || owners[0].UID != shop.GetUID() || web.GetLabels()[label] != "shop" || len(managers) != 1 || managers[0].Manager != "shop-operator" {
		t.Errorf("it was created as %v", web.Object)
	}
	rollout.Owner.Name = "gone"
	if _, err := c.RollOut(t.Context(), rollout); !apierrors.IsNotFound(err) {
		t.Errorf("an owner that does not exist gives %v", err)
	}
}
