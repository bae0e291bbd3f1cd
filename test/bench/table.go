// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printTable writes the rows, and below them where quoted figures are from.
func printTable(out io.Writer, verdicts []verdict, measured figures) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STEP\tFIGURE\tBUDGET\tMEASURED\tVERDICT\tPEERS")
	var sources []string
	step := ""
	for _, v := range verdicts {
		shown := ""
		if v.row.Step != step {
			step, shown = v.row.Step, v.row.Step
		}
		budget := "-"
		if v.row.Budget != nil {
			budget = number(*v.row.Budget)
		}
		value := number(v.measured)
		if v.result == isMissing || v.result == isUnavailable {
			value = "-"
		}
		var peers []string
		for _, p := range v.row.Peers {
			text, source := p.text(measured)
			if source != "" {
				at := position(&sources, source)
				text += fmt.Sprintf(" [%d]", at)
			}
			peers = append(peers, text)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", shown, v.row.Figure, budget, value, v.result, strings.Join(peers, ", "))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	for i, source := range sources {
		fmt.Fprintf(out, "[%d] %s\n", i+1, source)
	}
	return nil
}

// sourceRun is the source of what was measured in this run.
const sourceRun = "measured in this run: helm, of the version in test/bench/helm/go.mod, with the same objects as a chart, without waiting for them"

// text is a peer's figure, and its source when it was not measured in this run.
func (p peer) text(measured figures) (text, source string) {
	if p.Run == "" {
		return p.Name + " " + p.Quoted, p.Source
	}
	value, ok := measured[p.Run]
	if !ok {
		return p.Name + " (not measured)", ""
	}
	return p.Name + " " + number(value), sourceRun
}

// position is that of a text in a list, from 1, which is added if it is new.
func position(list *[]string, text string) int {
	for i, known := range *list {
		if known == text {
			return i + 1
		}
	}
	*list = append(*list, text)
	return len(*list)
}

// number is a figure with as many digits as matter.
func number(value float64) string {
	switch {
	case value == float64(int64(value)):
		return strconv.FormatInt(int64(value), 10)
	case value < 10:
		return strconv.FormatFloat(value, 'f', 2, 64)
	default:
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
}
