// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/chart"
)

// registry is the content of a bundle of the format registry+v1.
type registry struct {
	packageName string
	csv         *serviceVersion
	// definitions are the CustomResourceDefinitions, and others what is neither that nor the CSV.
	definitions []*unstructured.Unstructured
	others      []*unstructured.Unstructured
	properties  []catalog.Property
	// problems were found while reading.
	problems []string
	warnings []string
}

var (
	definitionKind     = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	serviceVersionKind = schema.GroupKind{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"}
)

func readRegistry(files fs.FS) (*registry, error) {
	annotations, err := readAnnotations(files)
	if err != nil {
		return nil, err
	}
	r := &registry{packageName: annotations[annotationPackage]}
	objects, err := readManifests(files)
	if err != nil {
		return nil, err
	}
	var versions []*unstructured.Unstructured
	for _, object := range objects {
		switch kind := object.GroupVersionKind(); kind.GroupKind() {
		case serviceVersionKind:
			versions = append(versions, object)
		case definitionKind:
			if kind.Version != "v1" {
				r.problems = append(r.problems, fmt.Sprintf("CustomResourceDefinition %s is of version %s; v1 only", object.GetName(), kind.Version))
			}
			r.definitions = append(r.definitions, object)
		default:
			r.others = append(r.others, object)
		}
	}
	if len(versions) != 1 {
		r.problems = append(r.problems, fmt.Sprintf("it has %d ClusterServiceVersions, and has to have exactly one", len(versions)))
		return nil, refused(r.problems...)
	}
	if r.csv, r.warnings, err = readServiceVersion(versions[0]); err != nil {
		return nil, err
	}
	if err := r.readProperties(files); err != nil {
		return nil, err
	}
	return r, nil
}

// readManifests reads every document of every file of the folder manifests, in the order of the files.
func readManifests(files fs.FS) ([]*unstructured.Unstructured, error) {
	entries, err := fs.ReadDir(files, manifestsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused("it has no folder " + manifestsFolder)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, entry := range entries {
		name := path.Join(manifestsFolder, entry.Name())
		if entry.IsDir() {
			return nil, refused(name + " is a folder; manifests stand in files")
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the bundle: %w", err)
		}
		objects, err := chart.Manifests(name, data)
		if err != nil {
			return nil, refused(err.Error())
		}
		if all = append(all, objects...); len(all) > chart.MaxObjects {
			return nil, refused(fmt.Sprintf("it has more than %d objects", chart.MaxObjects))
		}
	}
	return all, nil
}
