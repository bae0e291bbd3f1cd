// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/strata-run/strata/internal/check/lint"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/version"
)

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string       `json:"id"`
		Name          string       `json:"name"`
		Description   sarifMessage `json:"shortDescription"`
		Configuration sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// SarifOf is a report in the form that code hosts show beside the lines. The words for
// severities are the same.
func SarifOf(report LintReport) any {
	driver := sarifDriver{Name: "strata", Version: version.Get().Version}
	for _, rule := range lint.Rules() {
		driver.Rules = append(driver.Rules, sarifRule{
			ID: rule.Code, Name: rule.Name, Description: sarifMessage{rule.Summary}, Configuration: sarifLevel{string(rule.Severity)},
		})
	}
	run := sarifRun{Tool: sarifTool{Driver: driver}, Results: []sarifResult{}}
	for i := range report.Findings {
		f := &report.Findings[i]
		result := sarifResult{RuleID: f.Code, Level: f.Severity, Message: sarifMessage{f.Message + ": " + f.Remedy}}
		var location sarifLocation
		if f.File != "" {
			location.Physical = &sarifPhysical{Artifact: sarifArtifact{filepath.ToSlash(f.File)}}
			if f.Line > 0 {
				location.Physical.Region = &sarifRegion{f.Line}
			}
		}
		if f.Object != "" {
			location.Logical = []sarifLogical{{f.Object}}
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
