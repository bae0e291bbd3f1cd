// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// Check is what a finding is about. The set is closed.
type Check string

const (
	// CheckShrink is about content that is empty or much smaller than before.
	CheckShrink Check = "Shrink"
	// CheckPermission is about what the Package's identity may not do.
	CheckPermission Check = "Permission"
	// CheckCRDUpgradeSafety is about changes that may break custom resources.
	CheckCRDUpgradeSafety Check = "CRDUpgradeSafety"
	// CheckImmutable is about changes of fields that cannot be changed.
	CheckImmutable Check = "Immutable"
	// CheckAdmission is about changes that the API server refuses for another reason.
	CheckAdmission Check = "Admission"
)

// Limits of what is reported.
const (
	// MaxMessage is the length of a finding's message, in bytes.
	MaxMessage = 1 << 10
	// MaxText is the length of the text of an [Error], in bytes.
	MaxText = 16 << 10
	// maxFindings is how many findings are kept.
	maxFindings = 1000
)

// Finding is one reason to block a content.
type Finding struct {
	// Check is what it is about.
	Check Check
	// Object is what it is found at, or the first of several, zero when it is about
	// the whole content.
	Object revisions.ObjectID
	// Message says what is wrong, with the object. At most [MaxMessage] bytes, and
	// no value of a Secret.
	Message string
	// Remedy says what makes it pass.
	Remedy string
}

// Error says that a content is blocked.
type Error struct {
	// Findings are all that was found, in the order of the checks. Never empty.
	Findings []Finding
}

// Error lists the findings, each remedy once after what it is for. It has at most
// [MaxText] bytes, and says how many findings it leaves out.
func (e *Error) Error() string {
	var text strings.Builder
	// A message and its remedy are added together or not at all.
	const reserve = len("; and 1000 more")
	for i, finding := range e.Findings {
		part := finding.Message
		if i > 0 {
			part = "; " + part
		}
		if i+1 == len(e.Findings) || e.Findings[i+1].Remedy != finding.Remedy {
			part += ": " + finding.Remedy
		}
		if text.Len()+len(part)+reserve > MaxText {
			fmt.Fprintf(&text, "; and %d more", len(e.Findings)-i)
			break
		}
		text.WriteString(part)
	}
	return text.String()
}

// PermissionDenied says whether nothing but rights is missing.
func (e *Error) PermissionDenied() bool {
	return !slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Check != CheckPermission })
}

// findings collects what the checks find, each text once.
type findings struct {
	list []Finding
	seen map[string]bool
	// objects are those that something is found about.
	objects map[revisions.ObjectID]bool
}

func (f *findings) add(check Check, object revisions.ObjectID, message, remedy string) {
	if f.seen == nil {
		f.seen, f.objects = map[string]bool{}, map[revisions.ObjectID]bool{}
	}
	f.objects[object] = true
	message = bounded(message)
	if f.seen[message] || len(f.list) >= maxFindings {
		return
	}
	f.seen[message] = true
	f.list = append(f.list, Finding{Check: check, Object: object, Message: message, Remedy: remedy})
}

// about says whether something is found about an object, which then need not be
// tried out.
func (f *findings) about(id revisions.ObjectID) bool { return f.objects[id] }

func (f *findings) orNil() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Findings: f.list}
}

// bounded cuts a text to what a message may have.
func bounded(text string) string { return probes.Cut(text, MaxMessage, "…") }
