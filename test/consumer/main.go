// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Program consumer rolls out a revision of two phases for an owner, the Namespace bookshop.
package main

import (
	"context"
	"embed"
	"fmt"
	"log"

	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
)

//go:embed definition.yaml order.yaml
var manifests embed.FS

func main() {
	ctx := context.Background()
	cluster, err := cache.Connect(ctx, config.GetConfigOrDie(), "example.com/shop", "shop-operator")
	if err != nil {
		log.Fatal(err)
	}
	phases, err := revisions.Phases(manifests, "definition.yaml", "order.yaml")
	if err != nil {
		log.Fatal(err)
	}
	result, err := cluster.RollOut(ctx, revisions.Rollout{
		Owner:  revisions.Owner{APIVersion: "v1", Kind: "Namespace", Name: "bookshop"},
		Target: revisions.Revision{Number: 1, Phases: phases},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("revision %d is complete\n", result.Target.Number)
}
