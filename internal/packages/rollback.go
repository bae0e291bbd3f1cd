// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

// rollBack answers the package's request: it creates the revision, and says
// whether it did, and records the outcome in the package's status.
func (p *pass) rollBack(ctx context.Context) (made bool, err error) {
	next, outcome := p.history.Rollback(p.pkg, p.digestOf(ctx))
	if next != nil {
		unserved, err := p.repeat(ctx, next, outcome.ToRevision)
		switch {
		case err != nil:
			return false, err
		case unserved != "":
			next = nil
			outcome.Revision, outcome.RejectedDigest, outcome.Message = 0, "", unserved
		}
	}
	p.pkg, p.state.waits = onRecord(p.pkg, outcome, p.pkg.Status.AutomaticRollback), 0
	return next != nil, nil
}

// rollBackFailed answers a rollout that has missed its deadline, as spec.onFailure says.
// That it has is on record already.
func (p *pass) rollBackFailed(ctx context.Context) error {
	if !p.isOverdue() {
		p.state.noRollback = ""
		return nil
	}
	next, outcome, _ := p.history.AnswerFailure(p.pkg, p.failure())
	if next == nil {
		return nil
	}
	unserved, err := p.repeat(ctx, next, outcome.ToRevision)
	if err != nil {
		return err
	}
	if p.state.noRollback = unserved; unserved != "" {
		return errors.New(unserved) // the next pass says so, and tries again
	}
	p.pkg, p.state.waits = onRecord(p.pkg, p.pkg.Status.Rollback, outcome), 0
	return nil
}

// onRecord is a package with its last rollbacks in the status. Their numbers are not given again.
func onRecord(pkg *v1alpha1.Package, requested, automatic *v1alpha1.RollbackStatus) *v1alpha1.Package {
	recorded := *pkg
	next := &recorded.Status
	next.Rollback, next.AutomaticRollback = requested, automatic
	for _, rollback := range []*v1alpha1.RollbackStatus{requested, automatic} {
		if rollback != nil {
			next.HighestRevision = max(next.HighestRevision, rollback.Revision)
		}
	}
	return &recorded
}

// repeat creates a revision with the content of an earlier one, which is read live:
// the cache does not keep the content of what is archived. It creates none and says why if
// the API server does not serve a kind of that content any more.
func (p *pass) repeat(ctx context.Context, next *v1alpha1.Revision, earlier int64) (unserved string, err error) {
	source := &v1alpha1.Revision{}
	key := types.NamespacedName{Name: v1alpha1.RevisionName(next.Spec.Package, earlier)}
	if err := p.Live.Get(ctx, key, source); err != nil {
		return "", fmt.Errorf("reading revision %d to roll back to: %w", earlier, err)
	}
	if unserved, err = p.unserved(ctx, source); unserved != "" || err != nil {
		return unserved, err
	}
	next.Spec.Phases, next.Spec.Probes = source.Spec.Phases, source.Spec.Probes
	if err := p.Client.Create(ctx, next); err != nil {
		return "", fmt.Errorf("creating revision %d for a rollback: %w", next.Spec.Revision, err)
	}
	return "", nil
}

// unserved says which kinds of a revision the API server does not serve any more. That its
// content is lost or unusable shows when it is rolled out.
func (p *pass) unserved(ctx context.Context, source *v1alpha1.Revision) (string, error) {
	loaded, err := content.LoadRevision(ctx, p.Contents, source)
	var lost *content.UnavailableError
	var unusable *content.InvalidError
	if errors.As(err, &lost) || errors.As(err, &unusable) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	identity, err := p.Identities.For(p.pkg.Spec.ServiceAccount)
	if err != nil {
		return "", err
	}
	var manifests []*unstructured.Unstructured
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			manifests = append(manifests, object.Manifest)
		}
	}
	why, err := identity.Checker.Unserved(ctx, manifests)
	if err != nil || why == "" {
		return "", err
	}
	return fmt.Sprintf("revision %d cannot be rolled out again: %s", source.Spec.Revision, why), nil
}

// isOverdue says whether the target has missed its deadline.
func (p *pass) isOverdue() bool {
	if p.history.Target == nil || p.decided.pause != nil || p.awaits() != "" || p.rolled.result.Target.Complete() {
		return false
	}
	return !history.Succeeded(p.history.Target) && status.IsOverdue(p.history.Target.Status, p.deadline(), p.now.Time)
}

// failure is that of a target that has missed its deadline.
func (p *pass) failure() history.Failure {
	failure := history.Failure{Digest: p.rolled.targetDigest, At: p.now, Cause: "the deadline has passed"}
	if c := meta.FindStatusCondition(p.history.Target.Status.Conditions, v1alpha1.ConditionProgressing); c != nil {
		failure.Cause = c.Message
	}
	return failure
}
