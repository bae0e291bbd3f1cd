// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front"
)

const (
	// podPage is how many pods or workloads are asked for at once. They are dropped before the next
	// page.
	podPage = 100
	// metadataPage is that for metadata.
	metadataPage = 500

	// maxOutdated bounds a survey: what does not fit is found when the rest is done.
	maxOutdated = 2000
	// maxManual bounds the list for a user.
	maxManual = 200
)

// Survey is what a comparison of all pods with the mesh has found. It grows with the workloads that
// have outdated pods, and is bounded.
type Survey struct {
	// Unready counts pods that may be outdated and do not serve: their workloads have other
	// problems first.
	Unready int
	// More says that there are workloads that did not fit.
	More bool
	// Gone says that the mesh is gone, and that its sidecars have to go.
	Gone bool

	outdated map[Workload]*Outdated
	// excluded are apart: they must not keep others from fitting.
	excluded map[Workload]bool
	manual   map[Workload]Manual
	// unlisted counts pods that belong to nothing in manual, as that is full.
	unlisted int
}

// NewSurvey is an empty survey.
func NewSurvey() *Survey {
	return &Survey{outdated: map[Workload]*Outdated{}, excluded: map[Workload]bool{}, manual: map[Workload]Manual{}}
}

// incomplete says that there may be workloads that it has not found.
func (s *Survey) incomplete() bool { return s.More || s.Unready > 0 }

// Add takes in what a pod shows of its workload.
func (s *Survey) Add(o Outdated) {
	found := s.outdated[o.Workload]
	switch {
	case s.excluded[o.Workload]:
	case o.Excluded && len(s.excluded) < maxOutdated:
		delete(s.outdated, o.Workload) // one of its pods is enough
		s.excluded[o.Workload] = true
	case o.Excluded, found == nil && len(s.outdated) >= maxOutdated:
		s.More = true
	case found == nil:
		s.outdated[o.Workload] = &o
	default:
		maps.Copy(found.Causes, o.Causes)
		found.Stuck = found.Stuck || o.Stuck
		found.Newest = latest(found.Newest, o.Newest)
	}
}

// AddManual takes in a workload that only a user can restart.
func (s *Survey) AddManual(m Manual) {
	switch _, known := s.manual[m.Workload]; {
	case known:
	case len(s.manual) >= maxManual:
		s.unlisted++
	default:
		s.manual[m.Workload] = m
	}
}

// surveyor goes through all pods once.
type surveyor struct {
	*Survey

	live       client.Reader
	mesh       *mesh
	namespaces map[string]Namespace
	// sets are the ReplicaSets whose pods have come by.
	sets map[types.UID]*metav1.PartialObjectMetadata
	// left are the namespaces whose pods have a sidecar and should have none, since the time
	// of this survey if they are new. Joining are those with workloads to restart as they have
	// joined, with since when.
	left, joining namespaceTimes
	// gone is since when the mesh is gone, zero while it is not.
	gone, now time.Time
}

// surveyPods finds the workloads with outdated pods, and those that a process before this one has
// restarted and that have not come up: both together are the queue.
func (c *Controller) surveyPods(ctx context.Context, m *mesh) error {
	s := &surveyor{
		Survey: NewSurvey(), live: c.live, mesh: m, namespaces: map[string]Namespace{}, sets: map[types.UID]*metav1.PartialObjectMetadata{},
		left: namespaceTimes{}, joining: namespaceTimes{}, now: c.now().UTC().Truncate(time.Second),
	}
	if s.Gone = m.removed() && c.uninstall.note != nil; s.Gone {
		s.gone = c.uninstall.note.Since
	}
	resumed, err := c.unfinished(ctx)
	if err == nil {
		err = s.readNamespaces(ctx)
	}
	if err == nil {
		err = s.readPods(ctx)
	}
	if err == nil && m.installed() {
		injects := func(name string) bool { return s.namespaces[name].Inject == InjectAll }
		err = c.recordNotes(ctx, m.istio, notes{m.notes.changes, s.left, nextJoined(m.notes.joined, s.joining, injects)})
	}
	if err != nil {
		return err
	}
	c.run.queue.limit, c.run.resumed = max(c.Settings.Limit, 1), true
	for _, w := range resumed {
		c.run.queue.resume(w)
		c.requests.Add(w)
	}
	for _, manual := range c.run.queue.take(s.Survey) {
		c.recordManual(manual)
	}
	return nil
}

// unfinished are the workloads that a process before this one has restarted, and that have not
// come up yet, by their own annotations. They count as rolling out, and stop all other restarts when
// they do not come up, although none of their pods may be outdated any more. They are read once in a
// process. Workloads that keep their pods do not show whether these have come up once: they are found
// by the pods that are left.
func (c *Controller) unfinished(ctx context.Context) ([]Workload, error) {
	if c.run.resumed {
		return nil, nil
	}
	var all []Workload
	for _, kind := range []string{KindDeployment, KindStatefulSet, KindDaemonSet} {
		gvk := Workload{Kind: kind}.GroupVersionKind()
		err := pages(func(next string) (string, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind + "List"))
			if err := c.live.List(ctx, list, client.Limit(podPage), client.Continue(next)); err != nil {
				return "", fmt.Errorf("listing objects of kind %s: %w", kind, err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				if o.GetAnnotations()[v1alpha2.AnnotationRestartedFor] == "" || o.GetDeletionTimestamp() != nil {
					continue
				}
				if current := currentOf(o); current.Unfinished() && !current.Excluded && current.Rollout.Blocked == "" {
					all = append(all, Workload{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
				}
			}
			return list.GetContinue(), nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readPods takes in the pods that run, and those that are to: they may wait for an outdated
// sidecar in vain.
func (s *surveyor) readPods(ctx context.Context) error {
	selectors := []client.ListOption{
		client.MatchingFields{"status.phase": string(corev1.PodRunning)}, client.MatchingFields{"status.phase": string(corev1.PodPending)},
	}
	if s.Gone {
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
				if err := s.compare(ctx, &list.Items[i]); err != nil {
					return "", err
				}
			}
			return list.Continue, nil
		})
		if err != nil {
			return err
		}
	}
	log.FromContext(ctx).Info("Surveyed pods for outdated proxies", "pods", count, "workloads", len(s.outdated), "unready", s.Unready)
	return nil
}

// pages reads page after page, and hands each the token that the one before has handed back. A
// list that has taken too long goes on with the rest as it is then.
func pages(read func(next string) (string, error)) error {
	for next, tried := "", ""; ; {
		after, err := read(next)
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok && apierrors.IsResourceExpired(err) {
			if rest := status.ErrStatus.Continue; rest != "" && rest != tried {
				next, tried = rest, rest
				continue
			}
		}
		if err != nil || after == "" {
			return err
		}
		next = after
	}
}

func (s *surveyor) readNamespaces(ctx context.Context) error {
	return pages(func(next string) (string, error) {
		list := front.MetadataList(namespaceKind)
		if err := s.live.List(ctx, list, client.Limit(metadataPage), client.Continue(next)); err != nil {
			return "", fmt.Errorf("listing namespaces: %w", err)
		}
		for i := range list.Items {
			name := list.Items[i].Name
			namespace := NamespaceOf(&list.Items[i])
			if namespace.Left = s.now; !s.mesh.notes.left[name].IsZero() {
				namespace.Left = s.mesh.notes.left[name]
			}
			if since, known := s.mesh.notes.joined[name]; known && namespace.Inject == InjectAll {
				namespace.Since = since
			}
			s.namespaces[name] = namespace
		}
		return list.Continue, nil
	})
}

// compare adds a pod to the survey if it is outdated.
func (s *surveyor) compare(ctx context.Context, from *corev1.Pod) error {
	pod := PodOf(from)
	namespace, known := s.namespaces[pod.Namespace]
	if !known {
		namespace.Inject = InjectOther // newer than the list: its pods are, too
	}
	o := Outdated{
		Role: pod.Role, Causes: s.causes(pod, namespace), Newest: pod.CreationTimestamp.Time,
		Excluded: pod.excluded() || namespace.Excluded, Stuck: pod.stuck(), Gone: s.Gone,
	}
	if len(o.Causes) == 0 || !pod.DeletionTimestamp.IsZero() || hasEnded(from) {
		return nil
	}
	if !pod.serving() && !o.Stuck && !s.Gone {
		s.Unready++
		return nil
	}
	set, gone, err := s.set(ctx, pod)
	var manual *Manual
	switch {
	case apierrors.IsForbidden(err):
		_, manual = Unresolved(pod, err)
	case err != nil:
		return err
	case gone:
		s.Unready++ // and so will be the pod
		return nil
	default:
		if pod.OfReplicaSet() {
			Replaced(o.Causes, pod, s.mesh.notes.changes, set.CreationTimestamp.Time)
		}
		o.Workload, manual = Resolve(pod, set.OwnerReferences)
	}
	switch _, joins := o.Causes[CauseJoin]; {
	case len(o.Causes) == 0:
	case manual != nil && !o.Excluded:
		s.AddManual(*manual)
	case manual == nil:
		if joins && !o.Excluded && namespace.Inject == InjectAll {
			s.joining[pod.Namespace] = namespace.Since.UTC()
		}
		s.Add(o)
	}
	return nil
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// causes are what a pod is outdated in.
func (s *surveyor) causes(pod *Pod, namespace Namespace) map[Cause]string {
	if s.Gone {
		return GoneCauses(pod, s.gone)
	}
	causes := Causes(pod, &s.mesh.target, s.mesh.notes.changes, namespace)
	if _, leaves := causes[CauseLeave]; leaves && !s.left.add(pod.Namespace, namespace.Left, maxLeft) {
		delete(causes, CauseLeave)
		s.More = true
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
