// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Annotations about restarts of workloads whose proxies are outdated.
const (
	// AnnotationRestartWindow on an Istio resource is when workloads may be restarted, such as
	// "Sat,Sun 22:00-04:00", in UTC.
	AnnotationRestartWindow = "strata.run/restart-window"
	// AnnotationExcludeFromRestart on a workload, its pods or their namespace, with the value
	// "true", keeps them from being restarted.
	AnnotationExcludeFromRestart = "strata.run/exclude-from-restart"
	// AnnotationRestartedFor on a workload is the [RestartRecord] of it.
	AnnotationRestartedFor = "strata.run/restarted-for"
	// AnnotationRestartedAt on a pod template is when the workload was restarted, as Kyma's
	// own operator has it.
	AnnotationRestartedAt = "istio-operator.kyma-project.io/restartedAt"
)

// RestartCause is a kind of reason to restart a workload.
type RestartCause string

// RestartRecord is what a workload was restarted for. It is the state of a restart that outlives
// the manager.
//
// +kubebuilder:object:generate=false
type RestartRecord struct {
	// At is when it was restarted last.
	At time.Time
	// Causes are those of its restarts, each with the version of its newest restart.
	Causes map[RestartCause]string
	// Template identifies the pod template that was restarted. Empty when that is not known.
	Template string
}

// templatePart is the key of the template in a record.
const templatePart = "template"

// ParseRestartRecord reads the value of [AnnotationRestartedFor]. What cannot be read counts for
// nothing: at worst a workload is restarted once more.
func ParseRestartRecord(text string) RestartRecord {
	r := RestartRecord{Causes: map[RestartCause]string{}}
	at, rest, _ := strings.Cut(text, " ")
	r.At, _ = time.Parse(time.RFC3339, at)
	if r.At.IsZero() {
		return r
	}
	for part := range strings.SplitSeq(rest, ",") {
		switch key, value, ok := strings.Cut(part, "="); {
		case !ok || key == "":
		case key == templatePart:
			r.Template = value
		default:
			r.Causes[RestartCause(key)] = value
		}
	}
	return r
}

// String is the value for the annotation, the same for the same record.
func (r RestartRecord) String() string {
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(r.Causes)) {
		parts = append(parts, string(cause)+"="+r.Causes[cause])
	}
	if r.Template != "" {
		parts = append(parts, templatePart+"="+r.Template)
	}
	return r.At.UTC().Format(time.RFC3339) + " " + strings.Join(parts, ",")
}

// Fresh are the causes that the workload was not restarted for, in order.
func (r RestartRecord) Fresh(causes map[RestartCause]string) []RestartCause {
	var fresh []RestartCause
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		if r.Causes[cause] != causes[cause] || r.At.IsZero() {
			fresh = append(fresh, cause)
		}
	}
	return fresh
}

// With is the record after a restart for causes, of a workload with that pod template.
func (r RestartRecord) With(causes map[RestartCause]string, template string, at time.Time) RestartRecord {
	next := RestartRecord{At: at, Causes: map[RestartCause]string{}, Template: template}
	maps.Copy(next.Causes, r.Causes)
	maps.Copy(next.Causes, causes)
	return next
}
