// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// TestEngine_Refused has an object of another owner in the way. It is read once, and again
// when it has changed.
func TestEngine_Refused(t *testing.T) {
	p := newParts()
	engine, theirs := p.engine(t), configMap("a", "theirs").Manifest.DeepCopy()
	theirs.SetLabels(map[string]string{benchOwner.Label: "other"})
	other := p.cluster.Client("other")
	if err := other.Create(t.Context(), theirs, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	in := revisions.Rollout{Owner: benchOwner, Target: onePhase(1, configMap("a", "ours"))}
	pass := func(reason string, want int) {
		t.Helper()
		p.cluster.Requests("engine")
		result, err := engine.Reconcile(t.Context(), in)
		if blockers := result.Blockers(); err != nil || len(blockers) != 1 {
			t.Fatalf("Reconcile() = %+v, %v, want a collision", result, err)
		}
		in.KnownBlockers = map[revisions.ObjectID]string{result.Blockers()[0].ID: result.Blockers()[0].ResourceVersion}
		if sent := p.cluster.Requests("engine"); len(sent) != want {
			t.Errorf("%d requests, want %d: %s: %v", len(sent), want, reason, sent)
		}
	}
	pass("what was seen may be old", 1)
	pass("nothing has changed", 0)
	pass("nothing has changed", 0)
	data, err := json.Marshal(map[string]any{"data": map[string]any{"color": "new"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Patch(t.Context(), theirs, client.RawPatch(types.MergePatchType, data), client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	pass("it has changed", 1)
	pass("nothing has changed since", 0)
}
