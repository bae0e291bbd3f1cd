// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// Asker sends requests that change nothing: reviews of rights, and dry runs. A
// client.Client is one.
type Asker interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
}

// Checker checks contents for one identity. It is safe for concurrent use. The
// zero value is of no use: all exported fields are required.
type Checker struct {
	// Live reads from the API server, as the identity.
	Live client.Reader
	// Writer asks the API server, as the identity. It is sent dry runs and
	// self-subject reviews only.
	Writer Asker
	// Mapper knows which kinds the API server serves.
	Mapper meta.RESTMapper

	// mayAll remembers that the manager's own identity may do everything.
	mayAll atomic.Bool
}

// Input is what a check is about.
type Input struct {
	// Package is the line's. Of it, the annotations, the service account, and the
	// name and UID count. Required.
	Package *v1alpha1.Package
	// Target is the revision that is to be rolled out.
	Target revisions.Revision
	// Serving are the older active revisions, newest first.
	Serving []revisions.Revision
	// ContentDigest is the digest of the target's content.
	ContentDigest string
}

// identity is how messages name who writes.
func (in Input) identity() string {
	if account := in.Package.Spec.ServiceAccount; account != nil {
		return "system:serviceaccount:" + account.Namespace + ":" + account.Name
	}
	return "the manager"
}

// Check looks at everything that can be known before the first write. The error is
// an *[Error] when the content is blocked, and another one when something
// that decides could not be read: then nothing is known, and the check is worth
// another try.
func (c *Checker) Check(ctx context.Context, in Input) error {
	if c.Live == nil || c.Writer == nil || c.Mapper == nil || in.Package == nil {
		return errors.New("preflight: Checker.Live, Writer and Mapper, and Input.Package are required")
	}
	found := &findings{}
	changes := changesOf(in.Target, in.Serving)
	checkShrink(in, found)
	for _, check := range []func(context.Context, Input, []change, *findings) error{
		c.checkPermissions, c.checkDefinitions, c.checkImmutable, c.checkDryRun,
	} {
		if err := check(ctx, in, changes, found); err != nil {
			return fmt.Errorf("checking revision %d before its rollout: %w", in.Target.Number, err)
		}
	}
	return found.orNil()
}
