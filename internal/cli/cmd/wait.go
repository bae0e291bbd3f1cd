// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

const waitTargets = "rolledout, available, ready, phase=NAME, probe=NAME, condition=TYPE[=STATUS] (of the Package), deleted"

func (a *app) waitCommand() *cobra.Command {
	o := assertOptions{targets: []string{"rolledout"}}
	cmd := &cobra.Command{
		Use:   "wait PACKAGE",
		Short: "Wait until a package is rolled out, available, or gone",
		Long: `Wait until all that --for asks is so. It watches, and ends with the event that
decides: also when the rollout cannot succeed by waiting, when a newer revision
takes the place of --revision, and when the package goes. What happens meanwhile
is written to stderr, and at a bad end what blocks the rollout.

Exit codes: 0 it is so; 2 usage; 3 it cannot become so by waiting (a collision,
an invalid revision, a deadline exceeded, missing rights); 4 the time was over;
5 a newer revision took the place of --revision; 6 there is no such package; 7
no cluster answers, or did not when the time was over.

Rights: list and watch packages.strata.run and revisions.strata.run; get
objectslices.strata.run.`,
		Example: `  strata wait istiod-openshift-gateway
  strata wait istiod-openshift-gateway --revision 2 --timeout 10m
  strata wait istiod-openshift-gateway --for available --holds-for 1m
  strata wait istiod-openshift-gateway --for phase=control-plane --wait-for-creation`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.wait(ctx, o, name) })
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().StringArrayVar(&o.targets, "for", o.targets, waitTargets+"; can be given more than once")
	cmd.Flags().DurationVar(&o.within, "timeout", 5*time.Minute, "how long to wait")
	cmd.Flags().DurationVar(&o.holdsFor, "holds-for", 0, "how long it then has to hold without interruption")
	a.addRevision(cmd, &o.revision, "revision", "the revision that is meant: wait until it is made, and end with code 5 when a newer one replaces it; 0 is whichever is the target")
	cmd.Flags().BoolVar(&o.create, "wait-for-creation", false, "wait also for the package to be created")
	complete(cmd, "for", completeTargets)
	return cmd
}

func (a *app) wait(ctx context.Context, o assertOptions, name string) error {
	if o.within <= 0 || o.holdsFor < 0 {
		return exitf(CodeUsage, "--timeout must be longer than 0s, and --holds-for must not be negative")
	}
	run, err := a.assertions(o, name)
	if err != nil {
		return err
	}
	var last *view.Status
	run.tell = func(s view.Status) {
		for _, line := range view.Transitions(last, s) {
			a.note("%s  %s", view.Stamp(a.now()), line)
		}
		last = &s
	}
	report, err := run.run(ctx, o.within+o.holdsFor)
	if err != nil {
		return err
	}
	// Whatever else is so, the time was over.
	if Code(report.ExitCode) == CodeFalse && !slices.ContainsFunc(run.tracked, func(t *tracked) bool { return t.last.truth == impossible }) {
		report.ExitCode = int(CodeTimeout)
	}
	p := a.stdout(o.output)
	if o.output.isDocument() {
		err = printDocument(p, o.output, report)
	} else {
		for _, r := range report.Results {
			if r.Result == view.ResultPassed {
				p.Line(output.Span{Text: fmt.Sprintf("package/%s %s", name, r.Name)})
			}
		}
		err = p.Err()
	}
	if err != nil || report.Passed {
		return err
	}
	// What blocks the revision that took its place says nothing of this one.
	if !o.output.isDocument() && Code(report.ExitCode) != CodeSuperseded {
		a.noteWhy(ctx, run.cluster, name)
	}
	return exitf(Code(report.ExitCode), "package %s: %s%s", name, report.Message, view.Prefixed(" (", endText(Code(report.ExitCode), o.within)))
}

// endText says why it has ended, with the bracket that closes it.
func endText(code Code, timeout time.Duration) string {
	return map[Code]string{
		CodeTimeout:     fmt.Sprintf("not within %s)", timeout),
		CodeTerminal:    "waiting does not help)",
		CodeUnreachable: "the connection is interrupted)",
	}[code]
}

func targetCheck(target string) (check, error) {
	kind, value, hasValue := strings.Cut(target, "=")
	kind = strings.ToLower(kind)
	switch {
	case (kind == "rolledout" || kind == "succeeded") && !hasValue:
		return checkOf(Assert{RolledOut: true})
	case kind == "available" && !hasValue:
		return checkOf(Assert{Available: true})
	case kind == "ready" && !hasValue:
		return conditionCheck(v1alpha1.ConditionReady, metav1.ConditionTrue)
	case kind == "deleted" && !hasValue:
		return check{name: "deleted", class: classPackage, isDeletion: true, eval: func(m moment) finding {
			_, message := view.PackageState(m.Package)
			return found(isFalse, "expected that it is gone, found: %s", message)
		}}, nil
	case kind == "phase" && value != "":
		return checkOf(Assert{Phase: value})
	case kind == "probe" && value != "":
		return checkOf(Assert{Probe: value})
	case kind == "condition" && value != "":
		name, status, has := strings.Cut(value, "=")
		if !has {
			status = string(metav1.ConditionTrue)
		}
		for _, known := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			if strings.EqualFold(status, string(known)) && name != "" {
				return conditionCheck(name, known)
			}
		}
		return check{}, fmt.Errorf("%q: the status of a condition is True, False or Unknown", target)
	}
	return check{}, fmt.Errorf("%q is none of %s", target, waitTargets)
}

func conditionCheck(name string, status metav1.ConditionStatus) (check, error) {
	return checkOf(Assert{Name: fmt.Sprintf("condition %s=%s", name, status), Assertion: v1alpha1.AssertionOf(v1alpha1.Check{Condition: &v1alpha1.ConditionAssertion{Type: name, Status: status}})})
}
