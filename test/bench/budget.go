// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// budgetFile is budget.yaml.
//
//go:embed budget.yaml
var budgetFile []byte

// row is one figure and what it may be.
type row struct {
	// Step and Figure name it.
	Step   string `json:"step"`
	Figure string `json:"figure"`
	// Budget is the most that it may be. Without one the figure is only reported.
	Budget *float64 `json:"budget,omitempty"`
	// Value is what was measured when the row was written.
	Value float64 `json:"value"`
	// Margin is how far the value may move, and what moves it.
	Margin string `json:"margin"`
	// Why is why the budget is what it is.
	Why string `json:"why"`
	// Scale rows are only measured with many packages; and Full ones only with as
	// many as the budget is for.
	Scale bool `json:"scale,omitempty"`
	Full  bool `json:"full,omitempty"`
	// Linux rows are not measured elsewhere.
	Linux bool `json:"linux,omitempty"`
	// Peers are what other tools need for the same.
	Peers []peer `json:"peers,omitempty"`
}

// peer is the figure of another tool: one that is quoted, or one of this run.
type peer struct {
	Name string `json:"name"`
	// Quoted is the figure, and Source where it is from.
	Quoted string `json:"quoted,omitempty"`
	Source string `json:"source,omitempty"`
	// Run is the key of a figure of this run.
	Run string `json:"run,omitempty"`
}

func (r row) key() string { return r.Step + "/" + r.Figure }

// readBudget reads the rows. A field that is not known is an error.
func readBudget(file []byte) ([]row, error) {
	var content struct {
		Rows []row `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(file, &content); err != nil {
		return nil, fmt.Errorf("reading budget.yaml: %w", err)
	}
	var errs []error
	seen := map[string]bool{}
	for _, r := range content.Rows {
		if seen[r.key()] {
			errs = append(errs, fmt.Errorf("row %s: there are two of it", r.key()))
		}
		seen[r.key()] = true
		errs = append(errs, r.validate())
	}
	if len(content.Rows) == 0 {
		errs = append(errs, errors.New("it has no rows"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("reading budget.yaml: %w", err)
	}
	return content.Rows, nil
}

// validate says what is missing in a row.
func (r row) validate() error {
	var missing []string
	for name, text := range map[string]string{"step": r.Step, "figure": r.Figure, "margin": r.Margin, "why": r.Why} {
		if text == "" {
			missing = append(missing, name)
		}
	}
	for _, p := range r.Peers {
		if p.Name == "" || (p.Quoted == "") == (p.Run == "") || (p.Quoted == "") != (p.Source == "") {
			missing = append(missing, fmt.Sprintf("peer %q: a name, and either quoted and source, or run", p.Name))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("row %s: it lacks %s", r.key(), strings.Join(missing, ", "))
	}
	return nil
}

// verdict is what a row has come to.
type verdict struct {
	row      row
	measured float64
	result   string
}

const (
	isOK          = "ok"
	isOver        = "OVER"
	isMissing     = "NOT MEASURED"
	isReported    = "-"
	isOutOfReach  = "not at this scale"
	isUnavailable = "only on Linux"
)

// conditions are what a run could measure.
type conditions struct {
	// scale says that there were many packages, and full that there were as many as
	// the budget is for.
	scale, full bool
	// linux says that the system tells the memory of a process.
	linux bool
}

// judge compares what was measured with the rows. A figure without a limit still
// needs a row that says so.
func judge(rows []row, measured figures, c conditions) []verdict {
	verdicts := make([]verdict, 0, len(rows))
	for _, r := range rows {
		value, ok := measured[r.key()]
		v := verdict{row: r, measured: value}
		switch {
		case !ok && r.Linux && !c.linux:
			v.result = isUnavailable
		case !ok && r.Scale && !c.scale:
			v.result = isOutOfReach
		case !ok:
			v.result = isMissing
		case r.Budget == nil:
			v.result = isReported
		case r.Full && !c.full:
			v.result = isOutOfReach
		case value > *r.Budget:
			v.result = isOver
		default:
			v.result = isOK
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// failure is an error that names the rows that do not hold, nil when all do.
func failure(verdicts []verdict) error {
	var failed []string
	for _, v := range verdicts {
		switch v.result {
		case isOver:
			failed = append(failed, fmt.Sprintf("%s is %s, at most %s is allowed", v.row.key(), number(v.measured), number(*v.row.Budget)))
		case isMissing:
			failed = append(failed, v.row.key()+" was not measured")
		}
	}
	if len(failed) > 0 {
		return errors.New("over the budget: " + strings.Join(failed, "; "))
	}
	return nil
}
