// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/internal/restart"
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
	namespaces map[string]restart.Namespace
	plan       *restart.Plan
	// owners are those of ReplicaSets whose pods have come by.
	owners map[types.UID][]metav1.OwnerReference
}

// survey finds the workloads with outdated pods.
func (c *Controller) survey(ctx context.Context, m *mesh) (*restart.Plan, error) {
	s := &surveyor{live: c.Live, mesh: m, namespaces: map[string]restart.Namespace{}, plan: restart.NewPlan(), owners: map[types.UID][]metav1.OwnerReference{}}
	if err := s.readNamespaces(ctx); err != nil {
		return nil, err
	}
	count, next := 0, ""
	for {
		list := &corev1.PodList{}
		err := s.live.List(ctx, list, client.Limit(podPage), client.Continue(next), client.MatchingFields{"status.phase": string(corev1.PodRunning)})
		if rest := expired(err); rest != "" && rest != next {
			next = rest // the rest as it is now will do
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		count += len(list.Items)
		for i := range list.Items {
			if err := s.take(ctx, &list.Items[i]); err != nil {
				return nil, err
			}
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	log.FromContext(ctx).Info("Looked for outdated pods", "pods", count, "workloads", len(s.plan.Entries()), "unready", s.plan.Unready)
	return s.plan, nil
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
	for next, more := "", true; more; more = next != "" {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		if err := s.live.List(ctx, list, client.Limit(metadataPage), client.Continue(next)); err != nil {
			return fmt.Errorf("listing namespaces: %w", err)
		}
		for i := range list.Items {
			s.namespaces[list.Items[i].Name] = restart.NamespaceOf(&list.Items[i])
		}
		next = list.Continue
	}
	return nil
}

// take puts a pod into the plan if it is outdated.
func (s *surveyor) take(ctx context.Context, from *corev1.Pod) error {
	pod := restart.PodOf(from)
	namespace, known := s.namespaces[pod.Namespace]
	if !known {
		namespace.Inject = restart.InjectNone // newer than the list: its pods are, too
	}
	causes := restart.Causes(&pod, &s.mesh.target, s.mesh.ledger, namespace)
	switch {
	case len(causes) == 0 || !from.DeletionTimestamp.IsZero():
		return nil
	case !pod.Serving:
		s.plan.Unready++
		return nil
	}
	above, gone, err := s.above(ctx, &pod)
	if err != nil {
		return err
	}
	if gone {
		s.plan.Unready++ // and so will be the pod
		return nil
	}
	w, problem := restart.Resolve(&pod, above)
	s.plan.Add(&pod, w, problem, causes, pod.Excluded || namespace.Excluded)
	return nil
}

// above are the owners of the pod's ReplicaSet, if it is of one.
func (s *surveyor) above(ctx context.Context, pod *restart.Pod) (owners []metav1.OwnerReference, gone bool, err error) {
	if !pod.OfReplicaSet() {
		return nil, false, nil
	}
	if known, ok := s.owners[pod.Owner.UID]; ok {
		return known, false, nil
	}
	set := &metav1.PartialObjectMetadata{}
	set.SetGroupVersionKind(restart.Workload{Kind: restart.KindReplicaSet}.GroupVersionKind())
	err = s.live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Owner.Name}, set)
	if apierrors.IsNotFound(err) || err == nil && set.UID != pod.Owner.UID {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading ReplicaSet %s/%s: %w", pod.Namespace, pod.Owner.Name, err)
	}
	s.owners[pod.Owner.UID] = set.OwnerReferences
	return set.OwnerReferences, false, nil
}
