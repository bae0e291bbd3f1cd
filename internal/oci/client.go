// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Client gets images from registries. The zero value works, with the CAs of the system and without
// mirrors.
type Client struct {
	// Transport is that of [NewTransport], if not another one is needed.
	Transport http.RoundTripper
	Mirrors   *Mirrors
	// Policy is asked for each image first, under the name that it is asked for and not that of a mirror.
	Policy *Policy
	// Logins has the logins of the user of this machine count, where no credentials are for a registry.
	Logins bool
	// Timeout is for a whole pull; 5 minutes if it is 0.
	Timeout time.Duration
}

// Image is what is known of an image besides its files.
type Image struct {
	// Reference is by digest, as it was asked for.
	Reference string `json:"reference"`
	// Manifest is the digest of the image for the platform, which is another one than that of the
	// reference when that is an index.
	Manifest string `json:"manifest"`
	// ConfigType is the media type of the configuration: a Helm chart has one of its own.
	ConfigType  string            `json:"configType,omitempty"`
	LayerTypes  []string          `json:"layerTypes,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// largestConfig bounds the configuration of an image, which is read into memory.
const largestConfig = 4 << 20

// Resolve is the reference by digest that a reference stands for now. For one by digest no registry
// is asked.
func (c *Client) Resolve(ctx context.Context, image string, credentials Credentials) (string, error) {
	named, err := parse(image)
	if err != nil {
		return "", &Error{Kind: Invalid, Image: image, Text: err.Error()}
	}
	if err := c.Policy.check(image); err != nil {
		return "", err
	}
	if _, digest, found := strings.Cut(image, "@"); found {
		return named.Name() + "@" + digest, nil
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	digest := ""
	err = c.atEach(image, func(at place) error {
		found, err := remote.Head(at.reference, c.options(ctx, at, credentials)...)
		if err == nil {
			digest = found.Digest.String()
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return named.Name() + "@" + digest, nil
}

// Pull unpacks an image, which is referred to by digest, into a folder that is empty. What it has of
// the folder when it fails is to be deleted.
func (c *Client) Pull(ctx context.Context, image string, credentials Credentials, folder string, unpack Unpack) (Image, error) {
	if !strings.Contains(image, "@") {
		return Image{}, &Error{Kind: Invalid, Image: image, Text: "images are pulled by digest, and the reference has none"}
	}
	if err := c.Policy.check(image); err != nil {
		return Image{}, err
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	result := Image{Reference: image}
	err := c.atEach(image, func(at place) error {
		if err := emptyFolder(folder); err != nil {
			return err
		}
		found, err := choose(at.reference, c.options(ctx, at, credentials))
		if err != nil {
			return err
		}
		return result.read(ctx, found, folder, unpack)
	})
	return result, err
}

// atEach tries the places of an image in order, until one works or the image itself is refused.
func (c *Client) atEach(image string, try func(place) error) error {
	places, err := c.Mirrors.places(image)
	if err != nil {
		return err
	}
	var failures []*Error
	for _, at := range places {
		err := try(at)
		if err == nil {
			return nil
		}
		failure := explain(err, image, at.host)
		if failures = append(failures, failure); failure.Final() || errors.Is(err, context.Canceled) {
			break
		}
	}
	// The last place is the registry that the reference names; what its mirrors said comes after it.
	last := failures[len(failures)-1]
	for _, failure := range failures[:len(failures)-1] {
		last.Text += "; before that, " + failure.Text
	}
	return last
}

func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 5 * time.Minute
	}
	return context.WithTimeout(ctx, timeout)
}

func (c *Client) options(ctx context.Context, at place, credentials Credentials) []remote.Option {
	inner := c.Transport
	if inner == nil {
		inner = NewTransport(TransportConfig{})
	}
	keys := authn.Keychain(credentials)
	if c.Logins {
		keys = authn.NewMultiKeychain(credentials, authn.DefaultKeychain)
	}
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(keys),
		remote.WithTransport(&encrypted{inner: inner, plain: at.plain}),
		remote.WithUserAgent("strata"),
		// Trying again is up to the caller, which says so in a status meanwhile.
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
		remote.WithRetryStatusCodes(),
	}
}

// encrypted sends no request without TLS to a registry that is not marked as insecure, whatever
// its host is named: go-containerregistry takes private addresses for insecure.
type encrypted struct {
	inner http.RoundTripper
	plain bool
}

// RoundTrip sends a request.
func (e *encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if e.plain || request.URL.Scheme == "https" {
		return e.inner.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	request.URL.Scheme = "https"
	return e.inner.RoundTrip(request)
}

// choose finds the image for the platform: the one of an index that is for it, else its only one,
// else that for linux/amd64.
func choose(from name.Reference, options []remote.Option) (v1.Image, error) {
	found, err := remote.Get(from, options...)
	if err != nil {
		return nil, err
	}
	switch {
	case found.MediaType.IsImage():
		return found.Image()
	case !found.MediaType.IsIndex():
		return nil, refuse("the media type %q is neither that of an image nor of an index", found.MediaType)
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	return chooseOf(index)
}

// chooseOf finds the image of an index.
func chooseOf(index v1.ImageIndex) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	images := slices.DeleteFunc(slices.Clone(manifest.Manifests), func(one v1.Descriptor) bool { return !one.MediaType.IsImage() })
	for _, architecture := range []string{runtime.GOARCH, "", "amd64"} {
		for _, one := range images {
			if architecture == "" && len(images) == 1 || one.Platform != nil && one.Platform.OS == "linux" && one.Platform.Architecture == architecture {
				return index.Image(one.Digest)
			}
		}
	}
	return nil, refuse("none of its %d images is for linux/%s or linux/amd64", len(images), runtime.GOARCH)
}

// read unpacks an image, with its configuration.
func (i *Image) read(ctx context.Context, from v1.Image, folder string, unpack Unpack) error {
	manifest, err := from.Manifest()
	if err != nil {
		return err
	}
	digest, err := from.Digest()
	if err != nil {
		return err
	}
	i.Manifest, i.ConfigType, i.Annotations = digest.String(), string(manifest.Config.MediaType), manifest.Annotations
	if manifest.Config.Size > largestConfig {
		return refuse("its configuration has %d bytes, more than %d", manifest.Config.Size, largestConfig)
	}
	if manifest.Config.MediaType == types.DockerConfigJSON || manifest.Config.MediaType == types.OCIConfigJSON {
		config, err := from.ConfigFile()
		if err != nil {
			return err
		}
		i.Labels = config.Config.Labels
	}
	if unpack.Folder != nil {
		if unpack.keep, err = unpack.Folder(*i); err != nil {
			return err
		}
	}
	layers, err := from.Layers()
	if err != nil {
		return err
	}
	i.LayerTypes = nil
	for _, layer := range manifest.Layers {
		i.LayerTypes = append(i.LayerTypes, string(layer.MediaType))
	}
	return unpack.layers(ctx, folder, manifest.Layers, layers)
}
