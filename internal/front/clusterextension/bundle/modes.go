// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import "slices"

// The install modes.
const (
	allNamespaces   = "AllNamespaces"
	singleNamespace = "SingleNamespace"
	ownNamespace    = "OwnNamespace"
)

// modes are the install modes that a bundle supports.
type modes struct{ all, single, own bool }

func (v *serviceVersion) modes() modes {
	supports := func(mode string) bool {
		return slices.Contains(v.Spec.InstallModes, installMode{Type: mode, Supported: true})
	}
	return modes{all: supports(allNamespaces), single: supports(singleNamespace), own: supports(ownNamespace)}
}

// watched are the namespaces that the operator watches. Nil stands for all.
type watched []string

func (w watched) all() bool { return len(w) == 0 }
