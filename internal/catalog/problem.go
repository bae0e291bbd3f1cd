// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
)

// Problem is a rule that a catalog breaks, and where.
type Problem struct {
	// Package is empty when the place does not say which package it is about.
	Package string `json:"package,omitempty"`
	// File and Line are where the blob begins. The File is a path inside the catalog, and empty
	// when it came as one stream.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Rule is a short name that does not change, such as "duplicate-bundle".
	Rule string `json:"rule"`
	// Fatal problems make the package unusable.
	Fatal   bool   `json:"fatal,omitempty"`
	Message string `json:"message"`
}

// String is "file:line: message (rule)".
func (p Problem) String() string {
	place := p.File
	switch {
	case p.Line > 0 && place != "":
		place = fmt.Sprintf("%s:%d: ", place, p.Line)
	case p.Line > 0:
		place = fmt.Sprintf("line %d: ", p.Line)
	case place != "":
		place += ": "
	}
	return fmt.Sprintf("%s%s (%s)", place, p.Message, p.Rule)
}

// PackageError says that a package of a catalog cannot be used, and why.
type PackageError struct {
	Package  string
	Problems []Problem
}

// Error lists the fatal problems.
func (e *PackageError) Error() string {
	texts := make([]string, 0, len(e.Problems))
	for _, problem := range e.Problems {
		texts = append(texts, problem.String())
	}
	return fmt.Sprintf("package %q of the catalog is not usable: %s", e.Package, strings.Join(texts, "; "))
}
