// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/istio"
)

// servedBy are the versions that a definition serves, and the one that it stores.
func servedBy(crd *unstructured.Unstructured) (served []string, stored string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if version["served"] == true {
			served = append(served, name)
		}
		if version["storage"] == true {
			stored = name
		}
	}
	return served, stored
}

// CRDs never go back, and a mesh may: with the CRDs of any later release it finds all kinds in
// the versions that its own have. Should that end, a rollback has to be bound by it.
func TestCRDs_ServeOlderMeshes(t *testing.T) {
	releases := istio.Releases()
	for i, newer := range releases {
		crds, err := newer.CRDs()
		if err != nil {
			t.Fatal(err)
		}
		for _, older := range releases[:i] {
			before, err := older.CRDs()
			if err != nil {
				t.Fatal(err)
			}
			for _, crd := range before {
				at := slices.IndexFunc(crds, func(o *unstructured.Unstructured) bool { return o.GetName() == crd.GetName() })
				if at < 0 {
					t.Errorf("%s of Istio %s is missing in Istio %s", crd.GetName(), older.Version(), newer.Version())
					continue
				}
				was, stored := servedBy(crd)
				now, storedNow := servedBy(crds[at])
				for _, version := range was {
					if !slices.Contains(now, version) {
						t.Errorf("%s is not served in %s by the CRDs of Istio %s, as it is by those of Istio %s", crd.GetName(), version, newer.Version(), older.Version())
					}
				}
				if len(was) == 0 || stored != storedNow {
					t.Errorf("%s serves %v and stores %q with Istio %s, and stores %q with Istio %s", crd.GetName(), was, stored, older.Version(), storedNow, newer.Version())
				}
			}
		}
	}
	if len(releases) < 2 {
		t.Error("there is nothing to compare")
	}
}
