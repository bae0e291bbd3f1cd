// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verdict is a condition without what depends on where it stands: its type, the
// generation, and when it changed.
type Verdict struct {
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus
	// Reason is one of the reasons of the condition.
	Reason string
	// Message is a sentence or more, of at most a few thousand characters.
	Message string
}

// Condition is the verdict as a condition of a type, about a generation of its
// object. Its time is what it becomes if the status changes.
func (v Verdict) Condition(kind string, generation int64, now metav1.Time) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: v.Status, Reason: v.Reason, Message: v.Message, ObservedGeneration: generation, LastTransitionTime: now,
	}
}

// maxQuote bounds what is quoted of one event or zone, in bytes. It is longer than
// any error of a cloud that says something, and 64 listeners with it fit a Gateway.
const maxQuote = 1024

// quote is a text that another controller has written, on one line and shortened.
func quote(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= maxQuote {
		return text
	}
	end := maxQuote
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	return strings.TrimRight(text, ". ") + "."
}
