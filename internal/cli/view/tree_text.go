// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/pods"
)

// Marks, each always beside a word that says the same.
const (
	MarkDone    = "✔"
	markBusy    = "◌"
	MarkFailed  = "✘"
	MarkPending = "·"
)

// TreeWriter turns a Tree into lines.
type TreeWriter struct {
	Now time.Time
	// Wide adds UIDs and digests.
	Wide bool
	// Expand lists every object instead of counting those of no interest.
	Expand bool
	// Single shows the content of one revision, also of an archived one.
	Single bool
}

// Root is the tree of a package.
func (w TreeWriter) Root(t Tree) output.Node {
	node := output.Node{Line: headline(t.Package)}
	if text := trouble(t.Package); text != "" {
		node.Below = append(node.Below, output.Span{Text: text, Style: stateStyle(t.Package.State)})
	}
	for _, r := range t.Revisions {
		node.Children = append(node.Children, w.revision(r, t.Package))
	}
	return node
}

func headline(p PackageSummary) output.Line {
	serves := availability(p)
	if p.CurrentRevision != 0 && p.CurrentRevision != p.TargetRevision && p.Available == "True" {
		serves += fmt.Sprintf(" (revision %d serves)", p.CurrentRevision)
	}
	line := output.Line{{Text: p.Name, Style: output.Bold}, {Text: "   "}, {Text: serves, Style: truthStyle(p.Available)}, {Text: "   "}}
	switch p.TargetRevision {
	case 0:
	case p.CurrentRevision:
		line = append(line, output.Span{Text: fmt.Sprintf("revision %d ", p.TargetRevision)})
	default:
		line = append(line, output.Span{Text: fmt.Sprintf("target %d ", p.TargetRevision)})
	}
	return append(line, output.Span{Text: p.State, Style: stateStyle(p.State)})
}

func availability(p PackageSummary) string {
	switch p.Available {
	case "True":
		return "Available"
	case "False":
		return "Unavailable"
	}
	return "Availability unknown"
}

// trouble is the package's message unless the tree says it better: about a
// rollout that goes on or is done, and about the object that collides.
func trouble(p PackageSummary) string {
	switch p.State {
	case v1alpha1.ReasonRolledOut:
		if !p.RolledBack {
			return ""
		}
	case v1alpha1.ReasonRollingOut, v1alpha1.ReasonObjectCollisions:
		return ""
	}
	return p.Message
}

func (w TreeWriter) revision(r TreeRevision, p PackageSummary) output.Node {
	line := output.Line{{Text: r.withRoles(fmt.Sprintf("revision %d", r.Revision)), Style: output.Bold}}
	add := func(style output.Style, text string) {
		if text != "" {
			line = append(line, output.Span{Text: "  "}, output.Span{Text: text, Style: style})
		}
	}
	add(output.Plain, r.Version)
	add(stateStyle(r.Outcome), r.Outcome)
	archived := r.Lifecycle == string(v1alpha1.LifecycleArchived)
	switch {
	case archived && r.ArchivedAt != nil:
		add(output.Plain, "archived "+Age(w.Now, *r.ArchivedAt)+" ago")
	case archived:
		add(output.Busy, "archiving")
	case r.Revision == p.TargetRevision:
		add(output.Plain, Prefixed("phase ", r.Phase))
		add(output.Plain, Prefixed("probes ", r.Probes))
	}
	node := output.Node{Line: line}
	if r.Revision < p.TargetRevision && (!archived || !w.Single) {
		node.Children = w.older(r, p)
		return node
	}
	width := 0
	for _, phase := range r.Phases {
		width = max(width, utf8.RuneCountInString(phase.Name))
	}
	for _, phase := range r.Phases {
		node.Children = append(node.Children, w.phase(phase, width))
	}
	return node
}

// Prefixed is a text with something before it, nothing without a text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (w TreeWriter) phase(p TreePhase, width int) output.Node {
	mark, style := phaseMark(p.PhaseProgress)
	name := p.Name + strings.Repeat(" ", width-utf8.RuneCountInString(p.Name))
	node := output.Node{Line: output.Line{
		{Text: mark + " ", Style: style}, {Text: name},
		{Text: fmt.Sprintf("  %d/%d  ", p.Ready, p.Objects)}, {Text: phaseWords(p.PhaseProgress), Style: style},
	}}
	var unchanged, waiting []TreeObject
	for _, object := range p.Items {
		switch {
		case object.State == objectPending && !w.Expand:
			waiting = append(waiting, object)
		case object.State == objectReady && object.Action == "Unchanged" && object.Flaps == 0 && len(object.IgnoredFields) == 0 && !w.Expand:
			unchanged = append(unchanged, object)
		default:
			node.Children = append(node.Children, w.object(object))
		}
	}
	if len(waiting) < len(p.Items) {
		node.Children = append(node.Children, w.group(waiting, MarkPending, output.Faint, "not applied yet")...)
	}
	node.Children = append(node.Children, w.group(unchanged, MarkDone, output.Good, "unchanged")...)
	return node
}

// group is one line for several objects, or a line for each of one or two.
func (w TreeWriter) group(objects []TreeObject, mark string, style output.Style, words string) []output.Node {
	var nodes []output.Node
	if len(objects) > 2 {
		return []output.Node{{Line: output.Line{{Text: mark + " ", Style: style}, {Text: fmt.Sprintf("%d objects %s", len(objects), words)}}}}
	}
	for _, object := range objects {
		nodes = append(nodes, w.object(object))
	}
	return nodes
}

func phaseMark(p PhaseProgress) (string, output.Style) {
	switch v1alpha1.PhaseState(p.State) {
	case v1alpha1.PhaseComplete:
		return MarkDone, output.Good
	case v1alpha1.PhaseProgressing:
		return markBusy, output.Busy
	case v1alpha1.PhasePending:
	}
	return MarkPending, output.Faint
}

// phaseWords say what a phase's mark says, and what was done.
func phaseWords(p PhaseProgress) string {
	words := map[v1alpha1.PhaseState]string{
		v1alpha1.PhaseComplete: "complete", v1alpha1.PhaseProgressing: "in progress", v1alpha1.PhasePending: "pending",
	}[v1alpha1.PhaseState(p.State)]
	if words == "" {
		words = "not checked"
	}
	if done := actionWords(p); done != "" {
		words += ": " + done
	}
	return words
}

func actionWords(p PhaseProgress) string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{p.Created, "created"}, {p.Updated, "updated"}, {p.Adopted, "adopted"}, {p.Unchanged, "unchanged"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	return strings.Join(parts, ", ")
}

// object is the line of one object, with what is wrong with it below.
func (w TreeWriter) object(o TreeObject) output.Node {
	mark, style := objectMark(o)
	line := output.Line{{Text: mark + " ", Style: style}, {Text: treeObjectName(o)}, {Text: "  "}, {Text: objectWords(o), Style: style}}
	if w.Wide {
		for _, extra := range []string{Prefixed("uid ", o.UID), Prefixed("content ", o.Content), Prefixed("slice ", ShortDigest(strings.TrimPrefix(o.Slice, "sha256-"))), Prefixed("in Secret ", ShortDigest(strings.TrimPrefix(o.Secret, "sha256-")))} {
			if extra != "" {
				line = append(line, output.Span{Text: "  " + extra, Style: output.Faint})
			}
		}
	}
	return output.Node{Line: line, Below: reasonLines(o, w.Now)}
}

func treeObjectName(o TreeObject) string {
	switch {
	case o.Kind == "" && o.Secret != "":
		return "a Secret, whose name stands in Secret " + ShortDigest(strings.TrimPrefix(o.Secret, "sha256-"))
	case o.Kind == "":
		return "an object of slice " + ShortDigest(strings.TrimPrefix(o.Slice, "sha256-"))
	}
	return ObjectName(o.ObjectReference)
}

func objectMark(o TreeObject) (string, output.Style) {
	switch {
	case o.State == objectReady || o.State == objectHandedOver:
		return MarkDone, output.Good
	case o.State == objectNotReady && (o.Reason == "Collision" || o.Reason == "ApplyError" || o.Reason == "ProbeFailed"):
		return MarkFailed, output.Bad
	case o.State == objectNotReady:
		return markBusy, output.Busy
	}
	return MarkPending, output.Faint
}

// objectWords say what an object's mark says, and what was done to it.
func objectWords(o TreeObject) string {
	done := strings.ToLower(o.Action)
	switch o.State {
	case objectPending:
		return "not applied yet"
	case objectNotReady:
		if done == "" {
			return "not applied"
		}
		return done + ", not ready"
	case objectInPlace, objectReady:
		if done == "" {
			return "in place"
		}
		return done
	case objectArchived:
		return "archived"
	}
	// What an older revision once did to it says nothing about the rollout.
	return ""
}

// reasonLines say why an object is not ready and what to do about it.
func reasonLines(o TreeObject, now time.Time) []output.Span {
	var left []output.Span
	if len(o.IgnoredFields) > 0 {
		left = append(left, output.Span{Text: "Left to another manager: " + strings.Join(o.IgnoredFields, ", ")})
	}
	if o.State != objectNotReady {
		return append(o.lines(true, now), left...)
	}
	text := o.Reason
	if o.Since != nil {
		text += " for " + Age(now, *o.Since)
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	lines := []output.Span{{Text: text, Style: output.Bad}}
	for i, pod := range o.Pods {
		if saysPod(o.Message, pod) {
			continue
		}
		if i == mostPods {
			lines = append(lines, output.Span{Text: fmt.Sprintf("and %d more pods", len(o.Pods)-i)})
			break
		}
		lines = append(lines, output.Span{Text: pod.String(), Style: output.Bad})
	}
	lines = append(append(lines, o.lines(false, now)...), left...)
	if o.Hint != "" {
		lines = append(lines, output.Span{Text: "Hint: " + o.Hint})
	}
	return lines
}

const mostPods = 3

// saysPod says that the manager's message is about a pod already.
func saysPod(message string, pod pods.Trouble) bool {
	return strings.Contains(message, "Pod "+pod.Name+": "+pod.Reason)
}

const mostListed = 8

// older are the lines below a revision that is not the target: what became of
// its objects.
func (w TreeWriter) older(r TreeRevision, p PackageSummary) []output.Node {
	groups := map[string][]TreeObject{}
	for _, phase := range r.Phases {
		for _, object := range phase.Items {
			groups[object.State] = append(groups[object.State], object)
		}
	}
	var nodes []output.Node
	add := func(objects []TreeObject, mark string, style output.Style, words string, list bool) {
		if len(objects) == 0 {
			return
		}
		node := output.Node{Line: output.Line{{Text: mark + " ", Style: style}, {Text: CountOf(len(objects), "object") + " " + words}}}
		if list && len(objects) <= mostListed || w.Expand {
			for _, object := range objects {
				node.Children = append(node.Children, w.object(object))
			}
		}
		nodes = append(nodes, node)
	}
	target := fmt.Sprintf("revision %d", p.TargetRevision)
	add(groups[objectHandedOver], MarkDone, output.Good, "handed over to "+target, false)
	add(groups[objectServing], markBusy, output.Busy, "still of this revision, until "+target+" reaches them", true)
	var leaving, unused, staying []TreeObject
	for _, object := range groups[objectLeaving] {
		switch {
		case object.Retained:
			staying = append(staying, object)
		case object.Unused:
			unused = append(unused, object)
		default:
			leaving = append(leaving, object)
		}
	}
	add(leaving, markBusy, output.Busy, "not in "+target+": deleted when that has succeeded", true)
	add(unused, markBusy, output.Busy, "not in "+target+": deleted when that has succeeded and no custom resource of it exists", true)
	add(staying, MarkDone, output.Good, "not in "+target+": retained", true)
	add(groups[objectNotReady], MarkFailed, output.Bad, "not ready", true)
	add(groups[objectPending], MarkPending, output.Faint, "never applied by this revision", false)
	return nodes
}

// dotWriter writes a Tree as a graph: the package, its revisions, their phases, objects
// and failing pods. The numbers of nodes follow from their order.
type dotWriter struct {
	p     *output.Printer
	nodes int
}

// WriteDot writes the graph.
func WriteDot(p *output.Printer, t Tree) {
	w := &dotWriter{p: p}
	w.line("digraph strata {")
	w.line("  rankdir=LR;")
	w.line(`  node [shape=box, style=rounded, fontname="sans-serif"];`)
	root := w.node(0, t.Package.Name+"\n"+t.Package.State, t.Package.State == "" || t.Package.Available != "True")
	for _, r := range t.Revisions {
		w.revision(root, r)
	}
	w.line("}")
}

func (w *dotWriter) revision(root int, r TreeRevision) {
	revision := w.node(root, r.withRoles(fmt.Sprintf("revision %d", r.Revision))+Prefixed("\n", r.Version)+Prefixed("\n", r.Outcome), false)
	for _, phase := range r.Phases {
		parent := w.node(revision, fmt.Sprintf("phase %s\n%d/%d%s", phase.Name, phase.Ready, phase.Objects, Prefixed(" ", phase.State)), false)
		for i := range phase.Items {
			object := &phase.Items[i]
			isBad := object.State == objectNotReady
			node := w.node(parent, treeObjectName(*object)+"\n"+object.State+Prefixed(": ", object.Reason), isBad)
			for _, pod := range object.Pods {
				w.node(node, "Pod "+pod.Name+"\n"+pod.Reason, true)
			}
		}
	}
}

// node writes a node below another one, 0 for none, and returns its number.
func (w *dotWriter) node(parent int, text string, isBad bool) int {
	w.nodes++
	more := ""
	if isBad {
		more = ", color=red"
	}
	w.line(fmt.Sprintf("  n%d [label=%s%s];", w.nodes, DotQuote(text), more))
	if parent > 0 {
		w.line(fmt.Sprintf("  n%d -> n%d;", parent, w.nodes))
	}
	return w.nodes
}

func (w *dotWriter) line(text string) { w.p.Line(output.Span{Text: text}) }

// DotQuote is a text as a quoted string of the language, in which a backslash has a
// meaning, too.
func DotQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
