// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/history"
)

// Owner is whose packages are made.
type Owner struct {
	// Front is the front's name.
	Front string
	// Group is the group of its resources, empty where all of them are one.
	Group string
}

// TakenError says that a package of the name that a front wants belongs to another owner.
type TakenError struct{ message string }

// Error says whose it is, and the remedy.
func (e *TakenError) Error() string { return e.message }

// Publisher makes the Packages and Revisions that fronts want.
type Publisher struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Contents are where revisions keep what does not stand in them.
	Contents *content.Store
	// Now is the clock.
	Now func() time.Time
}

func (p *Publisher) now() metav1.Time { return metav1.NewTime(p.Now()).Rfc3339Copy() }

// Publish makes what is missing of the packages, and says where each stands. It
// returns at once: a package that has to wait for another gets its revision in a
// later pass.
func (p *Publisher) Publish(ctx context.Context, owner Owner, wanted []content.Package) ([]Package, error) {
	var states []Package
	var errs []error
	done := map[string]bool{}
	for _, want := range wanted {
		state, err := p.publish(ctx, owner, want, done)
		errs = append(errs, err)
		states = append(states, state)
		done[want.Name] = err == nil && state.Need == history.NeedNone && isOver(state.Package, state.Target.Spec.Revision)
	}
	return states, errors.Join(errs...)
}

// isOver says whether a rollout has come to an end, so that packages after it need
// not wait any longer: it has succeeded, or what it was to create exists and
// belongs to another owner. Both are read from the Package, whose event starts this
// pass.
func isOver(pkg *v1alpha1.Package, target int64) bool {
	progressing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
	return pkg.Status.CurrentRevision == target ||
		pkg.Status.TargetRevision == target && progressing != nil && progressing.Reason == v1alpha1.ReasonObjectCollisions
}

func (p *Publisher) publish(ctx context.Context, owner Owner, want content.Package, done map[string]bool) (Package, error) {
	state := Package{Name: want.Name, Version: want.Origin.AppVersion}
	if want.Blocked != "" {
		return p.blocked(ctx, owner, want)
	}
	packed, err := p.Contents.Pack(ctx, want.Phases, want.Probes)
	if err != nil {
		return state, fmt.Errorf("package %s: %w", want.Name, err)
	}
	packed.Digest = content.Identified(packed.Digest, want.Origin.Identity)
	if state.Package, err = p.ensurePackage(ctx, owner, want); err != nil {
		return state, err
	}
	line, err := p.line(ctx, state.Package)
	if err != nil {
		return state, err
	}
	state.Target, state.Need = line.Target, line.NeedFor(state.Package, packed.Digest)
	if state.Need == history.NeedNone && isUnavailable(line.Target) {
		// What is missing of the content is at hand, so it need not be restored by hand.
		err = p.Contents.Keep(ctx, state.Package, packed, nil)
	}
	if err == nil && state.Need == history.NeedNone {
		err = p.describe(ctx, line.Target, want)
	}
	if err == nil && state.Need == history.NeedNone && line.LiftsRejection(state.Package) {
		err = p.annotate(ctx, state.Package, v1alpha1.AnnotationRejectionLifted, strconv.FormatInt(line.Target.Spec.Revision, 10))
	}
	if err != nil || state.Need != history.NeedRevision {
		return state, err
	}
	for _, other := range want.After {
		if !done[other] {
			state.Waiting = other
			return state, nil
		}
	}
	if want.MayShrink {
		if err := p.allowPrune(ctx, state.Package, line, packed); err != nil {
			return state, err
		}
	}
	next, err := p.create(ctx, state.Package, line, packed, want)
	if err != nil {
		return state, err // what was the target still is
	}
	state.Target, state.Need = next, history.NeedNone
	return state, nil
}

// blocked is where a package stands that gets nothing new for now. One that is not there
// is not made.
func (p *Publisher) blocked(ctx context.Context, owner Owner, want content.Package) (Package, error) {
	state := Package{Name: want.Name, Version: want.Origin.AppVersion, Need: history.NeedRevision, Blocked: want.Blocked}
	pkg, err := p.read(ctx, owner, want.Name)
	if err != nil {
		return state, client.IgnoreNotFound(err)
	}
	if pkg, err = p.keepSettings(ctx, pkg, want.Settings); err != nil {
		return state, err
	}
	line, err := p.line(ctx, pkg)
	state.Package, state.Target = pkg, line.Target
	return state, err
}

// read is a package of the owner's. It is given with an error, too, when it exists and
// is not to be used.
func (p *Publisher) read(ctx context.Context, owner Owner, name string) (*v1alpha1.Package, error) {
	pkg := &v1alpha1.Package{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: name}, pkg); err != nil {
		return nil, fmt.Errorf("reading package %s: %w", name, err)
	}
	front, group := pkg.Labels[v1alpha1.LabelFront], pkg.Annotations[v1alpha1.AnnotationFrontGroup]
	switch {
	case front != owner.Front:
		return pkg, &TakenError{fmt.Sprintf("package %s exists and is not of front %s (its label %s is %q): delete or rename it", name, owner.Front, v1alpha1.LabelFront, front)}
	case group != owner.Group:
		return pkg, &TakenError{fmt.Sprintf("package %s exists and is not of %s (its annotation %s is %q): delete or rename it", name, owner.Group, v1alpha1.AnnotationFrontGroup, group)}
	case !pkg.DeletionTimestamp.IsZero():
		return pkg, fmt.Errorf("package %s is being deleted, and is created again afterwards", name)
	}
	return pkg, nil
}

// ensurePackage makes the Package if it is missing, with its finalizer from the
// start.
func (p *Publisher) ensurePackage(ctx context.Context, owner Owner, want content.Package) (*v1alpha1.Package, error) {
	pkg, err := p.read(ctx, owner, want.Name)
	if err == nil {
		return p.keepSettings(ctx, pkg, want.Settings)
	}
	if !apierrors.IsNotFound(err) {
		return pkg, err
	}
	pkg = &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{
		Name: want.Name, Labels: map[string]string{v1alpha1.LabelFront: owner.Front}, Finalizers: []string{v1alpha1.FinalizerTeardown},
	}}
	if owner.Group != "" {
		pkg.Annotations = map[string]string{v1alpha1.AnnotationFrontGroup: owner.Group}
	}
	SetSettings(pkg, want.Settings)
	if err := p.Client.Create(ctx, pkg); err != nil {
		return nil, fmt.Errorf("creating package %s: %w", want.Name, err)
	}
	return pkg, nil
}

// line is read from the cache. When that lags behind, the number that it gives is
// taken, and the next pass looks again.
func (p *Publisher) line(ctx context.Context, pkg *v1alpha1.Package) (history.History, error) {
	list := &v1alpha1.RevisionList{}
	if err := p.Client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return history.History{}, fmt.Errorf("listing the revisions of %s: %w", pkg.Name, err)
	}
	own := make([]v1alpha1.Revision, 0, len(list.Items))
	highest := int64(0)
	for i := range list.Items {
		// Those of a package of this name that is gone say nothing about what this one
		// has, but take up numbers until the garbage collector has come by.
		highest = max(highest, list.Items[i].Spec.Revision)
		if controller := metav1.GetControllerOf(&list.Items[i]); controller == nil || controller.UID == pkg.UID {
			own = append(own, list.Items[i])
		}
	}
	line := history.Sort(pkg, own)
	line.Highest = max(line.Highest, highest)
	return line, nil
}

// isUnavailable says that a revision waits for a slice or Secret that is missing or
// altered.
func isUnavailable(revision *v1alpha1.Revision) bool {
	progressing := meta.FindStatusCondition(revision.Status.Conditions, v1alpha1.ConditionProgressing)
	return progressing != nil && progressing.Reason == v1alpha1.ReasonContentUnavailable
}

// allowPrune lets exactly this content be rolled out if it has fewer objects than a
// revision that it takes over from.
func (p *Publisher) allowPrune(ctx context.Context, pkg *v1alpha1.Package, line history.History, next content.Packed) error {
	shrinks := slices.ContainsFunc(slices.Concat(line.Serving, []*v1alpha1.Revision{line.Target}), func(before *v1alpha1.Revision) bool {
		return before != nil && countOf(next.Phases) < countOf(before.Spec.Phases)
	})
	if !shrinks || pkg.Annotations[v1alpha1.AnnotationAllowPrune] == next.Digest {
		return nil
	}
	return p.annotate(ctx, pkg, v1alpha1.AnnotationAllowPrune, next.Digest)
}

// annotate sets an annotation of a package.
func (p *Publisher) annotate(ctx context.Context, pkg *v1alpha1.Package, key, value string) error {
	changed := pkg.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	if err := p.Client.Patch(ctx, changed, client.MergeFrom(pkg)); err != nil {
		return fmt.Errorf("setting %s of package %s: %w", key, pkg.Name, err)
	}
	return nil
}

func countOf(phases []v1alpha1.Phase) int {
	count := 0
	for _, phase := range phases {
		count += len(phase.Objects)
	}
	return count
}

// create stores the content first and makes the revision then, so that a revision
// never refers to what was not there.
func (p *Publisher) create(ctx context.Context, pkg *v1alpha1.Package, line history.History, packed content.Packed, want content.Package) (*v1alpha1.Revision, error) {
	if err := p.Contents.Keep(ctx, pkg, packed, line.Target); err != nil {
		return nil, err
	}
	next := line.Next(pkg, history.Content{Phases: packed.Phases, Probes: want.Probes, Digest: packed.Digest, Origin: want.Origin, Labels: want.Labels, Annotations: want.Annotations})
	if err := p.Client.Create(ctx, next); err != nil {
		return nil, fmt.Errorf("creating revision %d of package %s: %w", next.Spec.Revision, pkg.Name, err)
	}
	return next, nil
}

// Unpublish deletes packages: their objects go with them, but for those of the packages
// that are named as orphans, which stay.
func (p *Publisher) Unpublish(ctx context.Context, packages []v1alpha1.Package, orphans []string) error {
	var errs []error
	for i := range packages {
		pkg := &packages[i]
		propagation := metav1.DeletePropagationBackground
		if slices.Contains(orphans, pkg.Name) {
			propagation = metav1.DeletePropagationOrphan
		}
		err := p.Client.Delete(ctx, pkg, client.Preconditions{UID: &pkg.UID}, client.PropagationPolicy(propagation))
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("deleting package %s: %w", pkg.Name, err))
		}
	}
	return errors.Join(errs...)
}

// packages are those that the front has made.
func (p *Publisher) packages(ctx context.Context, front string, meant func(*v1alpha1.Package) bool) ([]v1alpha1.Package, error) {
	list := &v1alpha1.PackageList{}
	if err := p.Client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelFront: front}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the packages of front %s: %w", front, err)
	}
	var found []v1alpha1.Package
	for i := range list.Items {
		if err := decoding.Problem(&list.Items[i]); err != nil {
			return nil, fmt.Errorf("reading package %s: %w", list.Items[i].Name, err)
		}
		if meant(&list.Items[i]) {
			found = append(found, *list.Items[i].DeepCopy())
		}
	}
	return found, nil
}
