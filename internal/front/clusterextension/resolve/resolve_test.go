// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front/clusterextension/casetest"
)

// TestCases plays testdata/cases/NAME.txtar. The answer must not depend on the order of what is
// given, and answering must not change it.
func TestCases(t *testing.T) {
	casetest.Run(t, 60, "answer.txt", func(t *testing.T, archive *txtar.Archive) string {
		request := readCase(t, archive, func(*catalog.Package) {})
		got := textOf(t, Resolve(request))
		if reversed := textOf(t, Resolve(backwards(t, archive))); reversed != got {
			t.Errorf("the order matters:\n%s", cmp.Diff(got, reversed))
		}
		if again := textOf(t, Resolve(request)); again != got {
			t.Errorf("the second answer differs:\n%s", cmp.Diff(got, again))
		}
		return got
	})
}

// asked is request.yaml.
type asked struct {
	Package       string                `json:"package"`
	Version       string                `json:"version"`
	Channels      []string              `json:"channels"`
	Selector      *metav1.LabelSelector `json:"selector"`
	SelfCertified bool                  `json:"selfCertified"`
	Installed     *Identity             `json:"installed"`
}

// state is what catalogs.yaml says of a catalog.
type state struct {
	Priority    int32             `json:"priority"`
	Labels      map[string]string `json:"labels"`
	Unavailable bool              `json:"unavailable"`
	Digest      string            `json:"digest"`
	Error       string            `json:"error"`
	Stale       string            `json:"stale"`
	Since       time.Time         `json:"since"`
}

// readCase reads a case, and changes the packages in it.
func readCase(t *testing.T, archive *txtar.Archive, change func(*catalog.Package)) (request Request) {
	t.Helper()
	states := map[string]state{}
	packages := map[string]*Package{}
	for _, file := range archive.Files {
		switch {
		case file.Name == "request.yaml":
			var in asked
			decode(t, file.Data, &in)
			request = Request{Package: in.Package, Version: in.Version, Channels: in.Channels, Selector: in.Selector, SelfCertified: in.SelfCertified, Installed: in.Installed}
		case file.Name == "catalogs.yaml":
			decode(t, file.Data, &states)
		case file.Name == "answer.txt":
		case path.Dir(file.Name) == "catalogs":
			name := strings.TrimSuffix(path.Base(file.Name), ".yaml")
			s := states[name]
			p, err := readPackage(t, file.Data, request.Package)
			switch {
			case err == nil:
				change(&p)
				packages[name] = NewPackage(&p)
			case !errors.Is(err, catalog.ErrNoPackage):
				s.Error = err.Error()
			}
			states[name] = s
		default:
			t.Fatalf("unknown file %s", file.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		s := states[name]
		c := Catalog{
			Name: name, Labels: s.Labels, Priority: s.Priority, Unavailable: s.Unavailable,
			Package: packages[name], Digest: s.Digest, Stale: s.Stale, Since: s.Since,
		}
		if s.Error != "" {
			c.Err = errors.New(s.Error)
		}
		request.Catalogs = append(request.Catalogs, c)
	}
	return request
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

// readPackage reads what a catalog has of a package.
func readPackage(t *testing.T, data []byte, name string) (catalog.Package, error) {
	t.Helper()
	content, err := catalog.Build(t.Context(), t.TempDir(), catalog.Stream(bytes.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	return content.Package(name)
}

// backwards is the request of a case with everything in it in the opposite order.
func backwards(t *testing.T, archive *txtar.Archive) Request {
	t.Helper()
	request := readCase(t, archive, reverse)
	slices.Reverse(request.Catalogs)
	return request
}

func reverse(p *catalog.Package) {
	slices.Reverse(p.Channels)
	for i := range p.Channels {
		slices.Reverse(p.Channels[i].Entries)
	}
	slices.Reverse(p.Bundles)
	slices.Reverse(p.Deprecations)
}

// textOf is an answer as text.
func textOf(t *testing.T, a Answer) string {
	t.Helper()
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	if c := a.Choice; c != nil {
		line("%s: %s of catalog %s, %s", a.Outcome, c.Name, c.Catalog, c.Image)
		if c.Edge != "" {
			line("edge: %s", c.Edge)
		}
	} else {
		line("%s", strings.TrimSuffix(string(a.Outcome)+": "+a.Message, ": "))
	}
	for _, w := range a.Warnings {
		line("warning: %s", w)
	}
	for _, c := range a.Candidates {
		if c.LeftOut != "" {
			line("left out: %s %s: %s: %s", c.Catalog, c.Name, c.LeftOut, c.Reason())
		}
	}
	for _, i := range a.Ignored {
		line("ignored: %s: %s", i.Catalog, i.Reason)
	}
	d := a.Deprecation
	if !d.Known {
		line("deprecation: unknown")
	}
	if d.Package != nil {
		line("deprecated: package %s: %s", d.Package.Name, d.Package.Message)
	}
	for _, c := range d.Channels {
		line("deprecated: channel %s: %s", c.Name, c.Message)
	}
	if d.Bundle != nil {
		line("deprecated: bundle %s: %s", d.Bundle.Name, d.Bundle.Message)
	}
	return text.String()
}
