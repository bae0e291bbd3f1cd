// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "slices"

// option is the best bundle of a catalog.
type option struct {
	bundle

	catalog *Catalog
	edge    edge
	// candidate is its place in the answer.
	candidate int
}

// question is a request that was read, and the answer as far as it goes.
type question struct {
	Request

	within versionRange
	from   *installed
	scope  []Catalog
	answer *Answer
}

// best adds the bundles of a catalog to the candidates and returns the best that no rule leaves out.
func (q *question) best(c *Catalog) (option, bool) {
	channels := c.Package.wanted(q.Channels)
	named := members(channels)
	var edges map[string]edge
	if q.from != nil {
		edges = successors(channels, q.from)
	}
	best := option{catalog: c, candidate: -1}
	for _, b := range c.Package.bundles {
		rule := q.leavesOut(b, named, edges)
		by := ""
		if rule == "" && best.candidate >= 0 {
			rule, by = worse(b, best.bundle), best.Identity.Name
		}
		q.answer.Candidates = append(q.answer.Candidates, Candidate{Identity: b.Identity, Catalog: c.Name, Deprecated: b.deprecated, LeftOut: rule, By: by})
		if rule == "" {
			best.bundle, best.edge, best.candidate = b, edges[b.Identity.Name], len(q.answer.Candidates)-1
		}
	}
	return best, best.candidate >= 0
}

// leavesOut is the rule by which a bundle is no candidate, empty when it is one.
func (q *question) leavesOut(b bundle, named map[string]bool, edges map[string]edge) Rule {
	switch {
	case len(q.Channels) > 0 && !named[b.Identity.Name]:
		return NotInChannels
	case q.within.constraints != nil && !b.valid:
		return InvalidVersion
	case !q.within.contains(b.version):
		return NotInRange
	case q.from == nil || q.SelfCertified || edges[b.Identity.Name].channel != "" || b.is(q.from):
		return ""
	default:
		return NoSuccessor
	}
}

// worse is why a bundle stands below a better one of its catalog.
func worse(b, best bundle) Rule {
	switch {
	case !b.valid:
		return InvalidVersion
	case b.deprecated && !best.deprecated:
		return IsDeprecated
	default:
		return NotHighest
	}
}

// winners are the best of all catalogs: one, or several between which the priority does not decide.
// Deprecation counts before priority: a sound bundle of a lower catalog is better.
func (q *question) winners(options []option) []option {
	var top option
	for i, o := range options {
		if i == 0 || (top.deprecated && !o.deprecated) || (top.deprecated == o.deprecated && o.catalog.Priority > top.catalog.Priority) {
			top = o
		}
	}
	return slices.DeleteFunc(options, func(o option) bool {
		switch {
		case o.deprecated != top.deprecated:
			q.leaveOut(o, IsDeprecated, top)
		case o.catalog.Priority != top.catalog.Priority:
			q.leaveOut(o, LowerPriority, top)
		default:
			return false
		}
		return true
	})
}

func (q *question) leaveOut(o option, rule Rule, by option) {
	candidate := &q.answer.Candidates[o.candidate]
	candidate.LeftOut, candidate.By = rule, ""
	if by.catalog != nil {
		candidate.By = by.Identity.Name + " of catalog " + by.catalog.Name
	}
}

// undecided are the catalogs that cannot be read and could change the result.
func (q *question) undecided(winners []option) (deciding, harmless []Catalog) {
	for _, c := range q.scope {
		if c.Err == nil {
			continue
		}
		if len(winners) > 0 && !winners[0].deprecated && c.Priority < winners[0].catalog.Priority {
			harmless = append(harmless, c)
		} else {
			deciding = append(deciding, c)
		}
	}
	return deciding, harmless
}
