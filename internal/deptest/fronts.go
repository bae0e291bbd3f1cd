// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"path"
	"strings"
)

// fronts holds a folder for each front. What stands in it beside them is the loop of all.
const fronts = "internal/front"

// acting are the files of fronts that meet the cluster or the clock, each with what it writes to the
// cluster, empty for nothing. All others in a front's folder decide: the same input gives them the
// same output.
var acting = map[string]string{
	"internal/front/clusterextension/catalogs.go":           "",
	"internal/front/clusterextension/casetest/run.go":       "",
	"internal/front/clusterextension/front.go":              "",
	"internal/front/clusterextension/propose.go":            "",
	"internal/front/clusterextension/pullsecrets.go":        "a review that asks who the manager is, which is not kept",
	"internal/front/clusterextension/metrics.go":            "",
	"internal/front/clusterextension/notices.go":            "",
	"internal/front/clusterextension/surroundings.go":       "",
	"internal/front/clusterextension/version.go":            "",
	"internal/front/clusterextension/settings.go":           "",
	"internal/front/clusterextension/supply.go":             "",
	"internal/front/clusterextension/takeover.go":           "",
	"internal/front/clusterextension/migration/importer.go": "",
	"internal/front/clusterextension/migration/sets.go":     "a finalizer of OLM's controller, on what it has kept of objects that are handed over",
	"internal/front/clusterextension/leasewatch.go":         "",
	"internal/front/clusterextension/sources/bundles.go":    "",
	"internal/front/clusterextension/sources/catalogs.go":   "",
	"internal/front/gateway/front.go":                       "",
	"internal/front/gateway/observe.go":                     "finalizers of DNSRecords, and those that the former operator has left",
	"internal/front/gateway/registration.go":                "",
	"internal/front/gatewayclass/front.go":                  "",
	"internal/front/gatewayclass/handover.go":               "finalizer and conditions of GatewayClasses",
	"internal/front/gatewayclass/istiod.go":                 "",
	"internal/front/gatewayclass/labeler.go":                "a label of Gateways",
	"internal/front/gatewayclass/observe.go":                "OLM's labels on definitions, and the Istio of an operator before this one",
	"internal/front/gatewayclass/olm.go":                    "",
	"internal/front/gatewayclass/registration.go":           "",
	"internal/front/gatewayclass/settings.go":               "",
	"internal/front/gatewayclass/watches.go":                "",
	"internal/front/istiocsr/apiports.go":                   "",
	"internal/front/istiocsr/cabundle/keeper.go":            "",
	"internal/front/istiocsr/cabundle/prompt.go":            "an annotation of the agent's pods",
	"internal/front/istiocsr/cabundle/read.go":              "",
	"internal/front/istiocsr/cabundle/versions.go":          "",
	"internal/front/istiocsr/cabundle/write.go":             "the ConfigMap with the CAs, and its spare",
	"internal/front/istiocsr/deployment.go":                 "",
	"internal/front/istiocsr/front.go":                      "",
	"internal/front/istiocsr/handover.go":                   "who owns the fields of an agent that Helm has installed",
	"internal/front/istiocsr/conflict.go":                   "the Certificate that an agent has left in the way of that of istiod",
	"internal/front/istiocsr/cleanup.go":                    "the label of a package that is gone, on what it has left",
	"internal/front/istiocsr/otheragents.go":                "",
	"internal/front/istiocsr/observe.go":                    "",
	"internal/front/istiocsr/references.go":                 "",
	"internal/front/istiocsr/roles.go":                      "",
	"internal/front/istiocsr/signing.go":                    "",
	"internal/front/kyma/cluster.go":                        "an annotation of the Istio resource",
	"internal/front/kyma/crwatch/setup.go":                  "",
	"internal/front/kyma/crwatch/watcher.go":                "",
	"internal/front/kyma/previousoperator.go":               "what Kyma's own operator has left",
	"internal/front/kyma/front.go":                          "",
	"internal/front/kyma/uninstall.go":                      "",
	"internal/front/kyma/observe.go":                        "",
	"internal/front/kyma/owner.go":                          "an owner reference of objects of its own package",
	"internal/front/kyma/purge.go":                          "what is left of a mesh whose purge was asked for",
	"internal/front/kyma/registration.go":                   "",
	"internal/front/kyma/rendering.go":                      "",
	"internal/front/kyma/restarts.go":                       "",
	"internal/front/kyma/restarts/controller.go":            "",
	"internal/front/kyma/restarts/mesh.go":                  "",
	"internal/front/kyma/restarts/notes.go":                 "annotations of the Istio resource and of Istio's namespace",
	"internal/front/kyma/restarts/setup.go":                 "",
	"internal/front/kyma/restarts/survey.go":                "",
	"internal/front/kyma/restarts/uninstall.go":             "",
	"internal/front/kyma/restarts/workload.go":              "an annotation in the pod template of a workload that is restarted, and pods of one that keeps them",
}

// list is the file that lists the fronts, the only one outside of a front's folder that names it.
const list = "internal/controller/fronts.go"

// Fronts finds files that use a front from outside of its folder, and fronts that use another one.
// Tests of whole flows may.
func Fronts(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for _, file := range p.Files {
			if file.Path == list || isFlow(file) {
				continue
			}
			own, _ := frontOf(p.Folder)
			for _, imported := range file.Imports {
				if front, ok := frontOf(strings.TrimPrefix(imported, Module+"/")); ok && front != own {
					problems = append(problems, fmt.Sprintf("%s: uses the front %s; only %s does, so that a front can be deleted", file.Path, front, list))
				}
			}
		}
	}
	return problems
}

// isFlow says whether a file tests whole flows: it goes with the front that it uses.
func isFlow(file File) bool { return file.IsTest && below(file.Path, []string{"test"}) }

// frontOf is the name of the front whose folder holds a package.
func frontOf(folder string) (string, bool) {
	within, ok := strings.CutPrefix(folder, fronts+"/")
	name, _, _ := strings.Cut(within, "/")
	return name, ok
}

// decides is true for a file of a front that does no I/O.
func decides(file File) bool {
	_, isActing := acting[file.Path]
	return below(file.Path, []string{fronts}) && path.Dir(file.Path) != fronts && !file.IsTest && !isActing
}
