// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/revisions"
)

// Tried is what a dry run has found of one object.
type Tried struct {
	// Result is what the engine says.
	Result revisions.ObjectResult
	// Phase is the phase that it stands in.
	Phase string
	// Live is the object as it is, nil when there is none.
	Live *unstructured.Unstructured
	// Applied is the object as it would be; nil when nothing would be written.
	Applied *unstructured.Unstructured
}

// Trial makes a pass over every phase of a revision whose writes are dry runs. It says
// of each object what it is and what it would be. The revision's records are those of
// the newest revision that has put each object in place; they say whose an object is, and
// not how it is: every object that is ours is tried out.
func (p Planner) Trial(ctx context.Context, pkg *v1alpha1.Package, revision revisions.Revision) ([]Tried, error) {
	snapshot := Read(ctx, p.Live, revision)
	writer := &trialWriter{Writer: p.Writer, answers: map[revisions.ObjectID]*unstructured.Unstructured{}}
	engine, err := revisions.New(revisions.Config{Writer: writer, Live: p.Live, Cache: snapshot, Mapper: p.Mapper})
	if err != nil {
		return nil, fmt.Errorf("creating the engine: %w", err)
	}
	// No gate holds a revision that has succeeded.
	revision.Succeeded, revision.Records = true, unproven(revision.Records)
	// Each object's own error stands in its result.
	result, err := engine.Reconcile(ctx, revisions.Rollout{Owner: Owner(pkg), Target: revision})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var all []Tried
	for i, phase := range result.Target.Phases {
		if !phase.Reached && phase.Size > 0 {
			return nil, fmt.Errorf("trying out revision %d: %w", revision.Number, err)
		}
		for _, object := range phase.Objects {
			tried := Tried{Result: object, Phase: revision.Phases[i].Name, Applied: writer.answers[object.ID]}
			if tried.Live, err = snapshot.Live(object.ID); err != nil {
				tried.Result.Err = err
			}
			all = append(all, tried)
		}
	}
	return all, nil
}

// unproven are records without what says that an object is as it was applied.
func unproven(records map[revisions.ObjectID]revisions.Record) map[revisions.ObjectID]revisions.Record {
	rest := make(map[revisions.ObjectID]revisions.Record, len(records))
	for id, record := range records {
		record.Fields, record.State = "", ""
		rest[id] = record
	}
	return rest
}

// trialWriter sends every write as a dry run and keeps the answers.
type trialWriter struct {
	client.Writer

	lock    sync.Mutex
	answers map[revisions.ObjectID]*unstructured.Unstructured
}

// Patch sends a dry run.
func (w *trialWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := w.Writer.Patch(ctx, obj, patch, append(opts, client.DryRunAll)...); err != nil {
		return err
	}
	if answer, ok := obj.(*unstructured.Unstructured); ok {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.answers[revisions.IDOf(answer)] = answer.DeepCopy()
	}
	return nil
}

// Delete sends a dry run.
func (w *trialWriter) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return w.Writer.Delete(ctx, obj, append(opts, client.DryRunAll)...)
}

// Apply sends a dry run.
func (w *trialWriter) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return w.Writer.Apply(ctx, obj, append(opts, client.DryRunAll)...)
}

// Create sends a dry run.
func (w *trialWriter) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return w.Writer.Create(ctx, obj, append(opts, client.DryRunAll)...)
}

// Update sends a dry run.
func (w *trialWriter) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return w.Writer.Update(ctx, obj, append(opts, client.DryRunAll)...)
}

// DeleteAllOf sends a dry run.
func (w *trialWriter) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return w.Writer.DeleteAllOf(ctx, obj, append(opts, client.DryRunAll)...)
}

// MayImpersonate says whether the caller may impersonate the identity of a client.
func MayImpersonate(ctx context.Context, as preflight.Asker) (bool, error) {
	review := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"namespace": metav1.NamespaceDefault}}}
	review.SetAPIVersion("authorization.k8s.io/v1")
	review.SetKind("SelfSubjectRulesReview")
	err := as.Create(ctx, review)
	switch {
	case apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking whether rights can be checked: %w", err)
	}
	return true, nil
}
