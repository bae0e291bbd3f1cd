// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// pauseRevision pauses one revision: nothing is written for it, and what served before
// goes on serving.
func (a *app) pauseRevision(ctx context.Context, o pauseOptions, name string) error {
	if o.until != "" {
		return exitf(CodeUsage, "--until is for a package: the pause of a revision ends with `strata resume %s --revision %d`", name, o.revision)
	}
	reason, err := a.pauseReason(o)
	if err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	r, err := c.revisionForPause(ctx, name, o.revision)
	if err != nil {
		return err
	}
	receipt := Receipt{TypeMeta: documentType("Receipt"), Command: "pause", Package: name, Revision: o.revision, DryRun: o.dryRun}
	if before := revisionPause(r); before != nil {
		receipt.Paused = before
		receipt.Message = fmt.Sprintf("Revision %d of package %s is %s already.", o.revision, name, pauseText(before))
		return a.printReceipt(o.writeFlags, receipt)
	}
	by := o.by
	if by == "" {
		by = a.whoAmI(ctx, c)
	}
	receipt.Changed, receipt.Paused = true, &v1alpha1.Pause{By: by, Reason: reason}
	receipt.Message = fmt.Sprintf("Revision %d of package %s is %s.", o.revision, name, pauseText(receipt.Paused))
	if err := c.setPaused(ctx, r, v1alpha1.LifecyclePaused, *receipt.Paused, o.writeFlags); err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, receipt)
}

// resumeRevision ends the pause of one revision.
func (a *app) resumeRevision(ctx context.Context, o resumeOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	r, err := c.revisionForPause(ctx, name, o.revision)
	if err != nil {
		return err
	}
	receipt := Receipt{TypeMeta: documentType("Receipt"), Command: "resume", Package: name, Revision: o.revision, DryRun: o.dryRun}
	pause := revisionPause(r)
	if pause == nil {
		receipt.Message = fmt.Sprintf("Revision %d of package %s is not paused.", o.revision, name)
		return a.printReceipt(o.writeFlags, receipt)
	}
	receipt.Changed, receipt.Paused = true, pause
	receipt.Message = fmt.Sprintf("Revision %d of package %s goes on. It was %s.", o.revision, name, pauseText(pause))
	if err := c.setPaused(ctx, r, v1alpha1.LifecycleActive, v1alpha1.Pause{}, o.writeFlags); err != nil {
		return err
	}
	return a.printReceipt(o.writeFlags, receipt)
}

// revisionForPause is a revision that can be paused and resumed.
func (c *cluster) revisionForPause(ctx context.Context, name string, n int64) (*v1alpha1.Revision, error) {
	_, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := revisionNumbered(name, revisions, n)
	switch {
	case err != nil:
		return nil, err
	case lifecycleOf(r) == v1alpha1.LifecycleArchived:
		return nil, exitf(CodeTerminal, "revision %d is archived, and nothing is written for it any more", n)
	case history.IsAwaiting(r):
		return nil, exitf(CodeTerminal, "revision %d waits for approval: `strata approve %s --revision %d` lets it begin", n, name, n)
	}
	return r, nil
}

// revisionPause is the pause of a revision, nil when it has none of its own.
func revisionPause(r *v1alpha1.Revision) *v1alpha1.Pause {
	if lifecycleOf(r) != v1alpha1.LifecyclePaused || history.IsAwaiting(r) {
		return nil
	}
	reason := r.Annotations[v1alpha1.AnnotationPauseReason]
	if reason == "" {
		reason = "no reason was given"
	}
	return &v1alpha1.Pause{By: r.Annotations[v1alpha1.AnnotationPausedBy], Reason: reason}
}

// setPaused changes the lifecycle state of a revision, on condition that it is still
// the one that was looked at. What is empty of the pause is taken away.
func (c *cluster) setPaused(ctx context.Context, r *v1alpha1.Revision, state v1alpha1.LifecycleState, pause v1alpha1.Pause, o writeFlags) error {
	if o.dryRun == dryRunClient {
		return nil
	}
	annotations := map[string]any{}
	for name, value := range map[string]string{v1alpha1.AnnotationPauseReason: pause.Reason, v1alpha1.AnnotationPausedBy: pause.By} {
		annotations[name] = nil
		if value != "" {
			annotations[name] = value
		}
	}
	change := map[string]any{
		"metadata": map[string]any{"uid": r.UID, "annotations": annotations},
		"spec":     map[string]any{"lifecycleState": state},
	}
	err := c.merge(ctx, &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, change, o)
	if apierrors.IsConflict(err) {
		return exitf(CodeSuperseded, "revision %d was changed meanwhile: look again before changing it", r.Spec.Revision)
	}
	return c.explainWrite("changing revision "+r.Name, err)
}
