// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/deptest"
	"github.com/strata-run/strata/internal/telemetry"
)

// reference is where the pages are written.
const reference = "docs/reference"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "generate":
		return generate(ctx)
	case len(args) == 1 && args[0] == "links":
		return checkLinks(os.DirFS("."))
	}
	return errors.New("usage: docsgen generate|links")
}

// generate writes every page, removes those that are no longer made, and draws the picture of
// the packages.
func generate(ctx context.Context) error {
	pages, err := pages(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		file := filepath.Join(reference, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", name, err)
		}
		if err := os.WriteFile(file, []byte(pages[name]), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	if err := removeOthers(pages); err != nil {
		return err
	}
	return drawPicture(architecture)
}

// architecture is the page that holds the picture of the packages.
const architecture = "ARCHITECTURE.md"

// drawPicture renews the picture of the packages in a page, which also holds the table of what
// they may import.
func drawPicture(page string) error {
	markdown, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the page that the picture of the packages is in: %w", err)
	}
	rows, err := deptest.ReadTable(bytes.NewReader(markdown))
	if err != nil {
		return err
	}
	packages, err := deptest.ReadTree(os.DirFS("."))
	if err != nil {
		return err
	}
	picture, err := deptest.Picture(rows, packages)
	if err != nil {
		return err
	}
	drawn, err := deptest.WithPicture(string(markdown), picture)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(drawn), 0o644)
}

// removeOthers removes what is no page.
func removeOthers(pages map[string]string) error {
	return filepath.WalkDir(reference, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(reference, file)
		if err != nil {
			return fmt.Errorf("removing pages that are not made any more: %w", err)
		}
		if _, made := pages[filepath.ToSlash(name)]; made {
			return nil
		}
		return os.Remove(file)
	})
}

// pages are the pages of the reference by their names.
func pages(ctx context.Context) (map[string]string, error) {
	pages := map[string]string{}
	var err error
	if pages["api.md"], err = apiPage(crd.Files, crd.Fronts); err != nil {
		return nil, err
	}
	constants, events, catalog := constantSources, eventSources, telemetry.Catalog()
	for _, f := range controller.Fronts {
		constants, events, catalog = slices.Concat(constants, f.Constants), slices.Concat(events, f.Events), slices.Concat(catalog, f.Metrics)
	}
	if pages["conditions.md"], err = constantsPage(os.DirFS("."), "Conditions, reasons and labels", "api/v1alpha1", constants); err != nil {
		return nil, err
	}
	if pages["events.md"], err = constantsPage(os.DirFS("."), "Events", "internal/telemetry/reasons.go", events); err != nil {
		return nil, err
	}
	pages["fronts.md"] = frontsPage(controller.Fronts)
	pages["metrics.md"] = metricsPage(catalog)
	commands, err := commandPages(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(pages, commands)
	schemas, err := schemaPages(os.DirFS("."), view.DocumentVersion, view.Documents())
	if err != nil {
		return nil, err
	}
	maps.Copy(pages, schemas)
	return pages, nil
}

// heading begins a page.
func heading(page *strings.Builder, title, source string) {
	fmt.Fprintf(page, "# %s\n\n<!-- Generated from %s by `make generate`. Do not edit. -->\n", title, source)
}
