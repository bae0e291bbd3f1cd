// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
)

// beginUntil starts a command that only an interruption ends.
func (tm *terminal) beginUntil(t *testing.T, args ...string) (*watching, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, tm: tm, done: make(chan Code, 1)}
	tm.now = time.Now
	go func() { w.done <- tm.start(ctx, &w.out, &w.err, args...) }()
	return w, cancel
}

// TestGet_Watch lists all packages, and then each that changes, comes or goes.
func TestGet_Watch(t *testing.T) {
	w, cancel := newTerminal(t, fixtureNamed(t, "rolling_out")).beginUntil(t, "get", "-w")
	defer cancel()
	w.sees("RollingOut")
	w.becomes("done")
	w.sees("RolledOut")
	other := &v1alpha1.Package{}
	other.Name = "another-package-with-a-long-name"
	w.tm.server.put(packagesPath, other)
	w.sees(other.Name)
	w.tm.server.remove(packagesPath, other.Name)
	w.sees("Package " + other.Name + " was deleted.")
	cancel()
	w.ends(CodeInterrupted)
	text := w.out.String()
	if n := strings.Count(text, "NAME"); n != 1 {
		t.Errorf("the heading stands there %d times:\n%s", n, text)
	}
	if n := strings.Count(text, "RolledOut"); n != 1 {
		t.Errorf("a state is written %d times:\n%s", n, text)
	}
}

func TestGet_WatchDocuments(t *testing.T) {
	w, cancel := newTerminal(t, fixtureNamed(t, "rolling_out")).beginUntil(t, "get", "-w", "-o", "json")
	defer cancel()
	w.sees(`"reason":"RollingOut"`)
	w.becomes("done")
	w.sees(`"reason":"RolledOut"`)
	cancel()
	w.ends(CodeInterrupted)
	for line := range strings.Lines(w.out.String()) {
		if !strings.HasPrefix(line, `{`) || !strings.HasSuffix(line, "}\n") {
			t.Errorf("no document: %s", line)
		}
	}
}

// TestGet_WatchStates waits for packages in a state, and for names that do not exist ends.
func TestGet_WatchStates(t *testing.T) {
	w, cancel := newTerminal(t, fixtureNamed(t, "rolling_out")).beginUntil(t, "get", "-w", "--state", "RolledOut")
	defer cancel()
	w.becomes("done")
	w.sees("RolledOut")
	cancel()
	w.ends(CodeInterrupted)
	if strings.Contains(w.out.String(), "RollingOut") {
		t.Errorf("another state is shown:\n%s", w.out.String())
	}
	newTerminal(t, fixtureNamed(t, "done")).run("get", "-w", fixturePackage, "nothing").wants(t, CodeNotFound, "", "nothing")
}
