// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"path/filepath"
	"sync"
	"testing"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/test/setup"
)

var startOnce sync.Once

// withManager runs the manager in this process from the first test on that wants it.
// It ends with the process.
func withManager(t *testing.T) {
	t.Helper()
	startOnce.Do(func() {
		must(t, v1alpha1.AddToScheme(admin.Scheme()))
		must(t, operatorv1alpha1.AddToScheme(admin.Scheme()))
		must(t, setup.Apply(t.Context(), admin, setup.Shipped(filepath.Join("..", ".."))...))
		must(t, setup.Served(t.Context(), admin, operatorv1alpha1.GroupVersion.WithKind("IstioCSR"), v1alpha1.GroupVersion.WithKind("Revision")))
		startManager(t)
	})
}

func startManager(t *testing.T) {
	t.Helper()
	options := setup.ManagerOptions()
	must(t, cluster.StartManager(options))
}

// withoutManager ends the manager while something happens, and starts another one then,
// which remembers nothing.
func withoutManager(t *testing.T, happens func()) {
	t.Helper()
	defer startManager(t) // for the other tests, too
	must(t, cluster.StopManager())
	happens()
}
