// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/strata-run/strata/internal/content"
)

// FuzzRender has any ClusterServiceVersion, manifests and configuration: each is rendered, or refused, and
// what is rendered can be stored and is the same a second time.
func FuzzRender(f *testing.F) {
	cases, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var main string
		var others []string
		for _, file := range archive.Files {
			switch {
			case file.Name == "bundle/manifests/csv.yaml":
				main = string(file.Data)
			case strings.HasPrefix(file.Name, "bundle/manifests/"):
				others = append(others, string(file.Data))
			}
		}
		f.Add(main, strings.Join(others, "---\n"), `{"watchNamespace": "apps", "deploymentConfig": {"env": [{"name": "A"}], "affinity": {}}}`)
	}
	f.Fuzz(func(t *testing.T, main, others, config string) {
		bundle, err := Read(Source{Files: files(map[string]string{annotationsFile: annotations, "manifests/a.yaml": main, "manifests/b.yaml": others})})
		if err != nil {
			return
		}
		digest := func() string {
			rendered, err := bundle.Render(Target{Extension: "e", Namespace: "ns", PackageName: "p", Certificates: CertManager, Config: []byte(config)})
			if err != nil {
				return err.Error()
			}
			packed, err := content.Packer{Key: make([]byte, content.KeySize)}.Pack(rendered.Phases, nil)
			if err != nil {
				return err.Error()
			}
			return packed.Digest
		}
		if first := digest(); first != digest() {
			t.Errorf("two renderings differ, the first is %s", first)
		}
	})
}
