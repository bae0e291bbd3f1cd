// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/history"
)

// Explanation is the document of `strata explain`: why a package is where it is, and
// what to do about it.
type Explanation struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package.
	Package PackageSummary `json:"package"`
	// Verdict is RolledOut, InProgress or Failed.
	Verdict Verdict `json:"verdict"`
	// Message says why, in words.
	Message string `json:"message,omitempty"`
	// Target is the revision that rolls out, or has rolled out last.
	Target *RevisionSummary `json:"target,omitempty"`
	// Phase is the first phase of the target that is not complete.
	Phase *PhaseProgress `json:"phase,omitempty"`
	// Blocking is the first object that blocks the rollout. Its message says what is
	// expected and what was found.
	Blocking *TreeObject `json:"blocking,omitempty"`
	// Events are the last ones of the blocking object and its pods; of the package
	// and its revisions when no object blocks it.
	Events []PackageEvent `json:"events"`
	// Findings are what a check before the first write has found, such as rights
	// that are missing.
	Findings []string `json:"findings,omitempty"`
	// Interference are the objects that do not stay as they were left.
	Interference []v1alpha1.Interference `json:"interference,omitempty"`
	// Flaps are the objects that were ready and ceased to be so.
	Flaps []v1alpha1.Flap `json:"flaps,omitempty"`
	// Waiting are newer revisions that are withheld, and for what.
	Waiting []WaitingRevision `json:"waiting,omitempty"`
	// RollbackRefused is why the package's rollback request was refused.
	RollbackRefused string `json:"rollbackRefused,omitempty"`
	// Rejected is the revision whose content the target, a rollback, keeps out; 0 when it
	// keeps none out. Pinned is true when it keeps out every other content as well.
	Rejected int64 `json:"rejected,omitempty"`
	Pinned   bool  `json:"pinned,omitempty"`
	// PausedRevision is the pause of the target alone.
	PausedRevision *v1alpha1.Pause `json:"pausedRevision,omitempty"`
	// NextTry says when the controller looks at it again by itself.
	NextTry string `json:"nextTry,omitempty"`
	// NextTryAt is that time, where it is certain.
	NextTryAt *metav1.Time `json:"nextTryAt,omitempty"`
	// DeadlineAt is when the rollout fails if nothing moves until then.
	DeadlineAt *metav1.Time `json:"deadlineAt,omitempty"`
	// Resolution says which bundle the extension gets that the package is of; unset for others.
	Resolution *front.Resolution `json:"resolution,omitempty"`
	// Next are the commands to run next, the most useful one first.
	Next []NextCommand `json:"next"`
	// Unread says what could not be read.
	Unread []string `json:"unread,omitempty"`
}

// WaitingRevision is a revision that is withheld.
type WaitingRevision struct {
	// Revision is its number.
	Revision int64 `json:"revision"`
	// Digest is that of its content, to approve it by.
	Digest string `json:"digest,omitempty"`
	// Why says what it waits for, without what it would do.
	Why string `json:"why"`
	// Summary counts what it would do.
	Summary string `json:"summary,omitempty"`
}

// NextCommand is a command and what it is for.
type NextCommand struct {
	// Command is the command line.
	Command string `json:"command"`
	// Why says what it is for.
	Why string `json:"why"`
}

// Explanation says why a package is where it is. Events are added by the caller.
func (v Snapshot) Explanation(now time.Time) Explanation {
	s := v.Status()
	e := Explanation{
		TypeMeta: DocumentType("Explanation"), Package: s.Package, Verdict: s.Verdict, Message: s.Message, Target: s.Target,
		Blocking: s.Blocking, RollbackRefused: s.RollbackRefused, Events: []PackageEvent{}, Next: []NextCommand{},
	}
	for i := range s.Phases {
		if s.Phases[i].State != string(v1alpha1.PhaseComplete) {
			e.Phase = &s.Phases[i]
			break
		}
	}
	h := HistoryOf(v.Package, v.Revisions)
	target := h.Target
	for _, r := range append(h.Waiting, target) {
		if r == nil || !IsWithheld(r) {
			continue
		}
		w := WaitingRevision{Revision: r.Spec.Revision, Digest: DigestOf(r), Why: SummariseRevision(r, v.Revisions, s.Package).Message}
		if r.Status.Plan != nil {
			w.Summary = r.Status.Plan.Summary
			w.Why = strings.TrimSuffix(w.Why, "; it would do: "+w.Summary)
		}
		e.Waiting = append(e.Waiting, w)
	}
	if target != nil {
		e.Interference = slices.DeleteFunc(slices.Clone(target.Status.Interference), isFlap)
		e.Flaps = target.Status.Flaps
		if s.Package.State == v1alpha1.ReasonPreflightFailed || s.Package.State == v1alpha1.ReasonPermissionDenied {
			e.Findings = strings.Split(SummariseRevision(target, v.Revisions, s.Package).Message, "; ")
		}
		e.Rejected, e.Pinned = h.Rejected(v.Package), v.Package.Spec.Rollback != nil && v.Package.Spec.Rollback.Pin
		e.DeadlineAt = deadlineOf(s, target)
		if pause := RevisionPause(target); pause != nil {
			e.PausedRevision, e.DeadlineAt = pause, nil
			e.Message = "revision " + Number(target.Spec.Revision) + " is " + PauseText(pause)
		}
	}
	e.NextTryAt = nextTryAt(v.Package, e, now)
	e.NextTry = nextTry(v.Package, target, e, now)
	e.Next = nextCommands(v, e, now)
	return e
}

// deadlineOf is when a rollout fails if nothing moves until then, nil for never.
func deadlineOf(s Status, target *v1alpha1.Revision) *metav1.Time {
	var deadline *metav1.Time
	if s.Package.State == v1alpha1.ReasonRollingOut && s.LastProgressAt != nil && s.DeadlineSeconds > 0 {
		at := metav1.NewTime(s.LastProgressAt.Add(time.Duration(s.DeadlineSeconds) * time.Second))
		deadline = &at
	}
	for _, object := range target.Status.Objects {
		if object.DueAt != nil && (deadline == nil || object.DueAt.Before(deadline)) {
			deadline = object.DueAt
		}
	}
	return deadline
}

// nextTryAt is when the controller looks at it again by itself, nil when that is not
// certain: when a pause ends, when the probes of what blocks it have held for long
// enough, or when an object is repaired that does not stay as it was left.
func nextTryAt(pkg *v1alpha1.Package, e Explanation, now time.Time) *metav1.Time {
	if history.PauseOf(pkg, now) != nil {
		return pkg.Spec.Paused.Until
	}
	var next *metav1.Time
	if e.Blocking != nil {
		next = e.Blocking.steadyAt()
	}
	for _, i := range e.Interference {
		if at := i.NextRepair; at != nil && at.After(now) && (next == nil || at.Before(next)) {
			next = at
		}
	}
	if next == nil || !next.After(now) {
		return nil
	}
	return next
}

func nextTry(pkg *v1alpha1.Package, target *v1alpha1.Revision, e Explanation, now time.Time) string {
	switch {
	case e.Verdict == VerdictRolledOut && len(e.Interference) == 0:
		return ""
	case history.PauseOf(pkg, now) != nil && e.NextTryAt != nil:
		return "when the pause ends, at " + Stamp(e.NextTryAt.Time)
	case history.PauseOf(pkg, now) != nil, target != nil && RevisionPause(target) != nil:
		return "when it is resumed"
	case len(e.Waiting) > 0 && (e.Blocking == nil || e.Package.State == v1alpha1.ReasonAwaitingApproval):
		return "as soon as the content is approved"
	case e.NextTryAt != nil:
		return fmt.Sprintf("at %s, in %s", Stamp(e.NextTryAt.Time), duration.HumanDuration(e.NextTryAt.Sub(now)))
	case e.Verdict == VerdictRolledOut:
		return ""
	}
	return cmp.Or(history.ReasonOf(e.Package.State).NextTry, "as soon as an object changes, and at least once a minute while it waits")
}

func nextCommands(v Snapshot, e Explanation, now time.Time) []NextCommand {
	next := []NextCommand{}
	add := func(why, format string, args ...any) {
		next = append(next, NextCommand{Command: fmt.Sprintf(format, args...), Why: why})
	}
	name := e.Package.Name
	if history.PauseOf(v.Package, now) != nil {
		add("go on", "strata resume %s", name)
	}
	if target := HistoryOf(v.Package, v.Revisions).Target; target != nil && RevisionPause(target) != nil {
		add("resume the revision", "strata resume %s --revision %d", name, target.Spec.Revision)
	}
	if len(e.Waiting) > 0 {
		add(fmt.Sprintf("see what revision %d would do, and approve it", e.Waiting[0].Revision), "strata approve %s --revision %d%s", name, e.Waiting[0].Revision, gateFlags(v.Package, e.Waiting[0].Digest))
	}
	switch e.Package.State {
	case v1alpha1.ReasonObjectCollisions:
		if e.Blocking != nil {
			add("see whose it is", "strata trace %s%s", traceArgument(e.Blocking.ObjectReference), namespaceFlag(e.Blocking.ObjectReference))
			add("take it over, if it is to be the package's", "strata adopt %s", name)
		}
	case v1alpha1.ReasonPermissionDenied, v1alpha1.ReasonPreflightFailed:
		if account := v.Package.Spec.ServiceAccount; account != nil {
			add("see what the package's identity may do", "kubectl auth can-i --list --as=system:serviceaccount:%s:%s", account.Namespace, account.Name)
		}
	case v1alpha1.ReasonTearingDown, v1alpha1.ReasonTeardownStuck:
		add("see what is left and what keeps it", "strata tree %s", name)
	case statePending, v1alpha1.ReasonNoRevision:
		add("see whether the manager runs", "kubectl -n strata-system get pods")
	}
	next = append(next, nextForBlocking(e)...)
	if canRollBack(v, e) && history.PauseOf(v.Package, now) == nil {
		add("go back to what has worked", "strata rollback %s", name)
	}
	if len(e.Interference) > 0 {
		ref := e.Interference[0].ObjectReference
		add("see which manager keeps changing it", "strata trace %s%s", traceArgument(ref), namespaceFlag(ref))
	}
	if e.Pinned {
		add("let the front make revisions again", "kubectl patch package.strata.run %s --type=merge -p '{\"spec\":{\"rollback\":null}}'", name)
	} else if e.Rejected != 0 {
		add(fmt.Sprintf("roll out the content of revision %d after all", e.Rejected), "strata rollback %s --to %d --allow-failed", name, e.Rejected)
	}
	if len(next) == 0 && e.Verdict != VerdictRolledOut {
		add("follow it", "strata status %s -w", name)
	}
	return next
}

// nextForBlocking are the commands that say more of the object that blocks it.
func nextForBlocking(e Explanation) []NextCommand {
	b := e.Blocking
	switch {
	case b == nil || e.Package.State == v1alpha1.ReasonObjectCollisions || b.Kind == "":
		return nil
	case e.Package.State == v1alpha1.ReasonObjectRefused:
		// What is refused may not exist: the manifest is what there is to look at.
		return []NextCommand{{
			Command: fmt.Sprintf("strata show %s %d --object %s", e.Package.Name, e.Target.Revision, traceArgument(b.ObjectReference)),
			Why:     "see the manifest that the API server refuses; correct it, and apply the content again",
		}}
	case e.Package.State == v1alpha1.ReasonPaused && len(b.Pods) == 0:
		return []NextCommand{{Command: "strata diff " + e.Package.Name + " --live", Why: "see what differs from the revision meanwhile"}}
	}
	if len(b.Pods) > 0 {
		pod := b.Pods[0]
		next := []NextCommand{{Command: fmt.Sprintf("kubectl -n %s describe pod %s", pod.Namespace, pod.Name), Why: "see what keeps the pod"}}
		if strings.Contains(pod.Reason, "Crash") || pod.Reason == "Error" || pod.Reason == "OOMKilled" {
			next = append([]NextCommand{{Command: fmt.Sprintf("kubectl -n %s logs %s --previous", pod.Namespace, pod.Name), Why: "see what it said before it ended"}}, next...)
		}
		return next
	}
	return []NextCommand{{
		Command: fmt.Sprintf("kubectl%s describe %s", namespaceFlag(b.ObjectReference), traceArgument(b.ObjectReference)),
		Why:     "see its status and its events",
	}}
}

// canRollBack says whether there is something to go back to, and a reason to.
func canRollBack(v Snapshot, e Explanation) bool {
	h := HistoryOf(v.Package, v.Revisions)
	if h.Target == nil || e.Verdict == VerdictRolledOut || !v.Package.DeletionTimestamp.IsZero() || IsWithheld(h.Target) || e.Target.Succeeded {
		return false
	}
	return h.ChooseRollback(v.Package, 0, history.SpecDigest).Refusal == ""
}

// gateFlags open the gates that have not let content through.
func gateFlags(pkg *v1alpha1.Package, digest string) string {
	if pkg.Spec.Approval == v1alpha1.ApprovalManual && pkg.Spec.ApprovedDigest != digest {
		return ""
	}
	var flags strings.Builder
	for _, gate := range pkg.Spec.Gates {
		if gate.ApprovedDigest != digest {
			flags.WriteString(" --gate " + gate.Name)
		}
	}
	return flags.String()
}

// traceArgument names an object on a command line.
func traceArgument(ref v1alpha1.ObjectReference) string {
	kind := strings.ToLower(ref.Kind)
	if ref.Group != "" && ref.Group != "apps" && ref.Group != "batch" {
		kind += "." + ref.Group
	}
	return kind + "/" + ref.Name
}

func namespaceFlag(ref v1alpha1.ObjectReference) string {
	return Prefixed(" -n ", ref.Namespace)
}

// isFlap says whether an entry is about readiness, of which the flaps tell.
func isFlap(i v1alpha1.Interference) bool { return i.Cause == v1alpha1.InterferenceFlapping }

// interferenceText says what happens to an object that does not stay as it was left, and
// how often.
func interferenceText(i v1alpha1.Interference) string {
	by, times := cmp.Or(i.Manager, "another client"), CountOf(int(i.Count), "time")
	switch i.Cause {
	case v1alpha1.InterferenceDeleted:
		return "another client has deleted it, " + times + " in a row"
	case v1alpha1.InterferenceTakenOver:
		return by + " has taken it over, " + times
	case v1alpha1.InterferenceFlapping:
		return "it has ceased to be ready " + times + " in a row"
	default:
		return fmt.Sprintf("%s has changed %s, %s in a row", by, cmp.Or(strings.Join(i.Fields, ", "), "it"), times)
	}
}

// WriteExplanation writes it as one screen.
func WriteExplanation(p *output.Printer, e Explanation, now time.Time) {
	p.Line(statusHead(Status{Package: e.Package, Target: e.Target, Verdict: e.Verdict})...)
	line := labels(p)
	writeWhy(line, e, now)
	for _, w := range e.Waiting {
		line("waits", output.Busy, fmt.Sprintf("revision %d: %s%s", w.Revision, w.Why, Prefixed("; it would do: ", w.Summary)))
	}
	for _, text := range e.Findings {
		line("finding", output.Bad, text)
	}
	for _, i := range e.Interference {
		line("conflict", output.Busy, fmt.Sprintf("%s: %s, last %s ago", ObjectName(i.ObjectReference), interferenceText(i), Age(now, i.LastSeen)))
	}
	for _, f := range e.Flaps {
		if e.Blocking == nil || IdentityOf(f.ObjectReference) != IdentityOf(e.Blocking.ObjectReference) {
			line("flaps", output.Busy, flapText(f, now))
		}
	}
	line("rollback", output.Bad, Prefixed("refused: ", e.RollbackRefused))
	line("rejected", output.Busy, e.rejectedText())
	if e.DeadlineAt != nil {
		text := "passed " + Age(now, *e.DeadlineAt) + " ago"
		if e.DeadlineAt.After(now) {
			text = "in " + duration.HumanDuration(e.DeadlineAt.Sub(now))
		}
		line("deadline", output.Plain, text)
	}
	line("next try", output.Plain, e.NextTry)
	if len(e.Events) > 0 {
		p.Line(output.Span{Text: "  last events", Style: output.Faint})
		for _, event := range e.Events {
			p.Line(output.Span{Text: fmt.Sprintf("    %-4s %s  %s", Age(now, event.Time), event.Reason, event.target())})
			p.Wrapped("         ", output.Plain, event.Message)
		}
	}
	if e.Resolution != nil {
		WriteResolution(p, *e.Resolution, false)
	}
	for i, next := range e.Next {
		label := "next"
		if i > 0 {
			label = "or"
		}
		// A command stays on one line, so that it can be copied.
		p.Line(output.Span{Text: fmt.Sprintf("  %-*s", labelColumn-2, label), Style: output.Faint}, output.Span{Text: next.Command, Style: output.Bold})
		line("", output.Faint, next.Why)
	}
}

// rejectedText says what a rollback keeps out, and when it does no more.
func (e Explanation) rejectedText() string {
	switch {
	case e.Pinned:
		return "spec.rollback of the package pins it: no front makes a revision until it is removed"
	case e.Rejected == 0:
		return ""
	case e.Package.Front != "":
		return fmt.Sprintf("revision %d, a rollback, excludes the content of revision %d: the front makes it again once its resource has changed", e.Target.Revision, e.Rejected)
	}
	return fmt.Sprintf("revision %d, a rollback, excludes the content of revision %d: strata apply takes it with --allow-rejected", e.Target.Revision, e.Rejected)
}

func writeWhy(line func(string, output.Style, string), e Explanation, now time.Time) {
	if b := e.Blocking; b != nil {
		where := ""
		if e.Phase != nil {
			where = fmt.Sprintf(" (phase %s, %d/%d ready)", e.Phase.Name, e.Phase.Ready, e.Phase.Objects)
		}
		line("blocking", output.Bold, treeObjectName(*b)+where)
		for _, reason := range reasonLines(*b, now) {
			line("", reason.Style, reason.Text)
		}
		switch {
		case e.Package.State != v1alpha1.ReasonPaused && e.PausedRevision == nil:
		case e.PausedRevision != nil:
			line("state", output.Busy, e.Message)
		case e.Package.Paused != nil:
			line("state", output.Busy, PauseText(e.Package.Paused))
		}
		return
	}
	switch {
	case e.Verdict == VerdictRolledOut && e.Package.Available == string(metav1.ConditionTrue):
		line("state", output.Good, "nothing blocks it: it is rolled out and serves")
	case len(e.Findings) == 0 && len(e.Waiting) == 0:
		line("state", output.Bad, cmp.Or(e.Message, e.Package.State))
	}
}
