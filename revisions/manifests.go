// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/strata-run/strata/revisions/probes"
)

// Phases are one phase for each file, in their order, with the objects of the file, see [Objects].
// A phase has the name of its file without the extension.
func Phases(files fs.FS, names ...string) ([]Phase, error) {
	phases := make([]Phase, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the phases: %w", err)
		}
		objects, err := Objects(string(text))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		phases = append(phases, Phase{Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), Objects: objects})
	}
	return phases, nil
}

// Objects are the objects of a text, one YAML document each, with the probes of their kinds
// as far as [probes.Default] has them. Empty documents are left out.
func Objects(text string) ([]Object, error) {
	var objects []Object
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for n := 1; ; n++ {
		document, manifest := runtime.RawExtension{}, &unstructured.Unstructured{}
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err == nil && (len(document.Raw) == 0 || string(document.Raw) == "null"):
			continue
		case err == nil:
			err = manifest.UnmarshalJSON(document.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		probe, _ := probes.Default(manifest.GroupVersionKind().GroupKind())
		objects = append(objects, Object{Manifest: manifest, Probe: probe})
	}
}
