// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/pods"
)

// Current is a workload as it is now.
type Current struct {
	// Found says that there is one.
	Found bool
	// Excluded says that it must not be restarted.
	Excluded bool
	// Record is what it was restarted for.
	Record v1alpha2.RestartRecord
	// Rollout is where its pods stand.
	Rollout pods.Rollout
	// Next is the pod to delete next of a workload that keeps its pods, see
	// [Workload.KeepsPods], and Progressed when the newest of its new pods was made. Nil and zero
	// for others.
	Next       *Pod
	Progressed time.Time
	// Template identifies its pod template. Injected says that the sidecar is a part
	// of it, put there by hand: pods made anew have it, whatever the mesh does.
	Template string
	Injected bool
}

// Unfinished says whether its pods are still being replaced because of its last restart:
// the pod template has not changed since, and they have not come up yet.
func (c *Current) Unfinished() bool {
	completed := c.Rollout.Completed && (c.Rollout.CompletedAt.IsZero() || !c.Rollout.CompletedAt.Before(c.Record.At.Truncate(time.Second)))
	return !c.Record.At.IsZero() && c.Record.Template == c.Template && !c.Rollout.Done && !completed
}

// Replace says how far a workload is whose pods are deleted, one after the other, because of
// the restart in its record. These are the pods that it has, without those that are being
// deleted.
func (c *Current) Replace(o *unstructured.Unstructured, present []*Pod) {
	want, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		want = 1
	}
	var old []*Pod
	var serving, fresh int64
	for _, p := range present {
		if p.serving() {
			serving++
		}
		switch {
		case c.Record.At.IsZero() || p.excluded():
		case p.CreationTimestamp.After(c.Record.At):
			fresh++
			c.Progressed = latest(c.Progressed, p.CreationTimestamp.Time)
		default:
			old = append(old, p)
		}
	}
	updated := len(old) == 0 && int64(len(present)) >= want
	c.Rollout = pods.Rollout{
		// It does not say whether new pods have served once: what breaks later is no restart's doing.
		Updated: updated, Completed: len(old) == 0, Done: updated && serving >= want, Empty: want == 0,
		Progress: fmt.Sprintf("%d of %d pods are new, %d of %d serve", fresh, want, serving, max(want, int64(len(present)))),
	}
	if len(old) == 0 {
		return
	}
	slices.SortFunc(old, func(a, b *Pod) int {
		switch {
		case a.serving() == b.serving():
			return cmp.Compare(a.Name, b.Name)
		case b.serving(): // those that do not serve come first
			return -1
		}
		return 1
	})
	if serving >= want || !old[0].serving() {
		c.Next = old[0]
	}
}

// TemplateOf identifies the pod template of a workload. Restarts by the controller do not change it.
func TemplateOf(o *unstructured.Unstructured) string {
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template")
	template, _ := found.(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	own := map[string]any{}
	for key, value := range annotations {
		if key != v1alpha2.AnnotationRestartedAt {
			own[key] = value
		}
	}
	data, err := json.Marshal([]any{template["spec"], metadata["labels"], own})
	if err != nil {
		return "" // what has come as JSON can be encoded
	}
	return digest(string(data))
}
