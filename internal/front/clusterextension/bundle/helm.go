// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/chart"
)

// readChart finds the chart: as the files themselves, as the only folder, or packed by Helm.
func readChart(files fs.FS) (*chart.Chart, error) {
	for _, pattern := range []string{"Chart.yaml", "*/Chart.yaml"} {
		if found, err := fs.Glob(files, pattern); err == nil && len(found) == 1 {
			return loaded(chart.Load(chart.Source{FS: files, Dir: path.Dir(found[0])}))
		}
	}
	found, err := fs.Glob(files, "*.tgz")
	if err != nil || len(found) != 1 {
		return nil, refused("it has no Helm chart, or more than one")
	}
	data, err := fs.ReadFile(files, found[0])
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	return loaded(chart.LoadArchive(found[0], bytes.NewReader(data)))
}

func loaded(c *chart.Chart, err error) (*chart.Chart, error) {
	if err != nil {
		return nil, refused(err.Error())
	}
	return c, nil
}

// renderChart renders a chart with spec.config.inline as its values.
func renderChart(c *chart.Chart, target Target) ([]*unstructured.Unstructured, error) {
	if target.Version != "" && strings.TrimPrefix(c.Version(), "v") != target.Version {
		return nil, refused(fmt.Sprintf("the chart has version %s, and the catalog says %s", c.Version(), target.Version))
	}
	release := chart.Release{Name: target.Extension, Namespace: target.Namespace, CheckValues: true}
	if len(target.Config) > 0 {
		if err := json.Unmarshal(target.Config, &release.Values); err != nil {
			return nil, misconfigured([]string{"it is no object"})
		}
	}
	objects, err := c.Render(release)
	switch {
	case errors.Is(err, chart.ErrValues):
		return nil, misconfigured([]string{err.Error()})
	case err != nil:
		return nil, refused(err.Error())
	}
	return place(objects, target)
}
