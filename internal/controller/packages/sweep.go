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
func (w *Worker) sweep(ctx context.Context, p *pass, known *memory) error {
	keep, all := p.wanted()
	if !all || !p.isSettled() {
		return nil
	}
	labelled, err := w.Watches.Labelled(p.pkg.Name, func(id revisions.ObjectID) bool { return keep[id] })
	if err != nil {
		return err
	}
	strays := slices.DeleteFunc(labelled, func(object *unstructured.Unstructured) bool {
		return !metav1.IsControlledBy(object, p.pkg) || revisions.FieldsDigest(object, revisions.DefaultFieldOwner) == ""
	})
	before := known.swept
	known.swept = map[types.UID]bool{}
	strays = slices.DeleteFunc(strays, func(object *unstructured.Unstructured) bool {
		known.swept[object.GetUID()] = before[object.GetUID()]
		return before[object.GetUID()] || object.GetDeletionTimestamp() != nil
	})
	if len(strays) == 0 {
		return nil
	}
	if err := w.confirm(ctx, p, known, true); err != nil {
		return err
	}
	result, err := p.identity.Engine.Teardown(ctx, revisions.Teardown{Owner: ownerOf(p.pkg), Revision: revisionOf(strays), Keep: keep})
	for i, removed := range result.Objects {
		known.swept[strays[i].GetUID()] = removed.Err == nil && (removed.Deleted || removed.State != revisions.RemovalWaiting)
		logging.FromContext(ctx).Info("Took away an object that no active revision contains", "object", removed.ID.String(), "state", string(removed.State), "deleted", removed.Deleted)
	}
	return err
}

// isSettled says that the line has nothing to put in place or to take away.
func (p *pass) isSettled() bool {
	return p.line.Target != nil && !p.isPaused && p.isTargetKnown() && history.Succeeded(p.line.Target) &&
		len(p.line.Serving) == 0 && len(p.line.Waiting) == 0 && len(p.line.Archiving) == 0
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
