// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/strata-run/strata/revisions/probes"
)

// The cost of a call is counted when the call is over. That is too late for the calls
// that can make much out of little: two strings of an object that may each have a
// megabyte give a terabyte in one replace. So the functions below look at the size of
// their operands first.

// maxWork bounds what one call may do, in characters that it writes or compares. The
// largest objects that a cluster holds have some 1.5 million.
const maxWork = 16 << 20

// entryWork is what reaching one entry of a list or map is worth in characters.
const entryWork = 8

var errTooMuchWork = errors.New("the operands of one function are too large together")

// guarded names the functions whose work can exceed the size of their operands, and
// how to estimate it.
var guarded = map[string]func(args []ref.Val) int{
	"indexOf":     product,
	"lastIndexOf": product,
	"matches":     product,
	"find":        product,
	"findAll":     product,
	"join":        product,
	"replace":     replaced,
	"format":      formatted,

	"distinct":        compared,
	"sets.contains":   compared,
	"sets.equivalent": compared,
	"sets.intersects": compared,

	// These are hardly more than linear, but an expression can build a list that holds
	// one large value many times. So it is with equal and notEqual.
	"flatten":               sum,
	"sort":                  sum,
	"@sortByAssociatedKeys": sum,
	operators.In:            sum,
}

// guard returns a decorator that puts an estimate before every guarded call.
func guard(env *cel.Env) (interpreter.InterpretableDecoratorV2, error) {
	implementations := map[string]functions.FunctionOp{
		operators.Equals:    equal,
		operators.NotEquals: notEqual,
		"quantity":          quantity,
		"isQuantity":        isQuantity,
	}
	declared := env.Functions()
	for name, work := range guarded {
		bindings, err := declared[name].Bindings()
		if err != nil {
			return nil, fmt.Errorf("guarding the function %s: %w", name, err)
		}
		for _, b := range bindings {
			if b.Operator == name {
				implementations[name] = bounded(work, b)
			}
		}
		if implementations[name] == nil {
			return nil, fmt.Errorf("guarding the function %s: there is no such function", name)
		}
	}
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		implementation, ok := implementations[call.Function()]
		if !ok {
			return i, nil
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), implementation), nil
	}, nil
}

// bounded returns the function that b binds, behind an estimate of its work.
func bounded(work func(args []ref.Val) int, b *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		if work(args) > maxWork {
			return types.WrapErr(errTooMuchWork)
		}
		switch {
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
		return types.NoSuchOverloadErr()
	}
}

// sum is for functions that walk over their operands.
func sum(args []ref.Val) int {
	work := 0
	for _, arg := range args {
		work = min(work+weight(arg), maxWork+1)
	}
	return work
}

// product is for functions that walk over one operand for each part of another.
func product(args []ref.Val) int {
	work := 1
	for _, arg := range args {
		work = times(work, max(1, weight(arg)))
	}
	return work
}

// compared is for functions that compare the entries of a list with each other, or
// with those of a second list.
func compared(args []ref.Val) int {
	first, last := args[0], args[len(args)-1]
	return min(times(size(first), weight(last)), times(size(last), weight(first)))
}

// replaced is for the function that puts its third operand into the first, at worst
// for every character.
func replaced(args []ref.Val) int {
	return times(weight(args[0]), max(1, weight(args[2])))
}

// formatted is for the one function that writes as many digits as its format asks for.
func formatted(args []ref.Val) int {
	work := product(args)
	if template, ok := args[0].(types.String); ok {
		work = times(work, 1+largestPrecision(string(template)))
	}
	return work
}

// largestPrecision returns the largest number after "%." in a template.
func largestPrecision(template string) int {
	largest := 0
	for _, clause := range strings.Split(template, "%.")[1:] {
		precision := 0
		for i := 0; i < len(clause) && clause[i] >= '0' && clause[i] <= '9'; i++ {
			precision = times(precision, 10) + int(clause[i]-'0')
		}
		largest = max(largest, precision)
	}
	return largest
}

// times multiplies two estimates, neither of which is much above maxWork.
func times(a, b int) int {
	return int(min(int64(a)*int64(b), maxWork+1))
}

// size returns the number of entries of a list.
func size(value ref.Val) int {
	if sizer, ok := value.(traits.Sizer); ok {
		if n, ok := sizer.Size().(types.Int); ok {
			return int(min(n, maxWork+1))
		}
	}
	return 1
}

// weight returns the number of characters of a value and of all that is in it, counted
// up to maxWork. What has no characters counts as one.
func weight(value ref.Val) int {
	switch v := value.(type) {
	case types.String:
		return min(len(v), maxWork+1)
	case types.Bytes:
		return min(len(v), maxWork+1)
	case traits.Lister:
		return weightOf(v.Iterator(), nil)
	case traits.Mapper:
		return weightOf(v.Iterator(), v)
	}
	return 1
}

// weightOf adds up the entries of a list, or those of a map with their values.
func weightOf(entries traits.Iterator, values traits.Mapper) int {
	total := 1
	for total <= maxWork && entries.HasNext() == types.True {
		entry := entries.Next()
		total += entryWork + weight(entry)
		if values != nil {
			total += weight(values.Get(entry))
		}
	}
	return min(total, maxWork+1)
}

// equal is the operator ==, which cel-go has no binding for.
func equal(args ...ref.Val) ref.Val {
	if weight(args[0]) > maxWork && weight(args[1]) > maxWork {
		return types.WrapErr(errTooMuchWork)
	}
	return types.Equal(args[0], args[1])
}

// notEqual is the operator !=.
func notEqual(args ...ref.Val) ref.Val {
	result := equal(args...)
	if types.IsError(result) {
		return result
	}
	return types.Bool(result != types.True)
}

// quantity reads a quantity as its namesake does, which writes a decimal exponent out
// in full: one short string of an object would keep it busy for hours.
func quantity(args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	q, err := probes.ParseQuantity(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return apiservercel.Quantity{Quantity: &q}
}

// isQuantity says whether quantity can read its operand.
func isQuantity(args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	_, err := probes.ParseQuantity(string(text))
	return types.Bool(err == nil)
}
