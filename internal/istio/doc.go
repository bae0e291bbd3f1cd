// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package istio contains the Istio releases in this binary, for every front that installs one
// of them.
//
// A [Release] is one version of the Go module istio.io/istio, which embeds the Helm charts
// and CRDs of that version; several minors are linked under aliases. [Resolve] finds one by
// its version, [Release.Chart] and [Release.CRDs] give what it consists of. Everything is
// parsed when a front asks for it and not before: a version that is not installed costs no memory.
//
// What a front sets in the charts, and what it makes of their objects, is the front's.
package istio
