// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
)

// Mirrors says where images are to be looked for, by a file in the format of registries.conf. The
// file is read again when it changes.
type Mirrors struct {
	path string

	mutex sync.Mutex
	stamp string
}

// NewMirrors reads the file, so that a wrong one is found at start.
func NewMirrors(path string) (*Mirrors, error) {
	m := &Mirrors{path: path}
	if err := m.update(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Mirrors) system() *types.SystemContext {
	// A folder with more files would count, too, and there is none of this name.
	return &types.SystemContext{SystemRegistriesConfPath: m.path, SystemRegistriesConfDirPath: m.path + ".only"}
}

func (m *Mirrors) update() error {
	info, err := os.Stat(m.path)
	if err != nil {
		return fmt.Errorf("reading the registries file: %w", err)
	}
	stamp := fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if stamp == m.stamp {
		return nil
	}
	if _, err := sysregistriesv2.TryUpdatingCache(m.system()); err != nil {
		return fmt.Errorf("reading the registries file %s: %w", m.path, err)
	}
	m.stamp = stamp
	return nil
}

// place is where an image can be had.
type place struct {
	reference name.Reference
	host      string
	// plain allows HTTP without TLS.
	plain bool
}

// parse reads a reference, which has to have a registry and a tag or a digest.
func parse(image string) (reference.Named, error) {
	host, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, errors.New("the reference does not begin with a registry")
	}
	named, err := reference.ParseNamed(image)
	if err != nil {
		return nil, fmt.Errorf("the reference does not parse: %w", err)
	}
	if reference.IsNameOnly(named) {
		return nil, errors.New("the reference has no tag and no digest")
	}
	return named, nil
}

// places are where to look for an image, in order: its mirrors, and the registry that it names.
// Without a file that is the registry alone.
func (m *Mirrors) places(image string) ([]place, error) {
	named, err := parse(image)
	if err != nil {
		return nil, &Error{Kind: Invalid, Image: image, Text: err.Error()}
	}
	itself := []sysregistriesv2.PullSource{{Reference: named}}
	if m != nil {
		if itself, err = m.sources(named); err != nil {
			return nil, err
		}
	}
	places := make([]place, 0, len(itself))
	for _, source := range itself {
		options := []name.Option{name.StrictValidation}
		if source.Endpoint.Insecure {
			options = append(options, name.Insecure)
		}
		parsed, err := name.ParseReference(source.Reference.String(), options...)
		if err != nil {
			return nil, &Error{Kind: Invalid, Image: image, Text: fmt.Sprintf("the reference %s does not parse", source.Reference)}
		}
		places = append(places, place{reference: parsed, host: parsed.Context().RegistryStr(), plain: source.Endpoint.Insecure})
	}
	return places, nil
}

func (m *Mirrors) sources(named reference.Named) ([]sysregistriesv2.PullSource, error) {
	if err := m.update(); err != nil {
		return nil, err
	}
	registry, err := sysregistriesv2.FindRegistry(m.system(), named.String())
	if err != nil {
		return nil, fmt.Errorf("reading the registries file %s: %w", m.path, err)
	}
	if registry == nil {
		return []sysregistriesv2.PullSource{{Reference: named}}, nil
	}
	if registry.Blocked {
		return nil, &Error{Kind: Rejected, Image: named.String(), Text: fmt.Sprintf("the registries file %s blocks it", m.path)}
	}
	sources, err := registry.PullSourcesFromReference(named)
	if err != nil {
		return nil, &Error{Kind: Invalid, Image: named.String(), Text: fmt.Sprintf("the registries file %s makes no reference of it: %v", m.path, err)}
	}
	return sources, nil
}
