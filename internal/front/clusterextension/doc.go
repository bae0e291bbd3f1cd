// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterextension is the front of ClusterExtensions: it installs bundles from catalogs.
//
// It is off unless the flag --clusterextensions is on, and rests while OLM's own controller leads
// (lease.go decides, leasewatch.go watches). front.go puts it together: each ClusterExtension is a group
// of its own with one package. The package resolve decides which bundle it gets, and the package bundle
// renders that; supply.go gives them what the package sources has on disk of catalogs and bundles.
//
// recorded.go reads what earlier revisions have recorded of a bundle, version.go the version of
// Kubernetes, and surroundings.go what the cluster lacks and which ClusterExtension has an object.
// overdue.go counts trouble against the deadline. takeover.go decides about what OLM's own controller
// has installed, which the package migration imports as revision 1 before anything is rendered.
//
// decide.go turns what was observed into the package and the facts for the status, status.go those
// into all conditions, with the reference of them in rows.go. names.go has the names, labels and
// annotations of packages and revisions, events.go the events of changes of the
// status, notices.go those of what the status does not show, and metrics.go the metrics of revisions.
package clusterextension
