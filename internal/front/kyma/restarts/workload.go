// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/pods"
)

const (
	// A rollout is looked at soon at first, and then less and less often.
	firstPoll, longestPoll = time.Second, 15 * time.Second
	// failedPoll is how often a workload is looked at that does not come up.
	failedPoll = 30 * time.Second
	// postponedPoll is how often one is looked at that is not whole.
	postponedPoll = 5 * time.Minute
	// noteLimit bounds the text of an error in an event.
	noteLimit = 300
)

// tend reconciles a workload.
func (c *Controller) tend(ctx context.Context, w Workload) (time.Duration, error) {
	entry, ours, found := c.board.Entry(w)
	if !found {
		return 0, nil
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("workload", w.String()))
	object, live, err := c.read(ctx, w)
	d := Decision{Action: AskPerson, Reason: refusal("it cannot be read", err)}
	switch {
	case apierrors.IsForbidden(err):
	case err != nil:
		return c.trouble(ctx, object, entry, err)
	default:
		d = Decide(entry, live, ours, c.Now(), c.Settings.Deadline)
	}
	if d.Action == Restart {
		open := !c.hold && c.problem == nil && c.window.Opens(c.Now()) == 0
		if !c.board.MayRestart(w, open) {
			if open {
				return 0, nil // its turn comes again
			}
			c.queue.Add(Workload{}) // to look when the window opens
			return 0, nil
		}
		if d, err = c.restart(ctx, object, entry, live, d); err != nil {
			return c.trouble(ctx, object, entry, err)
		}
	}
	opens := c.window.Opens(c.Now())
	if d.Action == Watch && live.Next != nil && opens == 0 {
		if d, err = c.replace(ctx, live.Next, d); err != nil {
			return c.trouble(ctx, object, entry, err)
		}
	}
	if d.Action == Fail {
		d.Reason = c.board.Because(w, d.Reason, func() string { return c.podsOf(ctx, object, w) })
	}
	postponed := d.Action == Postpone
	d = c.board.Postpone(w, d, c.Now(), c.Settings.Deadline)
	c.settle(ctx, object, w, entry, d)
	if postponed {
		return postponedPoll, nil
	}
	if d.Action == Watch && live.Next != nil && opens > 0 {
		return opens, nil
	}
	return c.poll(d, &live), nil
}

// podsOf is what the pods of a workload show of why they do not come up, empty for nothing.
func (c *Controller) podsOf(ctx context.Context, object *unstructured.Unstructured, w Workload) string {
	own, err := pods.List(ctx, c.Live, pods.Workload{
		Kind: w.GroupVersionKind().GroupKind(), Namespace: w.Namespace, Name: w.Name, UID: object.GetUID(), Manifest: object,
	})
	if err != nil {
		return "" // the failure is reported without it
	}
	return pods.Text(pods.Failing(own), noteLimit)
}

// poll is when to look at a workload again after a decision, 0 for not by itself.
func (c *Controller) poll(d Decision, live *Live) time.Duration {
	switch d.Action {
	case Restart:
		return firstPoll
	case Watch:
		since := live.Record.At
		if live.Progressed.After(since) {
			since = live.Progressed
		}
		return min(max(c.Now().Sub(since)/2, firstPoll), longestPoll)
	case Fail:
		return failedPoll
	default:
		return 0
	}
}

// trouble is what follows when a workload cannot be read or restarted for now. It is tried again;
// when that does not help for as long as a rollout may take, it has failed.
func (c *Controller) trouble(ctx context.Context, object *unstructured.Unstructured, entry Entry, err error) (time.Duration, error) {
	if loop.IsConflict(err) || c.board.Trouble(entry.Workload, c.Now()) < c.Settings.Deadline {
		return 0, c.ofGateway(entry, err)
	}
	c.settle(ctx, object, entry.Workload, entry, Decision{Action: Fail, Reason: refusal("it cannot be restarted", err)})
	return failedPoll, nil
}

// refusal is the text of an error, of limited length.
func refusal(what string, err error) string {
	if err == nil {
		return what
	}
	text := err.Error()
	return what + ": " + text[:min(len(text), noteLimit)]
}

// settle notes what was decided, records an event, and lets other workloads take their turn.
func (c *Controller) settle(ctx context.Context, object *unstructured.Unstructured, w Workload, entry Entry, d Decision) {
	news := c.board.Settle(w, d)
	var failure error
	if d.Action == Fail || d.Action == AskPerson {
		failure = fmt.Errorf("%s: %s", w, d.Reason)
	}
	_ = c.ofGateway(entry, failure)
	if news {
		c.tell(ctx, object, d)
	}
	if after := c.fill(); after > 0 {
		c.queue.Add(Workload{}) // to look when the time has come
	}
}

// ofGateway keeps an error about a gateway, and hands any back.
func (c *Controller) ofGateway(entry Entry, err error) error {
	switch entry.Role {
	case RoleGateway, RoleEgress:
		if c.gateways == nil {
			c.gateways = map[Role]error{}
		}
		if err == nil {
			delete(c.gateways, entry.Role)
		} else if !loop.IsConflict(err) {
			c.gateways[entry.Role] = err
		}
	default:
		// Only gateways make a mesh that is not what it should be.
	}
	return err
}

// read reads a workload as it is now.
func (c *Controller) read(ctx context.Context, w Workload) (*unstructured.Unstructured, Live, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.GroupVersionKind())
	object.SetNamespace(w.Namespace)
	object.SetName(w.Name)
	err := c.Live.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, object)
	if apierrors.IsNotFound(err) || err == nil && object.GetDeletionTimestamp() != nil {
		return object, Live{}, nil
	}
	if err != nil {
		return object, Live{}, fmt.Errorf("reading %s: %w", w, err)
	}
	live := liveOf(object)
	if w.KeepsPods() {
		err = c.readReplacement(ctx, w, object, &live)
	}
	return object, live, err
}

// liveOf takes from a workload what counts.
func liveOf(object *unstructured.Unstructured) Live {
	template, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations")
	annotations := object.GetAnnotations()
	_, injected := template[AnnotationInjected]
	return Live{
		Found: true, Injected: injected, Template: TemplateOf(object),
		Excluded: annotations[v1alpha2.AnnotationExcludeFromRestart] == "true" || template[v1alpha2.AnnotationExcludeFromRestart] == "true",
		Record:   v1alpha2.ParseRestartRecord(annotations[v1alpha2.AnnotationRestartedFor]),
		Rollout:  pods.RolloutOf(object),
	}
}

// restart restarts a workload as it was read, and records what for in the same write. The pods
// of one that keeps them are deleted from the next look on: a pod that is made then is of
// another second than the record. What the cluster refuses for good is for a person.
func (c *Controller) restart(ctx context.Context, object *unstructured.Unstructured, entry Entry, live Live, d Decision) (Decision, error) {
	record := live.Record.With(entry.Causes, live.Template, c.Now().UTC().Truncate(time.Second))
	change := map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(),
		"annotations":     map[string]string{v1alpha2.AnnotationRestartedFor: record.String()},
	}}
	if !entry.Workload.KeepsPods() {
		change["spec"] = map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{v1alpha2.AnnotationRestartedAt: record.At.Format(time.RFC3339)},
		}}}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return d, fmt.Errorf("encoding the restart of %s: %w", entry.Workload, err)
	}
	err = c.Writer.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return Decision{Action: Settled, Reason: "it is gone"}, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return Decision{Action: AskPerson, Reason: refusal("its restart is refused", err)}, nil
	case err != nil:
		return d, fmt.Errorf("restarting %s: %w", entry.Workload, err)
	}
	c.dirty = true
	for _, cause := range live.Record.Fresh(entry.Causes) {
		c.Meter.Restarted(string(cause))
	}
	return d, nil
}

// tellHand records an event about a workload that only a user can restart.
func (c *Controller) tellHand(hand Hand) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: hand.Workload.Namespace, Name: hand.Workload.Name, UID: hand.UID}}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(hand.APIVersion, hand.Workload.Kind))
	c.Recorder.Eventf(o, nil, corev1.EventTypeWarning, ReasonRestartByHand, "Restart", restartByHand, hand.Reason)
}

const restartByHand = "Its proxies are outdated, and it cannot be restarted: %s"

// tell records a decision in the log and as an event of the workload.
func (c *Controller) tell(ctx context.Context, object *unstructured.Unstructured, d Decision) {
	switch d.Action {
	case Restart:
		log.FromContext(ctx).Info("Restarted a workload", "causes", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeNormal, ReasonRestartedForProxy, "Restart", "Restarted, as its proxies are outdated: %s", d.Reason)
	case Fail:
		stopped := "of its namespace "
		if c.board.State().Stopped {
			stopped = ""
		}
		log.FromContext(ctx).Info("A restarted workload does not come up, no other "+stopped+"is restarted", "reason", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeWarning, ReasonRestartFailed, "Restart", "Does not come up after its restart for its proxies, no other workload %sis restarted: %s", stopped, d.Reason)
	case AskPerson:
		log.FromContext(ctx).V(1).Info("A workload needs a person", "reason", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeWarning, ReasonRestartByHand, "Restart", restartByHand, d.Reason)
	default:
		// No user has to act.
	}
}
