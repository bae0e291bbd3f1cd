// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// isUnavailable is why a catalog that its own spec takes away does not count.
const isUnavailable = "its availabilityMode is Unavailable"

// scope splits the catalogs into those that count and those that do not, by name. Each has the label with
// its name, also where no webhook of OLM sets that.
func scope(selector *metav1.LabelSelector, catalogs []Catalog) (counting []Catalog, ignored []Ignored, err error) {
	selected := labels.Everything()
	if selector != nil {
		if selected, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range slices.SortedFunc(slices.Values(catalogs), func(a, b Catalog) int { return cmp.Compare(a.Name, b.Name) }) {
		known := maps.Clone(c.Labels)
		if known == nil {
			known = map[string]string{}
		}
		known[olmv1.LabelCatalogName] = c.Name
		switch {
		case !selected.Matches(labels.Set(known)):
			ignored = append(ignored, Ignored{Catalog: c.Name, Reason: "spec.source.catalog.selector does not select it"})
		case c.Unavailable:
			ignored = append(ignored, Ignored{Catalog: c.Name, Reason: isUnavailable})
		default:
			counting = append(counting, c)
		}
	}
	return counting, ignored, nil
}

// staleness are the warnings about catalogs whose content is older than it should be.
func staleness(catalogs []Catalog) []string {
	var warnings []string
	for _, c := range catalogs {
		if c.Err == nil && c.Stale != "" {
			warnings = append(warnings, fmt.Sprintf("catalog %q could not be refreshed, and its content of %s is used: %s", c.Name, c.Since.UTC().Format("2006-01-02T15:04:05Z07:00"), c.Stale))
		}
	}
	return warnings
}
