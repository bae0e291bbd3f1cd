// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
)

const (
	rbacGroup = "rbac.authorization.k8s.io"
	// maxNamespaces is how many namespaces are asked about, maxQuestions how many
	// single questions are put where the rules are not all there is, and maxGrants
	// how many roles and bindings are tried out. Beyond that, the writes show.
	maxNamespaces, maxQuestions, maxGrants = 64, 128, 64
)

// checkPermissions lists what the identity may not do of what the revision needs,
// now and when it is torn down.
func (c *Checker) checkPermissions(ctx context.Context, in Input, changes []change, found *findings) error {
	own := in.Package.Spec.ServiceAccount == nil
	if own && c.mayAll.Load() {
		return nil
	}
	everywhere, err := c.rulesIn(ctx, clusterWide)
	if apierrors.IsForbidden(err) {
		// A cluster may keep its users from asking. Then the writes show.
		return nil
	}
	if err != nil {
		return err
	}
	if everywhere.allowAll() {
		c.mayAll.Store(own)
		return nil
	}
	needs, err := c.needsOf(in)
	if err != nil {
		return err
	}
	if err := c.findMissing(ctx, in, everywhere, needs, found); err != nil {
		return err
	}
	if everywhere.allowGrants() {
		return nil
	}
	return c.tryGrants(ctx, in, changes, found)
}

// findMissing compares the needs with the rules, place by place, and asks one by
// one where the rules are not all there is.
func (c *Checker) findMissing(ctx context.Context, in Input, everywhere rights, needs []need, found *findings) error {
	local := map[string]rights{"": everywhere}
	questions := 0
	lacking := map[place]lack{}
	for _, n := range needs {
		var err error
		if n.ids = everywhere.missing(n); len(n.ids) > 0 {
			n.ids, err = c.missingIn(ctx, local, n, &questions)
		}
		if err != nil {
			return err
		}
		if len(n.ids) > 0 {
			at := place{group: n.group, resource: n.resource, namespace: n.namespace, objects: examples(n.ids)}
			lacking[at] = lack{verbs: append(lacking[at].verbs, n.verb), ids: n.ids}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(lacking), compareLacking) {
		message := fmt.Sprintf("%s may not %s %s (%s)", in.identity(), strings.Join(lacking[at].verbs, ", "), at, at.objects)
		for _, id := range lacking[at].ids {
			found.add(CheckPermission, id, message, grantRemedy(in))
		}
	}
	return nil
}

// missingIn are the objects that nothing in their own namespace allows a need for,
// either. It keeps the rules of the namespace.
func (c *Checker) missingIn(ctx context.Context, local map[string]rights, n need, questions *int) ([]revisions.ObjectID, error) {
	here, known := local[n.namespace]
	if !known {
		if len(local) > maxNamespaces {
			return nil, nil
		}
		var err error
		if here, err = c.rulesIn(ctx, n.namespace); err != nil {
			return nil, err
		}
		local[n.namespace] = here
	}
	n.ids = here.missing(n)
	if here.complete || len(n.ids) == 0 {
		return n.ids, nil
	}
	return c.refused(ctx, n, questions)
}

// lack is what is not allowed in a place, and for which objects.
type lack struct {
	verbs []string
	ids   []revisions.ObjectID
}

// place is where rights are lacking, and for which objects.
type place struct {
	namespace, group, resource, objects string
}

// String is the resource as RBAC names it: "deployments.apps in namespace x".
func (p place) String() string {
	text := schema.GroupResource{Group: p.group, Resource: p.resource}.String()
	if p.namespace != "" {
		text += " in namespace " + p.namespace
	}
	return text
}

func compareLacking(a, b place) int {
	return slices.Compare([]string{a.namespace, a.group, a.resource, a.objects}, []string{b.namespace, b.group, b.resource, b.objects})
}

// refused puts single questions about a need, and returns the objects for which the
// answer is no: about all objects of the resource first, then about each. What is
// beyond the bound is left to the writes.
func (c *Checker) refused(ctx context.Context, n need, questions *int) ([]revisions.ObjectID, error) {
	ask := func(name string) (bool, error) {
		*questions++
		if *questions > maxQuestions {
			return true, nil
		}
		return c.may(ctx, authorizationv1.ResourceAttributes{Namespace: n.namespace, Verb: n.verb, Group: n.group, Resource: n.resource, Name: name})
	}
	if len(n.ids) > 1 {
		if all, err := ask(""); err != nil || all {
			return nil, err
		}
	}
	var left []revisions.ObjectID
	for _, id := range n.ids {
		may, err := ask(id.Name)
		if err != nil {
			return nil, err
		}
		if !may {
			left = append(left, id)
		}
	}
	return left, nil
}

// examples are the first few objects by name, and how many more there are.
func examples(ids []revisions.ObjectID) string {
	const most = 3
	names := make([]string, 0, most)
	for _, id := range ids[:min(most, len(ids))] {
		names = append(names, id.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func grantRemedy(in Input) string {
	return "grant it to " + in.identity() + " with a Role or ClusterRole and a binding"
}

// tryGrants tries out the roles and bindings that are new or changed. The API
// server does not let a client grant permissions that it does not have, and says so
// in a dry run. What depends on an earlier phase is left to the writes.
func (c *Checker) tryGrants(ctx context.Context, in Input, changes []change, found *findings) error {
	tried := 0
	for _, change := range changes {
		if change.id.Group != rbacGroup || tried >= maxGrants || found.about(change.id) {
			continue
		}
		tried++
		err := c.tryOut(ctx, change.request(in))
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), meta.IsNoMatchError(err):
		case apierrors.IsForbidden(err):
			found.add(CheckPermission, change.id, fmt.Sprintf("%s may not apply %s: %v", in.identity(), change.id, err),
				"grant those rights to "+in.identity()+", or the verbs escalate and bind")
		case apierrors.IsInvalid(err):
			// This is about the object, not about rights.
		default:
			return fmt.Errorf("trying out %s: %w", change.id, err)
		}
	}
	return nil
}
