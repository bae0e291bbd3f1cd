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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/render/gatewayclass"
)

var update = flag.Bool("update", false, "write the golden files anew")

// istioCRDs are the definitions that one Istio minor installs, by name.
func istioCRDs(t *testing.T, minor string) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	packages, err := gatewayclass.Render(gatewayclass.Input{Classes: []gatewayv1.GatewayClass{{
		ObjectMeta: metav1.ObjectMeta{Name: "istio", Annotations: map[string]string{gatewayclass.AnnotationIstioVersion: minor}},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}}, DefaultVersion: minor})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, object := range packages[0].Phases[0].Objects {
		data, err := json.Marshal(object.Manifest.Object)
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
	minors := gatewayclass.Versions()
	var text strings.Builder
	for _, step := range [][2]string{{minors[0], minors[1]}, {minors[1], minors[2]}, {minors[0], minors[2]}, {minors[2], minors[1]}, {minors[1], minors[0]}} {
		before, after := istioCRDs(t, step[0]), istioCRDs(t, step[1])
		fmt.Fprintf(&text, "Istio %s to %s\n", step[0], step[1])
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
