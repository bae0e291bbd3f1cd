// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
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
	// Phases refer to the slices and Secrets by name.
	Phases []v1alpha1.Phase
	// Slices are the slices that the phases refer to, each once.
	Slices []v1alpha1.ObjectSlice
	// Secrets are the Secrets that the phases refer to, each once, without a
	// namespace.
	Secrets []corev1.Secret
	// Digest is the content's.
	Digest string
}

// Packer stores rendered phases. The zero value is good for phases without
// manifests of kind Secret.
type Packer struct {
	// Key is what the salts of Secrets are made with, KeySize random bytes that are
	// kept secret. Another key gives the same content another digest.
	Key []byte
}

// Pack stores rendered phases without manifests of kind Secret. The same input
// gives the same output.
func Pack(phases []Phase, probes []v1alpha1.Probe) (Packed, error) {
	return Packer{}.Pack(phases, probes)
}

// Pack stores rendered phases. The same input and key give the same output. What
// is too large to be stored is an error.
func (p Packer) Pack(phases []Phase, probes []v1alpha1.Probe) (Packed, error) {
	contents, err := p.encode(phases)
	if err != nil {
		return Packed{}, err
	}
	if contents.bytes > MaxBytes || contents.objects > MaxObjects {
		return Packed{}, fmt.Errorf("the content has %d objects with %d bytes, and a revision may have %d with %d: split it into several packages",
			contents.objects, contents.bytes, MaxObjects, MaxBytes)
	}
	pack := &packing{stored: map[string]bool{}, binSmall: contents.inline > contents.inlineRoom()}
	var digests [][]string
	for i, phase := range phases {
		stored := v1alpha1.Phase{Name: phase.Name, CollisionProtection: phase.CollisionProtection}
		var own []string
		for j, object := range phase.Objects {
			own = append(own, ObjectDigest(contents.texts[i][j].data))
			stored.Objects = append(stored.Objects, v1alpha1.Object{
				CollisionProtection: object.CollisionProtection, Deletion: object.Deletion,
				OnImmutableChange: object.OnImmutableChange, UnmanagedFields: object.UnmanagedFields,
				ExclusiveFields: object.ExclusiveFields, UpdatePhase: object.UpdatePhase, CreateOnce: object.CreateOnce,
			})
		}
		if err := pack.place(stored.Objects, contents.texts[i]); err != nil {
			return Packed{}, fmt.Errorf("packing phase %s: %w", phase.Name, err)
		}
		pack.packed.Phases = append(pack.packed.Phases, stored)
		digests = append(digests, own)
	}
	if err := checkSize(pack.packed.Phases, probes, contents.objects, contents.inventory); err != nil {
		return Packed{}, err
	}
	pack.packed.Digest, err = Digest(pack.packed.Phases, digests, probes)
	return pack.packed, err
}

// text is what is stored of one manifest.
type text struct {
	data   []byte
	secret bool
}

// contents are the texts of a revision's manifests, by phase, and what they add up
// to.
type contents struct {
	texts [][]text
	// objects is how many there are, bytes how many they have and inline how many the small
	// ones have, and inventory how many their inventory takes.
	objects, bytes, inline, inventory int
}

// inlineRoom is how large all inline manifests of the revision may be together.
func (c contents) inlineRoom() int {
	return min(revisionLimit, storedLimit-statusRoom-c.inventory-placeRoom*c.objects)
}

func (p Packer) encode(phases []Phase) (contents, error) {
	var all contents
	for _, phase := range phases {
		var own []text
		var manifests []*unstructured.Unstructured
		for _, object := range phase.Objects {
			data, err := Canonical(object.Manifest)
			secret := IsSecret(object.Manifest)
			if err == nil && secret {
				data, err = seal(p.Key, data)
			}
			if err != nil {
				return contents{}, fmt.Errorf("packing phase %s: %w", phase.Name, err)
			}
			all.bytes += len(data)
			if len(data) <= InlineLimit && !secret {
				all.inline += len(data)
			}
			own, manifests = append(own, text{data: data, secret: secret}), append(manifests, object.Manifest)
		}
		all.texts = append(all.texts, own)
		all.objects += len(own)
		all.inventory += inventoryRoom(manifests)
	}
	return all, nil
}

// packing is content while it is being packed.
type packing struct {
	packed   Packed
	stored   map[string]bool
	binSmall bool
}

// place stores the manifests of one phase: large ones alone, small ones inline
// or, in a large revision, several to a slice; those of kind Secret in Secrets.
func (p *packing) place(objects []v1alpha1.Object, texts []text) error {
	slices, secrets := bin{store: p.slice}, bin{store: p.secret}
	for i, text := range texts {
		target := &slices
		if text.secret {
			target = &secrets
		}
		switch {
		case len(text.data) > InlineLimit:
			if err := target.store(objects, texts, []int{i}); err != nil {
				return err
			}
		case !text.secret && !p.binSmall:
			objects[i].Object = &runtime.RawExtension{Raw: text.data}
		default:
			if err := target.add(objects, texts, i); err != nil {
				return err
			}
		}
	}
	return errors.Join(slices.flush(objects, texts), secrets.flush(objects, texts))
}

// bin collects small manifests that are stored together.
type bin struct {
	store   func(objects []v1alpha1.Object, texts []text, indices []int) error
	indices []int
	size    int
}

func (b *bin) add(objects []v1alpha1.Object, texts []text, index int) error {
	size := len(texts[index].data)
	if b.size+size > sliceLimit {
		if err := b.flush(objects, texts); err != nil {
			return err
		}
	}
	b.indices, b.size = append(b.indices, index), b.size+size
	return nil
}

func (b *bin) flush(objects []v1alpha1.Object, texts []text) error {
	if len(b.indices) == 0 {
		return nil
	}
	err := b.store(objects, texts, b.indices)
	b.indices, b.size = nil, 0
	return err
}

// slice stores the manifests of the given indices in one slice.
func (p *packing) slice(objects []v1alpha1.Object, texts []text, indices []int) error {
	raw, name := join(texts, indices)
	for place, i := range indices {
		objects[i].Slice = &v1alpha1.SliceReference{Name: name, Index: int32(place)}
	}
	if p.stored[name] {
		return nil
	}
	p.stored[name] = true
	data, err := compressTo(raw, dataLimit, indices[0])
	if err != nil {
		return err
	}
	p.packed.Slices = append(p.packed.Slices, v1alpha1.ObjectSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       data, Objects: int32(len(indices)), Bytes: int64(len(raw)),
	})
	return nil
}

// secret stores the sealed manifests of the given indices in one Secret.
func (p *packing) secret(objects []v1alpha1.Object, texts []text, indices []int) error {
	raw, name := join(texts, indices)
	for place, i := range indices {
		objects[i].Secret = &v1alpha1.SecretReference{Name: name, Index: int32(place)}
	}
	if p.stored[name] {
		return nil
	}
	p.stored[name] = true
	data, err := compressTo(raw, corev1.MaxSecretSize, indices[0])
	if err != nil {
		return err
	}
	immutable := true
	p.packed.Secrets = append(p.packed.Secrets, corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       v1alpha1.SecretTypeManifests, Immutable: &immutable, Data: map[string][]byte{SecretKey: data},
	})
	return nil
}

// join is the content of a slice or Secret, and its name.
func join(texts []text, indices []int) (raw []byte, name string) {
	var lines [][]byte
	for _, i := range indices {
		lines = append(lines, texts[i].data)
	}
	raw = bytes.Join(lines, []byte("\n"))
	return raw, SliceName(raw)
}

// compressTo compresses content that must not take more than limit bytes then. The
// first of its manifests is named if it does.
func compressTo(raw []byte, limit, first int) ([]byte, error) {
	data, err := compress(raw)
	if err != nil {
		return nil, err
	}
	if len(raw) > inflateLimit || len(data) > limit {
		return nil, fmt.Errorf("object %d has %d bytes, %d when compressed, and at most %d and %d can be stored: make it smaller, or split it",
			first, len(raw), len(data), inflateLimit, limit)
	}
	return data, nil
}

// SliceName is the name of the ObjectSlice or Secret that holds the content given.
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
