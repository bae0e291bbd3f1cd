// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"testing"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/test/setup"
)

// A cluster with nothing but config/default has no definition of a front. The manager rolls
// out packages there, whether its fronts are switched off or wait for their definitions.
func TestCoreAlone(t *testing.T) {
	for name, fronts := range map[string][]string{"NoFront": nil, "FrontsWait": controller.AllFronts} {
		t.Run(name, func(t *testing.T) {
			c := newBareCluster(t)
			c.applyKustomization()
			options := setup.ManagerOptions()
			options.Fronts = fronts
			var err error
			c.stop, err = setup.StartManager(context.Background(), c.plane, options)
			c.must(err)
			c.rollOut()
		})
	}
}
