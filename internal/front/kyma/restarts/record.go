// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// AnnotationRecord on a workload is the [Record] of its restarts.
	AnnotationRecord = "strata.run/restarted-for"

	// AnnotationRestartedAt on a pod template is when the workload was restarted, as Kyma's
	// own operator has it.
	AnnotationRestartedAt = "istio-operator.kyma-project.io/restartedAt"
)

// Record is what a workload was restarted for.
type Record struct {
	// At is when it was restarted last.
	At time.Time
	// Epochs are the causes, each with the epoch of the newest restart for it.
	Epochs map[Cause]string
	// Template identifies the pod template that was restarted, see [TemplateOf]. Empty
	// when that is not known.
	Template string
}

// templatePart is the key of the template in a record.
const templatePart = "template"

// ParseRecord reads the value of [AnnotationRecord]. What cannot be read counts for nothing:
// at worst a workload is restarted once more.
func ParseRecord(text string) Record {
	r := Record{Epochs: map[Cause]string{}}
	at, rest, _ := strings.Cut(text, " ")
	r.At, _ = time.Parse(time.RFC3339, at)
	if r.At.IsZero() {
		return r
	}
	known := map[Cause]bool{}
	for _, p := range Predicates() {
		known[p.Cause()] = true
	}
	for part := range strings.SplitSeq(rest, ",") {
		if cause, epoch, ok := strings.Cut(part, "="); ok && known[Cause(cause)] {
			r.Epochs[Cause(cause)] = epoch
		} else if ok && cause == templatePart {
			r.Template = epoch
		}
	}
	return r
}

// String is the value for the annotation, the same for the same record.
func (r Record) String() string {
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(r.Epochs)) {
		parts = append(parts, string(cause)+"="+r.Epochs[cause])
	}
	if r.Template != "" {
		parts = append(parts, templatePart+"="+r.Template)
	}
	return r.At.UTC().Format(time.RFC3339) + " " + strings.Join(parts, ",")
}

// Fresh are the causes that the workload was not restarted for, in order.
func (r Record) Fresh(causes map[Cause]string) []Cause {
	var fresh []Cause
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		if r.Epochs[cause] != causes[cause] || r.At.IsZero() {
			fresh = append(fresh, cause)
		}
	}
	return fresh
}

// With is the record after a restart for causes, of a workload with that pod template.
func (r Record) With(causes map[Cause]string, template string, at time.Time) Record {
	next := Record{At: at, Epochs: map[Cause]string{}, Template: template}
	maps.Copy(next.Epochs, r.Epochs)
	maps.Copy(next.Epochs, causes)
	return next
}
