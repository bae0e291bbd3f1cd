// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/strata-run/strata/revisions"
)

func TestError_Text(t *testing.T) {
	err := &Error{Findings: []Finding{
		{Check: CheckPermission, Message: "a may not get x", Remedy: "grant it"},
		{Check: CheckPermission, Message: "a may not get y", Remedy: "grant it"},
		{Check: CheckImmutable, Message: "z cannot be changed", Remedy: "replace it"},
	}}
	if got, want := err.Error(), "a may not get x; a may not get y: grant it; z cannot be changed: replace it"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestError_Class(t *testing.T) {
	rights := Finding{Check: CheckPermission}
	cases := map[string]struct {
		findings []Finding
		want     bool
	}{
		"OnlyRights": {[]Finding{rights, rights}, true},
		"Mixed":      {[]Finding{rights, {Check: CheckShrink}}, false},
		"NoRights":   {[]Finding{{Check: CheckShrink}}, false},
	}
	for name, c := range cases {
		if got := (&Error{Findings: c.findings}).PermissionDenied(); got != c.want {
			t.Errorf("%s: PermissionDenied is %v", name, got)
		}
	}
}

// TestError_Bounds keeps what is reported below the sizes that a status may have.
func TestError_Bounds(t *testing.T) {
	found := &findings{}
	for i := range maxFindings + 100 {
		found.add(CheckImmutable, revisions.ObjectID{}, fmt.Sprintf("%d %s", i, strings.Repeat("ä", MaxMessage)), "remedy")
	}
	found.add(CheckImmutable, revisions.ObjectID{}, found.list[0].Message, "remedy")
	if len(found.list) != maxFindings {
		t.Errorf("%d findings are kept, want %d", len(found.list), maxFindings)
	}
	text := found.orNil().Error()
	if len(text) > MaxText || !utf8.ValidString(text) {
		t.Errorf("the text has %d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
	}
	if !strings.HasSuffix(text, fmt.Sprintf("and %d more", maxFindings-15)) {
		t.Errorf("the text does not say how many are left out: …%s", text[len(text)-40:])
	}
	for _, finding := range found.list {
		if len(finding.Message) > MaxMessage {
			t.Fatalf("a message has %d bytes", len(finding.Message))
		}
	}
}
