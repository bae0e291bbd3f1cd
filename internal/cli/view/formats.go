// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/check/lint"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/version"
)

// JunitSuites is the root of a JUnit report.
type JunitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitCase is one assertion: a phase, a probe, an object.
type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitOutcome `xml:"failure,omitempty"`
	Error   *junitOutcome `xml:"error,omitempty"`
	Skipped *junitOutcome `xml:"skipped,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// junitOf turns a report into JUnit's form: failure is for what is false, error for
// what could not be read, skipped for what the rollout has not reached.
func junitOf(r AssertReport) JunitSuites {
	name := r.Package
	if r.Revision != 0 {
		name = fmt.Sprintf("%s@%d", r.Package, r.Revision)
	}
	suite := junitSuite{Name: name, Time: fmt.Sprintf("%.3f", r.Seconds), Timestamp: r.StartedAt.UTC().Format(time.RFC3339)}
	for _, p := range []junitProperty{
		{"package", r.Package}, {"revision", Number(r.Revision)}, {"revisionUID", r.RevisionUID}, {"contentDigest", r.ContentDigest},
		{"version", r.Version}, {"kubernetes", r.Kubernetes}, {"exitCode", fmt.Sprint(r.ExitCode)},
	} {
		if p.Value != "" {
			suite.Properties = append(suite.Properties, p)
		}
	}
	for _, result := range r.Results {
		// XML has no form for some characters; none of them may reach a report.
		c := junitCase{Name: output.Clean(result.Name), Class: name + "." + result.Class, Time: fmt.Sprintf("%.3f", result.Seconds)}
		outcome := &junitOutcome{Message: output.Clean(result.Message)}
		if result.Interruptions > 0 {
			outcome.Text = fmt.Sprintf("it stopped being true %s", CountOf(result.Interruptions, "time"))
		}
		suite.Tests++
		switch result.Result {
		case ResultFailed:
			suite.Failures++
			c.Failure = outcome
		case ResultError:
			suite.Errors++
			c.Error = outcome
		case ResultSkipped:
			suite.Skipped++
			c.Skipped = outcome
		}
		suite.Cases = append(suite.Cases, c)
	}
	return JunitSuites{Suites: []junitSuite{suite}}
}

// WriteJUnit writes a report in JUnit's form.
func WriteJUnit(w io.Writer, r AssertReport) error { return writeXML(w, junitOf(r)) }

// writeXML writes a document of XML. Characters that a terminal may act on, or that are
// not seen, are written by their numbers.
func writeXML(w io.Writer, document any) error {
	text, err := xml.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	var safe strings.Builder
	for _, r := range string(text) {
		if r == '\n' || output.Clean(string(r)) == string(r) {
			safe.WriteRune(r)
		} else {
			fmt.Fprintf(&safe, "&#x%X;", r)
		}
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, safe.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// The parts of SARIF 2.1.0 that are written. Objects of one field are maps.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    map[string]sarifDriver `json:"tool"`
		Results []sarifResult          `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string            `json:"id"`
		Name          string            `json:"name"`
		Description   map[string]string `json:"shortDescription"`
		Configuration map[string]string `json:"defaultConfiguration"`
	}
	sarifResult struct {
		RuleID    string            `json:"ruleId"`
		Level     string            `json:"level"`
		Message   map[string]string `json:"message"`
		Locations []sarifLocation   `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical      `json:"physicalLocation,omitempty"`
		Logical  []map[string]string `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact map[string]string `json:"artifactLocation"`
		Region   map[string]int    `json:"region,omitempty"`
	}
)

// SarifOf is a report in the form that code hosts show beside the lines. The words for
// severities are the same.
func SarifOf(report LintReport) any {
	driver := sarifDriver{Name: "strata", Version: version.Get().Version}
	for _, rule := range lint.Rules() {
		driver.Rules = append(driver.Rules, sarifRule{
			ID: rule.Code, Name: rule.Name, Description: map[string]string{"text": rule.Summary}, Configuration: map[string]string{"level": string(rule.Severity)},
		})
	}
	run := sarifRun{Tool: map[string]sarifDriver{"driver": driver}, Results: []sarifResult{}}
	for i := range report.Findings {
		f := &report.Findings[i]
		result := sarifResult{RuleID: f.Code, Level: f.Severity, Message: map[string]string{"text": f.Message + ": " + f.Remedy}}
		var location sarifLocation
		if f.File != "" {
			location.Physical = &sarifPhysical{Artifact: map[string]string{"uri": filepath.ToSlash(f.File)}}
			if f.Line > 0 {
				location.Physical.Region = map[string]int{"startLine": f.Line}
			}
		}
		if f.Object != "" {
			location.Logical = []map[string]string{{"fullyQualifiedName": f.Object}}
		}
		if location.Physical != nil || location.Logical != nil {
			result.Locations = []sarifLocation{location}
		}
		run.Results = append(run.Results, result)
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// WriteLintJUnit writes a report in JUnit's form: a case for each rule, which fails when
// it has findings of the threshold or worse.
func WriteLintJUnit(w io.Writer, report LintReport) error {
	suite := junitSuite{Name: "strata lint", Time: "0.000"}
	for _, rule := range lint.Rules() {
		c := junitCase{Name: rule.Code + " " + rule.Name, Class: "strata.lint", Time: "0.000"}
		var lines []string
		for i := range report.Findings {
			if f := &report.Findings[i]; f.Code == rule.Code {
				lines = append(lines, output.Clean(placeText(f)+f.Message+": "+f.Remedy))
			}
		}
		suite.Tests++
		if len(lines) > 0 && rule.Severity.AtLeast(lint.Severity(report.Threshold)) {
			suite.Failures++
			c.Failure = &junitOutcome{Message: rule.Summary, Text: strings.Join(lines, "\n")}
		}
		suite.Cases = append(suite.Cases, c)
	}
	return writeXML(w, JunitSuites{Suites: []junitSuite{suite}})
}
