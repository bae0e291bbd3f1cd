// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crdsafety

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/strata-run/strata/internal/istio"
)

var update = flag.Bool("update", false, "write the golden files anew")

// istioCRDs are the definitions that one Istio release installs, by name.
func istioCRDs(t *testing.T, release *istio.Release) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := release.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range crds {
		data, err := json.Marshal(crd.Object)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(data, definition); err != nil {
			t.Fatal(err)
		}
		all[definition.Name] = definition
	}
	return all
}

// TestCompare_Istio judges what the Istio versions of this binary do to their
// definitions, up and down. The golden file is to be read: an upgrade must not be
// held up by something harmless.
func TestCompare_Istio(t *testing.T) {
	all := istio.Releases()
	var text strings.Builder
	for _, step := range [][2]*istio.Release{{all[0], all[1]}, {all[1], all[2]}, {all[0], all[2]}, {all[2], all[1]}, {all[1], all[0]}} {
		before, after := istioCRDs(t, step[0]), istioCRDs(t, step[1])
		fmt.Fprintf(&text, "Istio %s to %s\n", step[0].Minor(), step[1].Minor())
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if after[name] == nil {
				fmt.Fprintf(&text, "  %s: not in the other version\n", name)
				continue
			}
			for _, finding := range Compare(before[name], after[name]) {
				fmt.Fprintf(&text, "  %s: %s\n", name, finding)
			}
		}
	}
	file := filepath.Join("testdata", "istio.txt")
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("renew it with -update (-want +got):\n%s", diff)
	}
}
