// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/strata-run/strata/internal/catalog"
)

var versionTexts = []string{"0.9.0", "1.0.0", "1.0.0+1", "1.0.0+2", "1.0.1", "1.1.0-rc.1", "1.1.0", "2.0.0", "latest"}

// drawPackage makes a package of a few bundles, with edges between any of them.
func drawPackage(t *rapid.T) *catalog.Package {
	p := &catalog.Package{Name: "p"}
	versions := rapid.SliceOfNDistinct(rapid.SampledFrom(versionTexts), 0, len(versionTexts), rapid.ID[string]).Draw(t, "versions")
	name := rapid.Map(rapid.SampledFrom(versionTexts), func(v string) string { return "p.v" + v })
	for _, v := range versions {
		p.Bundles = append(p.Bundles, catalog.Bundle{Name: "p.v" + v, Version: v, Image: "example.com/p:v1"})
		if rapid.IntRange(0, 4).Draw(t, "deprecated") == 0 {
			p.Deprecations = append(p.Deprecations, catalog.Deprecation{Schema: catalog.SchemaBundle, Name: "p.v" + v})
		}
	}
	for _, channel := range []string{"stable", "beta"} {
		c := catalog.Channel{Name: channel}
		for _, b := range p.Bundles {
			if rapid.Bool().Draw(t, "member") {
				c.Entries = append(c.Entries, catalog.Entry{
					Name: b.Name, Replaces: name.Draw(t, "replaces"), Skips: []string{name.Draw(t, "skips")},
					SkipRange: rapid.SampledFrom([]string{"", "<1.0.0", ">=1.0.0 <1.1.0", "~1"}).Draw(t, "skipRange"),
				})
			}
		}
		p.Channels = append(p.Channels, c)
	}
	return p
}

type world struct {
	request  Request
	packages []*catalog.Package
}

func drawWorld(t *rapid.T) world {
	w := world{request: Request{
		Package:       "p",
		Version:       rapid.SampledFrom([]string{"", "1.x", ">=1.0.0-0", "2.0.0", "<1.0.0"}).Draw(t, "range"),
		Channels:      rapid.SampledFrom([][]string{nil, {"stable"}, {"beta", "stable"}, {"none"}}).Draw(t, "channels"),
		SelfCertified: rapid.Bool().Draw(t, "selfCertified"),
	}}
	if rapid.Bool().Draw(t, "isInstalled") {
		v := rapid.SampledFrom(versionTexts[:len(versionTexts)-1]).Draw(t, "installed")
		w.request.Installed = &Identity{Name: "p.v" + v, Version: v}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "catalogs") {
		c := Catalog{Name: fmt.Sprint("c", i), Priority: rapid.Int32Range(-1, 1).Draw(t, "priority"), Unavailable: rapid.IntRange(0, 5).Draw(t, "unavailable") == 0}
		var p *catalog.Package
		switch rapid.IntRange(0, 5).Draw(t, "state") {
		case 0:
			c.Err = errors.New("connection refused")
		case 1:
		default:
			p = drawPackage(t)
			c.Package = NewPackage(p)
		}
		w.packages = append(w.packages, p)
		w.request.Catalogs = append(w.request.Catalogs, c)
	}
	return w
}

// shuffled is the same world in another order.
func (w world) shuffled(t *rapid.T) Request {
	r := w.request
	r.Channels = rapid.Permutation(r.Channels).Draw(t, "order of channels wanted")
	r.Catalogs = nil
	for i, c := range w.request.Catalogs {
		if p := w.packages[i]; p != nil {
			c.Package = NewPackage(&catalog.Package{
				Name: p.Name, Channels: rapid.Permutation(p.Channels).Draw(t, "channels"),
				Bundles: rapid.Permutation(p.Bundles).Draw(t, "bundles"), Deprecations: rapid.Permutation(p.Deprecations).Draw(t, "deprecations"),
			})
		}
		r.Catalogs = append(r.Catalogs, c)
	}
	r.Catalogs = rapid.Permutation(r.Catalogs).Draw(t, "order of catalogs")
	return r
}

func TestResolveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		answer := Resolve(w.request)
		other := Resolve(w.shuffled(t))
		if len(w.request.Channels) > 1 {
			// A message has the channels in the order that they were written in.
			answer.Message, other.Message, answer.Warnings, other.Warnings = "", "", nil, nil
		}
		if diff := cmp.Diff(answer, other); diff != "" {
			t.Fatalf("the order matters:\n%s", diff)
		}
		answer = Resolve(w.request)
		chosen := slices.DeleteFunc(slices.Clone(answer.Candidates), func(c Candidate) bool { return c.LeftOut != "" })
		switch {
		case answer.Outcome != Resolved && (answer.Choice != nil || answer.Message+strings.Join(answer.Warnings, "") == "" || len(chosen) > 0):
			t.Fatalf("no choice, and yet one, or no reason: %+v", answer)
		case (answer.Message != "") != (answer.Outcome == Retrying || answer.Outcome == Blocked):
			t.Fatalf("a message is for what fails: %+v", answer)
		case answer.Outcome == Kept && w.request.Installed == nil:
			t.Fatalf("nothing is kept: %+v", answer)
		case answer.Outcome != Resolved:
			return
		case answer.Choice == nil || len(chosen) != 1 || chosen[0].Name != answer.Choice.Name || chosen[0].Catalog != answer.Choice.Catalog:
			t.Fatalf("the choice is not the only candidate that no rule left out: %+v", answer)
		}
		checkChoice(t, w.request, *answer.Choice)
	})
}

// checkChoice asks again for what was chosen: it alone has to be found, too.
func checkChoice(t *rapid.T, r Request, choice Choice) {
	v, err := parseVersion(choice.Identity)
	if err != nil {
		t.Fatalf("chosen without a version: %v", err)
	}
	if within, _ := parseRange(r.Version); !within.contains(v) {
		t.Fatalf("%s is not in %q", choice.Version, r.Version)
	}
	// An upgrade to the choice that is done leaves it in place, or goes on from there.
	r.Installed, r.SelfCertified = &choice.Identity, false
	if next := Resolve(r); next.Outcome != Resolved && next.Outcome != Retrying && next.Outcome != Blocked {
		t.Fatalf("the installed choice is gone: %+v", next)
	}
}
