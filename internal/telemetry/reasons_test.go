// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/strata-run/strata/internal/history"
)

// TestReasons_Events: the table of reasons names events by their text, as the reference of
// events is made of the constants here.
func TestReasons_Events(t *testing.T) {
	source, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range history.Reasons {
		if reason.Event != "" && !strings.Contains(string(source), " = "+strconv.Quote(reason.Event)+"\n") {
			t.Errorf("reason %s: reasons.go has no event %s", reason.Name, reason.Event)
		}
	}
}
