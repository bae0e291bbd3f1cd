// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// reviseInSlice makes revision number with one large ConfigMap in a slice.
func (l *line) reviseInSlice(number int64, name, value string) *v1alpha1.Revision {
	l.T.Helper()
	large := configMap(name, value)
	large["data"].(map[string]any)["large"] = strings.Repeat("x", content.InlineLimit)
	packed, err := content.Pack([]content.Phase{{Name: "phase-1", Objects: []content.Object{{Manifest: unstructuredOf(large)}}}}, nil)
	if err != nil {
		l.T.Fatal(err)
	}
	for i := range packed.Slices {
		l.Create(&packed.Slices[i])
	}
	r := l.revise(number)
	r.Spec.Phases, r.Spec.ContentDigest = packed.Phases, packed.Digest
	if err := l.API.Update(l.T.Context(), r); err != nil {
		l.T.Fatal(err)
	}
	return r
}

// loseSlices takes all slices away, and the memory of them.
func (l *line) loseSlices() []v1alpha1.ObjectSlice {
	l.T.Helper()
	list := &v1alpha1.ObjectSliceList{}
	if err := l.API.List(l.T.Context(), list); err != nil {
		l.T.Fatal(err)
	}
	for i := range list.Items {
		if err := l.API.Delete(l.T.Context(), &list.Items[i]); err != nil {
			l.T.Fatal(err)
		}
	}
	l.restart()
	return list.Items
}

func (l *line) condition(conditions string) string {
	l.T.Helper()
	c := meta.FindStatusCondition(l.pkg().Status.Conditions, conditions)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason + ": " + c.Message
}

// Content that can never be rolled out stops itself and nothing else.
func TestWorker_InvalidRevision(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "1"), configMap("old", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(secret("ca")), phase(configMap("a", "2")))
	if err := l.settle(time.Minute); err != nil {
		t.Fatalf("content that can never be rolled out is tried again: %v", err)
	}
	want(t, "nothing of it is written", "objects", []string{"ConfigMap/a=1", "ConfigMap/old=1"}, l.objects())
	want(t, "what is wrong is reported", "states", []string{"1: Active RolledOut", "2: Active InvalidSpec"}, l.states())
	want(t, "what serves is still known to", "conditions", "Ready=False/NotReady Progressing=False/InvalidSpec Available=True/Serving", l.conditions())

	user := l.cluster.Client("user")
	if err := user.Delete(t.Context(), unstructuredOf(configMap("old", "1"))); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(time.Minute); err != nil {
		t.Fatal(err)
	}
	want(t, "what serves is repaired all the same", "objects", []string{"ConfigMap/a=1", "ConfigMap/old=1"}, l.objects())

	l.restart()
	l.revise(3, phase(configMap("a", "3")))
	if err := l.settle(time.Minute); err != nil {
		t.Fatal(err)
	}
	want(t, "a new revision replaces both", "states", []string{"1: Archived Archived", "2: Archived Archived", "3: Active RolledOut"}, l.states())
	want(t, "a new revision replaces both", "objects", []string{"ConfigMap/a=3"}, l.objects())
	want(t, "a new revision replaces both", "conditions", readyLine, l.conditions())
	l.since()
	if _, err := l.pass(); err != nil {
		t.Fatal(err)
	}
	if writes, requests := l.since(); len(writes)+len(requests) > 0 {
		t.Errorf("the line is not at rest: writes %v, requests %v", writes, requests)
	}
}

// What serves is tried to be repaired again although the target is beyond help.
func TestWorker_InvalidRevisionBesideAnError(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(2, phase(secret("ca")))
	if err := l.cluster.Client("user").Delete(t.Context(), unstructuredOf(configMap("a", "1"))); err != nil {
		t.Fatal(err)
	}
	l.cluster.Fail(revisionstest.Fault{Client: "strata", Verb: revisionstest.VerbApply, Code: 503})
	if _, err := l.pass(); err == nil {
		t.Error("the repair has failed and would not be tried again")
	}
	l.cluster.Heal()
	if _, err := l.pass(); err != nil {
		t.Error(err)
	}
	want(t, "another try mends it", "objects", []string{"ConfigMap/a=1"}, l.objects())
}

// A lost slice of an older revision is mended by what its status says: a new
// revision, or the slice again.
func TestWorker_LostSliceOfServing(t *testing.T) {
	for _, way := range []string{"NewRevision", "RestoredSlice"} {
		t.Run(way, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{})
			l.reviseInSlice(1, "shared", "1")
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			l.revise(2, phase(deployment("gate", "v1")), phase(configMap("shared", "2")))
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			slices := l.loseSlices()
			for range 3 {
				if _, err := l.pass(); err == nil {
					t.Error("a slice that is lost may come back, and no pass follows")
				}
				l.advance(2 * time.Second)
			}
			want(t, "what is lost is reported where it is lost", "states", []string{"1: Active ContentUnavailable", "2: Active RollingOut"}, l.states())
			want(t, "it is unknown whether the lost content serves", "Available",
				"Unknown/Unknown: revision 1 could not be checked: phase phase-1, object 0: ObjectSlice "+slices[0].Name+" does not exist: apply the same content again, which restores it, or create a new revision",
				l.condition(v1alpha1.ConditionAvailable))
			want(t, "nothing is taken away", "objects", []string{"ConfigMap/shared=1", "Deployment/gate=v1"}, l.objects())

			if way == "RestoredSlice" {
				slices[0].ResourceVersion = ""
				l.Create(&slices[0])
				if err := l.settle(10 * time.Second); err != nil {
					t.Fatal(err)
				}
				want(t, "the slice again mends it", "conditions", handoverLine, l.conditions())
				want(t, "the slice again mends it", "states", []string{"1: Active RolledOut", "2: Active RollingOut"}, l.states())
			}
			l.ready("gate", true)
			for range 4 {
				_, _ = l.pass()
				l.advance(time.Second)
			}
			want(t, "the newer revision takes over", "states", []string{"1: Archived Archived", "2: Active RolledOut"}, l.states())
			want(t, "what both contain stays", "objects", []string{"ConfigMap/shared=2", "Deployment/gate=v1"}, l.objects())
			if err := l.settle(10 * time.Second); err != nil {
				t.Errorf("with the older revision its error is gone, got %v", err)
			}
		})
	}
}

// While the content of an active revision is not known, nothing is taken away: it
// may be what is wanted.
func TestWorker_LostSliceAndArchiving(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{Soak: &metav1.Duration{Duration: time.Minute}})
	l.revise(1, phase(configMap("wanted", "1"), configMap("old", "1")))
	if err := l.settle(2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	l.reviseInSlice(2, "wanted", "2")
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	l.revise(3, phase(deployment("gate", "v1")))
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	r := l.revision(1)
	r.Spec.LifecycleState = v1alpha1.LifecycleArchived
	if err := l.API.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	slices := l.loseSlices()
	for range 3 {
		_, _ = l.pass()
		l.advance(2 * time.Second)
	}
	want(t, "what an unknown revision may want stays", "objects", []string{"ConfigMap/old=1", "ConfigMap/wanted=2", "Deployment/gate=v1"}, l.objects())

	slices[0].ResourceVersion = ""
	l.Create(&slices[0])
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "with the content known, what only the archived one contained goes", "objects", []string{"ConfigMap/wanted=2", "Deployment/gate=v1"}, l.objects())
}

// A target whose slice is lost keeps what is known of it.
func TestWorker_LostSliceOfTarget(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.reviseInSlice(1, "a", "1")
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	inventory, err := json.Marshal(l.revision(1).Status.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	slices := l.loseSlices()
	if _, err := l.pass(); err == nil {
		t.Error("a slice that is lost may come back, and no pass follows")
	}
	want(t, "the loss is reported", "conditions", "Ready=False/NotReady Progressing=False/ContentUnavailable Available=Unknown/Unknown", l.conditions())
	after := l.revision(1).Status
	got, err := json.Marshal(after.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "what was known stays", "inventory", string(inventory), string(got))
	want(t, "what was known stays", "phase and probes", "1/1 1/1", after.Phase+" "+after.Probes)
	want(t, "nothing is taken away", "objects", []string{"ConfigMap/a=1"}, l.objects())

	slices[0].ResourceVersion = ""
	l.Create(&slices[0])
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "the slice again mends it", "conditions", readyLine, l.conditions())
}
