// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strata-run/strata/internal/catalog"
)

// dependencies are the types of properties that ask for another package or for an API. A bundle with
// one cannot be installed.
var dependencies = []string{catalog.PropertyPackageRequired, catalog.PropertyGVKRequired, catalog.PropertyConstraint}

// forbidden is why the best bundle cannot be installed, empty when it can be.
func forbidden(o option) string {
	place := fmt.Sprintf("bundle %q of catalog %q", o.Identity.Name, o.catalog.Name)
	if reason := Dependency(o.Identity.Name, o.Properties); reason != "" {
		return reason
	}
	switch {
	case !o.valid:
		return fmt.Sprintf("%s has version %q, which is no semantic version; the catalog has to be corrected", place, o.Identity.Version)
	case o.Image == "":
		return place + " has no image; the catalog has to be corrected"
	default:
		return ""
	}
}

// Dependency is why a bundle with these properties cannot be installed, empty when none of them is a
// dependency.
func Dependency(name string, properties []catalog.Property) string {
	var found []string
	for _, p := range properties {
		if slices.Contains(dependencies, p.Type) {
			found = append(found, fmt.Sprintf("%q which is currently not supported (%s)", p.Type, shortened(p.Value)))
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return fmt.Sprintf("bundle %q has a dependency declared via property %s; choose another version with spec.source.catalog.version, or another catalog", name, strings.Join(found, " and via property "))
}

// unescaped has the characters of ranges as they are, which JSON writers escape for HTML.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// shortened is a value on one line, with its end left out when it is long.
func shortened(value json.RawMessage) string {
	const most = 200
	text := string(value)
	var line bytes.Buffer
	if json.Compact(&line, value) == nil {
		text = unescaped.Replace(line.String())
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
