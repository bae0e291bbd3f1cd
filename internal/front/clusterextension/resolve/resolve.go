// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "fmt"

// Resolve answers a request, without changing it.
func Resolve(request Request) Answer {
	q := &question{Request: request, from: newInstalled(request.Installed), answer: &Answer{}}
	var err error
	if q.within, err = parseRange(request.Version); err != nil {
		return q.fail(Blocked, fmt.Sprintf("desired version range %q is invalid: %v; write it like \"1.2.3\", \">=1.2.0 <2.0.0\" or \"1.x\"", request.Version, err))
	}
	if q.scope, q.answer.Ignored, err = scope(request.Selector, request.Catalogs); err != nil {
		return q.fail(Blocked, fmt.Sprintf("desired catalog selector is invalid: %v", err))
	}
	q.answer.Warnings = staleness(q.scope)
	var options []option
	for i := range q.scope {
		c := &q.scope[i]
		if c.Err != nil || c.Package == nil {
			continue
		}
		for _, warning := range c.Package.warnings {
			q.answer.Warnings = append(q.answer.Warnings, fmt.Sprintf("catalog %q: %s", c.Name, warning))
		}
		if best, found := q.best(c); found {
			options = append(options, best)
		}
	}
	return q.decide(q.winners(options))
}

// decide answers with the winners, of which there is one when all is well.
func (q *question) decide(winners []option) Answer {
	q.answer.Deprecation = q.deprecation(winners)
	deciding, harmless := q.undecided(winners)
	for _, c := range harmless {
		q.answer.Warnings = append(q.answer.Warnings, unreadable(q.Package, c)+"; its priority is lower than that of the chosen bundle's catalog, so that it does not matter")
	}
	switch {
	case len(q.scope) == 0:
		return q.keep(q.upgrading()+"no bundles found "+q.wantedWords()+": "+q.noCatalog(), "what is installed is kept: "+q.noCatalog())
	case len(deciding) > 0:
		for _, o := range winners {
			q.leaveOut(o, Undecided, option{})
		}
		return q.keep(q.cannotRead(deciding), "")
	case len(winners) > 1:
		for _, o := range winners {
			q.leaveOut(o, SamePriority, option{})
		}
		return q.fail(Retrying, q.ambiguous(winners))
	case len(winners) == 0 && q.from != nil && !q.has(q.from):
		return q.keep(q.nothingFound(), fmt.Sprintf("no catalog has the installed bundle %s any more, nor one that may follow it", q.from.Name))
	case len(winners) == 0:
		return q.fail(Retrying, q.nothingFound())
	}
	return q.choose(winners[0])
}

// choose answers with the winner, unless something forbids to install it.
func (q *question) choose(o option) Answer {
	if reason := forbidden(o); reason != "" {
		q.leaveOut(o, Forbidden, option{})
		return q.fail(Blocked, reason)
	}
	q.answer.Outcome = Resolved
	q.answer.Choice = &Choice{
		Identity: o.Identity, Catalog: o.catalog.Name, CatalogDigest: o.catalog.Digest,
		Image: o.Image, Deprecated: o.deprecated,
	}
	if q.from != nil && !o.is(q.from) {
		q.answer.Choice.Edge = o.edge.words(q.from)
	}
	return *q.answer
}

// keep answers that what is installed stays, where that is in the range; note says why in that case. It is
// a warning then, as nothing is wrong with the extension.
func (q *question) keep(message, note string) Answer {
	if q.from == nil || !q.within.contains(q.from.version) {
		return q.fail(Retrying, message)
	}
	if note == "" {
		note = message
	}
	q.answer.Outcome, q.answer.Warnings = Kept, append([]string{note}, q.answer.Warnings...)
	return *q.answer
}

func (q *question) fail(outcome Outcome, message string) Answer {
	q.answer.Outcome, q.answer.Message = outcome, message
	return *q.answer
}

// has says whether a catalog that counts has what is installed.
func (q *question) has(what *installed) bool {
	for i := range q.scope {
		if q.scope[i].has(what) {
			return true
		}
	}
	return false
}

func (c *Catalog) has(what *installed) bool {
	if c.Package == nil || c.Err != nil {
		return false
	}
	for _, b := range c.Package.bundles {
		if b.Identity.Name == what.Name || b.is(what) {
			return true
		}
	}
	return false
}
