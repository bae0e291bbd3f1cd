// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// indexType is the type of the Secret that a release begins in, and chunkType that of the others.
	indexType = "operatorframework.io/index.v1"
	chunkType = "operatorframework.io/chunk.v1"

	// chunkKey is where each has its part, and extraKey where the index names the others.
	chunkKey = "chunk"
	extraKey = "extraChunks"

	// maxParts is how many Secrets a release may take.
	maxParts = 11

	// inflateLimit bounds what a release may inflate to, in bytes: it has the chart with each manifest twice.
	inflateLimit = 512 << 20
)

// statusDeployed is the status of a version that is installed, and the others those of one that a user
// wants to be gone. There are more.
const (
	statusDeployed     = "deployed"
	statusUninstalled  = "uninstalled"
	statusUninstalling = "uninstalling"
)

// Release is one version of what OLM's controller has installed for a ClusterExtension.
type Release struct {
	// Secret is the index Secret, as NAMESPACE/NAME.
	Secret string
	// Name is that of the ClusterExtension.
	Name string
	// Version is its number, from 1.
	Version int
	// Manifest has one object as JSON on each line.
	Manifest string
	// Labels say which bundle it is. Older releases lack some.
	Labels map[string]string
}

// RefusedError says why what OLM's controller has installed cannot be imported.
type RefusedError struct{ Message string }

// Error names the Secret or object, and the remedy.
func (e *RefusedError) Error() string { return e.Message }

// unreadable is the error of a Secret.
func unreadable(secret, format string, args ...any) error {
	return &RefusedError{fmt.Sprintf("the release that OLM has installed cannot be imported: Secret %s %s; restore the Secret from a backup, or delete all Secrets of the release: "+
		"the version is then chosen and installed anew, over the objects that exist", secret, fmt.Sprintf(format, args...))}
}

// extraChunks are the names of the Secrets that a release goes on in.
func extraChunks(index *corev1.Secret) ([]string, error) {
	name := index.Namespace + "/" + index.Name
	if index.Type != indexType {
		return nil, unreadable(name, "is of type %q, not %s", index.Type, indexType)
	}
	raw, ok := index.Data[extraKey]
	if !ok {
		return nil, nil
	}
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		return nil, unreadable(name, "has no list of names in data.%s", extraKey)
	}
	if len(names)+1 > maxParts {
		return nil, unreadable(name, "names %d further parts, and a release has at most %d", len(names), maxParts)
	}
	if slices.Contains(names, "") {
		return nil, unreadable(name, "has an empty name in data.%s", extraKey)
	}
	return names, nil
}

// decode reads a release from its index and the other Secrets, in their order.
func decode(extension string, version int, index *corev1.Secret, chunks []*corev1.Secret) (Release, error) {
	name := index.Namespace + "/" + index.Name
	var parts []io.Reader
	for _, secret := range slices.Concat([]*corev1.Secret{index}, chunks) {
		part := secret.Namespace + "/" + secret.Name
		if secret != index && secret.Type != chunkType {
			return Release{}, unreadable(part, "is of type %q, not %s", secret.Type, chunkType)
		}
		if len(secret.Data[chunkKey]) == 0 {
			return Release{}, unreadable(part, "has no data.%s", chunkKey)
		}
		parts = append(parts, bytes.NewReader(secret.Data[chunkKey]))
	}
	is, err := inflate(io.MultiReader(parts...), inflateLimit)
	switch {
	case err != nil:
		return Release{}, unreadable(name, "%v", err)
	case is.Name != extension || is.Version != version:
		return Release{}, unreadable(name, "has version %d of release %.100q, not version %d of %s", is.Version, is.Name, version, extension)
	case is.Info.Status != statusDeployed:
		return Release{}, unreadable(name, "is labelled %s, and contains a release that is %.100q", statusDeployed, is.Info.Status)
	}
	return Release{Secret: name, Name: is.Name, Version: is.Version, Manifest: is.Manifest, Labels: is.Labels}, nil
}

// stored is what is read of the JSON.
type stored struct {
	Name    string
	Version int
	Info    struct {
		Status string `json:"status"`
	}
	Manifest string
	Labels   map[string]string
}

// inflate reads a release that inflates to no more than a limit. The error quotes nothing of it.
func inflate(packed io.Reader, limit int64) (stored, error) {
	var is stored
	reader, err := gzip.NewReader(packed)
	if err != nil {
		return is, errors.New("and its parts are no gzip")
	}
	text := &io.LimitedReader{R: reader, N: limit + 1}
	notJSON := is.read(json.NewDecoder(text))
	_, broken := io.Copy(io.Discard, text) // to its checksum
	switch {
	case text.N <= 0:
		return is, fmt.Errorf("inflates to more than %d bytes", limit)
	case broken != nil:
		return is, errors.New("and its parts are no whole gzip: one is missing, altered or in the wrong place")
	case notJSON != nil:
		return is, errors.New("does not contain a release as JSON")
	}
	return is, nil
}

// read takes the few fields that matter out of an object, and holds no other in memory.
func (s *stored) read(from *json.Decoder) error {
	fields := map[string]any{"name": &s.Name, "version": &s.Version, "info": &s.Info, "manifest": &s.Manifest, "labels": &s.Labels}
	if token, err := from.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(err, errors.New("no object"))
	}
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if field, ok := fields[name]; ok {
			err = from.Decode(field)
		} else {
			err = skip(from)
		}
		if err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

// skip passes over one value, a token at a time.
func skip(from *json.Decoder) error {
	for depth := 0; ; {
		token, err := from.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
