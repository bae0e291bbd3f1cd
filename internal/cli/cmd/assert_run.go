// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/revisions"
)

// assertRun evaluates checks whenever something changes, until each is decided.
type assertRun struct {
	*follower

	app     *app
	cluster *cluster
	name    string
	// revision is the one that is checked, 0 for whichever is the target.
	revision int64
	// checks are decided here, or by the first look at the revision.
	checks []check
	// mayCome says that the package need not exist yet.
	mayCome bool
	// tell is called with each status of the rollout.
	tell func(s view.Status)

	started time.Time
	tracked []*tracked
	slices  view.Manifests
	live    map[revisions.ObjectID]*liveObject
}

// run evaluates until every check is decided, and returns the report. The error is
// for what keeps it from being evaluated at all.
func (r *assertRun) run(ctx context.Context, longest time.Duration) (view.AssertReport, error) {
	r.started, r.slices, r.live = r.app.now(), view.Manifests{}, map[revisions.ObjectID]*liveObject{}
	// Nothing may have been read when the time is over.
	r.follower = r.cluster.followPackage(r.app.note, longest+readTimeout, r.name)
	err := r.until(ctx, "waiting for package "+r.name, func(ctx context.Context) (bool, error) {
		done, err := r.step(ctx)
		r.wake = 0
		if next := r.next(); !next.IsZero() {
			r.wake, r.over = max(next.Sub(r.app.now()), time.Millisecond), nil
		}
		return done, err
	})
	if errors.Is(err, errOver) {
		return view.AssertReport{}, exitf(CodeUnreachable, "package %s could not be read within %s", r.name, longest+readTimeout)
	}
	return r.report(), err
}

// step evaluates every check, and says whether all are decided.
func (r *assertRun) step(ctx context.Context) (bool, error) {
	if !r.complete() {
		return false, nil
	}
	if r.snapshot.Package == nil {
		return r.stepWithoutPackage(ctx)
	}
	m := r.moment(ctx)
	h := view.HistoryOf(m.Package, m.Revisions)
	verdict, _ := view.Judge(m.Package, h.Target)
	if m.revision == nil && r.revision != 0 {
		// That an older one has failed says nothing about the one that is to come.
		verdict = view.VerdictInProgress
	}
	if r.tell != nil {
		r.tell(m.Status())
	}
	r.begin(m)
	superseded := r.revision != 0 && h.Target != nil && h.Target.Spec.Revision > r.revision
	done := true
	now := r.app.now()
	for _, t := range r.tracked {
		r.watchObject(ctx, m, t.check)
		if superseded && !t.isDeletion && t.result == "" {
			t.last = found(isFalse, "revision %d was superseded: revision %d is the target now", r.revision, h.Target.Spec.Revision)
			t.end(view.ResultFailed, CodeSuperseded, now)
			continue
		}
		t.take(t.eval(m), r.verdictFor(t, verdict), now)
		done = done && t.result != ""
	}
	return done, nil
}

// verdictFor is the verdict as far as it matters to a check: that a package is being
// deleted is no failure for who waits for its end.
func (r *assertRun) verdictFor(t *tracked, verdict view.Verdict) view.Verdict {
	if t.isDeletion && view.TerminalTeardowns[view.SummarisePackage(r.snapshot.Package, nil).State] {
		return view.VerdictFailed
	}
	if t.isDeletion {
		return view.VerdictInProgress
	}
	return verdict
}

// stepWithoutPackage decides what can be decided while there is no package.
func (r *assertRun) stepWithoutPackage(ctx context.Context) (bool, error) {
	now := r.app.now()
	r.begin(moment{})
	if len(r.tracked) == 0 {
		return false, r.cluster.notFound(ctx, r.name)
	}
	existed := slices.ContainsFunc(r.tracked, func(t *tracked) bool { return t.last.message != "" })
	done := true
	for _, t := range r.tracked {
		switch {
		case t.isDeletion:
			t.take(found(isTrue, "package %s does not exist", r.name), view.VerdictInProgress, now)
		case r.mayCome && !existed:
			t.take(finding{truth: notReached}, view.VerdictInProgress, now)
		case existed:
			return false, exitf(CodeNotFound, "package %s was deleted", r.name)
		default:
			return false, r.cluster.notFound(ctx, r.name)
		}
		done = done && t.result != ""
	}
	return done, nil
}

func (r *assertRun) begin(m moment) {
	if r.tracked != nil {
		return
	}
	if r.checks == nil && m.Package != nil {
		r.checks = checksOfRevision(m)
	}
	for _, c := range r.checks {
		r.tracked = append(r.tracked, &tracked{check: c, started: r.app.now()})
	}
}

func (r *assertRun) moment(ctx context.Context) moment {
	m := r.lookedAt()
	if m.revision != nil {
		if err := r.cluster.readSlices(ctx, r.slices, append(m.ShownRevisions(false), m.revision)...); err != nil && ctx.Err() == nil {
			r.app.note("Note: some objects cannot be named: %s", err)
		}
	}
	return m
}

// lookedAt is the moment as far as the cluster was read.
func (r *assertRun) lookedAt() moment {
	m := moment{Snapshot: r.snapshot, live: r.live}
	m.Manifests = r.slices
	if m.Package == nil {
		return m
	}
	h := view.HistoryOf(m.Package, m.Revisions)
	m.revision = h.Target
	if r.revision != 0 {
		m.revision = h.Find(r.revision)
	}
	return m
}

func (r *assertRun) watchObject(ctx context.Context, m moment, c check) {
	if c.object == nil {
		return
	}
	ref, f := m.resolve(*c.object)
	id := view.IdentityOf(ref)
	if f.truth != isTrue || r.live[id] != nil {
		return
	}
	r.live[id] = &liveObject{}
	r.start(ctx, objectFeed(ref, r.live[id]))
}

// next is when to look again although nothing has changed, zero for never.
func (r *assertRun) next() time.Time {
	var soonest time.Time
	for _, t := range r.tracked {
		if at := t.next(); !at.IsZero() && (soonest.IsZero() || at.Before(soonest)) {
			soonest = at
		}
	}
	return soonest
}

func (r *assertRun) report() view.AssertReport {
	m := r.lookedAt()
	report := reportOf(m, r.name, r.tracked, r.started, r.app.now())
	switch {
	case report.Passed:
	case r.lost:
		report.ExitCode = int(CodeUnreachable)
	case r.revision != 0 && m.revision == nil && report.ExitCode != int(CodeSuperseded):
		report.Message = fmt.Sprintf("it has no revision %d", r.revision)
		if report.ExitCode == int(CodeFalse) {
			report.ExitCode = int(CodeNotFound)
		}
	}
	return report
}

// objectFeed watches one object. That it cannot be read is a fact about the object, and may
// pass: its kind may be served later.
func objectFeed(ref v1alpha1.ObjectReference, live *liveObject) feed {
	kind := schema.GroupVersionKind{Group: ref.Group, Version: ref.Version, Kind: ref.Kind}
	return feed{
		newList: func() client.ObjectList {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			return list
		},
		options: []client.ListOption{
			client.InNamespace(ref.Namespace),
			client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", ref.Name)},
		},
		set: func(objects []any) {
			*live = liveObject{read: true}
			if found := of[*unstructured.Unstructured](objects); len(found) == 1 {
				live.current = found[0]
			}
		},
		failed: func(err error) { *live = liveObject{read: true, err: err} },
	}
}

// readTimeout is how long the first read of a live object may take.
const readTimeout = 15 * time.Second

// tracked is a check and what is known of it over time.
type tracked struct {
	check

	started time.Time
	// since is since when it holds without interruption, zero while it does not.
	since time.Time
	// last is what was found last.
	last          finding
	interruptions int
	// result is empty until it is decided; ended is when that was, code why it
	// failed.
	result string
	ended  time.Time
	code   Code
}

func (t *tracked) deadline() time.Time { return t.started.Add(t.within) }

// take takes in what was found at a time, and decides if it can. The verdict is that
// of the rollout: what has failed gets no further by itself.
func (t *tracked) take(f finding, verdict view.Verdict, now time.Time) {
	if t.result != "" {
		return
	}
	if f.truth != isTrue && t.last.truth == isTrue && !t.since.IsZero() {
		t.interruptions++
		f.message = fmt.Sprintf("%s (it had held for %s of %s)", f.message, now.Sub(t.since).Round(100*time.Millisecond), t.holdsFor)
	}
	t.last = f
	switch f.truth {
	case isTrue:
		if t.since.IsZero() {
			t.since = now
		}
		if now.Sub(t.since) >= t.holdsFor {
			t.end(view.ResultPassed, CodeOK, now)
		}
		return
	case unread:
		if now.Sub(t.started) >= max(t.within, readTimeout) {
			t.end(view.ResultError, CodeUnreachable, now)
		}
		return
	case impossible:
		t.end(view.ResultError, CodeFalse, now)
		return
	case isFalse, notReached, unreadable:
	}
	t.since = time.Time{}
	switch {
	case verdict == view.VerdictFailed:
		t.end(t.failure(), CodeTerminal, now)
	case now.Before(t.deadline()):
	case t.within > 0 && verdict == view.VerdictInProgress:
		t.end(t.failure(), CodeTimeout, now)
	default:
		t.end(t.failure(), CodeFalse, now)
	}
}

func (t *tracked) failure() string {
	switch t.last.truth {
	case notReached:
		return view.ResultSkipped
	case unreadable, unread, impossible:
		return view.ResultError
	case isFalse, isTrue:
	}
	return view.ResultFailed
}

func (t *tracked) end(result string, code Code, now time.Time) {
	t.result, t.code, t.ended = result, code, now
}

// next is when it has to be looked at again although nothing has changed, zero for
// never.
func (t *tracked) next() time.Time {
	switch {
	case t.result != "":
		return time.Time{}
	case t.last.truth == isTrue && !t.since.IsZero():
		return t.since.Add(t.holdsFor)
	case t.last.truth == unread:
		return t.started.Add(max(t.within, readTimeout))
	}
	return t.deadline()
}

func (t *tracked) report() view.AssertResult {
	r := view.AssertResult{
		Name: t.name, Class: t.class, Result: cmp.Or(t.result, t.failure()), Message: t.last.message, Interruptions: t.interruptions,
		Seconds: seconds(t.ended.Sub(t.started)),
	}
	if !t.since.IsZero() {
		r.HeldSeconds = seconds(t.ended.Sub(t.since))
	}
	return r
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func reportOf(m moment, name string, all []*tracked, started, now time.Time) view.AssertReport {
	r := view.AssertReport{
		TypeMeta: view.DocumentType("AssertReport"), Package: name, StartedAt: metav1.NewTime(started.UTC().Truncate(time.Second)),
		Seconds: seconds(now.Sub(started)), Passed: true, Results: []view.AssertResult{},
	}
	if m.revision != nil {
		r.Revision, r.RevisionUID = m.revision.Spec.Revision, string(m.revision.UID)
		r.ContentDigest, r.Version = m.revision.Spec.ContentDigest, view.VersionOf(m.revision)
	}
	for _, t := range all {
		if t.ended.IsZero() {
			t.ended = now
		}
		result := t.report()
		r.Results = append(r.Results, result)
		if t.result == view.ResultPassed {
			continue
		}
		if r.Passed {
			r.Passed, r.Message = false, t.name+": "+t.last.message
		}
		r.ExitCode = int(worse(Code(r.ExitCode), t.code))
	}
	return r
}

// worse is the exit code that says more of two: what cannot become so goes before
// what takes its time.
func worse(a, b Code) Code {
	for _, code := range []Code{CodeTerminal, CodeSuperseded, CodeNotFound, CodeUnreachable, CodeTimeout, CodeFalse} {
		if a == code || b == code {
			return code
		}
	}
	return CodeOK
}
