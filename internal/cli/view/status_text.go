// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// barWidth is how many columns a phase's bar has, barAt and barSpans where it stands in the
// phase's line.
const (
	barWidth = 10
	barAt    = 3
	barSpans = 2
)

// WriteStatus writes a status as one screen.
func WriteStatus(p *output.Printer, s Status, now time.Time) {
	p.Line(statusHead(s)...)
	writeRevisionLines(p, s, now)
	writePhases(p, s.Phases)
	if s.Blocking != nil {
		word := "blocking"
		if s.Verdict == VerdictRolledOut {
			word = "not ready"
		}
		p.Line(output.Span{Text: "  " + word + " ", Style: output.Bad}, output.Span{Text: ObjectName(s.Blocking.ObjectReference), Style: output.Bold})
		for _, line := range reasonLines(*s.Blocking, now) {
			p.Wrapped("    ", line.Style, line.Text)
		}
	}
	for _, f := range s.Flaps {
		if s.Blocking == nil || IdentityOf(f.ObjectReference) != IdentityOf(s.Blocking.ObjectReference) {
			p.Wrapped("  ", output.Busy, flapText(f, now))
		}
	}
	if h := s.Serving; h != nil {
		text := fmt.Sprintf("revision %d is still active: %d of its %d objects handed over to revision %d, %d remaining",
			h.Revision, h.HandedOver, h.Objects, s.Package.TargetRevision, h.Objects-h.HandedOver)
		if h.HandedOver == h.Objects {
			text = fmt.Sprintf("revision %d is still active, until revision %d has succeeded; all of its objects are handed over", h.Revision, s.Package.TargetRevision)
		}
		p.Wrapped("  ", output.Plain, text)
	}
	if s.RollbackRefused != "" {
		p.Wrapped("  ", output.Bad, "the rollback was refused: "+s.RollbackRefused)
	}
}

// writePhases writes a line for each phase, without bars where a line would be too wide.
func writePhases(p *output.Printer, phases []PhaseProgress) {
	width := 0
	for _, phase := range phases {
		width = max(width, utf8.RuneCountInString(phase.Name))
	}
	lines := make([]output.Line, len(phases))
	fit := true
	for i, phase := range phases {
		lines[i] = phaseLine(phase, width)
		fit = fit && p.Fits(lines[i])
	}
	for _, line := range lines {
		if !fit {
			line = slices.Concat(line[:barAt], line[barAt+barSpans:])
		}
		p.Line(line...)
	}
}

// statusHead is the line that says it all: "name  2 → 3  RollingOut  phase 1/3".
func statusHead(s Status) output.Line {
	line := output.Line{{Text: s.Package.Name, Style: output.Bold}}
	add := func(style output.Style, text string) {
		if text != "" {
			line = append(line, output.Span{Text: "   "}, output.Span{Text: text, Style: style})
		}
	}
	switch p := s.Package; {
	case p.TargetRevision == 0:
		add(output.Plain, "no revision")
	case p.CurrentRevision == 0 || p.CurrentRevision == p.TargetRevision:
		add(output.Plain, fmt.Sprintf("revision %d", p.TargetRevision))
	default:
		add(output.Plain, fmt.Sprintf("revision %d → %d", p.CurrentRevision, p.TargetRevision))
	}
	add(stateStyle(s.Package.State), s.Package.State)
	if s.Target == nil {
		return line
	}
	add(output.Plain, Prefixed("phase ", s.Target.Phase))
	if s.Verdict == VerdictRolledOut {
		add(output.Plain, Prefixed("took ", tookText(*s.Target)))
	}
	return line
}

func flapText(f v1alpha1.Flap, now time.Time) string {
	return fmt.Sprintf("%s has ceased to be ready %s, last change %s ago", ObjectName(f.ObjectReference), CountOf(int(f.Count), "time"), Age(now, f.LastChange))
}

const labelColumn = 12

func writeRevisionLines(p *output.Printer, s Status, now time.Time) {
	line := labels(p)
	runs := "nothing yet"
	if n := s.Package.CurrentRevision; n != 0 {
		runs = "revision " + WithVersion(n, s.Package.Version)
	}
	line("runs", output.Plain, runs+", "+servingText(s.Package))
	if t := s.Target; t != nil && t.Revision != s.Package.CurrentRevision {
		text := fmt.Sprintf("revision %s, made %s ago", WithVersion(t.Revision, t.Version), Age(now, t.CreatedAt))
		if t.Origin != nil {
			text += Prefixed(" from ", t.Origin.Reference) + Prefixed(": ", t.Origin.Reason)
		}
		line("target", output.Plain, text)
	}
	style := stateStyle(s.Package.State)
	if s.Verdict == VerdictFailed {
		style = output.Bad
	}
	line("state", style, stateText(s))
	if s.Package.State == v1alpha1.ReasonRollingOut && s.LastProgressAt != nil {
		text := Age(now, *s.LastProgressAt) + " ago"
		if s.DeadlineSeconds > 0 {
			text += ", deadline " + duration.HumanDuration(time.Duration(s.DeadlineSeconds)*time.Second)
		}
		line("progress", output.Plain, text)
	}
}

func servingText(p PackageSummary) string {
	switch {
	case p.Available == "True":
		return "available"
	case p.CurrentRevision == 0 || p.AvailableMessage == p.Message:
		return strings.ToLower(availability(p))
	}
	return strings.ToLower(availability(p)) + Prefixed(": ", p.AvailableMessage)
}

// stateText is the verdict's message unless the rest of the screen says it: what
// a phase waits for, which object collides, that all is well.
func stateText(s Status) string {
	switch {
	case s.Verdict == VerdictRolledOut && !s.Package.RolledBack && !s.Package.Interference:
		return ""
	case s.Package.State == v1alpha1.ReasonObjectCollisions && s.Blocking != nil:
		return ""
	case strings.HasPrefix(s.Message, v1alpha1.ReasonRollingOut+": ") && slices.ContainsFunc(s.Phases, func(p PhaseProgress) bool { return p.State != string(v1alpha1.PhaseComplete) }):
		return ""
	}
	return s.Message
}

// WithVersion is the number of a revision with the version of what it contains.
func WithVersion(n int64, version string) string {
	if version == "" {
		return Number(n)
	}
	return fmt.Sprintf("%d (%s)", n, version)
}

func phaseLine(p PhaseProgress, width int) output.Line {
	mark, style := phaseMark(p)
	filled := 0
	if p.Objects > 0 {
		filled = barWidth * p.Ready / p.Objects
	} else if p.State == string(v1alpha1.PhaseComplete) {
		filled = barWidth
	}
	return output.Line{
		{Text: "  "},
		{Text: mark + " ", Style: style},
		{Text: p.Name + strings.Repeat(" ", width-utf8.RuneCountInString(p.Name)) + "  "},
		{Text: strings.Repeat("█", filled), Style: style},
		{Text: strings.Repeat("░", barWidth-filled), Style: output.Faint},
		{Text: fmt.Sprintf("  %5s  ", fmt.Sprintf("%d/%d", p.Ready, p.Objects))},
		{Text: phaseWords(p), Style: style},
	}
}

// Transitions are the lines for what has changed from one status to the next;
// the first status is compared with none.
func Transitions(before *Status, after Status) []string {
	var lines []string
	if before == nil || before.Package.TargetRevision != after.Package.TargetRevision {
		before = nil
		lines = append(lines, targetLine(after))
	}
	if after.Target == nil {
		return lines
	}
	lines = append(lines, phaseTransitions(before, after)...)
	blocked, blockedBefore := BlockedText(after), ""
	if before != nil {
		blockedBefore = BlockedText(*before)
	}
	if blocked != "" && blocked != blockedBefore {
		lines = append(lines, blocked)
	}
	stateChanged := before == nil || before.Verdict != after.Verdict || before.Package.State != after.Package.State
	switch {
	case after.Verdict == VerdictRolledOut && stateChanged:
		lines = append(lines, doneText(after))
	case after.Package.State == v1alpha1.ReasonObjectCollisions && blocked != "":
	case after.Package.State != v1alpha1.ReasonRollingOut && after.Package.State != statePending && stateChanged:
		lines = append(lines, after.Message)
	}
	if after.RollbackRefused != "" && (before == nil || before.RollbackRefused == "") {
		lines = append(lines, "the rollback was refused: "+after.RollbackRefused)
	}
	return lines
}

func targetLine(s Status) string {
	t := s.Target
	if t == nil {
		return "no revision yet" + Prefixed(": ", s.Package.Message)
	}
	text := "revision " + WithVersion(t.Revision, t.Version) + " is the target"
	if s.Package.CurrentRevision != 0 && s.Package.CurrentRevision != t.Revision {
		text += fmt.Sprintf("; revision %s runs", WithVersion(s.Package.CurrentRevision, s.Package.Version))
	}
	return text
}

func phaseTransitions(before *Status, after Status) []string {
	var lines []string
	for i, phase := range after.Phases {
		was := ""
		if before != nil && i < len(before.Phases) && !before.Phases[i].FromPackage {
			was = before.Phases[i].State
		}
		// A line is written when the counts are known.
		if phase.State == was || phase.FromPackage {
			continue
		}
		where := fmt.Sprintf("phase %d/%d %s ", i+1, len(after.Phases), phase.Name)
		switch v1alpha1.PhaseState(phase.State) {
		case v1alpha1.PhaseComplete:
			lines = append(lines, where+phaseWords(phase))
		case v1alpha1.PhaseProgressing:
			lines = append(lines, fmt.Sprintf("%sin progress: %d/%d ready%s", where, phase.Ready, phase.Objects, Prefixed(", ", actionWords(phase))))
		case v1alpha1.PhasePending:
		}
	}
	return lines
}

// BlockedText is what the rollout waits for. It has no times, so that it changes
// only when what it says does.
func BlockedText(s Status) string {
	b := s.Blocking
	if b == nil {
		return ""
	}
	text := "waits for " + ObjectName(b.ObjectReference) + ": " + b.Reason + Prefixed(": ", b.Message)
	if len(b.Pods) > 0 && !saysPod(b.Message, b.Pods[0]) {
		text += "; " + b.Pods[0].String()
	}
	return text + Prefixed("; hint: ", b.Hint)
}

func doneText(s Status) string {
	var all PhaseProgress
	for _, phase := range s.Phases {
		all.Created += phase.Created
		all.Updated += phase.Updated
		all.Adopted += phase.Adopted
		all.Unchanged += phase.Unchanged
	}
	text := fmt.Sprintf("revision %d is rolled out", s.Target.Revision)
	if took := tookText(*s.Target); took != "" {
		text += " in " + took
	}
	text += Prefixed(": ", actionWords(all))
	if s.Package.RolledBack || s.Package.Interference {
		text += "; " + s.Message
	}
	return text
}

// Stamp is a time for a line of a log.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
