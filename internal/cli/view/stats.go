// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

// Stats is the document of `strata stats`: all packages of a cluster at a glance.
type Stats struct {
	metav1.TypeMeta `json:",inline"`

	// Packages is how many there are.
	Packages int `json:"packages"`
	// States counts them by their state.
	States map[string]int `json:"states"`
	// Unavailable are the packages that do not serve, by name.
	Unavailable []string `json:"unavailable"`
	// Failed are those that waiting does not help, by name.
	Failed []string `json:"failed"`
	// Paused are those that are paused, the longest first where that is known.
	Paused []PausedPackage `json:"paused"`
	// Revisions is how many there are, Lifecycles counts them by lifecycle state.
	Revisions  int            `json:"revisions"`
	Lifecycles map[string]int `json:"lifecycles"`
	// Slowest are the rollouts that took longest, of those that history keeps.
	Slowest []SlowRollout `json:"slowest"`
	// Slices is how many ObjectSlices there are, -1 when they may not be read.
	Slices int `json:"slices"`
	// HistoryBytes is the size of all revisions and slices as JSON. In etcd they are
	// about as large.
	HistoryBytes int64 `json:"historyBytes"`
	// Largest are the packages whose revisions are largest.
	Largest []PackageSize `json:"largest"`
}

// PausedPackage is a package that is paused.
type PausedPackage struct {
	v1alpha1.Pause `json:",inline"`

	// Name is the package's.
	Name string `json:"name"`
}

// SlowRollout is how long a rollout took.
type SlowRollout struct {
	// Package and Revision name it.
	Package  string `json:"package"`
	Revision int64  `json:"revision"`
	// Seconds is from its creation until it had been rolled out, or until now.
	Seconds int64 `json:"seconds"`
	// UnderWay is true while it is not rolled out.
	UnderWay bool `json:"underWay,omitempty"`
}

// PackageSize is how large the revisions of a package are.
type PackageSize struct {
	// Name is the package's.
	Name string `json:"name"`
	// Revisions is how many it has, Bytes their size as JSON, without slices.
	Revisions int   `json:"revisions"`
	Bytes     int64 `json:"bytes"`
}

// SizeOf is the size of an object as JSON.
func SizeOf(object any) int64 {
	text, err := json.Marshal(object)
	if err != nil {
		return 0
	}
	return int64(len(text))
}

const mostStats = 5

// BuildStats counts packages and their revisions. Slices are added by the caller.
func BuildStats(packages []v1alpha1.Package, revisions []v1alpha1.Revision, now time.Time) Stats {
	s := Stats{
		TypeMeta: DocumentType("Stats"), Packages: len(packages), States: map[string]int{}, Lifecycles: map[string]int{}, Revisions: len(revisions),
		Unavailable: []string{}, Failed: []string{}, Paused: []PausedPackage{}, Slowest: []SlowRollout{}, Largest: []PackageSize{},
	}
	of := map[string][]v1alpha1.Revision{}
	for i := range revisions {
		of[revisions[i].Spec.Package] = append(of[revisions[i].Spec.Package], revisions[i])
		s.Lifecycles[string(LifecycleOf(&revisions[i]))]++
	}
	for i := range packages {
		p := &packages[i]
		own := of[p.Name]
		SortRevisions(own)
		summary := SummarisePackage(p, own)
		s.States[summary.State]++
		if summary.Available != string(metav1.ConditionTrue) {
			s.Unavailable = append(s.Unavailable, p.Name)
		}
		if history.ReasonOf(summary.State).IsTerminal || TerminalTeardowns[summary.State] {
			s.Failed = append(s.Failed, p.Name)
		}
		if pause := history.PauseOf(p, now); pause != nil {
			s.Paused = append(s.Paused, PausedPackage{Name: p.Name, Pause: *pause})
		}
		size := PackageSize{Name: p.Name, Revisions: len(own)}
		for j := range own {
			size.Bytes += SizeOf(&own[j])
			s.Slowest = append(s.Slowest, rolloutOf(&own[j], summary, now)...)
		}
		s.HistoryBytes += size.Bytes
		s.Largest = append(s.Largest, size)
	}
	slices.SortStableFunc(s.Slowest, func(a, b SlowRollout) int { return cmp.Compare(b.Seconds, a.Seconds) })
	slices.SortStableFunc(s.Largest, func(a, b PackageSize) int { return cmp.Compare(b.Bytes, a.Bytes) })
	s.Slowest = s.Slowest[:min(len(s.Slowest), mostStats)]
	s.Largest = s.Largest[:min(len(s.Largest), mostStats)]
	return s
}

// rolloutOf is how long the rollout of a revision took, or takes; nothing for one
// that was superseded before it succeeded.
func rolloutOf(r *v1alpha1.Revision, p PackageSummary, now time.Time) []SlowRollout {
	rollout := SlowRollout{Package: r.Spec.Package, Revision: r.Spec.Revision}
	switch {
	case r.Status.SucceededAt != nil:
		rollout.Seconds = int64(r.Status.SucceededAt.Sub(r.CreationTimestamp.Time) / time.Second)
	case r.Spec.Revision == p.TargetRevision && LifecycleOf(r) == v1alpha1.LifecycleActive:
		rollout.Seconds, rollout.UnderWay = int64(now.Sub(r.CreationTimestamp.Time)/time.Second), true
	default:
		return nil
	}
	return []SlowRollout{rollout}
}

// WriteStats writes the counts as one screen.
func WriteStats(p *output.Printer, s Stats) {
	line := func(label string, style output.Style, text string) {
		p.Labelled(output.Span{Text: label, Style: output.Faint}, 14, output.Span{Text: text, Style: style})
	}
	line("packages", output.Bold, fmt.Sprint(s.Packages))
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		line("", stateStyle(state), fmt.Sprintf("%4d  %s", s.States[state], state))
	}
	if len(s.Failed) > 0 {
		line("failed", output.Bad, Some(s.Failed))
	}
	if len(s.Unavailable) > 0 {
		line("not serving", output.Bad, Some(s.Unavailable))
	}
	for _, paused := range s.Paused {
		line("paused", output.Busy, paused.Name+": "+strings.TrimPrefix(PauseText(&paused.Pause), "paused "))
	}
	line("revisions", output.Bold, fmt.Sprint(s.Revisions))
	for _, state := range slices.Sorted(maps.Keys(s.Lifecycles)) {
		line("", output.Plain, fmt.Sprintf("%4d  %s", s.Lifecycles[state], state))
	}
	for _, r := range s.Slowest {
		if r.Seconds == 0 {
			continue
		}
		text := fmt.Sprintf("%s  %s revision %d", duration.HumanDuration(time.Duration(r.Seconds)*time.Second), r.Package, r.Revision)
		if r.UnderWay {
			text += ", under way"
		}
		line("slowest", output.Plain, text)
	}
	size := "history " + sizeText(s.HistoryBytes)
	if s.Slices >= 0 {
		size += ", of that " + CountOf(s.Slices, "slice")
	}
	line("size", output.Plain, size)
	for _, l := range s.Largest {
		line("", output.Plain, fmt.Sprintf("%s  %s, %s", sizeText(l.Bytes), l.Name, CountOf(l.Revisions, "revision")))
	}
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
