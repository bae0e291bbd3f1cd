// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
)

// Source is the content of a bundle's image.
type Source struct {
	// Files are the unpacked files.
	Files fs.FS
	// MediaType is that of the image's config, and Labels are those in it.
	MediaType string
	Labels    map[string]string
}

// Bundle is what was read of a bundle. It never changes.
type Bundle struct {
	// Format is the one of the bundle.
	Format Format

	registry *registry
	plain    []*unstructured.Unstructured
	chart    *chart.Chart
}

// Target is what a bundle is rendered for.
type Target struct {
	// Extension is the name of the ClusterExtension, and Package that of its Package.
	Extension string
	Package   string
	// PackageName and Version are those of the catalog. The bundle must be of this package, and a chart of
	// this version.
	PackageName string
	Version     string
	// Namespace is where namespaced objects go.
	Namespace string
	// Config is spec.config.inline as JSON, empty for none.
	Config []byte
	// Certificates is where webhooks get their certificates from.
	Certificates Certificates
	// KubeVersion is the version of the API server, empty when it is not known.
	KubeVersion string
	// Scope says where objects of a kind live that neither Kubernetes nor the bundle defines, and
	// [plain.ScopeUnknown] when the cluster does not serve the kind. Nil knows none.
	Scope func(schema.GroupVersionKind) plain.Scope
}

// Rendered is what a bundle is for a target.
type Rendered struct {
	Phases []content.Phase
	// Images are those of the pods.
	Images []string
	// Properties are those of the bundle, nil when it has none.
	Properties []catalog.Property
	// Warnings are what a user should know, sorted.
	Warnings []string
}

// PropertiesJSON are the properties as one JSON array, empty when there are none.
func (r Rendered) PropertiesJSON() string {
	if len(r.Properties) == 0 {
		return ""
	}
	// Values that were read as JSON are written as JSON again.
	text, err := json.Marshal(r.Properties)
	if err != nil {
		return ""
	}
	return string(text)
}

// RefusedError is what is wrong with a bundle. Only another bundle, or a change of the cluster, helps.
type RefusedError struct {
	// Problems are sorted.
	Problems []string
}

// Error lists all problems.
func (e *RefusedError) Error() string {
	return "the bundle is refused: " + strings.Join(e.Problems, "; ")
}

// refused is an error of these problems, nil when there are none.
func refused(problems ...string) error {
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return &RefusedError{Problems: slices.Compact(problems)}
}

// Read reads a bundle. The error is a RefusedError where the content is at fault.
func Read(source Source) (*Bundle, error) {
	format, err := formatOf(source)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Format: format}
	switch format {
	case FormatRegistry:
		b.registry, err = readRegistry(source.Files)
	case FormatPlain:
		b.plain, err = readPlain(source.Files)
	case FormatHelm:
		b.chart, err = readChart(source.Files)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Render renders the bundle. The error is a RefusedError or a ConfigError.
func (b *Bundle) Render(target Target) (Rendered, error) {
	var rendered Rendered
	var objects []*unstructured.Unstructured
	var err error
	switch b.Format {
	case FormatRegistry:
		objects, err = b.registry.render(target, &rendered)
	case FormatPlain:
		objects, err = renderPlain(b.plain, target)
	case FormatHelm:
		objects, err = renderChart(b.chart, target)
	default:
		err = fmt.Errorf("unknown format %q", b.Format)
	}
	if err != nil {
		return Rendered{}, err
	}
	if rendered.Phases, err = phases(objects, target); err != nil {
		return Rendered{}, err
	}
	rendered.Images = plain.Images(objects)
	slices.Sort(rendered.Warnings)
	return rendered, nil
}
