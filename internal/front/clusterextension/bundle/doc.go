// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle turns the content of a bundle into the phases of a package. It is pure: it reads files
// that were unpacked, and asks no cluster.
//
// [Read] reads a bundle of one of three formats: registry+v1 of OLM (read.go, csv.go, properties.go),
// plain manifests (plain.go), and Helm charts (helm.go); format.go tells them apart. [Bundle.Render]
// renders it for an extension. The same bundle and [Target] give the same phases.
//
// Of registry+v1, the ClusterServiceVersion says what there is besides the manifests: Deployments
// (deployments.go), rights under the names that OLM gives them (rbac.go), webhooks and conversion
// (webhooks.go) with their certificates (certificates.go). modes.go decides which namespaces the
// operator watches, config.go and deploymentconfig.go check and apply spec.config.inline, and kinds.go
// lists what a bundle may contain. Template text in manifests is data, and stays as it is.
//
// What a bundle must not do is a [RefusedError], with everything that is wrong at once (check.go); what
// a user has to correct in spec.config is a [ConfigError].
//
// phases.go sorts objects into phases by group and kind, such that none waits for a later one.
//
// testdata has a folder for each case; its README says how to add one.
package bundle
