// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

// recorder keeps the reasons of events, without those of phases.
type recorder struct{ recorded []string }

// Eventf implements Recorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if ref, ok := regarding.(*corev1.ObjectReference); ok && !strings.HasPrefix(reason, "Phase") {
		r.recorded = append(r.recorded, fmt.Sprintf("%s %s", reason, ref.Name))
	}
}

func (r *recorder) since() []string {
	recorded := r.recorded
	r.recorded = nil
	return recorded
}

// listen lets a recorder hear what the loop tells, as Setup does.
func (l *line) listen(r *recorder) {
	l.T.Helper()
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		l.T.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	worker.Recorder, l.loop.Wrote = r, worker.statusWritten
}

// TestWorker_Events: what is recorded has been written, and a restart reports nothing again.
func TestWorker_Events(t *testing.T) {
	l, r := newLine(t, v1alpha1.PackageSpec{}), &recorder{}
	l.listen(r)
	l.revise(1, phase(configMap("a", "1")))
	l.Refuse = func(write string) error {
		if strings.Contains(write, "status") {
			return errors.New("the API server is down")
		}
		return nil
	}
	if err := l.settle(10 * time.Second); err == nil {
		t.Error("a refused status is no error")
	}
	want(t, "what is not on record has not happened", "events", nil, r.since())

	l.Refuse = nil
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "each transition is reported once", "events", []string{"Succeeded web-1", "RevisionCreated web"}, r.since())

	l.restart()
	l.listen(r)
	if err := l.settle(time.Hour); err != nil {
		t.Fatal(err)
	}
	want(t, "a restart repeats none", "events", nil, r.since())

	l.revise(2, phase(configMap("b", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "an upgrade tells who has taken over", "events",
		[]string{"Succeeded web-2", "RevisionCreated web", "HandedOver web", "Archived web-1"}, r.since())
}
