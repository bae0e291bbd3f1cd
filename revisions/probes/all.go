// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// All asks for every one of its probes. The answer is False when one of them says
// False, otherwise Unknown when one says Unknown, otherwise True; so it is True for
// no probes at all. The message joins the messages of all probes that are not True,
// in their order; when all are, it joins what they have to add.
type All []Probe

// Probe asks each probe.
func (a All) Probe(obj *unstructured.Unstructured) Result {
	status := True
	var failing, holding messages
	for _, p := range a {
		r := run(p, obj)
		switch r.Status {
		case True:
			holding.add(r)
			continue
		case False:
			status = False
		default:
			if status == True {
				status = Unknown
			}
		}
		failing.add(r)
	}
	if status == True {
		return NewResult(True, holding.String())
	}
	return NewResult(status, failing.String())
}

// messages collects the messages of several results, up to what a message can hold.
type messages struct {
	text strings.Builder
}

func (m *messages) add(r Result) {
	if r.Message == "" || m.text.Len() > MaxMessage {
		return
	}
	if m.text.Len() > 0 {
		m.text.WriteString("; ")
	}
	m.text.WriteString(r.Message)
}

func (m *messages) String() string { return m.text.String() }
