// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// MaxChartBytes is the most that the files of a chart may have together.
const MaxChartBytes = 16 << 20

// Source says where a chart is, and what version it has.
type Source struct {
	// FS contains the chart.
	FS fs.FS

	// Dir is the chart's folder in FS, with slashes; "." is FS itself.
	Dir string

	// Version takes the place of the version in Chart.yaml. Empty keeps that.
	Version string

	// AppVersion takes the place of the appVersion in Chart.yaml. Empty keeps
	// that.
	AppVersion string
}

// Chart is a parsed chart. It never changes, and may be rendered concurrently.
type Chart struct {
	parsed *chartv2.Chart
}

// Load parses the chart of a source. It fails when the folder or its Chart.yaml
// is missing or invalid, when the chart is larger than [MaxChartBytes], and when
// it has dependencies, which are not supported. Every file below the folder is
// part of the chart: a .helmignore is not read.
func Load(s Source) (*Chart, error) {
	files, err := readFiles(s.FS, s.Dir)
	if err != nil {
		return nil, err
	}
	return newChart(files, s.Dir, s)
}

// LoadArchive parses a chart that is packed as Helm packs it, in a .tgz, with the
// refusals of [Load]. Name is what errors call it.
func LoadArchive(name string, archived io.Reader) (*Chart, error) {
	// What is packed may be much larger than the file.
	files, err := archive.LoadArchiveFiles(archived)
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", name, err)
	}
	size := 0
	for _, file := range files {
		size += len(file.Data)
	}
	if size > MaxChartBytes {
		return nil, fmt.Errorf("loading chart %s: the chart has more than %d bytes", name, MaxChartBytes)
	}
	return newChart(files, name, Source{})
}

// newChart parses the files of a chart.
func newChart(files []*archive.BufferedFile, name string, s Source) (*Chart, error) {
	parsed, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", name, err)
	}
	if len(parsed.Metadata.Dependencies) > 0 || len(parsed.Dependencies()) > 0 {
		return nil, fmt.Errorf("loading chart %s: charts with dependencies are not supported", name)
	}
	// The loader keeps every file a second time.
	parsed.Raw = nil
	if s.Version != "" {
		parsed.Metadata.Version = s.Version
	}
	if s.AppVersion != "" {
		parsed.Metadata.AppVersion = s.AppVersion
	}
	return &Chart{parsed: parsed}, nil
}

// Name is the chart's name.
func (c *Chart) Name() string { return c.parsed.Name() }

// Version is the version of the chart itself.
func (c *Chart) Version() string { return c.parsed.Metadata.Version }

// AppVersion is the version of what the chart installs.
func (c *Chart) AppVersion() string { return c.parsed.AppVersion() }

// File is the content of a file of the chart that is neither a template nor one
// that Helm reads itself, by its path in the chart. The caller must not change
// it. The error wraps fs.ErrNotExist when there is none.
func (c *Chart) File(name string) ([]byte, error) {
	i := slices.IndexFunc(c.parsed.Files, func(f *common.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("reading %s of chart %s: %w", name, c.Name(), fs.ErrNotExist)
	}
	return c.parsed.Files[i].Data, nil
}

// readFiles reads every file below dir, named relative to it.
func readFiles(fsys fs.FS, dir string) ([]*archive.BufferedFile, error) {
	var files []*archive.BufferedFile
	var size int
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("reading %s: not a regular file", name)
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if size += len(data); size > MaxChartBytes {
			return fmt.Errorf("reading %s: the chart has more than %d bytes", name, MaxChartBytes)
		}
		files = append(files, &archive.BufferedFile{
			Name: strings.TrimPrefix(name, path.Clean(dir)+"/"),
			Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", dir, err)
	}
	return files, nil
}
