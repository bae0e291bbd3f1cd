// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// podPage is how many pods are asked for at once. They are dropped before the next page.
	podPage = 100
	// metadataPage is that for metadata.
	metadataPage = 500
)

// surveyor goes through all pods once.
type surveyor struct {
	live       client.Reader
	mesh       *mesh
	namespaces map[string]Namespace
	plan       *Plan
	// sets are the ReplicaSets whose pods have come by.
	sets map[types.UID]*metav1.PartialObjectMetadata
	// left are the namespaces whose pods have a sidecar and should have none, since the time
	// of this survey if they are new.
	left Departures
	// joining are those with workloads to restart as they have joined, with since when.
	joining Arrivals
	now     time.Time
}

// survey finds the workloads with outdated pods, and those that a process before this one has
// restarted and that have not come up: both together are what there is to do.
func (c *Controller) survey(ctx context.Context, m *mesh) error {
	s := &surveyor{
		live: c.Live, mesh: m, namespaces: map[string]Namespace{}, plan: NewPlan(),
		sets: map[types.UID]*metav1.PartialObjectMetadata{}, left: Departures{}, joining: Arrivals{}, now: c.Now().UTC().Truncate(time.Second),
	}
	s.plan.Gone = !m.gone.IsZero()
	unfinished, err := c.unfinished(ctx)
	if err == nil {
		err = s.readNamespaces(ctx)
	}
	if err == nil {
		err = s.readPods(ctx)
	}
	if err == nil && m.istio != nil {
		injects := func(name string) bool { return s.namespaces[name].Inject == InjectAll }
		err = c.keepMoves(ctx, m, moves{s.left, m.moves.joined.Next(s.joining, injects)})
	}
	if err != nil {
		return err
	}
	c.board.Limit = max(c.Settings.Limit, 1)
	for _, w := range unfinished {
		c.board.Resume(w)
		c.queue.Add(w)
	}
	c.resumed = true
	for _, hand := range c.board.Take(s.plan) {
		c.tellHand(hand)
	}
	return nil
}

// readPods takes in the pods that run, and those that are to: they may wait for an outdated
// sidecar in vain.
func (s *surveyor) readPods(ctx context.Context) error {
	selectors := []client.ListOption{
		client.MatchingFields{"status.phase": string(corev1.PodRunning)}, client.MatchingFields{"status.phase": string(corev1.PodPending)},
	}
	if s.plan.Gone {
		selectors = []client.ListOption{client.InNamespace("")}
	}
	count := 0
	for _, selector := range selectors {
		err := pages(func(next string) (string, error) {
			list := &corev1.PodList{}
			if err := s.live.List(ctx, list, selector, client.Limit(podPage), client.Continue(next)); err != nil {
				return "", fmt.Errorf("listing pods: %w", err)
			}
			count += len(list.Items)
			for i := range list.Items {
				if err := s.take(ctx, &list.Items[i]); err != nil {
					return "", err
				}
			}
			return list.Continue, nil
		})
		if err != nil {
			return err
		}
	}
	log.FromContext(ctx).Info("Looked for outdated pods", "pods", count, "workloads", len(s.plan.Entries()), "unready", s.plan.Unready)
	return nil
}

// pages reads page after page, and hands each the token that the one before has handed back. A
// list that has taken too long goes on with the rest as it is then.
func pages(read func(next string) (string, error)) error {
	for next, tried := "", ""; ; {
		after, err := read(next)
		if rest := expired(err); rest != "" && rest != tried {
			next, tried = rest, rest
			continue
		}
		if err != nil || after == "" {
			return err
		}
		next = after
	}
}

// expired is where a list can go on whose beginning is too long ago, empty for any other
// error.
func expired(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsResourceExpired(err) {
		return ""
	}
	return status.ErrStatus.Continue
}

func (s *surveyor) readNamespaces(ctx context.Context) error {
	return pages(func(next string) (string, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := s.live.List(ctx, list, client.Limit(metadataPage), client.Continue(next)); err != nil {
			return "", fmt.Errorf("listing namespaces: %w", err)
		}
		for i := range list.Items {
			name := list.Items[i].Name
			namespace := NamespaceOf(&list.Items[i])
			if since, known := s.mesh.moves.left[name]; known {
				namespace.Left = since
			} else {
				namespace.Left = s.now
			}
			if since, known := s.mesh.moves.joined[name]; known && namespace.Inject == InjectAll {
				namespace.Since = since
			}
			s.namespaces[name] = namespace
		}
		return list.Continue, nil
	})
}

// take puts a pod into the plan if it is outdated.
func (s *surveyor) take(ctx context.Context, from *corev1.Pod) error {
	pod := PodOf(from)
	namespace, known := s.namespaces[pod.Namespace]
	if !known {
		namespace.Inject = InjectOther // newer than the list: its pods are, too
	}
	causes := s.causes(&pod, namespace)
	switch {
	case len(causes) == 0 || !from.DeletionTimestamp.IsZero() || from.Status.Phase == corev1.PodSucceeded || from.Status.Phase == corev1.PodFailed:
		return nil
	case !pod.Serving && !pod.Stuck && !s.plan.Gone:
		s.plan.Unready++
		return nil
	}
	excluded := pod.Excluded || namespace.Excluded
	set, gone, err := s.set(ctx, &pod)
	switch {
	case apierrors.IsForbidden(err):
		w, hand := Unresolved(&pod, err)
		s.plan.Add(&pod, w, hand, causes, excluded)
		return nil
	case err != nil:
		return err
	case gone:
		s.plan.Unready++ // and so will be the pod
		return nil
	}
	if pod.OfReplicaSet() {
		Replaced(causes, &pod, s.mesh.ledger, set.CreationTimestamp.Time)
		if len(causes) == 0 {
			return nil
		}
	}
	w, hand := Resolve(&pod, set.OwnerReferences)
	if _, joins := causes[CauseJoin]; joins && hand == nil && !excluded && namespace.Inject == InjectAll {
		s.joining[pod.Namespace] = namespace.Since.UTC()
	}
	s.plan.Add(&pod, w, hand, causes, excluded)
	return nil
}

// causes are what a pod is outdated in.
func (s *surveyor) causes(pod *Pod, namespace Namespace) map[Cause]string {
	if s.plan.Gone {
		return GoneCauses(pod, s.mesh.gone)
	}
	causes := Causes(pod, &s.mesh.target, s.mesh.ledger, namespace)
	if _, leaves := causes[CauseLeave]; leaves && !s.left.Add(pod.Namespace, namespace.Left) {
		delete(causes, CauseLeave)
		s.plan.More = true
	}
	return causes
}

// set is the pod's ReplicaSet, empty if it is of none.
func (s *surveyor) set(ctx context.Context, pod *Pod) (set *metav1.PartialObjectMetadata, gone bool, err error) {
	set = &metav1.PartialObjectMetadata{}
	if !pod.OfReplicaSet() {
		return set, false, nil
	}
	if known, ok := s.sets[pod.Owner.UID]; ok {
		return known, false, nil
	}
	set.SetGroupVersionKind(Workload{Kind: KindReplicaSet}.GroupVersionKind())
	err = s.live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Owner.Name}, set)
	if apierrors.IsNotFound(err) || err == nil && set.UID != pod.Owner.UID {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading ReplicaSet %s/%s: %w", pod.Namespace, pod.Owner.Name, err)
	}
	// Nothing else of it counts, and a cluster has many.
	s.sets[pod.Owner.UID] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: set.CreationTimestamp, OwnerReferences: set.OwnerReferences}}
	return s.sets[pod.Owner.UID], false, nil
}
