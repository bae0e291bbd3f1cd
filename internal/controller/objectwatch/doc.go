// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectwatch watches single objects that users own.
//
// A front often depends on a handful of objects among thousands: the Secret that a
// resource names, a namespace. Watching their whole kind would cost memory in every
// cluster, and reading them anew each time a request. [Reader] watches just these: the
// first read of an object begins a watch on it alone, and all later reads are answered
// from there. An object that was not read in a pass is not watched any longer. It watches a whole
// kind the same way, for a front that wants to know which objects of it there are.
package objectwatch
