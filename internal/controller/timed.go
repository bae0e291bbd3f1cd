// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/metrics"
	"github.com/strata-run/strata/internal/render"
)

// timed is a front whose renderings are timed.
func timed[P client.Object, F any](meter *metrics.Metrics, f front.Front[P, F]) front.Front[P, F] {
	of := f.Render
	f.Render = func(in front.Input[P, F]) ([]render.Package, error) {
		began := time.Now()
		defer func() { meter.Rendered(f.Name, time.Since(began)) }()
		return of(in)
	}
	return f
}
