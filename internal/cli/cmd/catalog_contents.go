// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/oci"
)

// mostContents is how many contents of catalogs are kept for later commands.
const mostContents = 8

// registryOptions are the flags of commands that get images.
type registryOptions struct{ caDir, registries string }

func (o *registryOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.caDir, "pull-ca-dir", "", "folder with CAs that registries are trusted by, besides those of the system")
	cmd.Flags().StringVar(&o.registries, "registries-conf", "", "file in the format of registries.conf with mirrors, and with registries that are blocked or speak HTTP")
	_ = cmd.MarkFlagDirname("pull-ca-dir")
}

// contents reads contents of catalogs. Those of images are kept for later commands.
type contents struct {
	registries *oci.Client
	// server talks to Services of the cluster, nil without one.
	server *http.Client
	cache  catalog.Cache
	// work is for what is not kept.
	work string
}

// newContents reads from registries, and from a cluster unless its configuration is nil.
func (a *app) newContents(o registryOptions, cluster *rest.Config) (*contents, error) {
	c := &contents{cache: a.catalogCache(), registries: &oci.Client{Transport: oci.NewTransport(oci.TransportConfig{CADir: o.caDir}), Logins: true}}
	var err error
	if o.registries != "" {
		if c.registries.Mirrors, err = oci.NewMirrors(o.registries); err != nil {
			return nil, exitf(CodeUsage, "flag --registries-conf: %w", err)
		}
	}
	if cluster != nil {
		if c.server, err = servicesOf(cluster); err != nil {
			return nil, err
		}
	}
	if c.work, err = os.MkdirTemp("", "strata-catalogs-"); err != nil {
		return nil, fmt.Errorf("making a folder for what is read: %w", err)
	}
	return c, nil
}

// close deletes what is not kept.
func (c *contents) close() { _ = os.RemoveAll(c.work) }

// catalogCache keeps contents of catalogs in the user's folder for what can be made anew.
func (a *app) catalogCache() catalog.Cache {
	folder := a.Getenv("XDG_CACHE_HOME")
	if home := a.Getenv("HOME"); folder == "" && home != "" {
		folder = filepath.Join(home, ".cache")
	}
	if folder == "" {
		return catalog.Cache{}
	}
	return catalog.Cache{Folder: filepath.Join(folder, "strata", "catalogs"), Most: mostContents}
}

// read reads a content, which may be kept if it has a key.
func (c *contents) read(ctx context.Context, key string, origin catalog.Origin) (*catalog.Content, error) {
	var content *catalog.Content
	var err error
	if key == "" || c.cache.Folder == "" {
		var folder string
		if folder, err = os.MkdirTemp(c.work, ""); err == nil {
			content, err = catalog.ReadInto(ctx, folder, origin)
		}
	} else if kept, found := c.cache.Get(key); found {
		return kept, nil
	} else {
		content, err = c.cache.Read(ctx, key, origin)
	}
	return content, err
}

// image reads a catalog from an image.
func (c *contents) image(ctx context.Context, reference string) (*catalog.Content, error) {
	pinned, err := c.registries.Resolve(ctx, reference, nil)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, pinned, catalog.Image{
		Resolve: func(context.Context) (string, error) { return pinned, nil },
		Unpack: func(ctx context.Context, pinned, folder string) error {
			_, err := c.registries.Pull(ctx, pinned, nil, folder, catalogUnpack)
			return err
		},
	})
}

// catalogUnpack takes the folder of an image with the catalog.
var catalogUnpack = oci.Unpack{Limits: oci.CatalogLimits, Folder: func(image oci.Image) (string, error) { return catalog.ConfigsFolder(image.Labels) }}

// from reads a catalog outside of a cluster.
func (c *contents) from(ctx context.Context, source string) (*catalog.Content, error) {
	if reference, is := strings.CutPrefix(source, "docker://"); is {
		return c.image(ctx, reference)
	}
	if place, is := strings.CutPrefix(source, "oci:"); is {
		folder, tag := place, ""
		if i := strings.LastIndex(place, ":"); i > strings.LastIndex(place, "/") {
			folder, tag = place[:i], place[i+1:]
		}
		return c.read(ctx, "", catalog.Image{
			Resolve: func(context.Context) (string, error) { return source, nil },
			Unpack: func(ctx context.Context, _, into string) error {
				_, err := oci.UnpackLayout(ctx, folder, tag, into, catalogUnpack)
				return err
			},
		})
	}
	folder, err := filepath.Abs(source)
	if err != nil {
		return nil, fmt.Errorf("finding the folder %s: %w", source, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, exitf(CodeUsage, "there is no folder %s; an image is docker://IMAGE, and an OCI image layout oci:FOLDER", source)
	}
	return c.read(ctx, "", catalog.Mounted{Root: folder, Path: folder})
}

// of reads a catalog of the cluster: what catalogd serves, or the image that the manager has read.
func (c *contents) of(ctx context.Context, is front.Catalog) (*catalog.Content, error) {
	switch {
	case is.Folder != "":
		return nil, fmt.Errorf("its content is the folder %s of the manager's machine, which cannot be read from here; give a copy with --from", is.Folder)
	case is.Server != "":
		key := ""
		if strings.Contains(is.Image, "@") {
			key = is.Image
		}
		content, err := c.read(ctx, key, catalog.Server{Client: c.server, Base: is.Server, Reference: is.Image})
		if err != nil {
			return nil, fmt.Errorf("%w; its image can be read with --from docker://%s", err, is.Image)
		}
		return content, nil
	case is.Image == "":
		return nil, errors.New("it names no image")
	}
	return c.image(ctx, is.Image)
}

// kept are the contents of catalogs of a cluster that can be read without a request.
func (c *contents) kept(is front.Catalog) (*catalog.Content, bool) {
	if c.cache.Folder == "" || !strings.Contains(is.Image, "@") {
		return nil, false
	}
	return c.cache.Get(is.Image)
}

// services reaches Services of a cluster through its API server, as kubectl proxy does.
type services struct {
	server *url.URL
	inner  http.RoundTripper
}

// serviceAnswer is how long a catalog may take to be served.
const serviceAnswer = 5 * time.Minute

func servicesOf(cluster *rest.Config) (*http.Client, error) {
	inner, err := rest.TransportFor(cluster)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cluster.Host, err)
	}
	server, _, err := rest.DefaultServerUrlFor(cluster)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cluster.Host, err)
	}
	return &http.Client{Transport: services{server, inner}, Timeout: serviceAnswer}, nil
}

// RoundTrip sends a request for https://SERVICE.NAMESPACE.svc to the API server.
func (s services) RoundTrip(request *http.Request) (*http.Response, error) {
	name, rest, _ := strings.Cut(request.URL.Hostname(), ".")
	namespace, below, _ := strings.Cut(rest, ".")
	if below != "svc" && !strings.HasPrefix(below, "svc.") {
		return nil, fmt.Errorf("%s is no Service of the cluster", request.URL.Host)
	}
	port := request.URL.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[request.URL.Scheme]
	}
	sent := request.Clone(request.Context())
	sent.Host = ""
	sent.URL.Scheme, sent.URL.Host = s.server.Scheme, s.server.Host
	sent.URL.Path = path.Join("/", s.server.Path, "api/v1/namespaces", namespace, "services", request.URL.Scheme+":"+name+":"+port, "proxy", request.URL.Path)
	return s.inner.RoundTrip(sent)
}
