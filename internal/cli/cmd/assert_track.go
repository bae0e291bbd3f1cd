// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/cli/view"
)

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

// deadline is until when it has to have become true.
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

// failure is the result of what does not hold.
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

// report is what became of it.
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

// seconds rounds to milliseconds.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// reportOf is the document for tracked checks.
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
