// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"compress/gzip"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/render"
)

const (
	// InlineLimit is how large a manifest may be, in bytes of canonical JSON, to
	// stand inline. A larger one has a slice of its own, so that revisions share it.
	InlineLimit = 16 << 10

	// revisionLimit is how large all inline manifests of a revision may be together:
	// a third of what etcd takes in one request (1.5 MiB), as status needs room too.
	revisionLimit = 512 << 10

	// sliceLimit is how large the content of a slice of many small manifests gets.
	sliceLimit = 512 << 10

	// dataLimit is how large the data of an ObjectSlice may be, in bytes: the API
	// takes 1,400,000 characters of base64.
	dataLimit = 1_400_000 / 4 * 3
)

// Packed is content as it is stored.
type Packed struct {
	// Phases refer to the slices by name.
	Phases []v1alpha1.Phase
	// Slices are the slices that the phases refer to, each once.
	Slices []v1alpha1.ObjectSlice
	// Digest is the content's.
	Digest string
}

// Pack stores rendered phases. The same input gives the same output.
func Pack(phases []render.Phase, probes []v1alpha1.Probe) (Packed, error) {
	p := &packer{slices: map[string]bool{}}
	texts, total, err := encode(phases)
	if err != nil {
		return Packed{}, err
	}
	// A revision of very many small manifests would not fit etcd either.
	p.binSmall = total > revisionLimit
	var digests [][]string
	for i, phase := range phases {
		stored := v1alpha1.Phase{Name: phase.Name, CollisionProtection: phase.CollisionProtection}
		var own []string
		for j, object := range phase.Objects {
			own = append(own, ObjectDigest(texts[i][j]))
			stored.Objects = append(stored.Objects, v1alpha1.Object{CollisionProtection: object.CollisionProtection, Deletion: object.Deletion})
		}
		if err := p.place(stored.Objects, texts[i]); err != nil {
			return Packed{}, fmt.Errorf("packing phase %s: %w", phase.Name, err)
		}
		p.packed.Phases = append(p.packed.Phases, stored)
		digests = append(digests, own)
	}
	p.packed.Digest, err = Digest(p.packed.Phases, digests, probes)
	return p.packed, err
}

func encode(phases []render.Phase) (texts [][][]byte, inline int, err error) {
	for _, phase := range phases {
		var own [][]byte
		for _, object := range phase.Objects {
			text, err := Canonical(object.Manifest)
			if err != nil {
				return nil, 0, fmt.Errorf("packing phase %s: %w", phase.Name, err)
			}
			if len(text) <= InlineLimit {
				inline += len(text)
			}
			own = append(own, text)
		}
		texts = append(texts, own)
	}
	return texts, inline, nil
}

type packer struct {
	packed   Packed
	slices   map[string]bool
	binSmall bool
}

// place stores the manifests of one phase: large ones alone, small ones inline
// or, in a large revision, several to a slice.
func (p *packer) place(objects []v1alpha1.Object, texts [][]byte) error {
	var bin []int
	size := 0
	flush := func() error {
		if len(bin) == 0 {
			return nil
		}
		err := p.slice(objects, texts, bin)
		bin, size = nil, 0
		return err
	}
	for i, text := range texts {
		switch {
		case len(text) > InlineLimit:
			if err := p.slice(objects, texts, []int{i}); err != nil {
				return err
			}
		case !p.binSmall:
			objects[i].Object = &runtime.RawExtension{Raw: text}
		default:
			if size+len(text) > sliceLimit {
				if err := flush(); err != nil {
					return err
				}
			}
			bin, size = append(bin, i), size+len(text)
		}
	}
	return flush()
}

// slice stores the manifests of the given indices in one slice.
func (p *packer) slice(objects []v1alpha1.Object, texts [][]byte, indices []int) error {
	var lines [][]byte
	for _, i := range indices {
		lines = append(lines, texts[i])
	}
	raw := bytes.Join(lines, []byte("\n"))
	name := SliceName(raw)
	for place, i := range indices {
		objects[i].Slice = &v1alpha1.SliceReference{Name: name, Index: int32(place)}
	}
	if p.slices[name] {
		return nil
	}
	p.slices[name] = true
	data, err := compress(raw)
	if err != nil {
		return err
	}
	if len(raw) > inflateLimit || len(data) > dataLimit {
		return fmt.Errorf("object %d has %d bytes, %d when compressed, and at most %d and %d can be stored: make it smaller, or split it",
			indices[0], len(raw), len(data), inflateLimit, dataLimit)
	}
	p.packed.Slices = append(p.packed.Slices, v1alpha1.ObjectSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       data, Objects: int32(len(indices)), Bytes: int64(len(raw)),
	})
	return nil
}

// SliceName is the name of the ObjectSlice that holds the content given.
func SliceName(raw []byte) string { return "sha256-" + ObjectDigest(raw) }

func compress(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}
