// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// rendering renders meshes, and keeps the last result: most passes of a rollout bring news of
// its objects, and ask for what is there already. One pass at a time may use it.
type rendering struct {
	settings servicemesh.Settings

	digest   string
	packages []content.Package
}

// render renders what the oldest resource describes. Without one, nothing is wanted. What it
// gives is not to be changed.
func (r *rendering) render(in groupInput) ([]content.Package, error) {
	istio := servicemesh.Oldest(in.Resources)
	if istio == nil {
		r.digest, r.packages = "", nil
		return nil, nil
	}
	input := servicemesh.Input{Istio: istio, Settings: r.settings, Cluster: in.Facts.Cluster, CRDVersion: in.Facts.CRDVersion, ForeignCRDs: in.Facts.ForeignCRDs}
	var err error
	if input.Installed, err = installed(istio, in.Existing); err != nil {
		return nil, fmt.Errorf("finding out which version of Istio is installed: %w: correct it, or remove it if there is none", err)
	}
	digest := input.Digest()
	if digest != "" && digest == r.digest {
		return r.packages, nil
	}
	packages, err := servicemesh.Render(input)
	if err != nil {
		return nil, err
	}
	r.digest, r.packages = digest, packages
	return packages, nil
}
