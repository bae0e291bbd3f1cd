// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// largestWindow bounds the memory that a layer can ask for to be decompressed.
const largestWindow = 32 << 20

// refusedCompressions are those that images seldom have, by how a layer begins.
var refusedCompressions = map[string]string{"\xfd7zXZ\x00": "xz", "BZh": "bzip2", "\x04\x22\x4d\x18": "lz4"}

// decompress tells the compression of a layer by how it begins.
func decompress(in io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	start, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, fmt.Errorf("decompressing a layer: %w", err)
		}
		return decoder.IOReadCloser(), nil
	}
	for begins, name := range refusedCompressions {
		if bytes.HasPrefix(start, []byte(begins)) {
			return nil, refuse("a layer is compressed with %s, which is not supported: build the image with gzip or zstd", name)
		}
	}
	return io.NopCloser(buffered), nil
}
