// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
)

// ObjectTimes are the times that matter to an object.
type ObjectTimes struct {
	// WithinSeconds is how long it may take to become ready, as the probes that select
	// it say; 0 when they say nothing.
	WithinSeconds float64 `json:"withinSeconds,omitempty"`
	// DueAt is by when it has to be ready. After that the rollout has failed.
	DueAt *metav1.Time `json:"dueAt,omitempty"`
	// HoldsForSeconds is how long its probes have to hold without interruption.
	HoldsForSeconds float64 `json:"holdsForSeconds,omitempty"`
	// HeldSince is since when they hold, unset while they do not.
	HeldSince *metav1.Time `json:"heldSince,omitempty"`
	// Flaps is how many times it ceased to be ready, and LastFlap when it ceased to be
	// ready, or was ready again, last.
	Flaps    int64        `json:"flaps,omitempty"`
	LastFlap *metav1.Time `json:"lastFlap,omitempty"`
}

// take takes in what the probes that select a manifest ask for.
func (t *ObjectTimes) take(probes []v1alpha1.Probe, manifest *unstructured.Unstructured) {
	if manifest == nil {
		return
	}
	for _, probe := range probes {
		if probe.Within == nil && probe.HoldsFor == nil {
			continue
		}
		if takes, err := content.Selects(probe.Selector, manifest); err != nil || !takes {
			continue
		}
		if within := ptr.Deref(probe.Within, metav1.Duration{}).Seconds(); within > 0 && (t.WithinSeconds == 0 || within < t.WithinSeconds) {
			t.WithinSeconds = within
		}
		t.HoldsForSeconds = max(t.HoldsForSeconds, ptr.Deref(probe.HoldsFor, metav1.Duration{}).Seconds())
	}
}

// steadyAt is when the object's probes have held for as long as they must, nil when that
// is not under way.
func (t *ObjectTimes) steadyAt() *metav1.Time {
	if t.HeldSince == nil || t.HoldsForSeconds <= 0 {
		return nil
	}
	at := metav1.NewTime(t.HeldSince.Add(secondsOf(t.HoldsForSeconds)))
	return &at
}

// lines are the times in words.
func (t *ObjectTimes) lines(ready bool, now time.Time) []output.Span {
	var lines []output.Span
	if steady := t.steadyAt(); steady != nil && !ready {
		lines = append(lines, output.Span{Text: fmt.Sprintf("holds for %s of %s", Age(now, *t.HeldSince), duration.HumanDuration(secondsOf(t.HoldsForSeconds)))})
	}
	if t.DueAt != nil && !ready {
		text := "was due " + Age(now, *t.DueAt) + " ago"
		if t.DueAt.After(now) {
			text = "due in " + duration.HumanDuration(t.DueAt.Sub(now))
		}
		if t.WithinSeconds > 0 {
			text += ", within " + duration.HumanDuration(secondsOf(t.WithinSeconds))
		}
		lines = append(lines, output.Span{Text: text})
	}
	if t.Flaps > 0 {
		text := "has ceased to be ready " + CountOf(int(t.Flaps), "time")
		if t.LastFlap != nil {
			text += ", last change " + Age(now, *t.LastFlap) + " ago"
		}
		lines = append(lines, output.Span{Text: text, Style: output.Busy})
	}
	return lines
}

func secondsOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
