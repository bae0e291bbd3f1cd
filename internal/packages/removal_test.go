// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
)

// removing makes the definitions stand as given in all further passes.
func (l *line) removing(definition string, err error) {
	l.T.Helper()
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		l.T.Fatalf("the worker is a %T", l.loop.Worker)
	}
	worker.Removal = func(context.Context) (string, error) { return definition, err }
}

// unowned says which objects of the cluster carry neither owner reference nor label.
func (l *line) unowned() []string {
	var all []string
	for _, object := range l.cluster.Objects() {
		if len(object.GetOwnerReferences()) == 0 && object.GetLabels()[v1alpha1.LabelPackage] == "" {
			all = append(all, object.GetKind()+"/"+object.GetName())
		}
	}
	return all
}

// A user who deletes the definition of packages deletes every package, and has not asked for
// the objects to go.
func TestWorker_DefinitionOfPackagesDeleted(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), namespace("kept")), phase(configMap("b", "1")))
	l.mustSettle(10 * time.Second)
	l.cluster.SetStatus(id("Namespace/kept"), map[string]any{"phase": "Active"})
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2")), phase(deployment("gate", "v2")))
	l.mustSettle(10 * time.Second)
	before := l.objects()
	l.removing("", errRefused)
	l.deletePackage()
	if _, err := l.pass(); !errors.Is(err, errRefused) {
		t.Errorf("the pass ended with %v: nothing may be torn down on a guess", err)
	}
	want(t, "what is not known is not taken for a wish to delete", "objects", before, l.objects())

	l.removing("packages.strata.run", nil)
	l.restart()
	l.removing("packages.strata.run", nil)
	for range 4 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "every object stays", "objects", before, l.objects())
	if got := len(l.unowned()); got != len(before) {
		t.Errorf("%d of %d objects are free of owner and label: %v", got, len(before), l.unowned())
	}
	if !l.isGone() {
		t.Error("the package keeps its definition from going")
	}
	for _, number := range []int64{1, 2} {
		if finalizers := l.revision(number).Finalizers; len(finalizers) > 0 {
			t.Errorf("revision %d keeps its definition from going: %v", number, finalizers)
		}
	}
}

// With the definition of revisions the records of what is in place go; a package that
// stays must not be what the garbage collector deletes the objects for later.
func TestWorker_DefinitionOfRevisionsDeleted(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.removing("revisions.strata.run", nil)
	l.discard(1)
	_, _ = l.pass()
	want(t, "the object stays", "objects", []string{"ConfigMap/a=1"}, l.objects())
	want(t, "without owner and label", "unowned", []string{"ConfigMap/a"}, l.unowned())
	want(t, "the revision goes", "states", nil, l.states())
	if message := l.condition(v1alpha1.ConditionReady); !strings.Contains(message, "revisions.strata.run is being deleted") {
		t.Errorf("the package does not say why nothing is managed: %s", message)
	}
}
