// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// Adoption is the document of `strata adopt`.
type Adoption struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that contains the objects.
	Revision int64 `json:"revision"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Objects are the objects that were taken over, or would be.
	Objects []AdoptedObject `json:"objects"`
}

// AdoptedObject is an object and whose it was.
type AdoptedObject struct {
	v1alpha1.ObjectReference `json:",inline"`

	// From is the controller that it is taken from, or the package that has retained
	// it; empty when it had no owner.
	From string `json:"from,omitempty"`
	// Retained objects stay when the package goes; others are deleted with it.
	Retained bool `json:"retained,omitempty"`
}

// WriteAdoption writes which objects are taken over, and from where.
func WriteAdoption(p *output.Printer, doc Adoption) {
	if len(doc.Objects) == 0 {
		p.Line(output.Span{Text: "They are the package's already."})
		return
	}
	p.Line(output.Span{Text: fmt.Sprintf("Taken over by package %s, for revision %d:", doc.Package, doc.Revision)})
	for _, object := range doc.Objects {
		fate := "deleted with the package"
		if object.Retained {
			fate = "retained when the package goes"
		}
		p.Labelled(output.Span{Text: "  +", Style: output.Good}, 4, output.Span{Text: ObjectName(object.ObjectReference) + Prefixed(" from ", object.From) + ": " + fate})
	}
}
