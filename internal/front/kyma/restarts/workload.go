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
	// A rollout is read soon at first, and then less and less often.
	firstPoll, longestPoll = time.Second, 15 * time.Second
	// failedPoll is how often a workload is read that does not come up.
	failedPoll = 30 * time.Second
	// postponedPoll is how often one is read whose own rollout is not complete.
	postponedPoll = 5 * time.Minute
	// maxErrorText bounds the text of an error in an event.
	maxErrorText = 300
)

// reconcileWorkload decides about a workload of the queue, and does it.
func (c *Controller) reconcileWorkload(ctx context.Context, w Workload) (time.Duration, error) {
	i := c.run.queue.items[w]
	if i == nil {
		return 0, nil
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("workload", w.String()))
	object, current, err := c.read(ctx, w)
	d := Decision{Action: NeedsUser, Reason: errorText("it cannot be read", err)}
	if err == nil {
		d, err = c.act(ctx, object, i, &current, Decide(i.Outdated, current, i.restarted(), c.now(), c.Settings.Deadline))
	} else if apierrors.IsForbidden(err) {
		err = nil
	}
	if err != nil {
		return c.retry(ctx, object, i, err)
	}
	if d.Action == 0 {
		return 0, nil // it waits for its turn
	}
	c.record(ctx, object, w, d)
	return c.poll(d, &current), nil
}

// act does what was decided about a workload, and returns what has become of it: no action when it
// waits for its turn.
func (c *Controller) act(ctx context.Context, object *unstructured.Unstructured, i *item, current *Current, d Decision) (Decision, error) {
	g := c.gate()
	switch {
	case d.Action == Restart && !c.run.queue.mayRestart(i.Workload, g.open()):
		if !g.open() {
			c.requests.Add(Workload{}) // to enqueue it when the window opens
		}
		return Decision{}, nil
	case d.Action == Restart:
		return c.restart(ctx, object, i.Outdated, *current, d)
	case d.Action == Watch && current.Next != nil && g.opens == 0:
		return c.replace(ctx, current.Next, d)
	case d.Action == Fail:
		d.Reason = i.explain(d.Reason, func() string { return c.failing(ctx, object, i.Workload) })
	}
	return d, nil
}

// failing is what the pods of a workload show of why they do not come up, empty for nothing.
func (c *Controller) failing(ctx context.Context, object *unstructured.Unstructured, w Workload) string {
	own, err := pods.List(ctx, c.live, w.pods(object))
	if err != nil {
		return "" // the failure is reported without it
	}
	return pods.Text(pods.Failing(own), maxErrorText)
}

// poll is when to reconcile a workload again after a decision, 0 for not by itself.
func (c *Controller) poll(d Decision, current *Current) time.Duration {
	switch d.Action {
	case Restart:
		return firstPoll
	case Watch:
		if opens := c.gate().opens; current.Next != nil && opens > 0 {
			return opens
		}
		return min(max(c.now().Sub(latest(current.Record.At, current.Progressed))/2, firstPoll), longestPoll)
	case Fail:
		return failedPoll
	case Postpone:
		return postponedPoll
	default:
		return 0
	}
}

// retry is for a workload that cannot be read or written to now. It is tried again; when that does
// not help for as long as a rollout may take, it has failed.
func (c *Controller) retry(ctx context.Context, object *unstructured.Unstructured, i *item, err error) (time.Duration, error) {
	if loop.IsConflict(err) || i.fail(err, c.now()) < c.Settings.Deadline {
		return 0, err
	}
	c.record(ctx, object, i.Workload, Decision{Action: Fail, Reason: errorText("it cannot be restarted", err)})
	return failedPoll, nil
}

// errorText is what has failed with the text of the error, of limited length.
func errorText(what string, err error) string {
	if err == nil {
		return what
	}
	text := err.Error()
	return what + ": " + text[:min(len(text), maxErrorText)]
}

// record records what was decided, and lets other workloads take their turn.
func (c *Controller) record(ctx context.Context, object *unstructured.Unstructured, w Workload, d Decision) {
	if d, news := c.run.queue.record(w, d, c.now(), c.Settings.Deadline); news {
		c.recordEvents(ctx, object, d)
	}
	if c.enqueue() > 0 {
		c.requests.Add(Workload{}) // which comes back when the time has come
	}
}

// read reads a workload as it is now.
func (c *Controller) read(ctx context.Context, w Workload) (*unstructured.Unstructured, Current, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.GroupVersionKind())
	object.SetNamespace(w.Namespace)
	object.SetName(w.Name)
	err := c.live.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, object)
	if apierrors.IsNotFound(err) || err == nil && object.GetDeletionTimestamp() != nil {
		return object, Current{}, nil
	}
	if err != nil {
		return object, Current{}, fmt.Errorf("reading %s: %w", w, err)
	}
	current := currentOf(object)
	if w.KeepsPods() {
		err = c.readReplacement(ctx, w, object, &current)
	}
	return object, current, err
}

// currentOf takes from a workload what counts.
func currentOf(object *unstructured.Unstructured) Current {
	template, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations")
	annotations := object.GetAnnotations()
	_, injected := template[AnnotationInjected]
	return Current{
		Found: true, Injected: injected, Template: TemplateOf(object),
		Excluded: annotations[v1alpha2.AnnotationExcludeFromRestart] == "true" || template[v1alpha2.AnnotationExcludeFromRestart] == "true",
		Record:   v1alpha2.ParseRestartRecord(annotations[v1alpha2.AnnotationRestartedFor]),
		Rollout:  pods.RolloutOf(object),
	}
}

// readReplacement reads how far a workload is that keeps its pods.
func (c *Controller) readReplacement(ctx context.Context, w Workload, object *unstructured.Unstructured, current *Current) error {
	var own []*Pod
	selector := client.MatchingLabelsSelector{Selector: w.pods(object).Selector()}
	err := pages(func(next string) (string, error) {
		list := &corev1.PodList{}
		if err := c.live.List(ctx, list, client.InNamespace(w.Namespace), selector, client.Limit(podPage), client.Continue(next)); err != nil {
			return "", fmt.Errorf("listing the pods of %s: %w", w, err)
		}
		for i := range list.Items {
			if p := &list.Items[i]; metav1.IsControlledBy(p, object) && p.DeletionTimestamp == nil && !hasEnded(p) {
				own = append(own, PodOf(p))
			}
		}
		return list.Continue, nil
	})
	if err == nil {
		current.Replace(object, own)
	}
	return err
}

// pods names the pods of the workload.
func (w Workload) pods(object *unstructured.Unstructured) pods.Workload {
	return pods.Workload{Kind: w.GroupVersionKind().GroupKind(), Namespace: w.Namespace, Name: w.Name, UID: object.GetUID(), Manifest: object}
}

// restart restarts a workload as it was read, and records what for in the same write. The pods
// of one that keeps them are deleted from the next reconciliation on: a pod that is made then is of
// another second than the record. What the cluster refuses for good is for a user.
func (c *Controller) restart(ctx context.Context, object *unstructured.Unstructured, outdated Outdated, current Current, d Decision) (Decision, error) {
	record := current.Record.With(outdated.Causes, current.Template, c.now().UTC().Truncate(time.Second))
	change := map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(),
		"annotations":     map[string]string{v1alpha2.AnnotationRestartedFor: record.String()},
	}}
	if !outdated.Workload.KeepsPods() {
		change["spec"] = map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{v1alpha2.AnnotationRestartedAt: record.At.Format(time.RFC3339)},
		}}}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return d, fmt.Errorf("encoding the restart of %s: %w", outdated.Workload, err)
	}
	err = c.writer.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return Decision{Action: Finish, Reason: "it is gone"}, nil
	case isRefused(err):
		return Decision{Action: NeedsUser, Reason: errorText("its restart is refused", err)}, nil
	case err != nil:
		return d, fmt.Errorf("restarting %s: %w", outdated.Workload, err)
	}
	c.run.restarted = true
	for _, cause := range current.Record.Fresh(outdated.Causes) {
		c.Meter.Restarted(string(cause))
	}
	return d, nil
}

// replace deletes a pod of a workload that makes another in its place. What the cluster refuses
// for good is for a user.
func (c *Controller) replace(ctx context.Context, pod *Pod, d Decision) (Decision, error) {
	gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := c.writer.Delete(ctx, gone, client.Preconditions{UID: &pod.UID})
	switch {
	case isRefused(err):
		return Decision{Action: NeedsUser, Reason: errorText("the deletion of its pod "+pod.Name+" is refused", err)}, nil
	case client.IgnoreNotFound(err) != nil:
		return d, fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	log.FromContext(ctx).Info("Deleted a pod, so that its workload recreates it with a new proxy", "pod", pod.Name)
	return d, nil
}

func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

const manualNote = "Its proxies are outdated, and it cannot be restarted: %s"

// recordManual records an event about a workload that only a user can restart.
func (c *Controller) recordManual(m Manual) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: m.Workload.Namespace, Name: m.Workload.Name, UID: m.UID}}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(m.APIVersion, m.Workload.Kind))
	c.Recorder.Eventf(o, nil, corev1.EventTypeWarning, ReasonRestartByHand, "Restart", manualNote, m.Reason)
}

// recordEvents records a decision in the log and as an event of the workload.
func (c *Controller) recordEvents(ctx context.Context, object *unstructured.Unstructured, d Decision) {
	switch d.Action {
	case Restart:
		log.FromContext(ctx).Info("Restarted a workload", "causes", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeNormal, ReasonRestartedForProxy, "Restart", "Restarted, as its proxies are outdated: %s", d.Reason)
	case Fail:
		stopped := "of its namespace "
		if c.run.queue.failures(Workload{}).all {
			stopped = ""
		}
		log.FromContext(ctx).Info("A restarted workload does not become ready, no other "+stopped+"is restarted", "reason", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeWarning, ReasonRestartFailed, "Restart", "Does not become ready after it was restarted for its outdated proxies; no other workload %sis restarted: %s", stopped, d.Reason)
	case NeedsUser:
		log.FromContext(ctx).V(1).Info("A workload needs a user", "reason", d.Reason)
		c.Recorder.Eventf(object, nil, corev1.EventTypeWarning, ReasonRestartByHand, "Restart", manualNote, d.Reason)
	default:
		// No user has to act.
	}
}
