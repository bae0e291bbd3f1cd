// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format says how the content of a bundle is to be read.
type Format string

const (
	// FormatRegistry is the format of OLM: manifests with a ClusterServiceVersion, and metadata.
	FormatRegistry Format = "registry+v1"
	// FormatPlain are manifests alone.
	FormatPlain Format = "plain+v0"
	// FormatHelm is a Helm chart.
	FormatHelm Format = "helm+v0"
)

const (
	annotationPrefix    = "operators.operatorframework.io.bundle."
	annotationMediaType = annotationPrefix + "mediatype.v1"
	annotationPackage   = annotationPrefix + "package.v1"

	helmConfig = "application/vnd.cncf.helm.config.v1+json"

	manifestsFolder = "manifests"
	annotationsFile = "metadata/annotations.yaml"
)

// formatOf tells the formats apart by what the image says, then by its annotations, then by its files.
func formatOf(source Source) (Format, error) {
	if source.MediaType == helmConfig {
		return FormatHelm, nil
	}
	annotations, err := readAnnotations(source.Files)
	if err != nil {
		return "", err
	}
	switch stated := cmp.Or(source.Labels[annotationMediaType], annotations[annotationMediaType]); Format(stated) {
	case FormatRegistry, FormatPlain, FormatHelm:
		return Format(stated), nil
	case "":
	default:
		return "", refused(fmt.Sprintf("its format is %q; %s, %s and %s are supported", stated, FormatRegistry, FormatPlain, FormatHelm))
	}
	switch {
	case exists(source.Files, annotationsFile):
		return FormatRegistry, nil
	case exists(source.Files, manifestsFolder):
		return FormatPlain, nil
	default:
		return "", refused("its format is unknown: it has neither " + annotationsFile + " nor a folder " + manifestsFolder + ", and is no Helm chart; it has " + found(source.Files))
	}
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

// found names what stands at the top.
func found(files fs.FS) string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil || len(entries) == 0 {
		return "no files"
	}
	const most = 5
	var names []string
	for _, entry := range entries[:min(len(entries), most)] {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	if len(entries) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// readAnnotations reads metadata/annotations.yaml, which may be missing.
func readAnnotations(files fs.FS) (map[string]string, error) {
	data, err := fs.ReadFile(files, annotationsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	var content struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, refused(path.Base(annotationsFile) + " is not valid YAML, or an annotation in it is not text")
	}
	return content.Annotations, nil
}
