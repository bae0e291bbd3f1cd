// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// manyPackages is the step of the large part that makes them.
	manyPackages = "rollout of 1,000 packages of 20 objects"
	// namespaces is over how many the packages of the large part are spread.
	namespaces = 10
	// archived is how many archived revisions each has.
	archived = 5
	// scaleLimit bounds each stage of the large part.
	scaleLimit = 10 * time.Minute
	// together is how many packages are made side by side.
	together = 16
)

// small is what each package of the large part has: 20 objects of five kinds in
// two phases.
func small(namespace, pkg string) []manifest {
	var all []manifest
	add := func(phase, kind string, number int, content func(name string) fields) {
		for i := range number {
			m := manifest{phase: phase, kind: kind, name: fmt.Sprintf("%s-%d", pkg, i), content: content(fmt.Sprintf("%s-%d", pkg, i))}
			m.content["kind"] = kind
			m.content["metadata"] = fields{"name": m.name, "namespace": namespace, "labels": fields{"app.kubernetes.io/name": pkg}}
			all = append(all, m)
		}
	}
	add("config", "ServiceAccount", 4, func(string) fields { return fields{"apiVersion": "v1"} })
	add("config", "ConfigMap", 8, configMap)
	add("access", "Role", 3, func(string) fields { return role() })
	add("access", "RoleBinding", 3, roleBinding)
	add("access", "Service", 2, func(string) fields {
		// Without a selector there are no endpoints to keep.
		return fields{"apiVersion": "v1", "spec": fields{"ports": []any{fields{"name": "http", "port": 80, "targetPort": 8080}}}}
	})
	return all
}

// measureScale rolls out many packages and restarts the manager over them, at last
// with a long history of each.
func (b *bench) measureScale(ctx context.Context) error {
	if b.packages == 0 {
		return nil
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	for i := range namespaces {
		if err := b.newNamespace(ctx, scaleNamespace(i)); err != nil {
			return err
		}
	}
	revisions, err := b.rollOutMany(ctx)
	if err != nil {
		return err
	}
	if err := b.recordMemory(ctx, manyPackages, true); err != nil {
		return err
	}
	if err := b.restartMany(ctx, "restart with 1,000 packages", true); err != nil {
		return err
	}
	if err := b.stopManager(); err != nil {
		return err
	}
	b.say("archiving %d revisions", archived*b.packages)
	if err := b.each(ctx, func(ctx context.Context, i int) error { return b.addHistory(ctx, revisions[i]) }); err != nil {
		return err
	}
	return b.restartMany(ctx, "restart with 5,000 archived revisions", false)
}

func scaleNamespace(i int) string { return fmt.Sprintf("scale-%d", i%namespaces) }

// rollOutMany makes the packages, each with one revision, whose number leaves room
// for older ones, and waits until they are rolled out.
func (b *bench) rollOutMany(ctx context.Context) ([]*v1alpha1.Revision, error) {
	b.say("rolling out %d packages", b.packages)
	began := time.Now()
	revisions := make([]*v1alpha1.Revision, b.packages)
	err := b.each(ctx, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("scale-%d", i)
		pkg, err := b.newPackage(ctx, name)
		if err != nil {
			return err
		}
		revisions[i], err = b.newRevision(ctx, pkg, archived+1, small(scaleNamespace(i), name))
		return err
	})
	if err != nil {
		return nil, err
	}
	err = await(ctx, "the packages to be rolled out", scaleLimit, 2*time.Second, func(ctx context.Context) (bool, error) {
		list := &v1alpha1.PackageList{}
		if err := b.Admin.List(ctx, list); err != nil {
			return false, err
		}
		done := 0
		for i := range list.Items {
			if list.Items[i].Status.CurrentRevision == archived+1 {
				done++
			}
		}
		return done == b.packages, errors.Join(b.process.isRunning(), fmt.Errorf("%d of %d are", done, b.packages))
	})
	if err != nil {
		return nil, err
	}
	b.figures[manyPackages+"/seconds"] = time.Since(began).Seconds()
	if err := b.quiet(ctx, scaleLimit); err != nil {
		return nil, err
	}
	s := step{name: manyPackages, figures: map[string]func(counts) int{"object writes": writes, "status patches": statuses}}
	return revisions, b.record(s, began, managerUser)
}

// restartMany restarts the manager, waits until it is at rest, and counts.
func (b *bench) restartMany(ctx context.Context, name string, isJudged bool) error {
	b.say("%s", name)
	since := time.Now()
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.quiet(ctx, scaleLimit); err != nil {
		return err
	}
	s := step{name: name, figures: map[string]func(counts) int{"writes": changes, "object reads": reads, "watches": watches}}
	if err := b.record(s, since, managerUser); err != nil {
		return err
	}
	return b.recordMemory(ctx, name, isJudged)
}

// settling is how long memory is given back after there was much to do: Go collects
// garbage every two minutes when there is little, and then returns pages bit by bit.
const settling = 150 * time.Second

// recordMemory notes how much memory the manager has: at rest, where it is judged.
func (b *bench) recordMemory(ctx context.Context, name string, isJudged bool) error {
	busy, known := b.process.memory()
	if !known {
		return nil
	}
	if isJudged && b.packages == fullScale {
		if err := pause(ctx, settling); err != nil {
			return err
		}
	}
	rest, _ := b.process.memory()
	b.say("%.0f MB, after %.0f MB, at most %.0f MB", rest.resident, busy.resident, rest.peak)
	b.figures[name+"/MB resident"] = rest.resident
	b.figures[name+"/MB of it anonymous"] = rest.anonymous
	b.figures[name+"/MB at most"] = rest.peak
	return nil
}

// addHistory makes the older revisions of a package, as they are once archived.
func (b *bench) addHistory(ctx context.Context, newest *v1alpha1.Revision) error {
	now := metav1.Now()
	for number := int64(1); number <= archived; number++ {
		revision := newest.DeepCopy()
		revision.ObjectMeta = metav1.ObjectMeta{
			Name:   v1alpha1.RevisionName(newest.Spec.Package, number),
			Labels: newest.Labels, Finalizers: newest.Finalizers, OwnerReferences: newest.OwnerReferences,
		}
		revision.Spec.Revision, revision.Spec.Previous = number, number-1
		revision.Spec.LifecycleState = v1alpha1.LifecycleArchived
		if err := b.Admin.Create(ctx, revision); err != nil {
			return fmt.Errorf("creating revision %s: %w", revision.Name, err)
		}
		revision.Status = v1alpha1.RevisionStatus{
			ObservedGeneration: revision.Generation, Phase: "2/2", ArchivedAt: &now, SucceededAt: &now, LastProgressTime: &now,
			Conditions: []metav1.Condition{
				was(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonArchived, now),
				was(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonArchived, now),
				was(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonRolloutSuccess, now),
			},
		}
		if err := b.Admin.Status().Update(ctx, revision); err != nil {
			return fmt.Errorf("writing the status of revision %s: %w", revision.Name, err)
		}
	}
	return nil
}

func was(kind string, status metav1.ConditionStatus, reason string, at metav1.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "the revision is history", LastTransitionTime: at, ObservedGeneration: 1}
}

// each does something for every package, several at a time.
func (b *bench) each(ctx context.Context, do func(ctx context.Context, i int) error) error {
	errs := make([]error, together)
	var group sync.WaitGroup
	for worker := range together {
		group.Go(func() {
			for i := worker; i < b.packages && errs[worker] == nil; i += together {
				errs[worker] = do(ctx, i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
