// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestRun shows that a further program runs where and with what its caller says, and that
// ending it does not break the plane.
func TestRun(t *testing.T) {
	t.Setenv("KUBECONFIG", "/of/the/user")
	dir := t.TempDir()
	program := localplane.Program{
		Name: "proxy", Path: binaries(t).Path("kubectl"), Args: []string{"proxy", "--port=0"},
		Env: []string{"KUBECONFIG=" + plane.Kubeconfig()}, Dir: dir,
	}
	for range 2 {
		stop, err := plane.Run(program)
		if err != nil {
			t.Fatal(err)
		}
		if running := processesOf(t, dir); len(running) != 1 {
			t.Errorf("running in the folder: %v, want the program alone", running)
		}
		planetest.Eventually(t, "the program to serve", func() (bool, error) {
			log, err := os.ReadFile(plane.Log("proxy"))
			return strings.Contains(string(log), "Starting to serve on 127.0.0.1"), err
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		if left := processesOf(t, dir); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
	}
	if err := plane.Err(); err != nil {
		t.Errorf("ending a program has broken the plane: %v", err)
	}
	if _, err := plane.Run(localplane.Program{Name: "../proxy", Path: program.Path}); err == nil {
		t.Error("a name with a folder is accepted, and so its log is somewhere else")
	}
}

// TestRun_Exit shows that a program that ends by itself breaks the plane.
func TestRun_Exit(t *testing.T) {
	p, err := localplane.Start(t.Context(), localplane.Options{Binaries: binaries(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	if _, err := p.Run(localplane.Program{Name: "broken", Path: binaries(t).Path("kubectl"), Args: []string{"--no-such-flag"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("Done is open a minute after the program was started")
	}
	if err := p.Err(); err == nil || !strings.HasPrefix(err.Error(), "broken exited (exit status 1)") || !strings.Contains(err.Error(), "unknown flag") {
		t.Errorf("Err() = %v, want the name and the end of the log", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
