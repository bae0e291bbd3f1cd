// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
)

// The verbs of requests.
const (
	VerbApply  = "apply"
	VerbPatch  = "patch"
	VerbCreate = "create"
	VerbUpdate = "update"
	VerbDelete = "delete"
	VerbGet    = "get"
	VerbList   = "list"
	// VerbAnyWrite stands for every verb that writes, in a [Fault].
	VerbAnyWrite = "write"
)

// Request is one request and what became of it.
type Request struct {
	// Client is the name of the client that sent it.
	Client string
	// Verb is one of the verbs above.
	Verb string
	// Object is what it is about. A list has only a kind.
	Object revisions.ObjectID
	// Condition says on what condition it was sent, in words.
	Condition string
	// DryRun says that it was only tried.
	DryRun bool
	// Code is the HTTP status of the answer.
	Code int32
	// Effect is what changed: "created", "changed", "unchanged", "deleted" or
	// "marked for deletion". Empty for a read and for what was refused.
	Effect string
}

// IsWrite says whether it may have changed anything.
func (r Request) IsWrite() bool { return r.Verb != VerbGet && r.Verb != VerbList && !r.DryRun }

// String is the request on one line.
func (r Request) String() string {
	text := r.Verb + " " + strings.TrimRight(r.Object.String(), " ")
	if r.DryRun {
		text = "try to " + text
	}
	if r.Condition != "" {
		text += " " + r.Condition
	}
	text += fmt.Sprintf(": %d", r.Code)
	if r.Effect != "" {
		text += " " + r.Effect
	}
	return text
}

// Fault makes requests fail.
type Fault struct {
	// Client, Verb and Object say which requests. An empty one matches all.
	Client, Verb string
	Object       revisions.ObjectID
	// Code is the HTTP status that they get: 401, 403, 404, 409, 422, 429, 500, 503
	// or 504.
	Code int32
	// Message is the text of the answer. Optional.
	Message string
	// Skip is how many requests are let through first.
	Skip int
	// Times is how many requests fail then. 0 means all.
	Times int
	// After lets the request take effect before its answer is lost.
	After bool

	hits int
}

// Journal keeps the requests of clients, and makes some of them fail. It is safe
// for concurrent use.
type Journal struct {
	// mu is held for as long as a request takes.
	mu       sync.Mutex
	requests []Request
	faults   []*Fault
}

// Fail adds a fault, which stays until it has hit as often as it says or
// [Journal.Heal] is called.
func (j *Journal) Fail(fault Fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, &fault)
}

// Heal ends all faults.
func (j *Journal) Heal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = nil
}

// Requests are the requests of a client since the last time they were asked for,
// in the order in which they were answered.
func (j *Journal) Requests(client string) []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	var own []Request
	j.requests = slices.DeleteFunc(j.requests, func(r Request) bool {
		if r.Client == client {
			own = append(own, r)
		}
		return r.Client == client
	})
	return own
}

// answer runs a request under the lock, with the faults that hit it, and logs it.
// do returns what changed.
func (j *Journal) answer(r Request, do func() (string, error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	fault := j.fault(r)
	var err error
	if fault == nil || fault.After {
		r.Effect, err = do()
	}
	if fault != nil && err == nil {
		err = statusError(fault.Code, r, cmp.Or(fault.Message, "the test makes it fail"))
	}
	r.Code = codeOf(r, err)
	j.requests = append(j.requests, r)
	return err
}

func (j *Journal) fault(r Request) *Fault {
	for _, fault := range j.faults {
		if !fault.matches(r) {
			continue
		}
		fault.hits++
		if fault.hits > fault.Skip && (fault.Times == 0 || fault.hits <= fault.Skip+fault.Times) {
			return fault
		}
	}
	return nil
}

func (f *Fault) matches(r Request) bool {
	verb := f.Verb == "" || f.Verb == r.Verb || f.Verb == VerbAnyWrite && r.IsWrite()
	return verb && (f.Client == "" || f.Client == r.Client) && (f.Object == revisions.ObjectID{} || f.Object == r.Object)
}

func codeOf(r Request, err error) int32 {
	var status apierrors.APIStatus
	switch {
	case err == nil && r.Effect == "created" && !r.DryRun:
		return http.StatusCreated
	case err == nil:
		return http.StatusOK
	case errors.As(err, &status):
		return status.Status().Code
	default:
		return http.StatusNotFound
	}
}

// reasons are those of the codes that can be asked for.
var reasons = map[int32]metav1.StatusReason{
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// statusError is what an API server answers.
func statusError(code int32, r Request, message string) error {
	resource := resourceOf(r)
	switch code {
	case http.StatusForbidden:
		message = fmt.Sprintf("%s %q is forbidden: %s", resource, r.Object.Name, message)
	case http.StatusNotFound:
		message = fmt.Sprintf("%s %q not found", resource, r.Object.Name)
	case http.StatusConflict:
		message = fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", resource, r.Object.Name, message)
	case http.StatusUnprocessableEntity:
		message = fmt.Sprintf("%s %q is invalid: %s", r.Object.GroupKind, r.Object.Name, message)
	}
	return failure(code, reasons[code], message)
}

// immutableField is the answer to a request that changes an immutable field, such
// as an object's UID.
func immutableField(r Request, field string, value any) error {
	message := fmt.Sprintf("Invalid value: %q: field is immutable", fmt.Sprint(value))
	return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, fmt.Sprintf("%s %q is invalid: %s: %s", r.Object.GroupKind, r.Object.Name, field, message),
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: message})
}

// alreadyExists is what an API server answers to a create.
func alreadyExists(r Request) error {
	return failure(http.StatusConflict, metav1.StatusReasonAlreadyExists, fmt.Sprintf("%s %q already exists", resourceOf(r), r.Object.Name))
}

// pathNotFound is what an API server answers for a path that it does not serve.
func pathNotFound(r Request) error {
	verb := r.Verb
	if verb == VerbApply {
		verb = VerbPatch
	}
	message := strings.TrimRight(fmt.Sprintf("the server could not find the requested resource (%s %s %s", verb, resourceOf(r), r.Object.Name), " ") + ")"
	return failure(http.StatusNotFound, metav1.StatusReasonNotFound, message,
		metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"})
}

func failure(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Causes: causes},
	}}
}

func resourceOf(r Request) schema.GroupResource {
	return schema.GroupResource{Group: r.Object.Group, Resource: strings.ToLower(r.Object.Kind) + "s"}
}
