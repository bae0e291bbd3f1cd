// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The time of a managedFields entry has whole seconds. A second apply under our name and in
// the second of ours, of the same fields with other values, leaves the entry as it is. What
// such an apply does change is recorded beside the digest of the entry, and an object in
// which it has changed is applied once more, unless a later write of another manager explains
// the change.

// stateSettled is on record in place of a state when nothing can have happened in the second
// of our last apply that was not found.
const stateSettled = "settled"

// settledAfter is how long after our last apply an object is believed to be past the second
// of it, whatever the clocks say.
const settledAfter = time.Minute

// lookAgainAfter is how long after the second of our last apply an object is checked again of
// which the state may have changed in it.
const lookAgainAfter = 2 * time.Second

// OtherWrites says when another manager has written last, compared with our last apply.
type OtherWrites string

const (
	// OtherWritesEarlier is before the second of our apply.
	OtherWritesEarlier OtherWrites = ""
	// OtherWritesBeside is in that second. An apply under our name may have come with it.
	OtherWritesBeside OtherWrites = "Beside"
	// OtherWritesLater is after it, which explains another state.
	OtherWritesLater OtherWrites = "Later"
)

// own is what our managedFields entry, and the others, tell.
type own struct {
	digest, time string
	// state is what an apply changes of an object even where it leaves our managedFields entry
	// as it is: the generation, and our labels and annotations, which do not count for it,
	// by a digest. Of a kind without generation it is the resourceVersion. It is empty when
	// there is no entry of ours.
	state  string
	others OtherWrites
}

// applied is the second of our last apply, zero when it is not known.
func (o own) applied() time.Time {
	at, err := time.Parse(time.RFC3339, o.time)
	if err != nil {
		return time.Time{}
	}
	return at
}

// ownEntry reads an object, trimmed or not.
func ownEntry(obj *unstructured.Unstructured, manager string) own {
	managed, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	entries, _ := managed.([]any)
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		if !isOurEntry(entry, manager) {
			continue
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		at, _ := entry["time"].(string)
		found := own{time: at}
		switch entry["fieldsType"] {
		case digestOnly:
			found.digest, _ = fields["digest"].(string)
			found.state, _ = fields["state"].(string)
			others, _ := fields["others"].(string)
			found.others = OtherWrites(others)
			return found
		case fieldsV1:
			found.digest = digestEntry(entry["apiVersion"], entry["time"], fields)
			found.state = stateOf(obj, fields)
			found.others = otherWrites(entries, manager, at, obj.GetGeneration() > 0)
			return found
		}
	}
	return own{}
}

// stateOf is the state of an object in which we have the fields given.
func stateOf(obj *unstructured.Unstructured, fields map[string]any) string {
	generation := obj.GetGeneration()
	if generation == 0 {
		return "v" + obj.GetResourceVersion()
	}
	metadata, _ := fields["f:metadata"].(map[string]any)
	values := map[string]map[string]string{}
	for name, all := range map[string]map[string]string{"f:labels": obj.GetLabels(), "f:annotations": obj.GetAnnotations()} {
		ours, _ := metadata[name].(map[string]any)
		values[name] = map[string]string{}
		for key := range ours {
			key = strings.TrimPrefix(key, "f:")
			values[name][key] = all[key]
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		return "" // texts can be encoded
	}
	return strconv.FormatInt(generation, 10) + "-" + shortDigest(string(data))
}

// otherWrites compares the entries of other managers with the time of ours. A status counts
// for nothing where there is a generation, which it leaves alone.
func otherWrites(entries []any, manager, at string, hasGeneration bool) OtherWrites {
	found := OtherWritesEarlier
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		written, _ := entry["time"].(string)
		switch {
		case isOurEntry(entry, manager), entry["subresource"] == "status" && hasGeneration, written < at:
		case written == at:
			found = OtherWritesBeside
		default:
			return OtherWritesLater
		}
	}
	return found
}

// rewritten says whether an object may have been applied under our name since our last apply
// has left it in a state, although our managedFields entry is the same.
func (c *Current) rewritten(state string) bool {
	if state == "" || state == stateSettled || state == c.State {
		return false
	}
	_, before, _ := strings.Cut(state, "-")
	_, now, _ := strings.Cut(c.State, "-")
	return before != now || c.Others != OtherWritesLater
}

// unrewritten decides about an object that may have been rewritten. Where another manager has
// written in the second of our apply, which may be all that has happened, it is applied when
// nothing more can happen in that second: once, however often that manager writes in it.
func unrewritten(in decisionInput) decision {
	over := in.Current.Applied.Add(lookAgainAfter)
	if in.Current.Others == OtherWritesBeside && !in.Now.Before(in.Current.Applied) && in.Now.Before(over) {
		return decision{Operation: OperationNone, Retry: over, Reason: "it is as it should be"}
	}
	return repair(in, DriftChanged, OperationApply, "a client may have applied it as "+in.Owner.manager())
}

// stateAfter is what goes on record of an object's state after a decision was carried out.
func (t *task) stateAfter(decided decision, action Action, state *unstructured.Unstructured) string {
	in, entry := &t.input, ownEntry(state, t.input.Owner.manager())
	at := entry.applied()
	switch {
	case decided.Operation == OperationNone && in.isRecorded() && in.Record.State != "":
		return in.Record.State
	case action == ActionUnchanged && !at.IsZero() && in.Now.Sub(at) > settledAfter:
		return stateSettled
	default:
		return entry.state
	}
}
