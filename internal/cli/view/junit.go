// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/cli/output"
)

// JunitSuites is the root of a JUnit report.
type JunitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

// junitSuite is a package at a revision.
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
			outcome.Text = fmt.Sprintf("it ceased to hold %s", CountOf(result.Interruptions, "time"))
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
