// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"errors"
	"strings"
	"testing"

	"github.com/strata-run/strata/internal/content"
)

var errRefused = errors.New("the API server says no")

func refusing(prefix string) func(string) error {
	return func(write string) error {
		if strings.HasPrefix(write, prefix) {
			return errRefused
		}
		return nil
	}
}

// What cannot be rendered changes nothing but the status.
func TestReconciler_RenderError(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.renderErr = errors.New("version 9.9 is not in this manager")
	want(t, "the class gets its finalizer, and a status", "writes", []string{"patch a", "status a"}, f.mustPass())
	want(t, "the cause is reported", "ControllerInstalled", "False/InstallFailed: version 9.9 is not in this manager", f.installed("a"))

	f.rendered, f.renderErr = []content.Package{rendering("crds", "1"), rendering("plane", "1")}, nil
	f.mustPass()
	f.rolledOut("crds", 1)
	f.rolledOut("plane", 1)
	f.renderErr = errors.New("version 9.9 is not in this manager")
	want(t, "what runs is left alone", "writes", []string{"status a"}, f.mustPass())
	want(t, "what is asked for cannot be installed, whatever runs", "ControllerInstalled", "False/InstallFailed: version 9.9 is not in this manager", f.installed("a"))
	want(t, "another try would render the same", "writes", nil, f.mustPass())
}

// An error while the control plane serves is a warning.
func TestReconciler_PublishErrorWhileItServes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.rolledOut("plane", 1)
	f.rendered = []content.Package{rendering("plane", "2")}
	f.Refuse = refusing("create plane-2")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v, want it returned, so that it is tried again", err)
	}
	want(t, "a try that fails does not take away what serves", "ControllerInstalled",
		"True/Installed: istiod 1.0-1 installed (with warning: creating revision 2 of package plane: the API server says no)", f.installed("a"))
}

// An error about one package is reported, and tried again.
func TestReconciler_PublishError(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1"), rendering("second", "1")}
	f.Refuse = refusing("create plane-1")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v, want it returned, so that it is tried again", err)
	}
	want(t, "the other package is made all the same", "revisions", []string{"second-1"}, f.revisions())
	want(t, "the cause is reported", "ControllerInstalled", "False/InstallFailed: creating revision 1 of package plane: the API server says no", f.installed("a"))
	f.Refuse = nil
	f.mustPass()
	want(t, "another try mends it", "revisions", []string{"plane-1", "second-1"}, f.revisions())
}
