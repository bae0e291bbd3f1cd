// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"fmt"
	"path/filepath"
)

// Program is a program that runs beside the cluster's own: the real one behind a
// pod that is only simulated.
type Program struct {
	// Name is unique among the programs of the plane. The log is named after it.
	Name string
	// Path is the binary.
	Path string
	// Args are its arguments, without the name of the binary.
	Args []string
	// Env is its environment as KEY=value, after HOME, PATH and TMPDIR, which the
	// plane sets. The caller's own environment does not reach it.
	Env []string
	// Dir is the folder it runs in. Default: the data folder.
	Dir string
}

// Run starts a program, which from then on is a part of the plane: its log is in
// the folder logs, an unexpected exit breaks the plane and shows in Err, it ends
// with Stop before the API server does, and on Linux it dies with the process
// that called Run. The function that is returned ends it alone, so that it may be
// run again.
func (p *Plane) Run(program Program) (stop func() error, err error) {
	if program.Name == "" || filepath.Base(program.Name) != program.Name {
		return nil, fmt.Errorf("running a program: %q is not a file name", program.Name)
	}
	c, err := p.start(program)
	if err != nil {
		return nil, err
	}
	return func() error {
		c.dismissed.Store(true)
		return c.stop(stopGrace)
	}, nil
}

// Log is the path of the log of a program, by its name.
func (p *Plane) Log(name string) string {
	return filepath.Join(p.dataDir, "logs", name+".log")
}
