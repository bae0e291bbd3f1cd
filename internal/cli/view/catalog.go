// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/front"
)

// Catalogs is the document of `strata catalog list`: the catalogs of a cluster.
type Catalogs struct {
	metav1.TypeMeta `json:",inline"`

	// Catalogs are by name.
	Catalogs []front.Catalog `json:"catalogs"`
}

// Names are those of the catalogs.
func (d Catalogs) Names() []string {
	names := make([]string, len(d.Catalogs))
	for i := range d.Catalogs {
		names[i] = d.Catalogs[i].Name
	}
	return names
}

// CatalogPackages is the document of `strata catalog search` and `strata catalog show`: packages of
// catalogs.
type CatalogPackages struct {
	metav1.TypeMeta `json:",inline"`

	// Packages are by catalog and name.
	Packages []CatalogPackage `json:"packages"`
	// Unread are the catalogs that could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}

// CatalogPackage is what a catalog has of a package.
type CatalogPackage struct {
	// Details are its channels and versions; a search lists no versions without --versions.
	front.PackageDetails `json:",inline"`

	// Catalog is the catalog's name, or what was given with --from.
	Catalog string `json:"catalog"`
	// Name is the package's.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// DefaultChannel is the one that it names, and version the best one there.
	DefaultChannel string `json:"defaultChannel,omitempty"`
	Version        string `json:"version,omitempty"`
	// Upgrades are what may follow on an installed version. Only with --upgrade-from.
	Upgrades *CatalogUpgrades `json:"upgrades,omitempty"`
	// Unusable is why no extension can be resolved from it, empty when one can.
	Unusable string `json:"unusable,omitempty"`
	// Problems are the rules that it breaks. Those that are fatal make it unusable.
	Problems []catalog.Problem `json:"problems,omitempty"`
}

// CatalogUpgrades are what may follow on an installed version.
type CatalogUpgrades struct {
	// From is the installed version, or the name of its bundle.
	From string `json:"from"`
	// Next are the bundles that may follow on it, the best first.
	Next []front.Upgrade `json:"next"`
	// Path are the versions that upgrades without a range install one after the other.
	Path []string `json:"path,omitempty"`
}

// Names are the packages, each after its catalog.
func (d CatalogPackages) Names() []string {
	names := make([]string, len(d.Packages))
	for i := range d.Packages {
		names[i] = d.Packages[i].Catalog + "/" + d.Packages[i].Name
	}
	return names
}

// CatalogValidation is the document of `strata catalog validate`.
type CatalogValidation struct {
	metav1.TypeMeta `json:",inline"`

	// Source is what was read.
	Source string `json:"source"`
	// Packages and Blobs are how many it has.
	Packages int `json:"packages"`
	Blobs    int `json:"blobs"`
	// Errors keep a package from being used, or are of objects that belong to none; Warnings do not.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	// Failed is true when one is as bad as --threshold, or worse.
	Failed bool `json:"failed"`
	// Problems are what is wrong, by package.
	Problems []catalog.Problem `json:"problems"`
}

// Add counts a problem.
func (d *CatalogValidation) Add(problem catalog.Problem, threshold string) {
	// What belongs to no package is lost.
	problem.Fatal = problem.Fatal || problem.Package == ""
	if problem.Fatal {
		d.Errors++
	} else {
		d.Warnings++
	}
	d.Failed = d.Failed || problem.Fatal || threshold == "warning"
	d.Problems = append(d.Problems, problem)
}

// WriteCatalogs writes a catalog a line.
func WriteCatalogs(p *output.Printer, d Catalogs, now time.Time) {
	if len(d.Catalogs) == 0 {
		p.Line(output.Span{Text: "The cluster has no ClusterCatalogs."})
		return
	}
	rows := make([][]output.Cell, len(d.Catalogs))
	for i := range d.Catalogs {
		c := &d.Catalogs[i]
		age := ""
		if c.UnpackedAt != nil {
			age = Age(now, *c.UnpackedAt)
		}
		style := output.Good
		if c.State != "Serving" {
			style = output.Bad
		}
		rows[i] = []output.Cell{
			{Text: c.Name}, {Text: c.State, Style: style}, {Text: fmt.Sprint(c.Priority)}, {Text: age}, {Text: cmp.Or(c.Folder, c.Image)}, {Text: c.Message},
		}
	}
	p.Table([]output.Column{{Head: "NAME"}, {Head: "STATE"}, {Head: "PRIORITY"}, {Head: "READ"}, {Head: "FROM", Flexible: true}, {Head: "MESSAGE", Flexible: true, Optional: true}}, rows)
}

// WriteFoundPackages writes a package a line, or a version a line where they are listed.
func WriteFoundPackages(p *output.Printer, d CatalogPackages) {
	var rows [][]output.Cell
	for i := range d.Packages {
		pkg := &d.Packages[i]
		about := output.Cell{Text: pkg.Description}
		switch {
		case pkg.Unusable != "":
			about = output.Cell{Text: "unusable: " + pkg.Unusable, Style: output.Bad}
		case pkg.Deprecated != "":
			about = output.Cell{Text: "deprecated: " + pkg.Deprecated, Style: output.Busy}
		}
		if len(pkg.Versions) == 0 {
			rows = append(rows, []output.Cell{{Text: pkg.Catalog}, {Text: pkg.Name}, {Text: pkg.Version}, {Text: pkg.DefaultChannel}, about})
		}
		for _, v := range pkg.Versions {
			rows = append(rows, []output.Cell{{Text: pkg.Catalog}, {Text: pkg.Name}, {Text: versionText(v)}, {Text: strings.Join(v.Channels, ",")}, noteOf(v)})
		}
	}
	p.Table([]output.Column{{Head: "CATALOG", Flexible: true}, {Head: "PACKAGE"}, {Head: "VERSION"}, {Head: "CHANNEL"}, {Head: "DESCRIPTION", Flexible: true}}, rows)
}

func versionText(v front.VersionDetails) string { return v.Version + Prefixed("-", v.Release) }

// noteOf is what is to be known of a version.
func noteOf(v front.VersionDetails) output.Cell {
	if v.Refused != "" {
		return output.Cell{Text: v.Refused, Style: output.Bad}
	}
	return output.Cell{Text: Prefixed("deprecated: ", v.Deprecated), Style: output.Busy}
}

// WriteCatalogPackages writes each package with its channels, versions and upgrades.
func WriteCatalogPackages(p *output.Printer, d CatalogPackages) {
	for i := range d.Packages {
		if i > 0 {
			p.Line()
		}
		writeCatalogPackage(p, &d.Packages[i])
	}
}

func writeCatalogPackage(p *output.Printer, pkg *CatalogPackage) {
	p.Line(output.Span{Text: pkg.Name, Style: output.Bold}, output.Span{Text: " in catalog " + pkg.Catalog})
	line := labels(p)
	if pkg.Description != "" {
		line("about", output.Plain, firstLine(pkg.Description))
	}
	if pkg.Deprecated != "" {
		line("deprecated", output.Busy, pkg.Deprecated)
	}
	if pkg.Unusable != "" {
		line("unusable", output.Bad, pkg.Unusable)
	}
	rows := make([][]output.Cell, len(pkg.Channels))
	for i, c := range pkg.Channels {
		name := c.Name
		if c.Default {
			name += " (default)"
		}
		rows[i] = []output.Cell{{Text: name}, {Text: c.Latest}, {Text: fmt.Sprint(c.Entries)}, {Text: c.Deprecated, Style: output.Busy}}
	}
	p.Line()
	p.Table([]output.Column{{Head: "CHANNEL"}, {Head: "LATEST"}, {Head: "BUNDLES"}, {Head: "DEPRECATED", Flexible: true}}, rows)
	if u := pkg.Upgrades; u != nil {
		p.Line()
		writeUpgrades(p, pkg, u)
		return
	}
	rows = make([][]output.Cell, len(pkg.Versions))
	for i, v := range pkg.Versions {
		rows[i] = []output.Cell{{Text: versionText(v)}, {Text: v.Bundle}, {Text: strings.Join(v.Channels, ",")}, noteOf(v)}
	}
	if len(rows) == 0 {
		return
	}
	p.Line()
	p.Table([]output.Column{{Head: "VERSION"}, {Head: "BUNDLE"}, {Head: "CHANNELS", Flexible: true}, {Head: "NOTE", Flexible: true}}, rows)
}

func writeUpgrades(p *output.Printer, pkg *CatalogPackage, u *CatalogUpgrades) {
	if len(u.Next) == 0 {
		p.Line(output.Span{Text: "No upgrade leads from " + u.From + "."})
		return
	}
	rows := make([][]output.Cell, len(u.Next))
	for i, next := range u.Next {
		note := output.Cell{}
		if at := slices.IndexFunc(pkg.Versions, func(v front.VersionDetails) bool { return v.Bundle == next.Bundle }); at >= 0 {
			note = noteOf(pkg.Versions[at])
		}
		rows[i] = []output.Cell{{Text: next.Version}, {Text: next.Bundle}, {Text: next.Edge}, note}
	}
	p.Line(output.Span{Text: "Upgrades from " + u.From + ":"})
	p.Table([]output.Column{{Head: "VERSION"}, {Head: "BUNDLE"}, {Head: "BECAUSE IT", Flexible: true}, {Head: "NOTE", Flexible: true}}, rows)
	p.Wrapped("", output.Plain, "One upgrade after the other: "+u.From+" → "+strings.Join(u.Path, " → "))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// WriteCatalogValidation writes a problem a line, as compilers do.
func WriteCatalogValidation(p *output.Printer, d CatalogValidation) {
	for _, problem := range d.Problems {
		severity, style := "warning", output.Busy
		if problem.Fatal {
			severity, style = "error", output.Bad
		}
		place := ""
		if problem.File != "" {
			place = fmt.Sprintf("%s:%d: ", problem.File, max(problem.Line, 1))
		}
		p.Line(output.Span{Text: place}, output.Span{Text: severity, Style: style}, output.Span{Text: fmt.Sprintf(": %s (%s)", problem.Message, problem.Rule)})
	}
	p.Line(output.Span{Text: fmt.Sprintf("%s, %s: %s, %s", CountOf(d.Packages, "package"), CountOf(d.Blobs, "object"), CountOf(d.Errors, "error"), CountOf(d.Warnings, "warning"))})
}
