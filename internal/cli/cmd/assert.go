// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

const outputJUnit outputFormat = "junit"

type assertOptions struct {
	output   outputFormat
	files    []string
	targets  []string
	within   time.Duration
	holdsFor time.Duration
	revision int64
	junit    string
	create   bool
}

func (a *app) assertCommand() *cobra.Command {
	var o assertOptions
	cmd := &cobra.Command{
		Use:   "assert PACKAGE [-f FILE]",
		Short: "Check that a package is as it should be, for CI",
		Long: `Check that a package is as it should be. Without -f and --for each phase, object
and probe of the target has to be ready, and the revision rolled out.

A file asserts of phases, probes, the package and any live object what a probe
of a revision can: a condition, the value of a field, an expression of CEL.
Within how long each has to become true and for how long it then has to hold is
said there, or with --within and --holds-for. It ends as soon as all is decided:
also when the rollout cannot succeed, which ends what is not true yet.

` + assertFileHelp + `

In a JUnit report the suite is the package and its revision; failure is for what
is false, error for what could not be read, skipped for what the rollout has not
reached.

Exit codes: 0 all hold; 1 one is false or cannot be read; 2 usage, or a file
that is not valid; 3 the rollout cannot succeed by waiting; 4 the time was over
and the rollout goes on; 5 a newer revision took the place of --revision; 6
there is no such package or revision; 7 no cluster answers.

Rights: list and watch packages.strata.run and revisions.strata.run; get
objectslices.strata.run; list and watch the live objects that are asserted.`,
		Example: `  strata assert istiod-openshift-gateway
  strata assert istiod-openshift-gateway -f asserts.yaml --junit report.xml
  strata assert istiod-openshift-gateway --for available --within 1m --holds-for 30s`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.assert(ctx, o, name) })
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJUnit, outputJSONPath)
	cmd.Flags().StringSliceVarP(&o.files, "file", "f", nil, "a file of assertions; - is stdin; can be given more than once")
	cmd.Flags().StringArrayVar(&o.targets, "for", nil, "what has to be so: "+waitTargets+"; can be given more than once")
	cmd.Flags().DurationVar(&o.within, "within", 0, "how long it may take to become true, where the file says nothing")
	cmd.Flags().DurationVar(&o.holdsFor, "holds-for", 0, "how long it then has to hold without interruption, where the file says nothing")
	a.addRevision(cmd, &o.revision, "revision", "the revision that is meant; 0 is the target")
	cmd.Flags().StringVar(&o.junit, "junit", "", "write a JUnit report to this file, too")
	complete(cmd, "for", completeTargets)
	return cmd
}

const assertFileHelp = `  apiVersion: cli.strata.run/v1alpha1
  kind: Assertions
  within: 2m
  asserts:
  - rolledOut: true
  - phase: control-plane
  - name: two replicas serve, and do not flap
    object: {kind: Deployment, name: istiod-openshift-gateway}
    cel: {expression: self.status.availableReplicas >= 2}
    holdsFor: 30s
  - object:
      apiVersion: gateway.networking.k8s.io/v1
      kind: GatewayClass
      name: openshift-default
    condition: {type: Accepted}`

// assertions are the checks of a package that are asked for.
func (a *app) assertions(o assertOptions, name string) (*assertRun, error) {
	checks, err := a.checksOf(o)
	if err != nil {
		return nil, err
	}
	c, err := a.connect()
	return &assertRun{app: a, cluster: c, name: name, revision: o.revision, checks: checks, mayCome: o.create}, err
}

func (a *app) assert(ctx context.Context, o assertOptions, name string) error {
	run, err := a.assertions(o, name)
	if err != nil {
		return err
	}
	longest := time.Duration(0)
	for _, check := range run.checks {
		longest = max(longest, check.within+check.holdsFor)
	}
	report, err := run.run(ctx, longest)
	if err != nil {
		return err
	}
	if server := a.serverVersion(ctx); server != nil {
		report.Kubernetes = server.Kubernetes
	}
	if err := a.writeReport(o, report); err != nil {
		return err
	}
	if report.Passed {
		return nil
	}
	if !o.output.isDocument() && o.output != outputJUnit && Code(report.ExitCode) != CodeSuperseded {
		a.noteWhy(ctx, run.cluster, name)
	}
	return &ExitError{Code: Code(report.ExitCode)}
}

// checksOf are the checks of files and flags; nil for those of the revision.
func (a *app) checksOf(o assertOptions) ([]check, error) {
	if o.within < 0 || o.holdsFor < 0 {
		return nil, exitf(CodeUsage, "--within and --holds-for must not be negative")
	}
	var checks []check
	for _, target := range o.targets {
		c, err := targetCheck(target)
		if err != nil {
			return nil, exitf(CodeUsage, "flag --for: %w", err)
		}
		c.within, c.holdsFor = o.within, o.holdsFor
		checks = append(checks, c)
	}
	for _, file := range o.files {
		own, err := a.checksIn(file, o)
		if err != nil {
			return nil, err
		}
		checks = append(checks, own...)
	}
	return checks, nil
}

func (a *app) checksIn(file string, o assertOptions) ([]check, error) {
	text, err := a.readInput(file)
	if err != nil {
		return nil, exitf(CodeUsage, "reading the assertions: %w", err)
	}
	parsed, err := readAssertions(text)
	if err != nil {
		return nil, exitf(CodeUsage, "reading the assertions of %s: %w", file, err)
	}
	var checks []check
	for i, one := range parsed.Asserts {
		c, err := checkOf(one)
		if err != nil {
			return nil, exitf(CodeUsage, "reading the assertions of %s: asserts[%d]%w", file, i, err)
		}
		if one.Within == nil {
			c.within = o.within
		}
		if one.HoldsFor == nil {
			c.holdsFor = o.holdsFor
		}
		checks = append(checks, c)
	}
	return checks, nil
}

func (a *app) readInput(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(filepath.Clean(path))
}

func (a *app) writeReport(o assertOptions, report view.AssertReport) error {
	if o.junit != "" {
		file, err := os.OpenFile(o.junit, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		err = view.WriteJUnit(file, report)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	p := a.stdout(o.output)
	switch {
	case o.output == outputJUnit:
		return view.WriteJUnit(a.Out, report)
	case o.output.isDocument():
		return printDocument(p, o.output, report)
	}
	writeResults(p, report)
	return p.Err()
}

// writeResults writes one line for each assertion; objects that are ready are only
// counted.
func writeResults(p *output.Printer, report view.AssertReport) {
	ready := 0
	for _, r := range report.Results {
		if r.Class == classObject && r.Result == view.ResultPassed && len(report.Results) > 12 {
			ready++
			continue
		}
		mark, style := view.MarkFailed, output.Bad
		switch r.Result {
		case view.ResultPassed:
			mark, style = view.MarkDone, output.Good
		case view.ResultSkipped:
			mark, style = view.MarkPending, output.Faint
		}
		p.Line(output.Span{Text: mark + " ", Style: style}, output.Span{Text: r.Name}, output.Span{Text: "  " + resultWords(r), Style: style})
		if r.Message != "" && r.Result != view.ResultPassed {
			p.Wrapped("    ", output.Plain, r.Message)
		}
	}
	if ready > 0 {
		p.Line(output.Span{Text: view.MarkDone + " ", Style: output.Good}, output.Span{Text: view.CountOf(ready, "object") + " ready"})
	}
	passed := 0
	for _, r := range report.Results {
		if r.Result == view.ResultPassed {
			passed++
		}
	}
	of := report.Package
	if report.Revision != 0 {
		of += " revision " + view.WithVersion(report.Revision, report.Version)
	}
	p.Line(output.Span{Text: fmt.Sprintf("%s: %d of %d hold, after %s", of, passed, len(report.Results), time.Duration(report.Seconds*float64(time.Second)).Round(100*time.Millisecond))})
}

func resultWords(r view.AssertResult) string {
	words := map[string]string{view.ResultPassed: "holds", view.ResultFailed: "does not hold", view.ResultError: "is unknown", view.ResultSkipped: "not reached"}[r.Result]
	if r.Interruptions > 0 {
		words += fmt.Sprintf(" (interrupted %s)", view.CountOf(r.Interruptions, "time"))
	}
	return words
}

const explainTimeout = 5 * time.Second

func (a *app) noteWhy(ctx context.Context, c *cluster, name string) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	e, err := a.explanation(ctx, c, registryOptions{}, name)
	if err != nil || e.Verdict == view.VerdictRolledOut {
		return
	}
	width, _ := output.Size(a.Err)
	view.WriteExplanation(a.printer(a.Err, a.Err, width), e, a.now())
}
