// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/strata-run/strata/revisions"
)

// rights are the rules that hold for an identity in one place.
type rights struct {
	rules []authorizationv1.ResourceRule
	// complete says that what no rule allows is not allowed.
	complete bool
}

// need is something that a revision has to do to objects of one resource in one
// place.
type need struct {
	verb, group, resource string
	// namespace is empty for what has none.
	namespace string
	// ids are the objects.
	ids []revisions.ObjectID
}

// allows says whether one of the rules allows a need for an object.
func (r rights) allows(verb, group, resource, name string) bool {
	return slices.ContainsFunc(r.rules, func(rule authorizationv1.ResourceRule) bool {
		return has(rule.Verbs, verb) && has(rule.APIGroups, group) && has(rule.Resources, resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
	})
}

// has says whether a list of a rule has an entry. Everything has to be asked for
// with a star.
func has(list []string, entry string) bool {
	return slices.Contains(list, entry) || slices.Contains(list, "*")
}

// missing are the objects of a need that no rule allows it for.
func (r rights) missing(n need) []revisions.ObjectID {
	return slices.DeleteFunc(slices.Clone(n.ids), func(id revisions.ObjectID) bool {
		return r.allows(n.verb, n.group, n.resource, id.Name)
	})
}

// allowAll says whether the rules allow everything that a revision may need,
// whatever is in it.
func (r rights) allowAll() bool {
	for _, verb := range []string{"get", "create", "patch", "delete"} {
		if !r.allows(verb, "*", "*", "") {
			return false
		}
	}
	return r.allowGrants()
}

// allowGrants says whether the rules allow granting rights that the identity does
// not have itself.
func (r rights) allowGrants() bool {
	for _, resource := range []string{"roles", "clusterroles"} {
		if !r.allows("escalate", rbacGroup, resource, "") || !r.allows("bind", rbacGroup, resource, "") {
			return false
		}
	}
	return true
}
