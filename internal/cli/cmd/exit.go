// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
)

// Code is what the process exits with. The codes are the same for every output
// format, and scripts may rely on them.
type Code int

// The exit codes.
const (
	// CodeOK is that what was asked for is so.
	CodeOK Code = 0

	// CodeFalse is that it is not so, or not yet; also any error that has no code
	// of its own.
	CodeFalse Code = 1

	// CodeUsage is a wrong command line.
	CodeUsage Code = 2

	// CodeTerminal is that it will not become so by waiting: a collision, an
	// invalid revision, a deadline exceeded, a rollback refused.
	CodeTerminal Code = 3

	// CodeTimeout is that the time given was over before it was so.
	CodeTimeout Code = 4

	// CodeSuperseded is that a newer revision took the place of the one that was
	// waited for.
	CodeSuperseded Code = 5

	// CodeNotFound is that the package, the revision or Strata itself is not in
	// the cluster.
	CodeNotFound Code = 6

	// CodeUnreachable is that no cluster answered, or that it did not accept who
	// asked. Trying again may help.
	CodeUnreachable Code = 7

	// CodeInterrupted is that the user or a signal ended it.
	CodeInterrupted Code = 130
)

// ExitError ends the process with a code of its own.
type ExitError struct {
	// Code is what the process exits with.
	Code Code

	// Err is what is written to stderr. Nil writes nothing, for commands whose
	// output says it already.
	Err error
}

// Error is the text for stderr.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap is the cause.
func (e *ExitError) Unwrap() error { return e.Err }

func exitf(code Code, format string, args ...any) error {
	return &ExitError{Code: code, Err: fmt.Errorf(format, args...)}
}

func codeOf(err error) Code {
	var exit *ExitError
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, context.Canceled):
		return CodeInterrupted
	}
	return CodeFalse
}
