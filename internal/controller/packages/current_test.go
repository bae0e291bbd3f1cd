// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// ahead is an API server whose packages are newer than those in the cache.
type ahead struct {
	client.Reader

	by int64
}

// Get implements client.Reader.
func (a *ahead) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := a.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if pkg, ok := object.(*v1alpha1.Package); ok {
		pkg.Generation += a.by
	}
	return nil
}

// TestWorker_StalePackage: the cache may know a revision before the approval that its
// package has asked for. Nothing of it is written before the package is proven current.
func TestWorker_StalePackage(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	server := &ahead{Reader: worker.Live, by: 1}
	worker.Live = server
	l.deliver(phase(configMap("a", "1")))
	for range 3 {
		if _, err := l.pass(); err != nil {
			t.Fatalf("a package that has changed is no error: %v", err)
		}
	}
	want(t, "nothing is written for a package that has changed meanwhile", "objects", []string(nil), l.objects())
	server.by = 0
	l.mustSettle(10 * time.Second)
	want(t, "and all of it when the cache has caught up", "objects", []string{"ConfigMap/a=1"}, l.objects())
}
