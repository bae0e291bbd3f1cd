// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
)

// leakCheck returns a function that names goroutines which have been started since
// and do not end.
func leakCheck() func() error {
	ignored := []goleak.Option{
		goleak.IgnoreCurrent(),
		// Connections are kept open for the next request.
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		// A watch of metadata that is stopped just when an event has come does not end:
		// this loop of apimachinery sends without looking whether anybody receives.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
	}
	return func() error {
		// The library itself waits for less than half a second, and what was stopped
		// may take longer on a machine that has no time.
		var found error
		err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			found = goleak.Find(ignored...)
			return found == nil, nil
		})
		if err != nil {
			return fmt.Errorf("the manager or a test has left goroutines behind: %w", errors.Join(err, found))
		}
		return nil
	}
}
