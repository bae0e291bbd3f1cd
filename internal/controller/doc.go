// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller lists the controllers that the manager runs, and runs them.
//
// controllers.go is the list. The loops stand in the folders below: packages rolls out
// lines of revisions, front translates custom resources, and loop holds what they share.
// gatewayclass, gateway, istiocsr and kyma are the fronts; they use what cacopy, pins and
// restarts do.
package controller
