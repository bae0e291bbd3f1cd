// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package cmd

import (
	"errors"
	"os"
	"os/exec"
)

var errNotHere = errors.New("a local cluster needs Linux or macOS")

func lockFile(*os.File) error { return errNotHere }

func holderOf(*os.File) (int, error) { return 0, errNotHere }

func detach(*exec.Cmd) {}

func terminate(int) error { return errNotHere }
