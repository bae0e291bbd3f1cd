// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crwatch knows the custom resources of Istio in a cluster while a user uninstalls
// Istio.
//
// [Watcher.Look] watches the metadata of all that there are, from the first call on until
// [Watcher.Stop]: a deletion that waits for users to delete them costs no request meanwhile, and
// goes on as soon as they have. Before something is deleted, [Watcher.Confirm] asks the API
// server: a watch that lags behind must not delete anything.
//
// A kind whose CustomResourceDefinition is not there has no objects. One whose definition is
// there is never taken for missing, whatever discovery says: it is an error that its objects
// cannot be listed.
package crwatch
