// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package casetest runs the cases of the packages of the front: archives in testdata/cases with what is
// given and what is wanted.
package casetest
