// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/front"
)

// Settings are those of the manager for the front.
type Settings struct {
	// Mode is on or off. Empty is off.
	Mode string
}

// AddFlags implements [front.Settings].
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.Mode, "clusterextensions", "off", "on installs ClusterExtensions; off leaves them alone")
}

// Complete implements [front.Settings].
func (s *Settings) Complete(func(name string) string) error {
	switch s.Mode {
	case "", "off":
		return nil
	case "on":
		return errors.New("--clusterextensions=on: this version has the API of ClusterExtensions, but cannot install them yet: use off")
	default:
		return fmt.Errorf("--clusterextensions: unknown mode %.50q: use on or off", s.Mode)
	}
}

// Setup implements [front.Settings].
func (s *Settings) Setup(front.Wiring) error { return nil }
