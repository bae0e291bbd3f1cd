// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"fmt"
	"testing"
)

// What was rendered for a thousand extensions is not kept for all of them.
func TestRecent(t *testing.T) {
	r := recent[int]{most: 100}
	for i := range 1000 {
		r.put(fmt.Sprint(i), "a", 10, i)
		if i > 0 {
			r.get("0", "a") // in use all the time
		}
	}
	has := func(name, wanted string) bool { _, found := r.get(name, wanted); return found }
	if len(r.all) != 10 || r.bytes != 100 || !has("0", "a") || !has("999", "a") || has("500", "a") {
		t.Errorf("%d of %d bytes are kept: %+v", len(r.all), r.bytes, r.all)
	}
	if has("999", "b") {
		t.Error("what was made for something else is taken for it")
	}
	r.put("999", "b", 20, 1)
	r.put("large", "a", 101, 1)
	if !has("999", "b") || has("999", "a") || has("large", "a") || r.bytes > 100 {
		t.Errorf("%d bytes are kept: %+v", r.bytes, r.all)
	}
	r.forget("999")
	r.forget("absent")
	if has("999", "b") || r.bytes > 80 {
		t.Errorf("%d bytes are kept: %+v", r.bytes, r.all)
	}
}
