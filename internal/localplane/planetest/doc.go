// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planetest gives a test package one local Kubernetes, shared by all its
// tests, and each test a namespace of its own:
//
//	var plane *localplane.Plane
//
//	func TestMain(m *testing.M) {
//		os.Exit(planetest.Main(m, localplane.Options{}, func(p *localplane.Plane) error {
//			plane = p
//			return installCRDs(p.Config())
//		}))
//	}
//
//	func TestRollout(t *testing.T) {
//		namespace := planetest.Namespace(t, plane)
//		...
//	}
package planetest
