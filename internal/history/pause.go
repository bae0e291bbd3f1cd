// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
)

// PauseOf is the pause of a package that is in force, nil when there is none.
func PauseOf(pkg *v1alpha1.Package, now time.Time) *v1alpha1.Pause {
	if pause := pkg.Spec.Paused; pause != nil && (pause.Until == nil || now.Before(pause.Until.Time)) {
		return pause
	}
	return nil
}
