// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// stays is why a resource whose mesh is gone is kept: workloads are being restarted to remove
// its sidecars. A user who deletes a mesh often deletes the manager next, and then no workload
// would be restarted.
func stays(istio *v1alpha2.Istio, facts observed) error {
	if istio.Namespace != v1alpha2.Namespace || facts.Oldest != "" || facts.Restarts.Uninstalled {
		return nil
	}
	return fmt.Errorf("workloads are restarted to remove the sidecars of the mesh: %w", front.ErrNotYet)
}

// awaited says whether pods were not compared yet with the mesh that runs for a resource.
func awaited(istio *v1alpha2.Istio, packages []front.Package, seen restarts.Seen) bool {
	for i := range packages {
		if p := &packages[i]; p.Name == servicemesh.PackageIstio && p.Package != nil {
			return seen != restarts.Seen{Istio: istio.UID, Generation: istio.Generation, Revision: p.Package.Status.CurrentRevision}
		}
	}
	return false
}
