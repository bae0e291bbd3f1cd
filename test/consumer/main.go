// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Program consumer rolls out a revision of two phases for an owner, the Namespace bookshop.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
)

//go:embed definition.yaml
var definition string

//go:embed order.yaml
var order string

func main() {
	ctx := context.Background()
	cluster, err := cache.Connect(ctx, config.GetConfigOrDie(), "example.com/shop", "shop-operator")
	if err != nil {
		log.Fatal(err)
	}
	owner, err := cluster.Owner(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, client.ObjectKey{Name: "bookshop"})
	definitions, noDefinitions := revisions.Objects(definition)
	orders, noOrders := revisions.Objects(order)
	if err := errors.Join(err, noDefinitions, noOrders); err != nil {
		log.Fatal(err)
	}
	result, err := cluster.RollOut(ctx, revisions.Rollout{Owner: owner, Target: revisions.Revision{Number: 1, Phases: []revisions.Phase{
		{Name: "definition", Objects: definitions},
		{Name: "order", Objects: orders},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("revision %d is complete\n", result.Target.Number)
}
