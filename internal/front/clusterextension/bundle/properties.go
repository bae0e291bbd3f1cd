// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// required are the types under which a dependency stands in the older file, and those of properties.
var required = map[string]string{"olm.package": catalog.PropertyPackageRequired, "olm.gvk": catalog.PropertyGVKRequired}

// readProperties reads those of the CSV, and after them those of metadata/properties.yaml. All of them
// stand in the CSV's annotation then. Dependencies are a problem.
func (r *registry) readProperties(files fs.FS) error {
	if text := r.csv.Annotations[olmv1.AnnotationProperties]; text != "" {
		if err := json.Unmarshal([]byte(text), &r.properties); err != nil {
			return refused(fmt.Sprintf("the annotation %s of the ClusterServiceVersion is no list of properties", olmv1.AnnotationProperties))
		}
	}
	var more struct {
		Properties []catalog.Property `json:"properties"`
	}
	if err := readMetadata(files, "metadata/properties.yaml", &more); err != nil {
		return err
	}
	if r.properties = append(r.properties, more.Properties...); len(more.Properties) > 0 {
		r.csv.Annotations = with(r.csv.Annotations, olmv1.AnnotationProperties, Rendered{Properties: r.properties}.PropertiesJSON())
	}
	var older struct {
		Dependencies []catalog.Property `json:"dependencies"`
	}
	if err := readMetadata(files, "metadata/dependencies.yaml", &older); err != nil {
		return err
	}
	for i, d := range older.Dependencies {
		if name, isOlder := required[d.Type]; isOlder {
			older.Dependencies[i].Type = name
		}
	}
	for _, properties := range [][]catalog.Property{r.properties, older.Dependencies} {
		if problem := resolve.Dependency(r.csv.Name, properties); problem != "" {
			r.problems = append(r.problems, problem)
		}
	}
	return nil
}

// readMetadata reads a file that may be missing.
func readMetadata(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the bundle: %w", err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return refused(name + " is not valid YAML, or a field in it has the wrong type")
	}
	return nil
}

// with is a map with one more key.
func with(values map[string]string, key, value string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}
