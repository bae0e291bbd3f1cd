// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// certManager is the module that everything comes from.
const certManager = "github.com/cert-manager/cert-manager"

// Program is cert-manager, built.
type Program struct {
	// Path is the binary.
	Path string
	// CRDs is the folder with cert-manager's CustomResourceDefinitions.
	CRDs string
}

// Build compiles cert-manager into the checkout's bin/ and returns it. The first
// time takes about 4 minutes on 2 cores, later ones a second: the go command keeps
// what it has compiled. Progress gets a line when it takes longer than that.
//
// It needs the go command on PATH, and a working folder inside of the checkout.
func Build(ctx context.Context, progress io.Writer) (Program, error) {
	root, err := checkout()
	if err != nil {
		return Program{}, err
	}
	source := filepath.Join(root, "tools", "certmanager")
	program := Program{Path: filepath.Join(root, "bin", "cert-manager")}
	slow := time.AfterFunc(5*time.Second, func() {
		fmt.Fprintln(progress, "building cert-manager from Go modules; the first time takes about 4 minutes on 2 cores")
	})
	defer slow.Stop()
	if _, err := goCommand(ctx, source, "build", "-ldflags", "-s -w", "-o", program.Path, "."); err != nil {
		return Program{}, fmt.Errorf("building cert-manager: %w", err)
	}
	module, err := goCommand(ctx, source, "list", "-m", "-f", "{{.Dir}}", certManager)
	if err != nil {
		return Program{}, fmt.Errorf("finding the module of cert-manager: %w", err)
	}
	program.CRDs = filepath.Join(module, "deploy", "crds")
	return program, nil
}

// checkout is the root of the repository that the working folder is in.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "certmanager", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding tools/certmanager: the working folder is not in a checkout of the repository")
		}
		dir = parent
	}
}

// goCommand runs go in a folder, with the flags of the Makefile, and returns what
// it writes to standard output.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	var output, trouble strings.Builder
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-trimpath -buildvcs=false -mod=readonly")
	cmd.Stdout, cmd.Stderr = &output, &trouble
	// An interrupted go stops its compilers, a killed one leaves them behind.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(trouble.String()))
	}
	return strings.TrimSpace(output.String()), nil
}
