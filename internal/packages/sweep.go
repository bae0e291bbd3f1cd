// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	logging "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// sweep takes away what the package controls, a manager has applied, and no
// active revision contains: what a manager that had been replaced, or one with lists of
// the past, has created again after its revision was torn down. The watches show it, so
// that looking costs no request; before anything is deleted the revisions are proven live,
// and each object is read. What another client has made with our label and owner
// reference, such as a copy, goes with the package.
func (p *pass) sweep(ctx context.Context) error {
	keep, all := p.wanted()
	if !all || !p.isDone() {
		return nil
	}
	labelled, err := p.Watches.Labelled(p.pkg.Name, func(id revisions.ObjectID) bool { return keep[id] })
	if err != nil {
		return err
	}
	orphaned := slices.DeleteFunc(labelled, func(object *unstructured.Unstructured) bool {
		return !metav1.IsControlledBy(object, p.pkg) || revisions.FieldsDigest(object, revisions.DefaultFieldOwner) == ""
	})
	before := p.state.swept
	p.state.swept = map[types.UID]bool{}
	orphaned = slices.DeleteFunc(orphaned, func(object *unstructured.Unstructured) bool {
		p.state.swept[object.GetUID()] = before[object.GetUID()]
		return before[object.GetUID()] || object.GetDeletionTimestamp() != nil
	})
	if len(orphaned) == 0 {
		return nil
	}
	if err := p.confirm(ctx, true); err != nil {
		return err
	}
	result, err := p.rolled.identity.Engine.Teardown(ctx, revisions.Teardown{Owner: ownerOf(p.pkg), Revision: revisionOf(orphaned), Keep: keep})
	for i, removed := range result.Objects {
		p.state.swept[orphaned[i].GetUID()] = removed.Err == nil && (removed.Deleted || removed.State != revisions.RemovalWaiting)
		logging.FromContext(ctx).Info("Took away an object that no active revision contains", "object", removed.ID.String(), "state", string(removed.State), "deleted", removed.Deleted)
	}
	return err
}

// isDone says that the package has nothing to put in place or to take away.
func (p *pass) isDone() bool {
	return p.history.Target != nil && !p.decided.isPaused && p.isTargetKnown() && history.Succeeded(p.history.Target) &&
		len(p.history.Serving) == 0 && len(p.history.Waiting) == 0 && len(p.history.Archiving) == 0
}

// revisionOf is a revision with the objects given, in one phase.
func revisionOf(objects []*unstructured.Unstructured) revisions.Revision {
	phase := revisions.Phase{Name: "swept"}
	for _, object := range objects {
		manifest := &unstructured.Unstructured{}
		manifest.SetGroupVersionKind(object.GroupVersionKind())
		manifest.SetNamespace(object.GetNamespace())
		manifest.SetName(object.GetName())
		phase.Objects = append(phase.Objects, revisions.Object{Manifest: manifest})
	}
	return revisions.Revision{Phases: []revisions.Phase{phase}}
}
