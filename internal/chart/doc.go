// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart turns Helm charts into objects, without a cluster and without
// Helm's releases.
//
// [Load] parses a chart from a folder of an fs.FS, [Chart.Render] renders it to
// objects, and [Manifests] does the second half alone, for plain YAML files;
// [Installed] does that for what Helm has stored of a release. The same chart and
// [Release] give the same objects, in the same order:
//
//   - nothing of a cluster is asked: lookup finds nothing, the Kubernetes version
//     and API versions that a template sees are constants;
//   - functions with another result each time (randAlphaNum, genCA, now, ...) are
//     refused, and those that sprig leaves unordered (keys, values) are ordered;
//   - the objects are sorted, and contain no status, no field that only an API
//     server sets, and no null.
//
// What a chart can do beyond that is refused rather than half done: dependencies,
// hooks other than tests (those are left out), generated names, and one object
// twice. A values.schema.json is checked where that is asked for, as the values come
// from a person; what it refers to elsewhere is refused.
//
// Of Helm only the loader and the template engine are used. Its package
// pkg/chart/common panics at start in a binary without Go build information,
// which only a build outside of a module lacks.
package chart
