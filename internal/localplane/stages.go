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
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
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

// stage is what is read of a stage.
type stage struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec *struct {
		ResourceRef struct {
			APIGroup string `json:"apiGroup"`
			Kind     string `json:"kind"`
		} `json:"resourceRef"`
		Selector *struct{} `json:"selector"`
	} `json:"spec"`
}

// readStages reads stages, and checks that each document is one that KWOK would
// use. KWOK itself reports a faulty selector or template only in its log.
func readStages(content []byte) ([]stage, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var stages []stage
	for i := 1; ; i++ {
		var s stage
		err := decoder.Decode(&s)
		switch {
		case errors.Is(err, io.EOF):
			return stages, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %w", i, err)
		case s.APIVersion == "" && s.Kind == "" && s.Spec == nil:
			continue // only comments
		case s.APIVersion != stageAPIVersion || s.Kind != stageKind:
			return nil, fmt.Errorf("document %d is %s %s, not %s %s", i, s.APIVersion, s.Kind, stageAPIVersion, stageKind)
		case s.Metadata.Name == "":
			return nil, fmt.Errorf("document %d: metadata.name is missing", i)
		case s.Spec == nil || s.Spec.ResourceRef.Kind == "":
			return nil, fmt.Errorf("stage %s: spec.resourceRef.kind is missing", s.Metadata.Name)
		case s.Spec.Selector == nil:
			return nil, fmt.Errorf("stage %s: spec.selector is missing, so KWOK would never play it", s.Metadata.Name)
		}
		stages = append(stages, s)
	}
}

// checkKinds checks that the API server serves the kinds of stages. A KWOK that does not
// find one exits, which may be after everything else is ready: it starts with its stages
// in any order.
func checkKinds(client discovery.ServerResourcesInterface, stages []stage) error {
	for _, s := range stages {
		ref := s.Spec.ResourceRef
		served, err := client.ServerResourcesForGroupVersion(ref.APIGroup)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("stage %s: asking for the kinds of %s: %w", s.Metadata.Name, ref.APIGroup, err)
		}
		isKind := func(r metav1.APIResource) bool { return strings.EqualFold(r.Kind, ref.Kind) }
		if err != nil || !slices.ContainsFunc(served.APIResources, isKind) {
			return fmt.Errorf("stage %s: the API server does not serve %s of %s", s.Metadata.Name, ref.Kind, ref.APIGroup)
		}
	}
	return nil
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
