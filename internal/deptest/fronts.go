// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"path"
	"slices"
	"strings"
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
	"internal/front/istiocsr/handover.go", "internal/front/istiocsr/holder.go", "internal/front/istiocsr/leftovers.go", "internal/front/istiocsr/neighbours.go",
	"internal/front/istiocsr/observe.go", "internal/front/istiocsr/pointing.go", "internal/front/istiocsr/roles.go", "internal/front/istiocsr/signing.go",
	"internal/front/istiocsr/cabundle/keeper.go", "internal/front/istiocsr/cabundle/read.go", "internal/front/istiocsr/cabundle/write.go",
	"internal/front/istiocsr/cabundle/prompt.go", "internal/front/istiocsr/cabundle/versions.go",
	"internal/front/kyma/cluster.go", "internal/front/kyma/former.go", "internal/front/kyma/front.go",
	"internal/front/kyma/leaving.go", "internal/front/kyma/observe.go", "internal/front/kyma/options.go",
	"internal/front/kyma/owner.go", "internal/front/kyma/purge.go", "internal/front/kyma/rendering.go",
	"internal/front/kyma/restarts.go", "internal/front/kyma/usage.go", "internal/front/kyma/crwatch/setup.go",
	"internal/front/kyma/crwatch/watcher.go", "internal/front/kyma/restarts/controller.go", "internal/front/kyma/restarts/mesh.go",
	"internal/front/kyma/restarts/notes.go", "internal/front/kyma/restarts/setup.go", "internal/front/kyma/restarts/survey.go",
	"internal/front/kyma/restarts/uninstall.go", "internal/front/kyma/restarts/workload.go",
}

// users are the files outside of fronts that know a front: the lists of what runs and of what the
// reference describes, and the settings of fronts. They are to become one list.
var users = []string{
	"internal/controller/agent.go", "internal/controller/controllers.go", "internal/controller/definitions.go",
	"internal/controller/handover.go", "internal/controller/images.go", "internal/controller/options.go",
	"internal/docsgen/fronts.go",
}

// Fronts finds files that use a front from outside of its folder, and fronts that use another one.
// Tests of whole flows may, and so may what sets their clusters up.
func Fronts(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			if slices.Contains(users, file.Path) || below(file.Path, []string{"test"}) || file.IsTest && p.Folder == "internal/controller" {
				continue
			}
			own, _ := frontOf(p.Folder)
			for _, imported := range file.Imports {
				if front, ok := frontOf(strings.TrimPrefix(imported, Module+"/")); ok && front != own {
					problems = append(problems, fmt.Sprintf("%s: uses the front %s; nothing does but what internal/deptest/fronts.go lists, so that a front can be taken away", file.Path, front))
				}
			}
		}
	}
	return problems
}

// frontOf is the name of the front whose folder holds a package.
func frontOf(folder string) (string, bool) {
	within, ok := strings.CutPrefix(folder, fronts+"/")
	name, _, _ := strings.Cut(within, "/")
	return name, ok
}

// decides is true for a file of a front that does no I/O.
func decides(file File) bool {
	return below(file.Path, []string{fronts}) && path.Dir(file.Path) != fronts && !file.IsTest && !slices.Contains(acting, file.Path)
}
