// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/strata-run/strata/revisions/probes"
)

const (
	// CostLimit is the largest cost of one evaluation, in the units in which the API
	// server counts the cost of CEL: roughly one for each operation and field access,
	// and one for ten characters of a string that is walked over. It is a tenth of
	// what the API server allows one validation rule and some thousand times what
	// asking for a condition costs; to use it up takes between 10 and 200 milliseconds.
	// A single function whose operands are too large together is refused before that.
	CostLimit = 100_000

	// MaxExpression is the largest length of an expression, in bytes.
	MaxExpression = 4096

	// maxShown bounds the expression where it stands in for a message, in bytes.
	maxShown = 256

	variable = "self"
)

// Probe evaluates one CEL expression. It is made by Compile and may be used by many
// goroutines.
type Probe struct {
	program cel.Program
	message string
}

var _ probes.Probe = (*Probe)(nil)

// CompileError says why and where an expression cannot be used.
type CompileError struct {
	// Line and Column say where, both counted from 1. Both are 0 when the expression
	// as a whole is meant.
	Line, Column int
	// Reason says what is wrong there.
	Reason string
}

// Error names the place, if there is one, and the reason.
func (e *CompileError) Error() string {
	if e.Line == 0 {
		return "compiling CEL expression: " + e.Reason
	}
	return fmt.Sprintf("compiling CEL expression: line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Compile makes a probe of an expression. The message is what the probe says when the
// expression is false; where it is empty, the expression itself is shown. Neither may
// hold anything secret.
//
// An expression that is too long, does not parse, names something that does not exist
// or has another type than bool is refused with a *CompileError.
func Compile(expression, message string) (*Probe, error) {
	if len(expression) > MaxExpression {
		return nil, &CompileError{Reason: fmt.Sprintf("the expression is longer than %d bytes", MaxExpression)}
	}
	base, err := baseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("setting up the CEL environment: %w", err)
	}
	ast, issues := base.env.Compile(expression)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	if out := ast.OutputType(); !out.IsExactType(types.BoolType) {
		reason := fmt.Sprintf("the expression is of type %s, expected bool", out)
		if out.IsExactType(types.DynType) {
			reason += `; compare a field that is true or false with "== true"`
		}
		return nil, &CompileError{Reason: reason}
	}
	program, err := base.env.Program(ast, cel.CostLimit(CostLimit), cel.CustomDecoratorV2(base.guard))
	if err != nil {
		return nil, &CompileError{Reason: err.Error()}
	}
	if message == "" {
		message = "the expression is false: " + shown(expression)
	}
	return &Probe{program: program, message: message}, nil
}

// Probe evaluates the expression with obj as self.
func (p *Probe) Probe(obj *unstructured.Unstructured) probes.Result {
	if p == nil || p.program == nil {
		return probes.Result{Status: probes.Unknown, Message: "the CEL expression is not compiled"}
	}
	if obj == nil || obj.Object == nil {
		return probes.Result{Status: probes.Unknown, Message: "there is no object to evaluate"}
	}
	value, _, err := p.program.Eval(map[string]any{variable: obj.Object})
	switch {
	case err != nil && probes.ContainsSecrets(obj):
		return probes.Result{Status: probes.Unknown, Message: "evaluating the CEL expression on a Secret fails; the reason is withheld"}
	case err != nil:
		return probes.NewResult(probes.Unknown, "evaluating the CEL expression: "+err.Error())
	case value == types.True:
		return probes.Result{Status: probes.True}
	}
	return probes.NewResult(probes.False, p.message)
}

// environmentBase is what all probes are compiled with.
type environmentBase struct {
	env   *cel.Env
	guard interpreter.InterpretableDecoratorV2
}

// baseEnvironment builds the base once, which takes some milliseconds. The
// environment for stored expressions is the right one: a probe is kept in a revision
// and has to work after the program around it was replaced.
var baseEnvironment = sync.OnceValues(func() (environmentBase, error) {
	extended, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable(variable, cel.DynType)},
	})
	if err != nil {
		return environmentBase{}, err
	}
	env := extended.StoredExpressionsEnv()
	guard, err := guard(env)
	return environmentBase{env: env, guard: guard}, err
})

// firstIssue returns the first of the errors that the compiler found; the others
// often only follow from it.
func firstIssue(issues *cel.Issues) *CompileError {
	all := issues.Errors()
	if len(all) == 0 {
		return &CompileError{Reason: issues.Err().Error()}
	}
	first := all[0]
	return &CompileError{
		Line:   first.Location.Line(),
		Column: max(first.Location.Column(), 0) + 1,
		Reason: first.Message,
	}
}

// shown makes an expression short enough for a message.
func shown(expression string) string {
	const mark = "..."
	return probes.Cut(strings.Join(strings.Fields(expression), " "), maxShown+len(mark), mark)
}
