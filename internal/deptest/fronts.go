// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"path"
	"slices"
)

// fronts holds a folder for each front. What stands in it beside them is the loop of all.
const fronts = "internal/front"

// acting are the files of fronts that meet the cluster or the clock. All others in a front's
// folder decide: the same input gives them the same output.
var acting = []string{
	"internal/front/gateway/front.go", "internal/front/gateway/observe.go",
	"internal/front/gatewayclass/front.go", "internal/front/gatewayclass/handover.go", "internal/front/gatewayclass/istiod.go",
	"internal/front/gatewayclass/labeler.go", "internal/front/gatewayclass/observe.go", "internal/front/gatewayclass/olm.go",
	"internal/front/gatewayclass/watches.go",
	"internal/front/istiocsr/apiports.go", "internal/front/istiocsr/found.go", "internal/front/istiocsr/front.go",
	"internal/front/istiocsr/handover.go", "internal/front/istiocsr/leftovers.go", "internal/front/istiocsr/neighbours.go",
	"internal/front/istiocsr/observe.go", "internal/front/istiocsr/pointing.go", "internal/front/istiocsr/roles.go", "internal/front/istiocsr/signing.go",
	"internal/front/istiocsr/cabundle/keeper.go", "internal/front/istiocsr/cabundle/read.go", "internal/front/istiocsr/cabundle/write.go",
	"internal/front/istiocsr/cabundle/prompt.go", "internal/front/istiocsr/cabundle/versions.go",
	"internal/front/kyma/cluster.go", "internal/front/kyma/former.go", "internal/front/kyma/front.go",
	"internal/front/kyma/leaving.go", "internal/front/kyma/observe.go", "internal/front/kyma/options.go",
	"internal/front/kyma/owner.go", "internal/front/kyma/purge.go", "internal/front/kyma/rendering.go",
	"internal/front/kyma/restarts.go", "internal/front/kyma/usage.go", "internal/front/kyma/crwatch/setup.go",
	"internal/front/kyma/crwatch/watcher.go", "internal/front/kyma/restarts/controller.go", "internal/front/kyma/restarts/departure.go",
	"internal/front/kyma/restarts/mesh.go", "internal/front/kyma/restarts/moves.go", "internal/front/kyma/restarts/replacement.go",
	"internal/front/kyma/restarts/setup.go", "internal/front/kyma/restarts/survey.go", "internal/front/kyma/restarts/unfinished.go",
	"internal/front/kyma/restarts/workload.go",
}

// decides is true for a file of a front that does no I/O.
func decides(file File) bool {
	return below(file.Path, []string{fronts}) && path.Dir(file.Path) != fronts && !file.IsTest && !slices.Contains(acting, file.Path)
}
