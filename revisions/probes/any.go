// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Any asks for one of its probes. The answer is True when one of them says True,
// otherwise Unknown when one says Unknown, otherwise False; so it is False for no
// probes at all. The message is that of the first probe that is True, or joins the
// messages of all probes when none is.
type Any []Probe

// Probe asks each probe until one is True.
func (a Any) Probe(obj *unstructured.Unstructured) Result {
	status := False
	var failing messages
	for _, p := range a {
		r := run(p, obj)
		switch r.Status {
		case True:
			return r
		case False:
		default:
			status = Unknown
		}
		failing.add(r)
	}
	if len(a) == 0 {
		return Result{Status: False, Message: "there is no probe in it"}
	}
	return NewResult(status, "none holds: "+failing.String())
}
