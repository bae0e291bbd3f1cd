// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the model take some seconds, unless -rapid.checks says otherwise,
// and fails when an engine leaves a goroutine behind. The seed that rapid prints is
// enough to see a failure again.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "500", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "setting the defaults of rapid:", err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}
