// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

const (
	// large is the package and the namespace of a revision near its bounds, bomb those of
	// slices beyond them.
	large, bomb = "large", "bomb"
	// largeBytes and largeObjects are what the large revision has, a little less than
	// [content.MaxBytes] and than the objects that leave room for their inventory.
	largeBytes, largeObjects = content.MaxBytes - 1<<20, 3600
	// bombSlices is how many slices of bombBytes repeated letters the other one has.
	bombSlices, bombBytes = 12, 30 << 20
	// largeLimit bounds the rollout of the large revision.
	largeLimit = 10 * time.Minute
)

// measureLarge has the manager meet a revision near the bounds, and one far beyond them, and
// notes the most memory that it had.
func (b *bench) measureLarge(ctx context.Context) error {
	for _, name := range []string{large, bomb} {
		if err := b.newNamespace(ctx, name); err != nil {
			return err
		}
	}
	for _, s := range []step{
		{name: "refusal of slices of 360 MB", do: b.refuseBomb},
		{name: "revision near its bounds", do: b.rollOutLarge},
		{name: "restart with a revision near its bounds", do: b.rest},
	} {
		if err := b.restart(ctx); err != nil {
			return err
		}
		b.say("%s", s.name)
		began := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := b.quiet(ctx, largeLimit); err != nil {
			return err
		}
		if m, known := b.process.memory(); known {
			b.figures[s.name+"/MB at most"] = m.peak
			b.say("%.0f MB at most, %.0f s", m.peak, time.Since(began).Seconds())
		}
	}
	for _, name := range []string{large, bomb} {
		if err := b.remove(name)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// largePhases are ConfigMaps of digests, the same in each run, which gzip makes little smaller.
func largePhases() []content.Phase {
	phases := make([]content.Phase, 4)
	const size = (largeBytes/largeObjects - 200) / 2
	for i := range phases {
		phases[i].Name = fmt.Sprintf("part-%d", i)
		for j := range largeObjects / len(phases) {
			var digests []byte
			for len(digests) < size {
				next := sha512.Sum512(fmt.Append(nil, i, j, len(digests)))
				digests = append(digests, next[:]...)
			}
			phases[i].Objects = append(phases[i].Objects, content.Object{Manifest: &unstructured.Unstructured{Object: fields{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": fmt.Sprintf("large-%d-%d", i, j), "namespace": large},
				"data": fields{"value": hex.EncodeToString(digests[:size])},
			}}})
		}
	}
	return phases
}

// rollOutLarge rolls the large revision out.
func (b *bench) rollOutLarge(ctx context.Context) error {
	packed, err := content.Pack(largePhases(), nil)
	if err != nil {
		return fmt.Errorf("packing: %w", err)
	}
	if err := b.storeLarge(ctx, large, packed); err != nil {
		return err
	}
	return await(ctx, "the large revision to be rolled out", largeLimit, time.Second, func(ctx context.Context) (bool, error) {
		pkg := &v1alpha1.Package{}
		err := b.get(ctx, "", large, pkg)
		return pkg.Status.CurrentRevision == 1, errors.Join(err, b.process.isRunning(), fmt.Errorf("phase %s", pkg.Status.Phase))
	})
}

// refuseBomb waits until the manager refuses slices that inflate to far more than they may.
func (b *bench) refuseBomb(ctx context.Context) error {
	packed := content.Packed{Phases: []v1alpha1.Phase{{Name: "part"}}}
	for i := range bombSlices {
		slice, err := bombSlice(i)
		if err != nil {
			return err
		}
		packed.Slices = append(packed.Slices, slice)
		packed.Phases[0].Objects = append(packed.Phases[0].Objects, v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: slice.Name}})
	}
	if err := b.storeLarge(ctx, bomb, packed); err != nil {
		return err
	}
	return await(ctx, "the slices to be refused", stepLimit, time.Second, func(ctx context.Context) (bool, error) {
		pkg := &v1alpha1.Package{}
		err := b.get(ctx, "", bomb, pkg)
		progressing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
		if progressing == nil {
			return false, errors.Join(err, b.process.isRunning())
		}
		return strings.Contains(progressing.Message, "inflates to more than"), errors.Join(err, b.process.isRunning(), errors.New(progressing.Message))
	})
}

// bombSlice is a slice of one ConfigMap of repeated letters.
func bombSlice(number int) (v1alpha1.ObjectSlice, error) {
	raw, err := content.Canonical(&unstructured.Unstructured{Object: fields{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": fmt.Sprintf("bomb-%d", number), "namespace": bomb},
		"data": fields{"value": strings.Repeat("a", bombBytes)},
	}})
	if err != nil {
		return v1alpha1.ObjectSlice{}, fmt.Errorf("encoding: %w", err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(raw); err != nil {
		return v1alpha1.ObjectSlice{}, fmt.Errorf("compressing: %w", err)
	}
	if err := writer.Close(); err != nil {
		return v1alpha1.ObjectSlice{}, fmt.Errorf("compressing: %w", err)
	}
	return v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: content.SliceName(raw)}, Data: packed.Bytes(), Objects: 1, Bytes: int64(len(raw))}, nil
}

// storeLarge makes the slices, the package and its revision.
func (b *bench) storeLarge(ctx context.Context, name string, packed content.Packed) error {
	pkg, err := b.newPackage(ctx, name)
	if err != nil {
		return err
	}
	revision := revisionOf(pkg, 1, packed.Phases)
	objects := []client.Object{}
	for i := range packed.Slices {
		objects = append(objects, &packed.Slices[i])
	}
	for _, object := range append(objects, revision) {
		if err := b.Admin.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}
