// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Unpack says what of an image is unpacked.
type Unpack struct {
	// Folder finds the folder of the image that is kept, which becomes the root of what is
	// unpacked. All of the image is when it is nil.
	Folder func(Image) (string, error)
	Limits Limits

	keep string
}

// Limits bound what an image can make the manager download, read and write.
type Limits struct {
	// Compressed is bytes of all layers as they are downloaded, and Read bytes of what comes out of
	// them, with what is not kept.
	Compressed, Read int64
	// Unpacked and File are bytes of what is kept, in all and in one file.
	Unpacked, File int64
	// Files are files, folders, links and whiteouts that are kept or take effect, and Entries those
	// of all layers.
	Files, Entries int
	// Ratio is how many bytes may come out of one that is downloaded.
	Ratio int64
}

// BundleLimits are for images of bundles, and CatalogLimits for those of catalogs, which stand on
// images of programs.
var (
	BundleLimits  = Limits{Compressed: 64 << 20, Read: 256 << 20, Unpacked: 128 << 20, File: 16 << 20, Files: 2000, Entries: 10_000, Ratio: 200}
	CatalogLimits = Limits{Compressed: 2 << 30, Read: 8 << 30, Unpacked: 512 << 20, File: 512 << 20, Files: 20_000, Entries: 1_000_000, Ratio: 200}
)

// layerTypes are the media types of layers that are unpacked. How they are compressed is read from
// their content, as registries are full of layers with the wrong one.
var layerTypes = []types.MediaType{
	types.OCILayer, types.OCILayerZStd, types.OCIUncompressedLayer, types.DockerLayer, types.DockerUncompressedLayer,
	"application/vnd.docker.image.rootfs.diff.tar.zstd", HelmChartType,
}

// The media types of a Helm chart.
const (
	HelmConfigType = "application/vnd.cncf.helm.config.v1+json"
	HelmChartType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

	helmProvenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

// layers applies the layers of an image, the lowest first.
func (u Unpack) layers(ctx context.Context, folder string, descriptors []v1.Descriptor, layers []v1.Layer) error {
	var total int64
	for _, layer := range descriptors {
		switch total += layer.Size; {
		case layer.MediaType == helmProvenanceType:
		case !slices.Contains(layerTypes, layer.MediaType):
			return refuse("a layer has the media type %q, which is not supported", layer.MediaType)
		case len(layer.URLs) > 0:
			return refuse("the layer %s is to be had from other servers, which is not supported", layer.Digest)
		case layer.Size < 0 || total > u.Limits.Compressed:
			return refuse("its layers have more than %d bytes", u.Limits.Compressed)
		}
	}
	if slices.Contains(strings.Split(u.keep, "/"), "..") {
		return refuse("the folder %q is not inside of the image", u.keep)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer closeRead(root)
	tree := &tree{stopped: func() error { return context.Cause(ctx) }, root: root, keep: strings.Trim(path.Clean("/"+u.keep), "/"), limits: u.Limits, entries: map[string]entry{}}
	for i, layer := range layers {
		if descriptors[i].MediaType == helmProvenanceType {
			continue
		}
		tree.layer = i
		if err := tree.applyLayer(layer); err != nil {
			return err
		}
	}
	return tree.resolveLinks()
}

// applyLayer downloads a layer while it unpacks it. All of it is read, as only then its digest is
// known to be right.
func (t *tree) applyLayer(layer v1.Layer) error {
	compressed, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer closeRead(compressed)
	in := &meter{stopped: t.stopped, in: compressed}
	t.compressed = in
	if err = t.applyCompressed(in); err != nil {
		return t.orCorrupt(err, in)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// applyCompressed unpacks what comes out of a layer, and reads on to its end, where a checksum may stand.
func (t *tree) applyCompressed(in *meter) error {
	t.plain = &meter{failed: true}
	out, err := decompress(in)
	if err != nil {
		return err
	}
	defer closeRead(out)
	t.plain = &meter{stopped: t.stopped, in: out, check: t.checkRead}
	if err = t.applyTar(t.plain); err == nil {
		_, err = io.Copy(io.Discard, t.plain)
	}
	t.read += t.plain.count
	return err
}

// orCorrupt prefers to say that a layer does not have its digest over what unpacking it led to.
func (t *tree) orCorrupt(err error, rest *meter) error {
	refused := &Error{}
	if errors.As(err, &refused) || rest.failed || t.stopped() != nil {
		return err
	}
	if _, digest := io.Copy(io.Discard, rest); digest != nil {
		return digest
	}
	switch {
	case t.plain.failed:
		return refuse("a layer is not compressed as it says: %v", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("a layer ends in the middle of a file")
	}
	return err
}

// checkRead is called while a layer is read, with how much came out of it.
func (t *tree) checkRead(count int64) error {
	switch {
	case t.read+count > t.limits.Read:
		return refuse("more than %d bytes come out of its layers", t.limits.Read)
	case count > 1<<20 && count > t.limits.Ratio*t.compressed.count:
		return refuse("more than %d bytes come out of each byte of a layer", t.limits.Ratio)
	}
	return nil
}

// meter counts what is read, and ends with the pull.
type meter struct {
	stopped func() error
	in      io.Reader
	count   int64
	check   func(int64) error
	// failed is whether an error other than the end was returned.
	failed bool
}

// Read reads on.
func (m *meter) Read(into []byte) (int, error) {
	if err := m.stopped(); err != nil {
		m.failed = true
		return 0, err
	}
	read, err := m.in.Read(into)
	m.count += int64(read)
	m.failed = m.failed || err != nil && !errors.Is(err, io.EOF)
	if m.check != nil {
		if refused := m.check(m.count); refused != nil {
			return 0, refused
		}
	}
	return read, err
}

// emptyFolder deletes what is in a folder.
func emptyFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("emptying the folder: %w", err)
	}
	for _, one := range entries {
		if err := os.RemoveAll(filepath.Join(folder, one.Name())); err != nil {
			return fmt.Errorf("emptying the folder: %w", err)
		}
	}
	return nil
}

// closeRead closes what was only read.
func closeRead(in io.Closer) { _ = in.Close() }
