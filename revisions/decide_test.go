// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var testOwner = Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "istio", UID: "owner-uid", Label: "strata.run/package"}

// The facts that a decision depends on, by column of the table.
const (
	factObject = iota
	factDeleting
	factRecord
	factProtection
	factRetain
	factForward
	factLate
	factCount
)

var factNames = [factCount]string{"OBJECT", "DELETING", "RECORD", "PROTECTION", "RETAIN", "FORWARD", "LATE"}

// factValues are all values of each fact. What the object is says who controls it
// and what its metadata proves; the combinations that cannot be are left out.
var factValues = [factCount][]string{
	{
		"absent",
		"ours by UID", "ours, other's label", "ours, garbage label", "ours, second owner", "ours, fields wiped",
		"ours by record", "ours, no label", "ours, reference stripped",
		"retained",
		"no controller, no label", "no controller, our label", "orphaned by us",
		"other's by label", "other's, garbage label", "other's by UID", "other's, our marks",
	},
	{"no", "yes"},
	{"none", "same", "content differs", "fields differ", "state differs", "state beside", "state later", "ignorable differ", "exceeded", "slowed", "other UID", "completed", "earlier"},
	{"empty", "Prevent", "IfNoController", "None"},
	{"no", "yes"},
	{"no", "yes"},
	{"no", "waits", "waits, held"},
}

// row is one combination of facts.
type row [factCount]string

// possible says whether a combination can be.
func (r row) possible() bool {
	if r[factLate] != "no" && r[factForward] == "yes" || r[factLate] == "waits, held" && r[factObject] != "absent" {
		return false // either leaves what is ours as it is, and who holds what is there changes nothing
	}
	onRecord := r[factRecord] != "none" && r[factRecord] != "other UID"
	// Where these change nothing they are left out.
	if r[factRecord] == "completed" && r[factObject] != "absent" && r[factDeleting] == "no" ||
		r[factRecord] == "earlier" && !strings.HasPrefix(r[factObject], "other's") {
		return false
	}
	if strings.HasPrefix(r[factRecord], "state ") && (r[factObject] != "ours by UID" || r[factDeleting] == "yes") {
		return false
	}
	switch r[factObject] {
	case "absent":
		return r[factDeleting] == "no"
	case "ours by record", "ours, no label":
		return onRecord
	case "ours, other's label", "ours, garbage label", "ours, fields wiped", "ours, reference stripped":
		// What is stripped or replaced is in our managedFields entry no more.
		return r[factRecord] == "fields differ" || r[factRecord] == "slowed"
	case "retained":
		return !onRecord && r[factRetain] == "yes"
	case "no controller, no label", "no controller, our label":
		return !onRecord
	case "orphaned by us":
		return !onRecord && r[factRetain] == "no"
	default:
		return true
	}
}

// input builds what decide is asked for a combination of facts.
func (r row) input() decisionInput {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	q := decisionInput{Owner: testOwner, Content: "content", Retain: r[factRetain] == "yes", ForwardOnly: r[factForward] == "yes", Now: now}
	if r[factProtection] != "empty" {
		q.CollisionProtection = CollisionProtection(r[factProtection])
	}
	if r[factRecord] != "none" {
		q.Record = &Record{UID: "object-uid", Content: "content", Fields: "fields-9"}
	}
	manager := ConflictingManager{Manager: "kubectl", Operation: "Update", Fields: []string{".spec.image"}}
	switch r[factRecord] {
	case "content differs":
		q.Record.Content = "content before"
	case "fields differ":
		q.Record.Fields, q.Conflicting = "fields before-10", []ConflictingManager{manager}
	case "ignorable differ":
		manager.Manager, manager.Fields = "istiod", []string{".webhooks[name=a].clientConfig.caBundle"}
		q.Record.Fields, q.Conflicting, q.Ignorable = "fields before-10", []ConflictingManager{manager}, 1
	case "exceeded":
		q.Excess = []ConflictingManager{{Manager: "kubectl", Operation: "Update", Fields: []string{".spec.egress"}}}
	case "slowed":
		q.Record.Fields, q.Conflicting = "fields before-10", []ConflictingManager{manager}
		q.Record.Backoff = &DriftBackoff{Cause: DriftChanged, Manager: "kubectl", Fields: manager.Fields, Count: 5, First: now.Add(-time.Minute), Last: now.Add(-time.Second), Next: now.Add(time.Second)}
	case "other UID":
		q.Record.UID = "uid before"
	case "completed":
		q.Completed = true
	case "earlier":
		q.Record.Earlier = true
	}
	if r[factLate] != "no" {
		q.UpdatePhase, q.KeptByServing = "injector", r[factLate] == "waits, held"
	}
	q.Current = r.current()
	if strings.HasPrefix(r[factRecord], "state ") {
		q.Record.State, q.Current.State, q.Current.Applied = "1-a", "2-a", now
		q.Current.Others = map[string]OtherWrites{"state beside": OtherWritesBeside, "state later": OtherWritesLater}[r[factRecord]]
	}
	return q
}

func (r row) current() *Current {
	current := &Current{UID: "object-uid", ResourceVersion: "7", Deleting: r[factDeleting] == "yes"}
	controller := func(name string, uid types.UID) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: testOwner.APIVersion, Kind: testOwner.Kind, Name: name, UID: uid}
	}
	ours := controller(testOwner.Name, testOwner.UID)
	const fields, garbage = "fields-9", "a b/\u0000"
	switch r[factObject] {
	case "absent":
		return nil
	case "ours by UID", "ours, second owner":
		// Other owners count only if they are the controller, and there can be one.
		current.Controller, current.Label, current.Fields = ours, testOwner.Name, fields
	case "ours, other's label":
		current.Controller, current.Label, current.Fields = ours, "other", fields
	case "ours, garbage label":
		current.Controller, current.Label, current.Fields = ours, garbage, fields
	case "ours, fields wiped":
		current.Controller, current.Label = ours, testOwner.Name
	case "ours by record", "retained", "ours, reference stripped", "orphaned by us":
		// To take the owner reference off is how the garbage collector orphans, and how
		// another client takes an object away; label and managedFields prove nothing.
		current.Label, current.Fields = testOwner.Name, fields
	case "ours, no label":
		current.Fields = fields
	case "no controller, our label":
		current.Label = testOwner.Name
	case "other's by label":
		// Another owner retains it, or has adopted it from us.
		current.Label, current.Fields = "other", fields
	case "other's, garbage label":
		current.Label, current.Fields = garbage, fields
	case "other's by UID":
		// It has our label and entry, and an owner of our name: nothing but the UID
		// of the controller counts.
		current.Controller, current.Label, current.Fields = controller(testOwner.Name, "other-uid"), testOwner.Name, fields
	case "other's, our marks":
		current.Controller, current.Label, current.Fields = controller("web", "other-uid"), testOwner.Name, fields
		current.Controller.APIVersion, current.Controller.Kind = "apps/v1", "ReplicaSet"
	}
	return current
}

// allRows are all combinations that can be.
func allRows() []row {
	rows := []row{{}}
	for fact, values := range factValues {
		var next []row
		for _, r := range rows {
			for _, value := range values {
				r[fact] = value
				next = append(next, r)
			}
		}
		rows = next
	}
	return slices.DeleteFunc(rows, func(r row) bool { return !r.possible() })
}

// TestDecide_Table prints the whole table. A fact that changes nothing for an
// object stands as "*", so a line stands for many rows.
func TestDecide_Table(t *testing.T) {
	rows := allRows()
	lines := make([][]string, 0, len(rows)+1)
	lines = append(lines, append(factNames[:], "OPERATION", "REASON", "REMEDY"))
	for _, object := range factValues[factObject] {
		for _, deleting := range factValues[factDeleting] {
			own := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r[factObject] != object || r[factDeleting] != deleting })
			lines = append(lines, collapse(own)...)
		}
	}
	got := fmt.Sprintf("What decide says, for all %d combinations of facts; * stands for every value that can be.\n\n", len(rows)) + align(lines)
	const file = "testdata/decide.txt"
	if *Update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s has changed; look at each line, then run go test with -update (-want +got):\n%s", file, diff)
	}
}

// collapse writes the rows of one object, without the facts that change nothing.
func collapse(rows []row) [][]string {
	lines := make([][]string, 0, len(rows))
	for _, r := range rows {
		line := make([]string, factCount, factCount+3)
		for fact := range factCount {
			line[fact] = r[fact]
			if fact != factObject && fact != factDeleting && !matters(rows, fact) {
				line[fact] = "*"
			}
		}
		decided := decide(r.input())
		line = append(line, string(decided.Operation), decided.Reason, decided.Remedy)
		if !slices.ContainsFunc(lines, func(known []string) bool { return slices.Equal(known, line) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// matters says whether a fact alone changes any decision.
func matters(rows []row, fact int) bool {
	decisions := map[row]decision{}
	for _, r := range rows {
		decided := decide(r.input())
		r[fact] = ""
		if other, seen := decisions[r]; seen && other != decided {
			return true
		}
		decisions[r] = decided
	}
	return false
}

func align(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}

// TestDecide_Properties holds what must be true of every row, whatever the table
// says in particular.
func TestDecide_Properties(t *testing.T) {
	writes := []Operation{OperationCreate, OperationApply, OperationAdopt}
	known := append(slices.Clone(writes), OperationNone, OperationIgnore, OperationWait, OperationDefer, OperationRefuse)
	properties := []struct {
		name   string
		reason string
		broken func(row, decision) bool
	}{{
		name:   "KnownOperation",
		reason: "the set of operations is closed, and each has a reason",
		broken: func(_ row, v decision) bool { return !slices.Contains(known, v.Operation) || v.Reason == "" },
	}, {
		name:   "ForeignNeedsNone",
		reason: "what another owner has is written only if its collision protection is None",
		broken: func(r row, v decision) bool {
			return strings.HasPrefix(r[factObject], "other's") && r[factProtection] != "None" && slices.Contains(writes, v.Operation)
		},
	}, {
		name:   "UnownedNeedsConsent",
		reason: "what is not proven to be ours is not adopted by default, whatever its label says",
		broken: func(r row, v decision) bool {
			guarded := r[factProtection] == "empty" || r[factProtection] == "Prevent"
			return strings.HasPrefix(r[factObject], "no controller") && guarded && slices.Contains(writes, v.Operation)
		},
	}, {
		name:   "DeletingIsLeftAlone",
		reason: "an object that is going away is not written",
		broken: func(r row, v decision) bool {
			return r[factDeleting] == "yes" && v.Operation != OperationWait && r[factRecord] != "completed"
		},
	}, {
		name:   "OnlyAbsentIsCreated",
		reason: "a create for an object that exists would be refused for ever",
		broken: func(r row, v decision) bool { return r[factObject] != "absent" && v.Operation == OperationCreate },
	}, {
		name:   "OnlyOursWaits",
		reason: "an object that is left for later is the line's already, so a collision is found at once",
		broken: func(r row, v decision) bool {
			ours := strings.HasPrefix(r[factObject], "ours") || r[factObject] == "absent"
			return v.Operation == OperationDefer && (r[factLate] == "no" || !ours)
		},
	}, {
		name:   "SlowedWaits",
		reason: "an object that does not stay as it was left waits for its turn, whatever was done to it",
		broken: func(r row, v decision) bool { return r[factRecord] == "slowed" && slices.Contains(writes, v.Operation) },
	}, {
		name:   "LostIsNotTakenBack",
		reason: "two owners that both may take an object over must not do so in turn",
		broken: func(r row, v decision) bool {
			return strings.HasPrefix(r[factObject], "other's") && r[factRecord] == "same" && r[factDeleting] == "no" && v.Operation != OperationRefuse
		},
	}, {
		name:   "DoneIsNotDoneAgain",
		reason: "an object that has completed and is gone is not created again",
		broken: func(r row, v decision) bool {
			return r[factObject] == "absent" && r[factLate] != "waits, held" && (r[factRecord] == "completed") != (v.Operation == OperationNone)
		},
	}, {
		name:   "RefusalHasRemedy",
		reason: "the reason for a refusal says what to do, and no other reason does",
		broken: func(_ row, v decision) bool { return (v.Operation == OperationRefuse) != (v.Remedy != "") },
	}, {
		name:   "OursIsNeverRefused",
		reason: "collision protection is about objects of other owners",
		broken: func(r row, v decision) bool {
			return (strings.HasPrefix(r[factObject], "ours") || r[factObject] == "retained") && v.Operation == OperationRefuse
		},
	}, {
		name:   "OnlyRecordedRests",
		reason: "without a matching record nothing proves that the object is as it should be",
		broken: func(r row, v decision) bool {
			return v.Operation == OperationNone && !slices.Contains([]string{"same", "state beside", "state later", "completed", "earlier"}, r[factRecord]) && r[factForward] == "no"
		},
	}, {
		name:   "OthersAreReadAgain",
		reason: "what is not ours is only ever adopted, which is bound to the state decided on",
		broken: func(r row, v decision) bool {
			return v.Operation == OperationApply && !strings.HasPrefix(r[factObject], "ours")
		},
	}}
	rows := allRows()
	for _, property := range properties {
		t.Run(property.name, func(t *testing.T) {
			for _, r := range rows {
				if decided := decide(r.input()); property.broken(r, decided) {
					t.Errorf("%v: %+v: %s", r, decided, property.reason)
				}
			}
		})
	}
}

// TestDecide_Pure decides twice on the same input, and looks at it afterwards.
func TestDecide_Pure(t *testing.T) {
	for _, r := range allRows() {
		given := r.input()
		first, second := decide(given), decide(given)
		if first != second {
			t.Errorf("%v: got %+v, then %+v", r, first, second)
		}
		if diff := cmp.Diff(r.input(), given); diff != "" {
			t.Errorf("%v: decide changed its input (-before +after):\n%s", r, diff)
		}
	}
}

// TestControlOf has the cases that are nearly something else.
func TestControlOf(t *testing.T) {
	controller := &metav1.OwnerReference{Kind: "Package", Name: "istio", UID: testOwner.UID}
	namesake := &metav1.OwnerReference{Kind: "Package", Name: "istio", UID: "other-uid"}
	type args struct {
		current Current
		record  *Record
		retain  bool
	}
	cases := map[string]struct {
		reason string
		args   args
		want   Control
	}{
		"OwnerWithoutRecord": {
			reason: "the controller reference alone proves it, after the records were lost",
			args:   args{current: Current{UID: "a", Controller: controller}},
			want:   ControlOurs,
		},
		"NamesakeOwner": {
			reason: "an owner of the same kind and name with another UID is another owner",
			args:   args{current: Current{UID: "a", Controller: namesake, Label: "istio"}, record: &Record{UID: "a"}},
			want:   ControlForeign,
		},
		"RecordOfAnotherObject": {
			reason: "an object that was created anew in its place is not the one on record",
			args:   args{current: Current{UID: "b", Label: "istio"}, record: &Record{UID: "a"}},
			want:   ControlNone,
		},
		"RetainedWithoutEntry": {
			reason: "a label can be set by anybody",
			args:   args{current: Current{UID: "a", Label: "istio"}, retain: true},
			want:   ControlNone,
		},
		"RetainedForAnother": {
			reason: "what another package has retained is not ours",
			args:   args{current: Current{UID: "a", Label: "other", Fields: "f"}, retain: true},
			want:   ControlForeign,
		},
		"AdoptedByAnother": {
			reason: "two packages that retain one object must not write it in turn",
			args:   args{current: Current{UID: "a", Label: "other", Fields: "f"}, record: &Record{UID: "a"}, retain: true},
			want:   ControlForeign,
		},
		"LabelOfAnotherOnOurs": {
			reason: "the controller reference outweighs the label, which is drift",
			args:   args{current: Current{UID: "a", Controller: controller, Label: "other"}, record: &Record{UID: "a"}},
			want:   ControlOurs,
		},
		"RetainedButNotToBe": {
			reason: "an object that is not to be retained would have an owner reference",
			args:   args{current: Current{UID: "a", Label: "istio", Fields: "f"}},
			want:   ControlReleased,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := controlOf(&tc.args.current, testOwner, tc.args.record, tc.args.retain); got != tc.want {
				t.Errorf("controlOf() = %s, want %s: %s", got, tc.want, tc.reason)
			}
		})
	}
}
