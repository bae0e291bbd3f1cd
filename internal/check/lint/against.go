// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/revisions"
)

// codeOf is the code for what the preflight finds.
var codeOf = map[preflight.Check]string{
	preflight.CheckShrink: CodeShrink, preflight.CheckCRDUpgradeSafety: CodeCRDSafety,
	preflight.CheckImmutable: CodeImmutable, preflight.CheckAdmission: CodeAdmission,
}

// compare asks the preflight what it says of the content after the revision that it
// replaces, whose manifests stand in for what is in the cluster.
func (c *checking) compare(ctx context.Context, loaded revisions.Revision) error {
	if c.in.Against == nil {
		return nil
	}
	serving := *c.in.Against
	serving.Succeeded = true
	checker := &preflight.Checker{Live: asManifests(serving), Writer: noWriter{}, Mapper: meta.NewDefaultRESTMapper(nil)}
	pkg := c.in.Owner
	if pkg == nil {
		pkg = &v1alpha1.Package{}
	}
	err := checker.Check(ctx, preflight.Input{Package: pkg, Target: loaded, Serving: []revisions.Revision{serving}})
	var found *preflight.Error
	if !errors.As(err, &found) {
		return err
	}
	for _, finding := range found.Findings {
		code, known := codeOf[finding.Check]
		if !known {
			continue
		}
		name := ""
		if finding.Object != (revisions.ObjectID{}) {
			name = finding.Object.String()
		}
		c.add(code, name, finding.Message, finding.Remedy, c.places[finding.Object])
	}
	return nil
}

// manifests are those of a revision, read as if they were in a cluster.
type manifests map[revisions.ObjectID]*unstructured.Unstructured

func asManifests(revision revisions.Revision) manifests {
	all := manifests{}
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			all[revisions.IDOf(object.Manifest)] = object.Manifest
		}
	}
	return all
}

// Get reads a manifest.
func (m manifests) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	wanted, ok := into.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("reading a %T: manifests are unstructured", into)
	}
	kind := wanted.GroupVersionKind()
	found, ok := m[revisions.ObjectID{GroupKind: kind.GroupKind(), Namespace: key.Namespace, Name: key.Name}]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	wanted.Object = runtime.DeepCopyJSON(found.Object)
	return nil
}

// List lists nothing.
func (m manifests) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// The identity of a lint, which has no cluster: it may neither ask for permissions nor dry-run.
type noWriter struct{}

// Create is forbidden.
func (noWriter) Create(context.Context, client.Object, ...client.CreateOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("there is no cluster"))
}

// Patch finds nothing.
func (noWriter) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, object.GetName())
}

// isBuiltin says whether a group is of Kubernetes itself.
func isBuiltin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// isCostly says whether a probe could not be evaluated for its cost.
func isCostly(message string) bool { return strings.Contains(message, "cost") }
