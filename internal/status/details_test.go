// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
)

// phasesCase is a case of [TestForTarget_PhasesAndCounts].
type phasesCase struct {
	reason     string
	observe    status.Observation
	want       []v1alpha1.PhaseStatus
	wantPhase  string
	wantProbes string
}

var phasesRevision = revisionOf(2, phase{name: "crds", size: 1}, phase{name: "plane", size: 2})

// phasesCases are the cases of [TestForTarget_PhasesAndCounts].
var phasesCases = []phasesCase{
	{
		reason:  "a phase that waits is progressing, and the ones after are pending",
		observe: observe(100, phase{name: "crds", objects: []stand{failing}}, phase{name: "plane", size: 2}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseProgressing, Objects: 1},
			{Name: "plane", State: v1alpha1.PhasePending, Objects: 2},
		},
		wantPhase: "0/2", wantProbes: "0/3",
	},
	{
		reason:  "a phase is complete with its last object",
		observe: observe(200, phase{name: "crds", objects: []stand{ready}}, phase{name: "plane", objects: []stand{ready, failing}}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(200))},
			{Name: "plane", State: v1alpha1.PhaseProgressing, Objects: 2, Ready: 1},
		},
		wantPhase: "1/2", wantProbes: "2/3",
	},
	{
		reason:  "the time of completion stays while the phase is complete",
		observe: observe(300, phase{name: "crds", objects: []stand{ready}}, phase{name: "plane", objects: []stand{ready, failing}}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(200))},
			{Name: "plane", State: v1alpha1.PhaseProgressing, Objects: 2, Ready: 1},
		},
		wantPhase: "1/2", wantProbes: "2/3",
	},
	{
		reason: "a pass that was stopped before its first object knows nothing new",
		observe: func() status.Observation {
			o := observe(350, phase{name: "crds", size: 1}, phase{name: "plane", size: 2})
			o.Err = errors.New("looking up kinds: timeout")
			return o
		}(),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(200))},
			{Name: "plane", State: v1alpha1.PhaseProgressing, Objects: 2, Ready: 1},
		},
		wantPhase: "1/2", wantProbes: "2/3",
	},
	{
		reason:  "content that cannot be loaded keeps what was known",
		observe: status.Observation{Err: &content.UnavailableError{Slice: "sha256-1", Reason: "does not exist"}, Now: at(360)},
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(200))},
			{Name: "plane", State: v1alpha1.PhaseProgressing, Objects: 2, Ready: 1},
		},
		wantPhase: "1/2", wantProbes: "2/3",
	},
	{
		reason:  "before success a phase that falls back has no time of completion: the soak counts from the present stretch",
		observe: observe(400, phase{name: "crds", objects: []stand{failing}}, phase{name: "plane", size: 2}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseProgressing, Objects: 1},
			{Name: "plane", State: v1alpha1.PhasePending, Objects: 2},
		},
		wantPhase: "0/2", wantProbes: "0/3",
	},
	{
		reason:  "success",
		observe: observe(500, phase{name: "crds", objects: []stand{ready}}, phase{name: "plane", objects: []stand{ready, ready}}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(500))},
			{Name: "plane", State: v1alpha1.PhaseComplete, Objects: 2, Ready: 2, CompletedAt: new(at(500))},
		},
		wantPhase: "2/2", wantProbes: "3/3",
	},
	{
		reason:  "after success the time of completion is that of the rollout, whatever a probe says now",
		observe: observe(600, phase{name: "crds", objects: []stand{failing}}, phase{name: "plane", objects: []stand{ready, ready}}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseProgressing, Objects: 1, CompletedAt: new(at(500))},
			{Name: "plane", State: v1alpha1.PhaseComplete, Objects: 2, Ready: 2, CompletedAt: new(at(500))},
		},
		wantPhase: "1/2", wantProbes: "2/3",
	},
	{
		reason:  "and stays when the probe holds again",
		observe: observe(700, phase{name: "crds", objects: []stand{ready}}, phase{name: "plane", objects: []stand{ready, ready}}),
		want: []v1alpha1.PhaseStatus{
			{Name: "crds", State: v1alpha1.PhaseComplete, Objects: 1, Ready: 1, CompletedAt: new(at(500))},
			{Name: "plane", State: v1alpha1.PhaseComplete, Objects: 2, Ready: 2, CompletedAt: new(at(500))},
		},
		wantPhase: "2/2", wantProbes: "3/3",
	},
}

func TestForTarget_PhasesAndCounts(t *testing.T) {
	for _, step := range phasesCases {
		phasesRevision.Status = status.ForTarget(phasesRevision, step.observe)
		checkRevision(t, phasesRevision)
		if diff := cmp.Diff(step.want, phasesRevision.Status.Phases); diff != "" {
			t.Errorf("%s: phases (-want +got):\n%s", step.reason, diff)
		}
		if phasesRevision.Status.Phase != step.wantPhase || phasesRevision.Status.Probes != step.wantProbes {
			t.Errorf("%s: phase %s and probes %s, want %s and %s", step.reason, phasesRevision.Status.Phase, phasesRevision.Status.Probes, step.wantPhase, step.wantProbes)
		}
	}
}

func TestForTarget_LastProgress(t *testing.T) {
	one := func(s stand) phase { return phase{name: "plane", objects: []stand{s, failing, failing}} }
	paused := func(o status.Observation) status.Observation {
		o.Pause = &v1alpha1.Pause{Reason: "x"}
		return o
	}
	drifted := func(o status.Observation) status.Observation {
		id := objectID("plane", 0)
		o.Result.Records[id] = revisions.Record{UID: "another", Action: revisions.ActionCreated}
		return o
	}
	invalid := func(o status.Observation) status.Observation {
		o.Err = &revisions.ValidationError{Violations: []string{"no name"}}
		return o
	}
	steps := []struct {
		reason  string
		observe status.Observation
		want    int64
	}{
		{reason: "the first look is progress", observe: observe(100, one(failing)), want: 100},
		{reason: "waiting is none", observe: observe(200, one(failing)), want: 100},
		{reason: "another object ready is progress", observe: observe(300, one(ready)), want: 300},
		{reason: "an object that falls back is none: a probe that flaps must not put off the deadline for good", observe: observe(400, one(failing)), want: 300},
		{reason: "a change of what is in place is progress", observe: drifted(observe(500, one(failing))), want: 500},
		{reason: "no time counts while paused", observe: paused(drifted(observe(600, one(failing)))), want: 0},
		{reason: "however long, and whatever else is wrong", observe: paused(invalid(observe(9000, one(failing)))), want: 0},
		{reason: "so the deadline starts anew", observe: drifted(observe(9100, one(failing))), want: 9100},
		{reason: "an error is none", observe: status.Observation{Err: errors.New("timeout"), Now: at(9200)}, want: 9100},
	}
	revision := revisionOf(2, one(failing))
	for _, step := range steps {
		revision.Status = status.ForTarget(revision, step.observe)
		checkRevision(t, revision)
		want := new(at(step.want))
		if step.want == 0 {
			want = nil
		}
		if got := revision.Status.LastProgressTime; !got.Equal(want) {
			t.Errorf("%s: last progress at %v, want %v", step.reason, got, want)
		}
	}
	if got := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing); got != "False/RolloutError: timeout" {
		t.Errorf("after a long pause the rollout is %s, want no exceeded deadline", got)
	}
}

func TestForTarget_Objects(t *testing.T) {
	name := func(s v1alpha1.ObjectStatus) string { return s.Name + " " + s.Reason }
	revision := revisionOf(2, phase{name: "crds", size: 1}, phase{name: "plane", size: 6})
	all := phase{name: "plane", objects: []stand{failing, undecided, blocked, refused, colliding, ready}}
	revision.Status = status.ForTarget(revision, observe(100, phase{name: "crds", objects: []stand{ready}}, all))
	var got []string
	for _, object := range revision.Status.Objects {
		got = append(got, name(object))
		if object.Phase != "plane" || object.Kind != "Deployment" || object.Group != "apps" || object.Version != "v1" || object.Namespace != "istio-system" {
			t.Errorf("object %s is not named in full: %+v", object.Name, object)
		}
		if object.Message == "" {
			t.Errorf("nothing is said of %s", object.Name)
		}
	}
	want := []string{"plane-0 ProbeFailed", "plane-1 ProbeUnknown", "plane-2 Waiting", "plane-3 ApplyError", "plane-4 Collision"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects that are not ready (-want +got):\n%s", diff)
	}
	if hint := revision.Status.Objects[4].Hint; hint != "delete it" {
		t.Errorf("the hint about the collision is %q", hint)
	}

	all.objects = []stand{failing, failing, ready, refused, colliding, failing}
	revision.Status = status.ForTarget(revision, observe(200, phase{name: "crds", objects: []stand{ready}}, all))
	since := map[string]int64{}
	for _, object := range revision.Status.Objects {
		since[name(object)] = object.Since.Unix()
	}
	wantSince := map[string]int64{"plane-0 ProbeFailed": 100, "plane-1 ProbeFailed": 200, "plane-3 ApplyError": 100, "plane-4 Collision": 100, "plane-5 ProbeFailed": 200}
	if diff := cmp.Diff(wantSince, since); diff != "" {
		t.Errorf("since when: an object keeps it while the reason stays (-want +got):\n%s", diff)
	}
}

func TestForTarget_Bounds(t *testing.T) {
	many := make([]stand, 40)
	for i := range many {
		many[i] = failing
	}
	tests := map[string]struct {
		reason  string
		message string
		want    string
	}{
		"Short":             {reason: "what fits stays", message: "ü", want: "ü"},
		"ExactlyTheLimit":   {reason: "what fits stays", message: strings.Repeat("x", 1024), want: strings.Repeat("x", 1024)},
		"OneMore":           {reason: "what was cut says so", message: strings.Repeat("x", 1025), want: strings.Repeat("x", 1018) + " (cut)"},
		"CutInARune":        {reason: "a cut goes between characters", message: "x" + strings.Repeat("ü", 1000), want: "x" + strings.Repeat("ü", 508) + " (cut)"},
		"CutInALongRune":    {reason: "a cut goes between characters", message: "xxx" + strings.Repeat("😀", 1000), want: "xxx" + strings.Repeat("😀", 253) + " (cut)"},
		"StrayByte":         {reason: "what is no text becomes text", message: "a\xffb", want: "a?b"},
		"StrayByteUpFront":  {reason: "a stray byte does not cost the rest of a long message", message: "a\xff" + strings.Repeat("x", 2000), want: "a?" + strings.Repeat("x", 1016) + " (cut)"},
		"OnlyStrayBytes":    {reason: "what is no text becomes text", message: strings.Repeat("\xff", 2000), want: "?"},
		"StrayByteAndRunes": {reason: "both at once", message: "\xc3" + strings.Repeat("漢", 1000), want: "?" + strings.Repeat("漢", 339) + " (cut)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := observe(100, phase{name: "plane", objects: many})
			for i := range o.Result.Phases[0].Objects {
				o.Result.Phases[0].Objects[i].Probe.Message = tc.message
			}
			o.Err = errors.New(strings.Repeat(tc.message, 100))
			revision := revisionOf(2, phase{name: "plane", objects: many})
			revision.Status = status.ForTarget(revision, o)
			checkRevision(t, revision)
			if len(revision.Status.Objects) != 16 {
				t.Errorf("%d objects are listed, want 16 of 40", len(revision.Status.Objects))
			}
			for _, object := range revision.Status.Objects {
				if object.Message != tc.want {
					t.Fatalf("%s: message of %d bytes ending in %q, want %d bytes ending in %q", tc.reason,
						len(object.Message), tail(object.Message), len(tc.want), tail(tc.want))
				}
			}
		})
	}
}

func tail(text string) string {
	runes := []rune(text)
	return string(runes[max(len(runes)-10, 0):])
}

// The message of a condition is cut like that of an object, and stays text.
func TestForTarget_BoundsOfConditions(t *testing.T) {
	revision := revisionOf(2, phase{name: "plane", size: 1})
	long := errors.New(strings.Repeat("漢字", 20000))
	revision.Status = status.ForTarget(revision, status.Observation{Err: errors.Join(long, errors.Join(errors.New("another object"), long)), Now: at(1)})
	checkRevision(t, revision)
	if message := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing); !strings.Contains(message, "\nanother object\n") || len(message) > 3<<10 {
		t.Errorf("one object's text crowds out another's: %d bytes, ending in %q", len(message), tail(message))
	}
	many := make([]error, 20)
	for i := range many {
		many[i] = long
	}
	revision.Status = status.ForTarget(revision, status.Observation{Err: errors.Join(many...), Now: at(1)})
	checkRevision(t, revision)
	message := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing)
	if !strings.HasSuffix(message, "(cut)") || !utf8.ValidString(message) || len(message) < 16<<10 {
		t.Errorf("the message has %d bytes and ends in %q", len(message), tail(message))
	}
}

func TestForTarget_Inventory(t *testing.T) {
	entry := func(name, uid, action, fields string) v1alpha1.InventoryEntry {
		return v1alpha1.InventoryEntry{
			ObjectReference: v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "istio-system", Name: name},
			UID:             uid, Action: action, Content: "c", Fields: fields,
		}
	}
	phases := []phase{{name: "crds", objects: []stand{ready}}, {name: "plane", objects: []stand{failing, blocked, refused}}}
	revision := revisionOf(2, phases...)
	revision.Status = status.ForTarget(revision, observe(100, phases...))
	want := []v1alpha1.InventoryEntry{entry("crds-0", "uid-crds-0", "Created", "f"), entry("plane-0", "uid-plane-0", "Created", "f")}
	want[0].WasReady = true
	if diff := cmp.Diff(want, revision.Status.Inventory); diff != "" {
		t.Errorf("the inventory lists what is in place, in the order of the phases (-want +got):\n%s", diff)
	}

	o := observe(200, phases...)
	for id, record := range o.Result.Records {
		record.Fields = "g"
		o.Result.Records[id] = record
	}
	revision.Status = status.ForTarget(revision, o)
	want = []v1alpha1.InventoryEntry{entry("crds-0", "uid-crds-0", "Created", "g"), entry("plane-0", "uid-plane-0", "Created", "g")}
	want[0].WasReady = true
	if diff := cmp.Diff(want, revision.Status.Inventory); diff != "" {
		t.Errorf("what is known newest is what counts (-want +got):\n%s", diff)
	}

	revision.Status = status.ForTarget(revision, status.Observation{Err: errors.New("a slice is missing"), Now: at(300)})
	if diff := cmp.Diff(want, revision.Status.Inventory); diff != "" {
		t.Errorf("content that cannot be loaded keeps its inventory: it is the proof of what is ours (-want +got):\n%s", diff)
	}
}

func TestSoakLeft(t *testing.T) {
	const soak = 60e9
	phases := func(completed ...*metav1.Time) v1alpha1.RevisionStatus {
		s := v1alpha1.RevisionStatus{}
		for i, c := range completed {
			s.Phases = append(s.Phases, v1alpha1.PhaseStatus{Name: fmt.Sprint(i), CompletedAt: c})
		}
		return s
	}
	tests := map[string]struct {
		reason string
		status v1alpha1.RevisionStatus
		want   float64
	}{
		"NoPhases":       {reason: "nothing has to hold", status: phases()},
		"NotComplete":    {reason: "the soak has not begun", status: phases(new(at(90)), nil), want: 60},
		"LastPhaseRules": {reason: "all phases must have held", status: phases(new(at(10)), new(at(90)), new(at(50))), want: 50},
		"JustOver":       {reason: "the soak is over", status: phases(new(at(40)))},
		"LongOver":       {reason: "the soak is over", status: phases(new(at(10))), want: -30},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := status.SoakLeft(tc.status, soak, at(100).Time).Seconds(); got != tc.want {
				t.Errorf("%s: %g s left, want %g", tc.reason, got, tc.want)
			}
		})
	}
	if got := status.DeadlineLeft(v1alpha1.RevisionStatus{}, soak, at(100).Time).Seconds(); got != 60 {
		t.Errorf("before the first look the whole deadline is left, got %g s", got)
	}
	if got := status.DeadlineLeft(v1alpha1.RevisionStatus{LastProgressTime: new(at(70))}, soak, at(100).Time).Seconds(); got != 30 {
		t.Errorf("the deadline counts from the last progress, got %g s left, want 30", got)
	}
}

// The API server names the fields that do not fit in any order, and not always all.
func TestForTarget_RefusalsKeepTheirWords(t *testing.T) {
	blocked := phase{name: "crds", objects: []stand{refused}}
	revision := revisionOf(2, blocked)
	reported := map[string]bool{}
	for _, fields := range []string{".spec.prots, .spec.replica", ".spec.replica", ".spec.replica, .spec.prots", ".spec.prots"} {
		o := observe(100, blocked)
		o.Err = fmt.Errorf("phase crds: applying: %w", apierrors.NewBadRequest("errors: "+fields))
		revision.Status = status.ForTarget(revision, o)
		reported[statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing)] = true
	}
	if len(reported) != 1 {
		t.Errorf("the same refusal is reported in %d ways: %v", len(reported), reported)
	}
	o := observe(100, blocked)
	o.Err = fmt.Errorf("phase crds: applying: %w", apierrors.NewBadRequest("errors: .spec.image"))
	revision.Status = status.ForTarget(revision, o)
	if got := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing); got != "False/ObjectRefused: phase crds: applying: errors: .spec.image" {
		t.Errorf("another refusal is not reported: %s", got)
	}
}
