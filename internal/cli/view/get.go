// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

// PackageStates are the values of --state: the states that a package can be in, and
// words for several of them.
var PackageStates = packageStates()

func packageStates() []string {
	states := []string{string(VerdictFailed), v1alpha1.ReasonPaused, v1alpha1.ReasonRolledBack, statePending}
	for _, reason := range history.Reasons {
		if _, ok := reason.Conditions[v1alpha1.ConditionProgressing]; ok && !reason.OnlyRevisions && reason.Name != v1alpha1.ReasonPaused {
			states = append(states, reason.Name)
		}
	}
	return states
}

// InStates are the packages in some states; all without states.
func InStates(packages []v1alpha1.Package, states []string, now time.Time) []v1alpha1.Package {
	if len(states) == 0 {
		return packages
	}
	return slices.DeleteFunc(packages, func(p v1alpha1.Package) bool {
		summary := SummarisePackage(&p, nil)
		state := summary.State
		return !slices.ContainsFunc(states, func(wanted string) bool {
			return strings.EqualFold(wanted, state) || strings.EqualFold(wanted, v1alpha1.ReasonRolledBack) && summary.RolledBack ||
				strings.EqualFold(wanted, string(VerdictFailed)) && (history.ReasonOf(state).IsTerminal || TerminalTeardowns[state]) ||
				strings.EqualFold(wanted, v1alpha1.ReasonPaused) && history.PauseOf(&p, now) != nil
		})
	})
}

// PackageDocument is a List of the objects, or the object when one was asked for.
func PackageDocument(packages []v1alpha1.Package, single bool) any {
	items := make([]v1alpha1.Package, len(packages))
	for i := range packages {
		packages[i].DeepCopyInto(&items[i])
		items[i].TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package"}
		items[i].ManagedFields = nil
	}
	if single {
		return items[0]
	}
	return v1alpha1.PackageList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
}

// WritePackages writes the table of packages.
func WritePackages(p *output.Printer, packages []v1alpha1.Package, wide bool, now time.Time) {
	columns := []output.Column{
		{Head: "NAME"}, {Head: "CURRENT", Short: "CUR"}, {Head: "TARGET", Short: "TGT"}, {Head: "VERSION"}, {Head: "STATE"},
		{Head: "PHASE"}, {Head: "PROBES"}, {Head: "AVAILABLE", Short: "AVAIL"}, {Head: "AGE"},
	}
	if wide {
		columns = append(columns, output.Column{Head: "PAUSED"}, output.Column{Head: "READY"}, output.Column{Head: "FRONT"}, output.Column{Head: "MESSAGE"})
	}
	rows := make([][]output.Cell, len(packages))
	for i := range packages {
		rows[i] = PackageRow(&packages[i], wide, now)
	}
	p.Table(columns, rows)
}

// PackageRow is the row of a package in the table of packages.
func PackageRow(pkg *v1alpha1.Package, wide bool, now time.Time) []output.Cell {
	s := SummarisePackage(pkg, nil)
	row := []output.Cell{
		{Text: s.Name},
		{Text: Number(s.CurrentRevision)},
		{Text: Number(s.TargetRevision)},
		{Text: s.Version},
		{Text: s.State, Style: stateStyle(s.State)},
		{Text: pkg.Status.Phase},
		{Text: pkg.Status.Probes},
		{Text: s.Available, Style: truthStyle(s.Available)},
		{Text: Age(now, pkg.CreationTimestamp)},
	}
	if wide {
		paused := ""
		if pause := history.PauseOf(pkg, now); pause != nil {
			paused = strings.TrimPrefix(pause.By+": "+pause.Reason, ": ")
		}
		row = append(row, output.Cell{Text: paused, Style: output.Busy}, output.Cell{Text: s.Ready, Style: truthStyle(s.Ready)}, output.Cell{Text: s.Front}, output.Cell{Text: s.Message})
	}
	return row
}

// stateStyle is the style of a package's state or a revision's outcome.
func stateStyle(state string) output.Style {
	switch state {
	case outcomeSucceeded:
		return output.Good
	case statePending:
		return output.Busy
	}
	return map[history.Tone]output.Style{history.Bad: output.Bad, history.Good: output.Good, history.Busy: output.Busy, history.Plain: output.Plain}[history.ReasonOf(state).Tone]
}

func truthStyle(status string) output.Style {
	return map[string]output.Style{string(metav1.ConditionTrue): output.Good, string(metav1.ConditionFalse): output.Bad, string(metav1.ConditionUnknown): output.Busy}[status]
}
