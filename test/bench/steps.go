// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// line is the package of the fixture, and its namespace. Its pods are ready at
	// once; those of slow only count after slowSeconds, as those of most operands.
	line        = "bench"
	slow        = "slow"
	slowSeconds = 3
	// atRest is how long a line at rest is listened to.
	atRest = 30 * time.Second
	// stepLimit bounds one step of one package.
	stepLimit = 2 * time.Minute
)

// step is one thing that happens to the package, and what is counted of it.
type step struct {
	name string
	do   func(context.Context) error
	// figures are what the step gives, by the name of the figure.
	figures map[string]func(counts) int
}

var (
	writes   = func(c counts) int { return c.Writes }
	deletes  = func(c counts) int { return c.Deletes }
	reads    = func(c counts) int { return c.Reads }
	watches  = func(c counts) int { return c.Watches }
	statuses = func(c counts) int { return c.Statuses }
	all      = counts.all
	// changes are all writes, of whatever.
	changes = func(c counts) int { return c.Writes + c.Deletes + c.Statuses + c.Own + c.Events }
)

// measureSteps lets a package live, one step after the other.
func (b *bench) measureSteps(ctx context.Context) error {
	for _, name := range []string{line, slow} {
		if err := b.newNamespace(ctx, name); err != nil {
			return err
		}
	}
	if err := b.quiet(ctx, stepLimit); err != nil {
		return err
	}
	for _, s := range []step{
		{"first rollout", b.rollOut(line, fixture(line)), map[string]func(counts) int{"object writes": writes, "watches": watches, "status patches": statuses}},
		{"steady state", b.rest, map[string]func(counts) int{"requests in 30 s": all}},
		{"a pass that finds nothing", b.touch, map[string]func(counts) int{"requests": all}},
		{"one drifted object", b.drift, map[string]func(counts) int{"object writes": writes}},
		{"upgrade, 1 changed, 1 removed", b.upgrade(line, upgraded(fixture(line))), map[string]func(counts) int{"object writes": writes, "object deletes": deletes, "status patches": statuses}},
		{"archived revision", b.touch, map[string]func(counts) int{"requests a pass": all}},
		{"rollback, 1 changed, 1 back", b.rollback, map[string]func(counts) int{"object writes": writes, "object deletes": deletes, "status patches": statuses}},
		{"restart", b.restart, map[string]func(counts) int{"writes": changes, "object reads": reads, "watches": watches}},
		{"slow first rollout", b.rollOut(slow, slowed(fixture(slow))), map[string]func(counts) int{"object writes": writes, "status patches": statuses}},
		{"slow upgrade", b.upgrade(slow, upgraded(slowed(fixture(slow)))), map[string]func(counts) int{"object writes": writes, "object deletes": deletes, "status patches": statuses}},
		{"deletion", b.remove(line), map[string]func(counts) int{"object deletes": deletes, "object reads": reads, "object writes": writes}},
	} {
		if err := b.take(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	// The large part watches other kinds.
	return b.remove(slow)(ctx)
}

// take makes a step, waits until the manager is at rest, and counts.
func (b *bench) take(ctx context.Context, s step) error {
	b.say("%s", s.name)
	since := time.Now()
	if err := s.do(ctx); err != nil {
		return err
	}
	if err := b.quiet(ctx, stepLimit); err != nil {
		return err
	}
	return b.record(s, since, managerUser)
}

// record counts a user's requests of a step.
func (b *bench) record(s step, since time.Time, user string) error {
	events, err := b.requestsSince(since, user)
	if err != nil {
		return err
	}
	c := count(events, user)
	for figure, of := range s.figures {
		b.figures[s.name+"/"+figure] = float64(of(c))
	}
	fmt.Fprintf(&b.details, "%s: %d requests\n%s", s.name, c.all(), describe(events, since))
	return nil
}

// rollOut rolls a package out for the first time.
func (b *bench) rollOut(name string, manifests []manifest) func(context.Context) error {
	return func(ctx context.Context) error {
		pkg, err := b.newPackage(ctx, name)
		if err != nil {
			return err
		}
		if _, err := b.newRevision(ctx, pkg, 1, manifests); err != nil {
			return err
		}
		return b.awaitCurrent(ctx, name, 1)
	}
}

// upgrade rolls out revision 2.
func (b *bench) upgrade(name string, manifests []manifest) func(context.Context) error {
	return func(ctx context.Context) error {
		pkg := &v1alpha1.Package{}
		if err := b.get(ctx, "", name, pkg); err != nil {
			return err
		}
		if _, err := b.newRevision(ctx, pkg, 2, manifests); err != nil {
			return err
		}
		return b.awaitCurrent(ctx, name, 2)
	}
}

// awaitCurrent waits until a revision has succeeded.
func (b *bench) awaitCurrent(ctx context.Context, name string, number int64) error {
	return await(ctx, fmt.Sprintf("revision %d of %s", number, name), stepLimit, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		pkg := &v1alpha1.Package{}
		if err := b.get(ctx, "", name, pkg); err != nil {
			return false, err
		}
		return pkg.Status.CurrentRevision == number, fmt.Errorf("status: %s %s %v", pkg.Status.Phase, pkg.Status.Probes, pkg.Status.Conditions)
	})
}

// rest does nothing for a while.
func (b *bench) rest(ctx context.Context) error { return pause(ctx, atRest) }

// touch changes every object in a way that is no drift, so that the package is
// looked at. A label does not move an object's generation, as an annotation does
// with a Deployment's.
func (b *bench) touch(ctx context.Context) error {
	for _, m := range upgraded(fixture(line)) {
		object := &unstructured.Unstructured{Object: fields{"apiVersion": m.content["apiVersion"], "kind": m.kind}}
		object.SetNamespace(line)
		object.SetName(m.name)
		patch := fmt.Sprintf(`{"metadata":{"labels":{"bench/touched":"t%d"}}}`, time.Now().UnixNano())
		if err := b.Admin.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			return fmt.Errorf("touching %s %s: %w", m.kind, m.name, err)
		}
	}
	return nil
}

// drift changes a field of an object, and waits until it is put back.
func (b *bench) drift(ctx context.Context) error {
	object := &corev1.ConfigMap{}
	if err := b.get(ctx, line, "configmap-0", object); err != nil {
		return err
	}
	want := object.Data["name"]
	object.Data["name"] = "drifted"
	if err := b.Admin.Update(ctx, object); err != nil {
		return fmt.Errorf("changing an object: %w", err)
	}
	return await(ctx, "the drift to be repaired", stepLimit, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := b.get(ctx, line, "configmap-0", object)
		return object.Data["name"] == want, err
	})
}

// rollback asks for the content of revision 1.
func (b *bench) rollback(ctx context.Context) error {
	pkg := &v1alpha1.Package{}
	if err := b.get(ctx, "", line, pkg); err != nil {
		return err
	}
	before := pkg.DeepCopy()
	pkg.Spec.Rollback = &v1alpha1.Rollback{ToRevision: 1, Reason: "bench", RequestedAt: metav1.Now()}
	if err := b.Admin.Patch(ctx, pkg, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("asking for a rollback: %w", err)
	}
	return b.awaitCurrent(ctx, line, 3)
}

// restart stops the manager and starts it again.
func (b *bench) restart(ctx context.Context) error {
	if err := b.stopManager(); err != nil {
		return err
	}
	return b.startManager(ctx)
}

// remove deletes a package.
func (b *bench) remove(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := b.Admin.Delete(ctx, pkg); err != nil {
			return fmt.Errorf("deleting package %s: %w", name, err)
		}
		return await(ctx, "package "+name+" to go", stepLimit, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
			err := b.Admin.Get(ctx, client.ObjectKeyFromObject(pkg), pkg)
			return apierrors.IsNotFound(err), err
		})
	}
}
