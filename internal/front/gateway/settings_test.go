// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "testing"

func TestSettings_Finalizer(t *testing.T) {
	for finalizer, valid := range map[string]bool{"": true, NoFinalizer: true, DefaultFinalizer: true, "dns": false, "example.com/": false, "a b/c": false} {
		s := &Settings{Finalizer: finalizer}
		if err := s.Complete(nil); (err == nil) != valid {
			t.Errorf("finalizer %q: error %v, want valid: %t", finalizer, err, valid)
		}
	}
}
