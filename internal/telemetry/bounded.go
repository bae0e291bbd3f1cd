// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"sync"
)

const (
	// mostValues is how many values a label has if clients choose them.
	mostValues = 50
	// valueLimit is how long such a value may be, in bytes.
	valueLimit = 128
	// other stands for all values beyond these.
	other = "other"
	// unknown stands for no value.
	unknown = "unknown"
)

// bounded limits the number of values of a label: only the first ones are kept apart.
type bounded struct {
	lock  sync.Mutex
	known map[string]bool
}

// value is what stands in the label for a value.
func (b *bounded) value(text string) string {
	text = strings.ToValidUTF8(text, "?")
	switch {
	case text == "":
		return unknown
	case len(text) > valueLimit:
		return other
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.known[text] {
		return text
	}
	if len(b.known) >= mostValues {
		return other
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[text] = true
	return text
}
