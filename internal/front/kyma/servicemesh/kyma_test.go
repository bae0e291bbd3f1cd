// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

var update = flag.Bool("update", false, "renew the golden files")

func noEnv(string) string { return "" }

// settings are those of a manager without environment.
func settings(t testing.TB, version string) Settings {
	t.Helper()
	release, ok := istio.Resolve(version)
	if !ok {
		t.Fatalf("there is no Istio %s", version)
	}
	s, err := SettingsFrom(noEnv, release)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mesh is an Istio resource with a spec that is written as YAML.
func mesh(t testing.TB, spec string) *v1alpha2.Istio {
	t.Helper()
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", Generation: 3}}
	if err := yaml.UnmarshalStrict([]byte(spec), &istio.Spec); err != nil {
		t.Fatal(err)
	}
	return istio
}

func input(t testing.TB, spec string) Input {
	t.Helper()
	return Input{Istio: mesh(t, spec), Settings: settings(t, "1.31"), Cluster: Cluster{Size: Production, Provider: ProviderOther}}
}

func mustRender(t testing.TB, in Input) []content.Package {
	t.Helper()
	packages, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// golden compares a text with a file, or renews the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (renew it with -update):\n%s", file, diff)
	}
}

// summary has a line for each object, by package and phase.
func summary(packages []content.Package) string {
	b := &strings.Builder{}
	for _, p := range packages {
		fmt.Fprintf(b, "package %s %s, after %v\n", p.Name, p.Origin.AppVersion, p.After)
		for _, phase := range p.Phases {
			fmt.Fprintf(b, "  phase %s\n", phase.Name)
			for _, o := range phase.Objects {
				fmt.Fprintf(b, "    %s %s/%s", o.Manifest.GetKind(), o.Manifest.GetNamespace(), o.Manifest.GetName())
				if o.UpdatePhase != "" {
					fmt.Fprintf(b, ", updated in %s", o.UpdatePhase)
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func TestRender_Summary(t *testing.T) {
	for _, version := range []string{"1.28", "1.29", "1.31"} {
		t.Run(version, func(t *testing.T) {
			in := input(t, "")
			in.Settings = settings(t, version)
			golden(t, "production-"+version+".txt", summary(mustRender(t, in)))
		})
	}
	in := input(t, "components: {egressGateway: {enabled: true}}\nexperimental: {enableAmbient: true}")
	in.Cluster.Size, in.Settings.Experimental = Evaluation, true
	golden(t, "evaluation-egress-ambient.txt", summary(mustRender(t, in)))
}
