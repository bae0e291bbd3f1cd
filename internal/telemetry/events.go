// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions/probes"
)

// NoteLimit is how long a note may be, in bytes. The API server takes no more.
const NoteLimit = 1024

// Event is one event. Events that are equal but for their note are recorded as one
// series.
type Event struct {
	// Regarding is the Package or the Revision, of the latter perhaps a phase.
	Regarding corev1.ObjectReference
	// Related is an object that has a part in it, nil for none.
	Related *corev1.ObjectReference
	// Type is Normal or Warning.
	Type string
	// Reason is one of this package's.
	Reason string
	// Action is what was being done, in one word.
	Action string
	// Note is for people, of at most [NoteLimit] bytes.
	Note string
}

func revisionCreated(pkg *v1alpha1.Package, revision int64) Event {
	return onPackage(pkg, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonRevisionCreated, Action: "RollOut",
		Related: revisionOf(pkg, revision), Note: fmt.Sprintf("Revision %d was created", revision),
	})
}

func phaseStarted(revision *v1alpha1.Revision, i int) Event {
	phases := revision.Status.Phases
	return onPhase(revision, phases[i].Name, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonPhaseStarted, Action: "RollOut",
		Note: fmt.Sprintf("Phase %d/%d %s started: %d of %d objects are ready", i+1, len(phases), phases[i].Name, phases[i].Ready, phases[i].Objects),
	})
}

func phaseCompleted(revision *v1alpha1.Revision, completed []string) Event {
	noun, verb := "Phase", "is"
	if len(completed) > 1 {
		noun, verb = "Phases", "are"
	}
	return onPhase(revision, completed[len(completed)-1], Event{
		Type: corev1.EventTypeNormal, Reason: ReasonPhaseCompleted, Action: "RollOut",
		Note: fmt.Sprintf("%s %s %s complete (%s)", noun, some(completed), verb, revision.Status.Phase),
	})
}

func succeeded(revision *v1alpha1.Revision) Event {
	return onRevision(revision, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonSucceeded, Action: "RollOut",
		Note: fmt.Sprintf("The revision is rolled out: %s phases, %s objects", cmp.Or(revision.Status.Phase, "0/0"), cmp.Or(revision.Status.Probes, "0/0")),
	})
}

func handedOver(pkg *v1alpha1.Package, from, to int64) Event {
	return onPackage(pkg, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonHandedOver, Action: "RollOut",
		Related: revisionOf(pkg, to), Note: fmt.Sprintf("Revision %d has taken over from revision %d", to, from),
	})
}

func rolledBack(pkg *v1alpha1.Package, to *v1alpha1.RollbackStatus, why string) Event {
	return onPackage(pkg, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonRolledBack, Action: "RollBack", Related: revisionOf(pkg, to.Revision),
		Note: fmt.Sprintf("Revision %d was made from revision %d, and rejects revision %d: %s", to.Revision, to.ToRevision, to.FromRevision, why),
	})
}

func rollbackRefused(pkg *v1alpha1.Package, why string) Event {
	return onPackage(pkg, Event{
		Type: corev1.EventTypeWarning, Reason: ReasonRollbackRefused, Action: "RollBack",
		Note: "The rollback that was asked for was refused: " + why,
	})
}

func paused(pkg *v1alpha1.Package, message string) Event {
	return onPackage(pkg, Event{Type: corev1.EventTypeNormal, Reason: ReasonPaused, Action: "Pause", Note: capital(message)})
}

func resumed(pkg *v1alpha1.Package) Event {
	return onPackage(pkg, Event{Type: corev1.EventTypeNormal, Reason: ReasonResumed, Action: "Resume", Note: "The pause is over"})
}

func awaitingApproval(revision *v1alpha1.Revision, message string) Event {
	return onRevision(revision, Event{Type: corev1.EventTypeNormal, Reason: ReasonAwaitingApproval, Action: "Approve", Note: capital(message)})
}

func approved(revision *v1alpha1.Revision) Event {
	return onRevision(revision, Event{Type: corev1.EventTypeNormal, Reason: ReasonApproved, Action: "Approve", Note: "The revision may be rolled out"})
}

// halted is a rollout that does not go on for one of the reasons that have an event.
func halted(revision *v1alpha1.Revision, reason, message string) Event {
	return onRevision(revision, Event{
		Type: corev1.EventTypeWarning, Reason: reason, Action: "RollOut", Note: capital(message), Related: culprit(revision),
	})
}

// haltedPackage is what keeps a package from being looked at.
func haltedPackage(pkg *v1alpha1.Package, reason, message string) Event {
	return onPackage(pkg, Event{Type: corev1.EventTypeWarning, Reason: reason, Action: "RollOut", Note: capital(message)})
}

func probeFailing(revision *v1alpha1.Revision, message string) Event {
	return onRevision(revision, Event{
		Type: corev1.EventTypeWarning, Reason: ReasonProbeFailing, Action: "Probe", Note: capital(message), Related: culprit(revision),
	})
}

func recovered(revision *v1alpha1.Revision) Event {
	return onRevision(revision, Event{Type: corev1.EventTypeNormal, Reason: ReasonRecovered, Action: "Probe", Note: "The objects of the revision are available again"})
}

func driftCorrected(revision *v1alpha1.Revision, repaired []v1alpha1.Interference) Event {
	first := repaired[0]
	return onRevision(revision, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonDriftCorrected, Action: "Repair", Related: object(first.ObjectReference),
		Note: fmt.Sprintf("%s: %s; repaired", some(names(repaired)), interferenceText(first)),
	})
}

func interference(revision *v1alpha1.Revision, entries []v1alpha1.Interference) Event {
	first := entries[0]
	return onRevision(revision, Event{
		Type: corev1.EventTypeWarning, Reason: ReasonInterference, Action: "Repair", Related: object(first.ObjectReference),
		Note: some(names(entries)) + ": " + unsettled(first),
	})
}

func archived(revision *v1alpha1.Revision) Event {
	note := "The revision is archived, and the objects that only it contained are deleted"
	if !history.Succeeded(revision) {
		note += "; it never became ready"
	}
	return onRevision(revision, Event{Type: corev1.EventTypeNormal, Reason: ReasonArchived, Action: "Archive", Note: note})
}

func retained(regarding corev1.ObjectReference, objects []string) Event {
	return Bounded(Event{
		Regarding: regarding, Type: corev1.EventTypeNormal, Reason: ReasonRetained, Action: "TearDown",
		Note: some(objects) + ": kept on purpose; delete by hand what is not wanted",
	})
}

func pruned(pkg *v1alpha1.Package, revisions []string) Event {
	return onPackage(pkg, Event{
		Type: corev1.EventTypeNormal, Reason: ReasonPruned, Action: "Prune",
		Note: "Archived revisions beyond revisionHistoryLimit were deleted: " + some(revisions),
	})
}

func teardownStuck(pkg *v1alpha1.Package, message string) Event {
	return onPackage(pkg, Event{Type: corev1.EventTypeWarning, Reason: ReasonTeardownStuck, Action: "TearDown", Note: capital(message)})
}

func onPackage(pkg *v1alpha1.Package, e Event) Event {
	e.Regarding = corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID}
	return Bounded(e)
}

func onRevision(revision *v1alpha1.Revision, e Event) Event { return onPhase(revision, "", e) }

// onPhase is an event about a part of a revision, as events of pods are about a container.
func onPhase(revision *v1alpha1.Revision, phase string, e Event) Event {
	e.Regarding = corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Revision", Name: revision.Name, UID: revision.UID}
	if phase != "" {
		e.Regarding.FieldPath = "spec.phases{" + phase + "}"
	}
	if e.Related == nil {
		e.Related = &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: revision.Spec.Package}
	}
	return Bounded(e)
}

// revisionOf refers to a revision of which only the number is known.
func revisionOf(pkg *v1alpha1.Package, number int64) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Revision", Name: v1alpha1.RevisionName(pkg.Name, number)}
}

// culprit is the first object that is not ready, nil when none is on record.
func culprit(revision *v1alpha1.Revision) *corev1.ObjectReference {
	if len(revision.Status.Objects) == 0 {
		return nil
	}
	return object(revision.Status.Objects[0].ObjectReference)
}

func object(ref v1alpha1.ObjectReference) *corev1.ObjectReference {
	version := ref.Version
	if ref.Group != "" {
		version = ref.Group + "/" + version
	}
	return &corev1.ObjectReference{APIVersion: version, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

func names(list []v1alpha1.Interference) []string {
	var all []string
	for _, entry := range list {
		name := entry.Kind + " " + entry.Name
		if entry.Namespace != "" {
			name = entry.Kind + " " + entry.Namespace + "/" + entry.Name
		}
		all = append(all, name)
	}
	return all
}

// unsettled says what happens to an object that does not stay as it was left.
func unsettled(entry v1alpha1.Interference) string {
	switch entry.Cause {
	case v1alpha1.InterferenceTakenOver:
		return cmp.Or(entry.Manager, "another controller") + " has taken it over; it is not taken back"
	case v1alpha1.InterferenceFlapping:
		return fmt.Sprintf("it has ceased to be ready %d times in a row", entry.Count)
	default:
		return fmt.Sprintf("%s, %d times in a row; repairs are slowed until it stays", interferenceText(entry), entry.Count)
	}
}

// interferenceText says what was done to an object, and by which manager.
func interferenceText(entry v1alpha1.Interference) string {
	if entry.Cause == v1alpha1.InterferenceDeleted {
		return "another client has deleted it"
	}
	return cmp.Or(entry.Manager, "another manager") + " has changed " + cmp.Or(strings.Join(entry.Fields, ", "), "or removed a field")
}

// mostNamed is how many of several things a note names.
const mostNamed = 3

// some names the first of a list, and how many more there are.
func some(list []string) string {
	if more := len(list) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), more)
	}
	return strings.Join(list, ", ")
}

// capital begins a note with a capital letter, unless the name of an account does.
func capital(text string) string {
	if strings.HasPrefix(text, "system:") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Bounded cuts an event's note to its limit, between characters, and says so.
func Bounded(e Event) Event {
	e.Note = probes.Cut(strings.ToValidUTF8(e.Note, "?"), NoteLimit, " (cut)")
	return e
}
