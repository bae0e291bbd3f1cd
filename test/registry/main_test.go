// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// folder has an image with a catalog.
func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "catalog", "v1", "configs")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "package.yaml"), []byte("schema: olm.package\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// A command sees the registry, and its exit code is that of the program.
func TestRun_Command(t *testing.T) {
	out := &bytes.Buffer{}
	err := run(t.Context(), []string{"--address=127.0.0.1:0", folder(t), "sh", "-c", "exit 7"}, out, io.Discard)
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || exit.ExitCode() != 7 {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(out.String(), "/catalog:v1@sha256:") {
		t.Errorf("it has pushed %q", out)
	}
	if err := run(t.Context(), []string{"--address=127.0.0.1:0", t.TempDir()}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "REPOSITORY/TAG") {
		t.Errorf("a folder without images: %v", err)
	}
}

// The image of a catalog has the label by which it is found, and equal files give an equal digest.
func TestPush(t *testing.T) {
	server, host, err := serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	image := filepath.Join(folder(t), "catalog", "v1")
	first, err := push(t.Context(), image, host+"/catalog:v1")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := push(t.Context(), image, host+"/catalog:v2"); err != nil || first != second {
		t.Errorf("the digests are %s and %s, %v", first, second, err)
	}
	packed, err := pack(image)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := packed.ConfigFile(); err != nil || config.Config.Labels[catalogLabel] != "/configs" {
		t.Errorf("the configuration is %v, %v", config, err)
	}
}
