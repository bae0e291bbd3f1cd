// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestNewLogger: whatever is asked for, bodies of requests stay out of the log. client-go
// logs them from level 8 on.
func TestNewLogger(t *testing.T) {
	var log strings.Builder
	logger := newLogger(&log, 10)
	logger.V(8).Info("Response Body", "body", "CANARY")
	logger.V(mostVerbose).Info("details")
	if got := log.String(); strings.Contains(got, "CANARY") || !strings.Contains(got, "details") {
		t.Errorf("at -v 10 the log is %q, want details and no body", got)
	}
}
