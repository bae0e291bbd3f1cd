// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// truth is what an assertion says at a moment.
type truth int

// The truths.
const (
	// isFalse: it is not so, or the object does not say.
	isFalse truth = iota
	isTrue
	// notReached: the rollout has not come to it.
	notReached
	// unread: it is being read for the first time.
	unread
	// unreadable: it may not be read, or not at present.
	unreadable
	// impossible: the revision has nothing of the kind, so waiting does not help.
	impossible
)

type finding struct {
	truth   truth
	message string
}

func found(t truth, format string, args ...any) finding {
	return finding{truth: t, message: fmt.Sprintf(format, args...)}
}

type moment struct {
	view.Snapshot

	// revision is the one that is checked, nil while there is none.
	revision *v1alpha1.Revision
	// live are the objects that are watched.
	live map[revisions.ObjectID]*liveObject
}

type liveObject struct {
	// current is nil while it does not exist.
	current *unstructured.Unstructured
	// read is set once it was read; err is why it cannot be.
	read bool
	err  error
}

type check struct {
	name, class      string
	within, holdsFor time.Duration
	// object is the live object that it is about, nil for none.
	object *ObjectSelector
	eval   func(m moment) finding
	// isDeletion is true for the one check that a deleted package passes.
	isDeletion bool
}

// Classes of checks.
const (
	classRollout = "rollout"
	classPhase   = "phase"
	classProbe   = "probe"
	classObject  = "object"
	classPackage = "package"
)

func checkOf(a Assert) (check, error) {
	c := check{name: a.title(), within: ptr.Deref(a.Within, metav1.Duration{}).Duration, holdsFor: ptr.Deref(a.HoldsFor, metav1.Duration{}).Duration, object: a.Object}
	switch {
	case a.RolledOut:
		c.class, c.eval = classRollout, checkRolledOut
	case a.Available:
		c.class, c.eval = classPackage, checkAvailable
	case a.Phase != "":
		c.class, c.eval = classPhase, func(m moment) finding { return m.checkPhase(a.Phase) }
	case a.Probe != "":
		c.class, c.eval = classProbe, func(m moment) finding { return m.checkProbe(a.Probe) }
	case a.Object != nil:
		kind := schema.FromAPIVersionAndKind(a.Object.APIVersion, a.Object.Kind).GroupKind()
		if a.Object.APIVersion == "" {
			// The group follows from the revision, which may not exist yet.
			kind = schema.GroupKind{}
		}
		probe, err := content.Assertion(a.Assertion, kind)
		if err != nil {
			return c, err
		}
		c.class, c.eval = classObject, func(m moment) finding { return m.checkLive(*a.Object, probe) }
	default:
		probe, err := content.Assertion(a.Assertion, v1alpha1.GroupVersion.WithKind("Package").GroupKind())
		if err != nil {
			return c, err
		}
		c.class, c.eval = classPackage, func(m moment) finding { return m.checkPackage(probe) }
	}
	return c, nil
}

func checkRolledOut(m moment) finding {
	if m.revision == nil {
		return found(notReached, "the revision does not exist yet")
	}
	verdict, message := view.Judge(m.Package, m.revision)
	if verdict == view.VerdictRolledOut {
		return found(isTrue, "revision %d is rolled out", m.revision.Spec.Revision)
	}
	return found(isFalse, "expected RolledOut, found %s", message)
}

func checkAvailable(m moment) finding {
	c := meta.FindStatusCondition(m.Package.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case c == nil || m.Package.Status.ObservedGeneration < m.Package.Generation:
		return found(isFalse, "expected Available=True, found that %s", view.NotObservedMessage)
	case c.Status == metav1.ConditionTrue:
		return found(isTrue, "%s", c.Message)
	}
	return found(isFalse, "expected Available=True, found %s: %s", c.Status, c.Message)
}

// lacksRevision is what every assertion about a revision says without one.
func (m moment) lacksRevision() (finding, bool) {
	switch r := m.revision; {
	case r == nil:
		return found(notReached, "there is no revision yet"), true
	case r.Status.ObservedGeneration < r.Generation:
		return found(notReached, "%s", view.NotLookedAt(r.Spec.Revision)), true
	}
	return finding{}, false
}

func (m moment) checkPhase(name string) finding {
	if f, lacks := m.lacksRevision(); lacks {
		return f
	}
	var names []string
	for _, phase := range m.revision.Spec.Phases {
		names = append(names, phase.Name)
	}
	for _, phase := range m.revision.Status.Phases {
		if phase.Name != name {
			continue
		}
		text := fmt.Sprintf("expected Complete, found %s with %d of %d objects ready", phase.State, phase.Ready, phase.Objects)
		switch {
		case phase.State == v1alpha1.PhaseComplete && phase.Ready >= phase.Objects:
			return found(isTrue, "%d of %d objects are ready", phase.Ready, phase.Objects)
		case phase.State == v1alpha1.PhasePending:
			return found(notReached, "the rollout has not reached it")
		}
		return found(isFalse, "%s%s", text, view.Prefixed(": ", m.firstNotReady(name)))
	}
	if slices.Contains(names, name) {
		return found(notReached, "the rollout has not reached it")
	}
	return found(impossible, "revision %d has no phase %s; there are: %s", m.revision.Spec.Revision, name, cmp.Or(strings.Join(names, ", "), "none"))
}

func (m moment) firstNotReady(phase string) string {
	for _, object := range m.revision.Status.Objects {
		if object.Phase == phase {
			return view.ObjectName(object.ObjectReference) + ": " + object.Reason + view.Prefixed(": ", object.Message)
		}
	}
	return ""
}

func (m moment) checkProbe(name string) finding {
	if f, lacks := m.lacksRevision(); lacks {
		return f
	}
	var names []string
	for _, probe := range m.revision.Spec.Probes {
		if probe.Name == name {
			return m.checkSelected(probe.Selector)
		}
		names = append(names, probe.Name)
	}
	return found(impossible, "revision %d has no probe %s; there are: %s", m.revision.Spec.Revision, name, cmp.Or(strings.Join(names, ", "), "none"))
}

// checkSelected asks that every object that a probe selects is ready.
func (m moment) checkSelected(selector v1alpha1.ProbeSelector) finding {
	count := 0
	worst := finding{truth: isTrue}
	for i, items := range view.ItemsOf(m.revision, m.Manifests) {
		for _, it := range items {
			if it.Manifest == nil {
				continue
			}
			takes, err := content.Selects(selector, it.Manifest)
			if err != nil {
				return found(impossible, "%s", err)
			}
			if !takes {
				continue
			}
			count++
			f := m.checkObject(it.Ref, m.revision.Spec.Phases[i].Name)
			if f.truth != isTrue && (worst.truth == isTrue || f.truth == isFalse && worst.truth != isFalse) {
				worst = found(f.truth, "%s: %s", view.ObjectName(it.Ref), f.message)
			}
		}
	}
	switch {
	case count == 0:
		return found(impossible, "it selects no object of revision %d", m.revision.Spec.Revision)
	case worst.truth == isTrue:
		return found(isTrue, "it holds for %s", view.CountOf(count, "object"))
	}
	return worst
}

// checkObject asks that an object of the revision is ready, as the status says.
func (m moment) checkObject(ref v1alpha1.ObjectReference, phase string) finding {
	if f, lacks := m.lacksRevision(); lacks {
		return f
	}
	id := view.IdentityOf(ref)
	for _, object := range m.revision.Status.Objects {
		if view.IdentityOf(object.ObjectReference) == id {
			return found(isFalse, "%s%s", object.Reason, view.Prefixed(": ", object.Message))
		}
	}
	for _, s := range m.revision.Status.Phases {
		if s.Name == phase && s.State == v1alpha1.PhasePending {
			return found(notReached, "the rollout has not reached phase %s", phase)
		}
		if s.Name == phase && s.State == v1alpha1.PhaseComplete && s.Ready >= s.Objects {
			return found(isTrue, "it is in place and its probes are true")
		}
	}
	for _, entry := range m.revision.Status.Inventory {
		if view.IdentityOf(entry.ObjectReference) == id && len(m.revision.Status.Objects) < status.MostObjects {
			return found(isTrue, "it is in place and its probes are true")
		}
	}
	return found(isFalse, "it is not in place, or not known to be ready")
}

func (m moment) checkPackage(probe probes.Probe) finding {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m.Package)
	if err != nil {
		return found(impossible, "reading the package: %s", err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Package"))
	return judged(probe.Probe(object))
}

func (m moment) checkLive(selector ObjectSelector, probe probes.Probe) finding {
	ref, f := m.resolve(selector)
	if f.truth != isTrue {
		return f
	}
	live := m.live[view.IdentityOf(ref)]
	switch {
	case live == nil || !live.read:
		return found(unread, "it is being read")
	case live.err != nil:
		return found(unreadable, "%s", live.err)
	case live.current == nil:
		return found(isFalse, "%s does not exist", view.ObjectName(ref))
	}
	return judged(probe.Probe(live.current))
}

func judged(r probes.Result) finding {
	if r.Status == probes.True {
		return finding{truth: isTrue, message: r.Message}
	}
	return found(isFalse, "%s", cmp.Or(r.Message, string(r.Status)))
}

func (m moment) resolve(s ObjectSelector) (v1alpha1.ObjectReference, finding) {
	if s.APIVersion != "" {
		kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		return v1alpha1.ObjectReference{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: s.Namespace, Name: s.Name}, finding{truth: isTrue}
	}
	if m.revision == nil {
		return v1alpha1.ObjectReference{}, found(notReached, "there is no revision yet")
	}
	for _, items := range view.ItemsOf(m.revision, m.Manifests) {
		for _, it := range items {
			if it.Ref.Kind == s.Kind && it.Ref.Name == s.Name && (s.Namespace == "" || s.Namespace == it.Ref.Namespace) {
				return it.Ref, finding{truth: isTrue}
			}
		}
	}
	return v1alpha1.ObjectReference{}, found(impossible, "revision %d has no %s; name its apiVersion if it is not the package's", m.revision.Spec.Revision, s)
}

// checksOfRevision are the checks of an assert without a file: that the revision is
// rolled out, its phases, probes and objects.
func checksOfRevision(m moment) []check {
	checks := []check{{name: "rolled out", class: classRollout, eval: checkRolledOut}}
	if m.revision == nil {
		return checks
	}
	for i, items := range view.ItemsOf(m.revision, m.Manifests) {
		phase := m.revision.Spec.Phases[i].Name
		checks = append(checks, check{name: "phase " + phase, class: classPhase, eval: func(m moment) finding { return m.checkPhase(phase) }})
		for _, it := range items {
			if it.IsNamed() {
				checks = append(checks, check{name: view.ObjectName(it.Ref), class: classObject, eval: func(m moment) finding { return m.checkObject(it.Ref, phase) }})
			}
		}
	}
	for _, probe := range m.revision.Spec.Probes {
		checks = append(checks, check{name: "probe " + probe.Name, class: classProbe, eval: func(m moment) finding { return m.checkProbe(probe.Name) }})
	}
	return checks
}
