// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"slices"
	"strings"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// Messages begin with the phrases of OLM, which scripts look for, and go on with the cause and the
// remedy.

// upgrading begins the messages about an extension that has something installed.
func (q *question) upgrading() string {
	if q.from == nil {
		return ""
	}
	return fmt.Sprintf("error upgrading from currently installed version %q: ", q.from.Version)
}

// wantedWords are the package, the range and the channels that are asked for.
func (q *question) wantedWords() string {
	words := fmt.Sprintf("for package %q", q.Package)
	if q.Version != "" {
		words += fmt.Sprintf(" matching version %q", q.Version)
	}
	if len(q.Channels) > 0 {
		words += fmt.Sprintf(" in channels %v", q.Channels)
	}
	return words
}

// ambiguous is the message about bundles between which the priority does not decide.
func (q *question) ambiguous(winners []option) string {
	names := make([]string, 0, len(winners))
	for _, o := range winners {
		names = append(names, o.catalog.Name)
	}
	return fmt.Sprintf("%sfound bundles %s in multiple catalogs with the same priority %v: select one with spec.source.catalog.selector, for example by the label %s, or give the ClusterCatalogs different values of spec.priority",
		q.upgrading(), q.wantedWords(), names, olmv1.LabelCatalogName)
}

// unreadable is what keeps a catalog from being read.
func unreadable(name string, c Catalog) string {
	return fmt.Sprintf("error getting package %q from catalog %q: %v", name, c.Name, c.Err)
}

// BeingRead is the error of a catalog that has not been read yet, which is no failure.
const BeingRead = "its content is being read"

// cannotRead is the message about catalogs that could change the result.
func (q *question) cannotRead(catalogs []Catalog) string {
	causes, remedy := make([]string, 0, len(catalogs)), ""
	for _, c := range catalogs {
		causes = append(causes, unreadable(q.Package, c))
		if c.Err.Error() != BeingRead {
			remedy = "; repair the ClusterCatalog, or resolve without it: leave it out with spec.source.catalog.selector, or set its spec.availabilityMode to Unavailable"
		}
	}
	return "error walking catalogs: " + strings.Join(causes, "; ") + remedy
}

// noCatalog is why no catalog counts.
func (q *question) noCatalog() string {
	if len(q.answer.Ignored) == 0 {
		return "there is no ClusterCatalog; create one"
	}
	var unavailable []string
	for _, i := range q.answer.Ignored {
		if i.Reason == isUnavailable {
			unavailable = append(unavailable, i.Catalog)
		}
	}
	if len(unavailable) > 0 {
		return "spec.availabilityMode is Unavailable in ClusterCatalog " + few(unavailable) + "; set it to Available, or change spec.source.catalog.selector"
	}
	return "spec.source.catalog.selector selects no ClusterCatalog; change it, or the labels of a ClusterCatalog"
}

// nothingFound is the message when no bundle is left.
func (q *question) nothingFound() string {
	return q.upgrading() + "no bundles found " + q.wantedWords() + ": " + q.cause()
}

// cause is the rule that leaves no bundle, the one that comes last, and its remedy.
func (q *question) cause() string {
	var looked []string
	var having []*Catalog
	for i := range q.scope {
		looked = append(looked, q.scope[i].Name)
		if q.scope[i].Package != nil {
			having = append(having, &q.scope[i])
		}
	}
	if len(having) == 0 {
		return fmt.Sprintf("none of the catalogs %v has the package; check spec.source.catalog.packageName, which is case-sensitive%s", looked, q.othersIgnored())
	}
	for _, rule := range []Rule{NoSuccessor, NotInRange, InvalidVersion, NotInChannels} {
		left := q.leftBy(rule)
		if len(left) == 0 {
			continue
		}
		switch rule {
		case NoSuccessor:
			return q.noSuccessor(left, having)
		case NotInChannels:
			return q.noChannel(left, having)
		default:
			return q.noVersion(left)
		}
	}
	return fmt.Sprintf("the package has no bundles in the catalogs %v", looked)
}

func (q *question) othersIgnored() string {
	if len(q.answer.Ignored) == 0 {
		return ""
	}
	return fmt.Sprintf("; not looked at: %s", q.answer.Ignored[0].Catalog) + more(len(q.answer.Ignored)-1)
}

// leftBy are the candidates that a rule left out.
func (q *question) leftBy(rule Rule) []Candidate {
	var left []Candidate
	for _, c := range q.answer.Candidates {
		if c.LeftOut == rule {
			left = append(left, c)
		}
	}
	return left
}

// noSuccessor says what exists, and what may follow in its place.
func (q *question) noSuccessor(left []Candidate, having []*Catalog) string {
	var next []string
	for _, c := range having {
		for _, s := range c.Package.Successors(q.from.Identity, q.Channels...) {
			next = append(next, s.Version)
		}
	}
	exists := few(versionsOf(left)) + " " + verb(left, "exists", "exist")
	if len(next) == 0 {
		return fmt.Sprintf("%s, but nothing can follow %s in %s; %s", exists, q.from.Version, q.channelWords(), selfCertify)
	}
	remedy := selfCertify
	if v, err := parseVersion(left[0].Identity); err == nil && v.compare(q.from.version) > 0 {
		remedy = fmt.Sprintf("upgrade to %s first with spec.source.catalog.version, or %s", next[0], selfCertify)
	}
	return fmt.Sprintf("%s, but only %s can follow %s; %s", exists, few(unique(next)), q.from.Version, remedy)
}

const selfCertify = "set spec.source.catalog.upgradeConstraintPolicy to SelfCertified, which skips the upgrade checks of the catalog and is not safe"

func (q *question) channelWords() string {
	if len(q.Channels) == 0 {
		return "any channel"
	}
	return fmt.Sprintf("channels %v", q.Channels)
}

// noVersion says which versions are close to the range.
func (q *question) noVersion(left []Candidate) string {
	var cause string
	switch closest := q.closest(left); len(closest) {
	case 0:
		cause = "no version of the package is a semantic version"
	case 1:
		cause = "the closest version is " + closest[0]
	default:
		cause = "the closest versions are " + few(closest)
	}
	if others := q.elsewhere(); others != "" {
		cause += "; " + others
	}
	return cause + "; change spec.source.catalog.version"
}

// elsewhere says which bundles of the range stand in channels that are not wanted.
func (q *question) elsewhere() string {
	var fitting []Candidate
	for _, c := range q.leftBy(NotInChannels) {
		if v, err := parseVersion(c.Identity); err == nil && q.within.contains(v) {
			fitting = append(fitting, c)
		}
	}
	if len(fitting) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s in channels %v", few(versionsOf(fitting)), verb(fitting, "is", "are"), q.channelsOf(fitting))
}

// noChannel says which channels there are.
func (q *question) noChannel(left []Candidate, having []*Catalog) string {
	var names, missing []string
	for _, c := range having {
		names = append(names, c.Package.Channels("")...)
	}
	names = unique(slices.Sorted(slices.Values(names)))
	for _, wanted := range q.Channels {
		if !slices.Contains(names, wanted) {
			missing = append(missing, wanted)
		}
	}
	if len(missing) > 0 {
		return fmt.Sprintf("the package has the channels %v, and not %v; change spec.source.catalog.channels", names, missing)
	}
	return fmt.Sprintf("no bundle is in these channels; %s %s in %v; change spec.source.catalog.channels", few(versionsOf(left)), verb(left, "is", "are"), q.channelsOf(left))
}

// channelsOf are the names of the channels that have one of the bundles, sorted.
func (q *question) channelsOf(bundles []Candidate) []string {
	type key struct{ catalog, bundle string }
	wanted := map[key]bool{}
	for _, b := range bundles {
		wanted[key{b.Catalog, b.Name}] = true
	}
	var names []string
	for i := range q.scope {
		if q.scope[i].Package == nil {
			continue
		}
		for _, c := range q.scope[i].Package.channels {
			if slices.ContainsFunc(c.entries, func(e entry) bool { return wanted[key{q.scope[i].Name, e.Name}] }) {
				names = append(names, c.name)
			}
		}
	}
	return unique(slices.Sorted(slices.Values(names)))
}

// closest are the next lower and the next higher version than the first that the range names; without
// one, the highest.
func (q *question) closest(left []Candidate) []string {
	target, named := namedIn(q.Version)
	var lower, higher string
	var below, above version
	for _, c := range left {
		v, err := parseVersion(c.Identity)
		switch {
		case err != nil:
		case !named || v.compare(target) < 0:
			if lower == "" || v.compare(below) > 0 {
				lower, below = c.Version, v
			}
		case higher == "" || v.compare(above) < 0:
			higher, above = c.Version, v
		}
	}
	return slices.DeleteFunc([]string{lower, higher}, func(s string) bool { return s == "" })
}

func versionsOf(candidates []Candidate) []string {
	versions := make([]string, 0, len(candidates))
	for _, c := range candidates {
		versions = append(versions, c.Version)
	}
	return unique(versions)
}

// unique leaves out what stands there already.
func unique(texts []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}

// few are the first of some texts, in words.
func few(texts []string) string {
	const most = 3
	switch n := len(texts); {
	case n == 0:
		return "none"
	case n == 1:
		return texts[0]
	case n > most:
		return strings.Join(texts[:most], ", ") + more(n-most)
	default:
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func verb(of []Candidate, one, many string) string {
	if len(versionsOf(of)) == 1 {
		return one
	}
	return many
}
