// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/localplane/module"
)

// findGo looks for the go command.
func findGo() (string, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("finding the go command: %w; the local Kubernetes is built from source: install Go (https://go.dev/dl) or add it to PATH", err)
	}
	return path, nil
}

// goEnv is the environment of the go command. What a user set for another
// build (a workspace, a target platform, flags) must not reach this one; the
// proxy and cache settings must.
func (b builder) goEnv() []string {
	env := append(os.Environ(),
		"CGO_ENABLED=0",
		"GOWORK=off",
		"GOFLAGS=-mod=readonly -buildvcs=false -trimpath",
		"GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH,
	)
	return append(env, b.env...)
}

// goCommand runs go in the folder of the module.
func (b builder) goCommand(ctx context.Context, work string, args ...string) error {
	path, err := findGo()
	if err != nil {
		return err
	}
	var output strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = work
	cmd.Env = b.goEnv()
	cmd.Stderr = &output
	// An interrupted go stops its compilers, a killed one leaves them behind.
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	if _, ran := errors.AsType[*exec.ExitError](err); !ran {
		return err
	}
	return explainGo(b.goMod, output.String(), err)
}

// In what go writes, modules are named as path@version, or without a version
// in the command that it proposes.
var (
	moduleAtVersion = regexp.MustCompile(`(?m)(?:^|\s)([A-Za-z0-9.\-_~]+\.[A-Za-z0-9.\-_~/]+@v[0-9][A-Za-z0-9.\-+]*)[:\s]`)
	proposedModule  = regexp.MustCompile(`go mod download ([A-Za-z0-9.\-_~/]+)`)
)

// explainGo turns what go wrote into an error: a module that cannot be had is
// named together with the remedy, anything else is quoted.
func explainGo(goMod []byte, output string, err error) error {
	output = strings.TrimSpace(lastLines(output, 10))
	name := namedModule(goMod, output)
	var remedy string
	switch {
	case strings.Contains(output, "no space left on device"):
		return fmt.Errorf("%w: %s\nFree some disk space: the build needs about 3 GB in the folders of go env GOCACHE GOMODCACHE", err, output)
	case strings.Contains(output, "checksum mismatch"):
		remedy = "what was downloaded is not what tools/kubernetes/go.sum records; run go clean -modcache and try again, and do not use it if that does not help"
	case strings.Contains(output, "missing go.sum entry"):
		remedy = "tools/kubernetes/go.sum does not know this version; run go mod tidy in tools/kubernetes and go generate ./internal/localplane/..."
	case name != "":
		remedy = "check the network and go env GOPROXY, then run the command again; what was fetched is kept"
	default:
		return fmt.Errorf("%w: %s", err, output)
	}
	return fmt.Errorf("module %s cannot be had: %s\n%s", name, remedy, output)
}

// namedModule finds the module, with its version, that a message is about.
func namedModule(goMod []byte, output string) string {
	if match := moduleAtVersion.FindStringSubmatch(output); match != nil {
		return match[1]
	}
	match := proposedModule.FindStringSubmatch(output)
	if match == nil {
		return ""
	}
	version, err := module.Version(goMod, match[1])
	if err != nil {
		return match[1]
	}
	return match[1] + "@" + version
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
