// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/revisions"
)

// Events is the document of `strata events`: the events of a package, its
// revisions, their objects and the pods of these.
type Events struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Events are in the order of their times.
	Events []PackageEvent `json:"events"`
	// Unread are the namespaces whose events could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}

// PackageEvent is one event.
type PackageEvent struct {
	// Time is when it was recorded last.
	Time metav1.Time `json:"time"`
	// Type is Normal or Warning.
	Type string `json:"type"`
	// Reason is a word for a program.
	Reason string `json:"reason"`
	// Kind, Namespace and Name are those of what it is about.
	Kind string `json:"kind"`
	// Namespace is empty for what has none.
	Namespace string `json:"namespace,omitempty"`
	// Name is that of what it is about.
	Name string `json:"name"`
	// Of is the object of the package that a pod or ReplicaSet belongs to, as
	// KIND/NAME; empty for what is no part of an object.
	Of string `json:"of,omitempty"`
	// Message says it in words.
	Message string `json:"message"`
	// Count is how many times it was recorded.
	Count int32 `json:"count"`
	// Source is the component that recorded it.
	Source string `json:"source,omitempty"`

	uid string
}

// eventScope is what events are looked for about.
type eventScope struct {
	pkg       string
	revisions map[string]bool
	objects   map[revisions.ObjectID]bool
	// namespaces are where the events of the objects stand.
	namespaces []string
}

// clusterEvents is the namespace of events about what has none.
const clusterEvents = "default"

// scopeOf is the scope of a package: all of its revisions, and the objects that they
// have in place or wait for.
func scopeOf(pkg string, all []v1alpha1.Revision) eventScope {
	s := eventScope{pkg: pkg, revisions: map[string]bool{}, objects: map[revisions.ObjectID]bool{}, namespaces: []string{clusterEvents}}
	for i := range all {
		r := &all[i]
		s.revisions[r.Name] = true
		for _, entry := range r.Status.Inventory {
			s.add(entry.ObjectReference)
		}
		for _, object := range r.Status.Objects {
			s.add(object.ObjectReference)
		}
	}
	return s
}

func (s *eventScope) add(ref v1alpha1.ObjectReference) {
	s.objects[identityOf(ref)] = true
	if ref.Namespace != "" && !slices.Contains(s.namespaces, ref.Namespace) {
		s.namespaces = append(s.namespaces, ref.Namespace)
		slices.Sort(s.namespaces[1:])
	}
}

// podSuffixes are what the controllers of workloads add to their names for pods and
// ReplicaSets. The pods themselves may be gone when their events are read.
var podSuffixes = map[string]*regexp.Regexp{
	"Deployment":  regexp.MustCompile(`^-[bcdfghj-np-tvwxz2456789]{5,10}(-[bcdfghj-np-tvwxz2456789]{5})?$`),
	"ReplicaSet":  regexp.MustCompile(`^-[bcdfghj-np-tvwxz2456789]{5}$`),
	"DaemonSet":   regexp.MustCompile(`^-[bcdfghj-np-tvwxz2456789]{5}$`),
	"Job":         regexp.MustCompile(`^-(\d+-)?[bcdfghj-np-tvwxz2456789]{5}$`),
	"StatefulSet": regexp.MustCompile(`^-\d+$`),
}

// takes says whether an event is in the scope, and of which object when it is about a
// pod.
func (s *eventScope) takes(ref corev1.ObjectReference) (of string, ok bool) {
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	if group == v1alpha1.GroupVersion.Group {
		return "", ref.Kind == "Package" && ref.Name == s.pkg || ref.Kind == "Revision" && s.revisions[ref.Name]
	}
	id := revisions.ObjectID{GroupKind: schema.GroupKind{Group: group, Kind: ref.Kind}, Namespace: ref.Namespace, Name: ref.Name}
	if s.objects[id] {
		return "", true
	}
	if ref.Kind != "Pod" && ref.Kind != "ReplicaSet" {
		return "", false
	}
	// The longest name is the owner's, where one workload's begins with another's.
	longest := ""
	for id := range s.objects {
		suffix, fits := strings.CutPrefix(ref.Name, id.Name)
		pattern := podSuffixes[id.Kind]
		if fits && pattern != nil && id.Namespace == ref.Namespace && pattern.MatchString(suffix) && len(id.Name) > len(longest) {
			longest, of = id.Name, id.Kind+"/"+id.Name
		}
	}
	return of, of != ""
}

// eventsIn are the events of the scope, in the order of their times.
func (s *eventScope) eventsIn(list []corev1.Event) []PackageEvent {
	found := []PackageEvent{}
	for i := range list {
		e := &list[i]
		of, ok := s.takes(e.InvolvedObject)
		if !ok {
			continue
		}
		next := PackageEvent{
			Time: eventTime(e), Type: e.Type, Reason: e.Reason, Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name,
			Namespace: e.InvolvedObject.Namespace, Of: of, Message: e.Message, Count: max(e.Count, 1),
			Source: cmp.Or(e.ReportingController, e.Source.Component), uid: string(e.UID),
		}
		if e.Series != nil {
			next.Count = e.Series.Count
		}
		found = append(found, next)
	}
	slices.SortStableFunc(found, func(a, b PackageEvent) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Reason, b.Reason))
	})
	return found
}

// eventTime is when an event was recorded last.
func eventTime(e *corev1.Event) metav1.Time {
	latest := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(latest) {
			latest = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(latest) {
		latest = e.Series.LastObservedTime.Time
	}
	return metav1.NewTime(latest)
}

// id identifies the event among those that were read.
func (e *PackageEvent) id() string { return e.uid }

// target names what an event is about.
func (e *PackageEvent) target() string {
	return objectName(v1alpha1.ObjectReference{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
}

// writeEvent writes an event as two lines: what, and in what words.
func writeEvent(p *output.Printer, e PackageEvent, when string) {
	style := output.Plain
	if e.Type == corev1.EventTypeWarning {
		style = output.Bad
	}
	line := output.Line{{Text: when + "  "}, {Text: e.Type, Style: style}, {Text: "  " + e.Reason + "  ", Style: output.Bold}, {Text: e.target()}}
	if e.Count > 1 {
		line = append(line, output.Span{Text: "  (" + number(int64(e.Count)) + " times)"})
	}
	p.Line(line...)
	p.Wrapped("    ", output.Plain, e.Message)
}

func writeEventTable(p *output.Printer, list []PackageEvent, now time.Time) {
	rows := make([][]output.Cell, len(list))
	for i, e := range list {
		style := output.Plain
		if e.Type == corev1.EventTypeWarning {
			style = output.Bad
		}
		rows[i] = []output.Cell{
			{Text: age(now, e.Time)}, {Text: e.Type, Style: style}, {Text: e.Reason}, {Text: e.target()}, {Text: e.Of},
			{Text: number(int64(e.Count))}, {Text: e.Source}, {Text: e.Message},
		}
	}
	p.Table([]output.Column{
		{Head: "LAST-SEEN"}, {Head: "TYPE"}, {Head: "REASON"}, {Head: "OBJECT"}, {Head: "OF"}, {Head: "COUNT"}, {Head: "SOURCE"}, {Head: "MESSAGE"},
	}, rows)
}
