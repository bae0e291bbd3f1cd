// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension"
	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/front/kyma"
)

// Fronts is the list of the fronts that there are: a line here, and a folder with all that there is
// to know about the front.
var Fronts = []front.Registration{
	gatewayclass.Registration(),
	gateway.Registration(),
	istiocsr.Registration(),
	kyma.Registration(),
	clusterextension.Registration(),
}
