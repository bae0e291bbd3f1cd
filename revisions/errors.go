// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ValidationError says what is wrong with a revision's content. It cannot be
// rolled out, whatever the cluster does; nothing of it has been written.
type ValidationError struct {
	// Revision is the number of the revision.
	Revision int64
	// Violations name the phase, the object and the remedy, in order.
	Violations []string
}

func (e *ValidationError) addf(phase, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if phase != "" {
		text = "phase " + phase + ": " + text
	}
	e.Violations = append(e.Violations, text)
}

func (e *ValidationError) orNil() error {
	if len(e.Violations) == 0 {
		return nil
	}
	slices.Sort(e.Violations)
	e.Violations = slices.Compact(e.Violations)
	return e
}

// Error lists the first violations and counts the rest.
func (e *ValidationError) Error() string {
	const most = 5
	shown := e.Violations[:min(most, len(e.Violations))]
	text := strings.Join(shown, "; ")
	if more := len(e.Violations) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// UnknownKindError says that the API server serves no such kind, and that no
// CustomResourceDefinition of the history defines it. It is tried again, as the kind
// may come from elsewhere.
type UnknownKindError struct {
	// Phase and Object are where the kind stands.
	Phase  string
	Object ObjectID
	// Version is the API version that was asked for.
	Version string
}

// Error names the kind and the remedy.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("the API server knows no kind %s in version %s: install its CustomResourceDefinition, put that into an earlier phase, or correct apiVersion and kind",
		e.Object.Kind, e.Object.WithVersion(e.Version).GroupVersion())
}

// ImmutableError says that a change needs another value in a field that the API
// server does not let any client change. The object is left as it is.
type ImmutableError struct {
	// Path is the field's, as the API server names it.
	Path string
	// Err is the API server's answer.
	Err error
	// Foreign says that the object may be replaced, and is not, as it is not ours yet.
	Foreign bool
}

// Error names the field and the remedy.
func (e *ImmutableError) Error() string {
	if e.Foreign {
		return fmt.Sprintf("%s cannot be changed, and the object is not replaced, as another client has created it: delete it so that it is created again (%v)", e.Path, e.Err)
	}
	return fmt.Sprintf("%s cannot be changed: give the object another name, or set its onImmutableChange to Replace to have it deleted and created again (%v)", e.Path, e.Err)
}

// Unwrap is the API server's answer.
func (e *ImmutableError) Unwrap() error { return e.Err }

// immutableText are the words by which the validations of Kubernetes, and most
// rules in CustomResourceDefinitions, say that a field cannot be changed. There is
// no machine-readable cause for it.
var immutableText = regexp.MustCompile(`(?i)immutable|may not (be )?change|can(no|')t (be )?change|updates to .* (are|is) forbidden|forbidden: updates to`)

// withImmutable finds out whether an answer says that a field cannot be changed.
func withImmutable(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	for _, cause := range status.Status().Details.Causes {
		if immutableText.MatchString(cause.Message) && cause.Type != metav1.CauseTypeFieldValueRequired {
			return &ImmutableError{Path: cause.Field, Err: err}
		}
	}
	return err
}
