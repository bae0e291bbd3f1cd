// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/check/lint"
	"github.com/strata-run/strata/internal/cli/output"
)

// LintReport is the document of `strata lint`.
type LintReport struct {
	metav1.TypeMeta `json:",inline"`

	// Findings are what is wrong, in the order of files and lines.
	Findings []LintFinding `json:"findings"`
	// Errors, Warnings and Notes count them, Suppressed those that were left out.
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Notes      int `json:"notes"`
	Suppressed int `json:"suppressed"`
	// Threshold is how bad a finding must be to count, and failed whether one is.
	Threshold string `json:"threshold"`
	Failed    bool   `json:"failed"`
	// Objects is how many objects were looked at.
	Objects int `json:"objects"`
}

// LintFinding is one thing that is wrong.
type LintFinding struct {
	// Code is the rule's, such as PKG0101, and rule its name, such as Duplicate.
	Code string `json:"code"`
	Rule string `json:"rule"`
	// Severity is error, warning or note.
	Severity string `json:"severity"`
	// Object names the object, empty when it is about none.
	Object string `json:"object,omitempty"`
	// Message says what is wrong, and remedy what to do.
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// File and line say where; unset when that is not known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// BuildLintReport is the document of findings.
func BuildLintReport(findings []lint.Finding, suppressed []string, threshold string, objects int) LintReport {
	report := LintReport{TypeMeta: DocumentType("LintReport"), Findings: []LintFinding{}, Threshold: threshold, Objects: objects}
	for _, f := range findings {
		if slices.Contains(suppressed, f.Rule.Code) || slices.Contains(suppressed, f.Rule.Code+"="+f.Object) {
			report.Suppressed++
			continue
		}
		switch f.Rule.Severity {
		case lint.Error:
			report.Errors++
		case lint.Warning:
			report.Warnings++
		case lint.Note:
			report.Notes++
		}
		report.Failed = report.Failed || f.Rule.Severity.AtLeast(lint.Severity(threshold))
		report.Findings = append(report.Findings, LintFinding{
			Code: f.Rule.Code, Rule: f.Rule.Name, Severity: string(f.Rule.Severity), Object: f.Object,
			Message: f.Message, Remedy: f.Remedy, File: f.File, Line: f.Line,
		})
	}
	return report
}

// WriteLint writes a finding a line, as compilers do, with its remedy below.
func WriteLint(p *output.Printer, report LintReport) {
	styles := map[string]output.Style{string(lint.Error): output.Bad, string(lint.Warning): output.Busy, string(lint.Note): output.Faint}
	for i := range report.Findings {
		f := &report.Findings[i]
		p.Line(output.Span{Text: placeText(f)}, output.Span{Text: f.Severity, Style: styles[f.Severity]}, output.Span{Text: " " + f.Code + " " + f.Rule})
		p.Wrapped("    ", output.Plain, f.Message+": "+f.Remedy)
	}
	text := fmt.Sprintf("%s: %s, %s, %s", CountOf(report.Objects, "object"), CountOf(report.Errors, "error"), CountOf(report.Warnings, "warning"), CountOf(report.Notes, "note"))
	if report.Suppressed > 0 {
		text += fmt.Sprintf(", %d suppressed", report.Suppressed)
	}
	p.Line(output.Span{Text: text})
}

// placeText is where a finding stands, as editors read it.
func placeText(f *LintFinding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", f.File, f.Line)
}
