// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uninstall takes Strata's definitions away from under packages, on a local
// Kubernetes of its own with a real manager: what they manage has to survive. It runs strata
// uninstall there and the commands that this names, and holds the policies of config/policy
// to what they promise.
package uninstall
