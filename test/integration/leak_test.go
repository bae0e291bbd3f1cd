// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"

	"go.uber.org/goleak"
)

// leakCheck returns a function that names goroutines which have been started since
// and do not end.
func leakCheck() func() error {
	before := goleak.IgnoreCurrent()
	return func() error {
		err := goleak.Find(before,
			// Connections are kept open for the next request.
			goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
			// A watch of metadata that is stopped just when an event has come does not end:
			// this loop of apimachinery sends without looking whether anybody receives.
			goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
		)
		if err != nil {
			return fmt.Errorf("the manager or a test has left goroutines behind: %w", err)
		}
		return nil
	}
}
