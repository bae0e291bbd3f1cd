// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io/fs"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/config/crd"
)

// TestShortNames: kubectl takes a short name for one kind of the cluster, so ours are not
// those of other projects' packages and revisions; the category lists all of ours.
func TestShortNames(t *testing.T) {
	taken := map[string]string{"pkg": "Package of Carvel and of Package Operator", "pkgm": "PackageMetadata of Carvel", "pkgi": "PackageInstall of Carvel", "rev": "Revision of Knative"}
	names, err := fs.Glob(crd.Files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		data, err := crd.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &definition); err != nil {
			t.Fatal(err)
		}
		for _, short := range definition.Spec.Names.ShortNames {
			if taken[short] != "" {
				t.Errorf("%s: %s is the short name of the %s", definition.Name, short, taken[short])
			}
		}
		if !slices.Contains(definition.Spec.Names.Categories, "strata") {
			t.Errorf("%s is not in the category strata", definition.Name)
		}
	}
}
