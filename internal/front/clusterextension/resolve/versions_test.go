// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"os"
	"strings"
	"testing"
)

// TestRanges reads testdata/ranges.txt.
func TestRanges(t *testing.T) {
	table, err := os.ReadFile("testdata/ranges.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			t.Fatalf("not three cells: %s", line)
		}
		text, of, want := cells[0], cells[1], strings.TrimSpace(cells[2])
		got := "no"
		within, err := parseRange(text)
		v, invalid := parseVersion(Identity{Version: of})
		switch {
		case invalid != nil:
			t.Errorf("%s: %v", of, invalid)
		case err != nil:
			got = "invalid"
		case within.contains(v):
			got = "yes"
		}
		if got != want {
			t.Errorf("is %s in %q? got %s, want %s (%v)", of, text, got, want, err)
		}
	}
}

func TestRangeLonePipe(t *testing.T) {
	for _, text := range []string{"1|2", "1.0.0 |", "|", "1 | 2", "1.0.0 | 2.0.0", "||", "1 ||"} {
		if _, err := parseRange(text); err == nil {
			t.Errorf("%q is taken for a range", text)
		}
	}
}

func TestParseVersion(t *testing.T) {
	release := func(s string) *string { return &s }
	for _, tc := range []struct {
		reason   string
		in       Identity
		version  string
		releases int
		fails    bool
	}{
		{reason: "Build metadata that parses is the release.", in: Identity{Version: "1.0.0-pre+1.alpha.2"}, version: "1.0.0-pre", releases: 3},
		{reason: "A leading zero is no release.", in: Identity{Version: "1.0.0+001"}, version: "1.0.0+001"},
		{reason: "Nor is one that is too long.", in: Identity{Version: "1.0.0+123456789.123456789.1"}, version: "1.0.0+123456789.123456789.1"},
		{reason: "An explicit release leaves the build metadata.", in: Identity{Version: "1.0.0+5", Release: release("7")}, version: "1.0.0+5", releases: 1},
		{reason: "Also an empty one.", in: Identity{Version: "1.0.0+5", Release: release("")}, version: "1.0.0+5"},
		{reason: "An explicit release that does not parse.", in: Identity{Version: "1.0.0", Release: release("01")}, fails: true},
		{reason: "A v is not semantic.", in: Identity{Version: "v1.0.0"}, fails: true},
		{reason: "Two numbers are not.", in: Identity{Version: "1.0"}, fails: true},
	} {
		v, err := parseVersion(tc.in)
		if (err != nil) != tc.fails || (err == nil && (v.String() != tc.version || len(v.release) != tc.releases)) {
			t.Errorf("%s got %s, %d words of release, %v", tc.reason, v.String(), len(v.release), err)
		}
	}
}

func TestPinned(t *testing.T) {
	const digest = "example.com/p@sha256:4bc453b53cb3d914b45f4b250294236adba2c0e09ff6f03793949e7e39fd4cc1"
	choice := Choice{Identity: Identity{Name: "p.v1", Version: "1.0.0"}, Image: "example.com/p:v1", CatalogDigest: "c1"}
	pin := Pin{Identity: choice.Identity, Reference: choice.Image, CatalogDigest: "c1", Image: digest}
	with := func(change func(*Pin)) []Pin {
		changed := pin
		change(&changed)
		return []Pin{changed}
	}
	release := "1"
	for _, tc := range []struct {
		reason   string
		image    string
		recorded []Pin
		want     string
	}{
		{reason: "Nothing is recorded.", image: choice.Image},
		{reason: "The same bundle, reference and content.", image: choice.Image, recorded: []Pin{{}, pin}, want: digest},
		{reason: "The catalog has a digest itself.", image: digest, want: digest},
		{reason: "Other content of the catalog: the tag may have moved.", image: choice.Image, recorded: with(func(p *Pin) { p.CatalogDigest = "c2" })},
		{reason: "Another reference.", image: choice.Image, recorded: with(func(p *Pin) { p.Reference = "example.com/p:v2" })},
		{reason: "Another version.", image: choice.Image, recorded: with(func(p *Pin) { p.Version = "1.0.1" })},
		{reason: "Another release.", image: choice.Image, recorded: with(func(p *Pin) { p.Release = &release })},
	} {
		choice.Image = tc.image
		if got, ok := choice.Pinned(tc.recorded...); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s got %q, %v", tc.reason, got, ok)
		}
	}
}
