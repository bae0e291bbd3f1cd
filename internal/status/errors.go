// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions"
)

// errorReason is the reason that an error stands for, empty for none.
func errorReason(err error) string {
	var invalid *revisions.ValidationError
	var unusable *content.InvalidError
	var unavailable *content.UnavailableError
	var refused *preflight.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid), errors.As(err, &unusable):
		return v1alpha1.ReasonInvalidSpec
	case errors.As(err, &unavailable):
		return v1alpha1.ReasonContentUnavailable
	case errors.As(err, &refused) && !refused.PermissionDenied():
		return v1alpha1.ReasonPreflightFailed
	case refused != nil, isDenied(err):
		return v1alpha1.ReasonPermissionDenied
	default:
		return v1alpha1.ReasonRolloutError
	}
}

// unfit is how the API server says that an applied object does not fit the schema of its
// kind. It answers that with 500 and no reason.
const unfit = "failed to create typed patch object"

// isRefused says whether any part of an error is an answer that the same content gets each
// time, until a definition or an admission policy changes.
func isRefused(err error) bool {
	if err == nil {
		return false
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return slices.ContainsFunc(joined.Unwrap(), isRefused)
	}
	var status apierrors.APIStatus
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || errors.As(err, &status) && strings.Contains(status.Status().Message, unfit)
}

// steady is the message of before where the one of now says nothing more: the API server
// names the fields that do not fit in any order, and not always all of them.
func steady(before, now string) string {
	said := map[string]bool{}
	for _, word := range words(before) {
		said[word] = true
	}
	for _, word := range words(now) {
		if !said[word] {
			return now
		}
	}
	return before
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t,;:[]()", r) })
}

// errorMessage is an error's text, with the remedy if the text has none.
func errorMessage(err error) string {
	var refused *preflight.Error
	if errors.As(err, &refused) || !isDenied(err) {
		return partsText(err)
	}
	return partsText(err) + ": grant the right to the package's identity, or name another one in spec.serviceAccount; the manager retries at least once a minute"
}

// partsText is the text of an error with that of each of its parts cut, so that one
// object's does not crowd out the others'.
func partsText(err error) string {
	var joined interface {
		error
		Unwrap() []error
	}
	if !errors.As(err, &joined) || joined.Error() != err.Error() {
		if _, ok := errors.AsType[*preflight.Error](err); ok {
			return err.Error() // its parts are cut already
		}
		return bound(err.Error(), objectMessageLimit)
	}
	var parts []string
	for _, part := range joined.Unwrap() {
		parts = append(parts, partsText(part))
	}
	return strings.Join(parts, "\n")
}

// denial is how the API server says that a user or ServiceAccount lacks a permission: an
// authorizer denies the request, or the privilege escalation check refuses a grant.
// Quotas and policies forbid with other words.
var denial = regexp.MustCompile(`cannot [a-z]+ (resource|path) |is attempting to grant RBAC permissions not currently held`)

// isDenied says whether any part of an error is an answer about missing rights.
func isDenied(err error) bool {
	if err == nil {
		return false
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return slices.ContainsFunc(joined.Unwrap(), isDenied)
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonForbidden && denial.MatchString(status.Status().Message)
}
