// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// workloadPage is how many workloads are asked for at once. They are dropped before the next page.
const workloadPage = 100

// unfinished are the workloads that a process before this one has restarted, and that have not
// come up yet. They count as rolling out, and stop all other restarts when they do not come up,
// although none of their pods may be outdated any more. It asks once in a process. Those that
// keep their pods do not show whether these have come up once: they are found by the pods that
// are left.
func (c *Controller) unfinished(ctx context.Context) ([]Workload, error) {
	if c.resumed {
		return nil, nil
	}
	var all []Workload
	for _, kind := range []string{KindDeployment, KindStatefulSet, KindDaemonSet} {
		gvk := Workload{Kind: kind}.GroupVersionKind()
		err := pages(func(next string) (string, error) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind + "List"))
			if err := c.Live.List(ctx, list, client.Limit(workloadPage), client.Continue(next)); err != nil {
				return "", fmt.Errorf("listing objects of kind %s: %w", kind, err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				if o.GetAnnotations()[v1alpha2.AnnotationRestartedFor] == "" || o.GetDeletionTimestamp() != nil {
					continue
				}
				live := liveOf(o)
				if live.Unfinished() && !live.Excluded && live.Rollout.Blocked == "" {
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
