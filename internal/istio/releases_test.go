// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		reason  string
		version string
		want    string
	}{
		"Minor":  {reason: "a minor is enough", version: "1.29", want: "1.29.1"},
		"Full":   {reason: "the full version is one too", version: "1.29.1", want: "1.29.1"},
		"WithV":  {reason: "a v and white space may stand around it", version: " v1.31.0 ", want: "1.31.0"},
		"OtherZ": {reason: "another patch is another version", version: "1.29.2"},
		"Prefix": {reason: "a prefix is no version", version: "1.3"},
		"Empty":  {reason: "nothing is no version", version: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, ok := Resolve(tc.version)
			if ok != (tc.want != "") || ok && r.Version() != tc.want {
				t.Errorf("%s: got %v, %v", tc.reason, r, ok)
			}
		})
	}
}

func TestCRDRelease(t *testing.T) {
	cases := map[string]struct {
		reason  string
		wanted  string
		inPlace string
		want    string
		fails   bool
	}{
		"None":         {reason: "without CRDs in place those of the version are taken", wanted: "1.29", want: "1.29.1"},
		"Upgrade":      {reason: "older CRDs are upgraded", wanted: "1.31", inPlace: "1.28.2", want: "1.31.0"},
		"Downgrade":    {reason: "newer CRDs stay", wanted: "1.28", inPlace: "1.31.0", want: "1.31.0"},
		"UnknownPatch": {reason: "an unknown version is replaced by a newer one only", wanted: "1.28", inPlace: "1.29.7", want: "1.31.0"},
		"TooNew":       {reason: "what is newer than the binary is left alone", wanted: "1.31", inPlace: "1.32.0"},
		"NoVersion":    {reason: "what is no version is an error", wanted: "1.31", inPlace: "new", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wanted, _ := Resolve(tc.wanted)
			r, ok, err := CRDRelease(wanted, tc.inPlace)
			got := ""
			if ok {
				got = r.Version()
			}
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: got %q, %v; want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

// Every release has every chart, under the release's version: a new alias with another
// layout is noticed here.
func TestRelease_Content(t *testing.T) {
	for _, r := range Releases() {
		for _, dir := range []string{ChartBase, ChartIstiod, ChartCNI, ChartZtunnel, ChartIngress, ChartEgress} {
			c, err := r.Chart(dir)
			if err != nil {
				t.Errorf("%s of %s: %v", dir, r.Version(), err)
				continue
			}
			if again, _ := r.Chart(dir); again != c || c.AppVersion() != r.Version() {
				t.Errorf("%s of %s: is of version %s, and the same again: %v", dir, r.Version(), c.AppVersion(), again == c)
			}
		}
		crds, err := r.CRDs()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range crds {
			got = append(got, c.GetName())
			c.SetName("changed")
		}
		names, err := r.CRDNames()
		if diff := cmp.Diff(names, got); diff != "" || err != nil || len(names) < 14 {
			t.Errorf("CRDs of %s: %v\n%s", r.Version(), err, diff)
		}
		again, err := r.CRDs()
		if err != nil || again[0].GetName() != names[0] {
			t.Errorf("what the caller does with a CRD reaches the next: %v, %v", again[0].GetName(), err)
		}
		if _, err := r.File("profiles/none.yaml"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is missing: got %v", err)
		}
	}
}
