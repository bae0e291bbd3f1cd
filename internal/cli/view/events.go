// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

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

// EventScope is what events are looked for about.
type EventScope struct {
	pkg       string
	revisions map[string]bool
	Objects   map[revisions.ObjectID]bool
	// Namespaces are where the events of the objects stand.
	Namespaces []string
}

// ClusterEvents is the namespace of events about what has none.
const ClusterEvents = "default"

// ScopeOf is the scope of a package: all of its revisions, and the objects that they
// have in place or wait for.
func ScopeOf(pkg string, all []v1alpha1.Revision) EventScope {
	s := EventScope{pkg: pkg, revisions: map[string]bool{}, Objects: map[revisions.ObjectID]bool{}, Namespaces: []string{ClusterEvents}}
	for i := range all {
		r := &all[i]
		s.revisions[r.Name] = true
		for _, entry := range r.Status.Inventory {
			s.Add(entry.ObjectReference)
		}
		for _, object := range r.Status.Objects {
			s.Add(object.ObjectReference)
		}
	}
	return s
}

// Add adds an object to those that events are looked for about.
func (s *EventScope) Add(ref v1alpha1.ObjectReference) {
	s.Objects[IdentityOf(ref)] = true
	if ref.Namespace != "" && !slices.Contains(s.Namespaces, ref.Namespace) {
		s.Namespaces = append(s.Namespaces, ref.Namespace)
		slices.Sort(s.Namespaces[1:])
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

// Takes says whether an event is in the scope, and of which object when it is about a
// pod.
func (s *EventScope) Takes(ref corev1.ObjectReference) (of string, ok bool) {
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	if group == v1alpha1.GroupVersion.Group {
		return "", ref.Kind == "Package" && ref.Name == s.pkg || ref.Kind == "Revision" && s.revisions[ref.Name]
	}
	id := revisions.ObjectID{GroupKind: schema.GroupKind{Group: group, Kind: ref.Kind}, Namespace: ref.Namespace, Name: ref.Name}
	if s.Objects[id] {
		return "", true
	}
	if ref.Kind != "Pod" && ref.Kind != "ReplicaSet" {
		return "", false
	}
	// The longest name is the owner's, where one workload's begins with another's.
	longest := ""
	for id := range s.Objects {
		suffix, fits := strings.CutPrefix(ref.Name, id.Name)
		pattern := podSuffixes[id.Kind]
		if fits && pattern != nil && id.Namespace == ref.Namespace && pattern.MatchString(suffix) && len(id.Name) > len(longest) {
			longest, of = id.Name, id.Kind+"/"+id.Name
		}
	}
	return of, of != ""
}

// EventsIn are the events of the scope, in the order of their times.
func (s *EventScope) EventsIn(list []corev1.Event) []PackageEvent {
	found := []PackageEvent{}
	for i := range list {
		e := &list[i]
		of, ok := s.Takes(e.InvolvedObject)
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

// ID identifies the event among those that were read.
func (e *PackageEvent) ID() string { return e.uid }

// target names what an event is about.
func (e *PackageEvent) target() string {
	return ObjectName(v1alpha1.ObjectReference{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
}

var eventStyle = map[string]output.Style{corev1.EventTypeWarning: output.Bad}

// WriteEvent writes an event as two lines: what, and in what words.
func WriteEvent(p *output.Printer, e PackageEvent, when string) {
	line := output.Line{{Text: when + "  "}, {Text: e.Type, Style: eventStyle[e.Type]}, {Text: "  " + e.Reason + "  ", Style: output.Bold}, {Text: e.target()}}
	if e.Count > 1 {
		line = append(line, output.Span{Text: "  (" + Number(int64(e.Count)) + " times)"})
	}
	p.Line(line...)
	p.Wrapped("    ", output.Plain, e.Message)
}

// WriteEventTable writes events as a table.
func WriteEventTable(p *output.Printer, list []PackageEvent, now time.Time) {
	rows := make([][]output.Cell, len(list))
	for i, e := range list {
		rows[i] = []output.Cell{
			{Text: Age(now, e.Time)}, {Text: e.Type, Style: eventStyle[e.Type]}, {Text: e.Reason}, {Text: e.target()}, {Text: e.Of},
			{Text: Number(int64(e.Count))}, {Text: e.Source}, {Text: e.Message},
		}
	}
	p.Table([]output.Column{
		{Head: "LAST-SEEN"}, {Head: "TYPE"}, {Head: "REASON"}, {Head: "OBJECT"}, {Head: "OF"}, {Head: "COUNT"}, {Head: "SOURCE"}, {Head: "MESSAGE"},
	}, rows)
}
