// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"

	"github.com/strata-run/strata/internal/history"
)

// Excluded says why a rollback keeps out what a front's resource asks for, and the way out;
// empty when none does.
func Excluded(p Package) string {
	switch {
	case p.Need == history.NeedPinned:
		return fmt.Sprintf("a rollback excludes the newest content, as spec.rollback of package %[1]s pins it: kubectl patch package.strata.run %[1]s --type=merge -p '{\"spec\":{\"rollback\":null}}'", p.Name)
	case p.Need == history.NeedRejected && p.Target != nil && p.Target.Spec.Previous > 0:
		return fmt.Sprintf("a rollback excludes the newest content: revision %d of package %s has rejected that of revision %d; change the resource first, or: strata rollback %s --to %d --allow-failed",
			p.Target.Spec.Revision, p.Name, p.Target.Spec.Previous, p.Name, p.Target.Spec.Previous)
	case p.Need == history.NeedRejected:
		return fmt.Sprintf("a rollback excludes the newest content of package %s: change the resource first", p.Name)
	default:
		return ""
	}
}
