// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/revisions"
)

// Checker checks content before its first write.
type Checker interface {
	// Check says what would be refused or do harm, with a *preflight.Error, or what
	// could not be looked at.
	Check(ctx context.Context, in preflight.Input) error
	// Unserved says which kinds of earlier content are not served, and what to do about it.
	Unserved(ctx context.Context, manifests []*unstructured.Unstructured) (string, error)
}

// checkAnnotations are those of a package that a check depends on.
var checkAnnotations = []string{v1alpha1.AnnotationAllowPrune, v1alpha1.AnnotationCRDUpgradeSafety}

// checked is the last answer of a checker.
type checked struct {
	// question identifies what was asked.
	question question
	// err is the answer, times how often it was the same, and again when it is asked
	// for anew. An answer without an error is final.
	err   error
	times int
	again time.Time
}

// question is all of a package and a revision that an answer depends on. The world may
// have changed besides.
type question struct {
	revision    types.UID
	generation  int64
	annotations [2]string
}

// check asks the checker before the first write of the target's content, and again
// when the package has changed, or now and then while the answer is no.
func (p *pass) check(ctx context.Context, in revisions.Rollout) error {
	asked := question{revision: p.history.Target.UID, generation: p.pkg.Generation}
	for i, annotation := range checkAnnotations {
		asked.annotations[i] = p.pkg.Annotations[annotation]
	}
	last := &p.state.checked
	if last.question != asked {
		*last = checked{question: asked, again: p.now.Time}
	} else if last.err == nil && last.times > 0 || p.now.Time.Before(last.again) {
		return last.err
	}
	if err := p.confirm(ctx, true); err != nil {
		*last = checked{}
		return err
	}
	digest, err := p.digest(ctx, p.history.Target)
	if err != nil {
		return fmt.Errorf("working out the digest of revision %d: %w", p.history.Target.Spec.Revision, err)
	}
	last.err = p.rolled.identity.Checker.Check(ctx, preflight.Input{
		Package: p.pkg, Target: in.Target, Serving: in.Serving, ContentDigest: digest,
	})
	last.times++
	last.again = p.now.Add(waitDelay(last.times))
	if last.err != nil && !isPreflight(last.err) {
		// Nothing was found out. It is asked for again as often as anything that fails.
		err := last.err
		*last = checked{}
		return err
	}
	return last.err
}

// isPreflight says that an error is the answer of a check.
func isPreflight(err error) bool {
	var refused *preflight.Error
	return errors.As(err, &refused)
}
