// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// defaultStages simulate the kubelet, see the comments in the files.
//
//go:embed stages/*.yaml
var defaultStages embed.FS

// stageAPIVersion and stageKind are the only documents that KWOK may be given:
// it ignores others without an error.
const (
	stageAPIVersion = "kwok.x-k8s.io/v1alpha1"
	stageKind       = "Stage"
)

// validateStages checks that each document is a stage that KWOK would use.
// KWOK itself reports a faulty selector or template only in its log.
func validateStages(content []byte) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for i := 1; ; i++ {
		var stage struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Spec *struct {
				ResourceRef struct {
					Kind string `json:"kind"`
				} `json:"resourceRef"`
				Selector *struct{} `json:"selector"`
			} `json:"spec"`
		}
		err := decoder.Decode(&stage)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("document %d: %w", i, err)
		case stage.APIVersion == "" && stage.Kind == "" && stage.Spec == nil:
			// Only comments.
		case stage.APIVersion != stageAPIVersion || stage.Kind != stageKind:
			return fmt.Errorf("document %d is %s %s, not %s %s", i, stage.APIVersion, stage.Kind, stageAPIVersion, stageKind)
		case stage.Metadata.Name == "":
			return fmt.Errorf("document %d: metadata.name is missing", i)
		case stage.Spec == nil || stage.Spec.ResourceRef.Kind == "":
			return fmt.Errorf("stage %s: spec.resourceRef.kind is missing", stage.Metadata.Name)
		case stage.Spec.Selector == nil:
			return fmt.Errorf("stage %s: spec.selector is missing, so KWOK would never play it", stage.Metadata.Name)
		}
	}
}

// joinStages returns the default stages and the extra ones as one file.
func joinStages(extra []byte) ([]byte, error) {
	var all bytes.Buffer
	names, err := fs.Glob(defaultStages, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := defaultStages.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all.Write(content)
		all.WriteString("\n---\n")
	}
	all.Write(extra)
	return all.Bytes(), nil
}
