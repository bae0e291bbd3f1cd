// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Program consumer rolls out a revision of two phases for an owner, the Namespace bookshop.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
	"github.com/strata-run/strata/revisions/probes"
)

// The label that managed objects carry, and the field manager of all writes.
const label, fieldOwner = "example.com/shop", "shop-operator"

//go:embed definition.yaml
var definition string

//go:embed order.yaml
var order string

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cluster := config.GetConfigOrDie()
	api, err := client.New(cluster, client.Options{})
	if err != nil {
		return err
	}
	owner := &corev1.Namespace{}
	if err := api.Get(ctx, client.ObjectKey{Name: "bookshop"}, owner); err != nil {
		return err
	}
	changed := make(chan string, 100)
	objects := cache.New(ctx, cache.Config{
		Dynamic: dynamic.NewForConfigOrDie(cluster), Metadata: metadata.NewForConfigOrDie(cluster), Mapper: api.RESTMapper(),
		Label: label, FieldOwner: fieldOwner, Notify: func(name string) { changed <- name },
	})
	engine, err := revisions.New(revisions.Config{Writer: api, Live: api, Cache: objects, Mapper: api.RESTMapper()})
	if err != nil {
		return err
	}
	rollout := revisions.Rollout{
		Owner: revisions.Owner{APIVersion: "v1", Kind: "Namespace", Name: owner.Name, UID: owner.UID, Label: label, FieldOwner: fieldOwner},
		Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{
			{Name: "definition", Objects: []revisions.Object{object(definition)}},
			{Name: "order", Objects: []revisions.Object{object(order)}},
		}},
	}
	for {
		result, err := engine.Reconcile(ctx, rollout)
		if err != nil {
			return err
		}
		if result.Target.Complete() {
			fmt.Printf("revision %d is complete\n", result.Target.Number)
			return nil
		}
		rollout.Target.Records = result.Target.Records // a controller keeps them in a status
		select {
		case <-changed:
		case <-time.After(time.Second): // no object says that a kind is served
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// object is a manifest with the probe of its kind, if there is one.
func object(text string) revisions.Object {
	manifest := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), manifest); err != nil {
		panic(err) // the manifests are part of the program
	}
	probe, _ := probes.Default(manifest.GroupVersionKind().GroupKind())
	return revisions.Object{Manifest: manifest, Probe: probe}
}
