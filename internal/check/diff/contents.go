// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// Object is one object of a content.
type Object struct {
	// Manifest is what is wanted. Required.
	Manifest *unstructured.Unstructured
	// Phase is the name of the phase that it stands in.
	Phase string
	// Settings are how it is treated, such as its deletion policy. A change of them
	// counts as one of the object.
	Settings map[string]any
}

// Kind says how an object differs.
type Kind string

// The kinds of a difference.
const (
	// Added objects are only in the content after.
	Added Kind = "Added"
	// Removed objects are only in the content before.
	Removed Kind = "Removed"
	// Changed objects are in both, and differ.
	Changed Kind = "Changed"
	// Moved objects stand in another phase, and differ in nothing else.
	Moved Kind = "Moved"
	// Renamed objects have another name, or namespace, and much the same content.
	Renamed Kind = "Renamed"
)

// Difference is an object that differs.
type Difference struct {
	// Kind says how.
	Kind Kind
	// Before and After are the two sides, nil where there is none. Values of Secrets are
	// replaced.
	Before, After *Object
	// Changes are the fields that differ. Of an object that is added or removed there
	// are none.
	Changes []Change
}

// Object is the side that there is, the one after if there are two.
func (d Difference) Object() *Object {
	if d.After != nil {
		return d.After
	}
	return d.Before
}

// Options say what does not count.
type Options struct {
	// Ignore are fields that do not count. An index in them is that of [Change.Path].
	Ignore []probes.Pattern
	// ShowSecrets leaves the values of Secrets as they are.
	ShowSecrets bool
	// KeepNames does not look for objects that were renamed.
	KeepNames bool
}

// Result is what a comparison has found.
type Result struct {
	// Differences are in the order of the content after; what is removed follows.
	Differences []Difference
	// Same is how many objects do not differ, Ignored how many of them would if nothing
	// was ignored.
	Same, Ignored int
}

// Contents compares two contents. Neither is changed.
func Contents(before, after []Object, o Options) Result {
	c := comparison{options: o}
	present := map[revisions.ObjectID]*Object{}
	for i := range before {
		present[revisions.IDOf(before[i].Manifest)] = &before[i]
	}
	var added []*Object
	for i := range after {
		id := revisions.IDOf(after[i].Manifest)
		was, both := present[id]
		if !both {
			added = append(added, &after[i])
			c.result.Differences = append(c.result.Differences, Difference{Kind: Added, After: &after[i]})
			continue
		}
		delete(present, id)
		c.pair(was, &after[i])
	}
	var removed []*Object
	for i := range before {
		if present[revisions.IDOf(before[i].Manifest)] == &before[i] {
			removed = append(removed, &before[i])
		}
	}
	if !o.KeepNames {
		removed = c.rename(removed, added)
	}
	for _, was := range removed {
		c.result.Differences = append(c.result.Differences, Difference{Kind: Removed, Before: was})
	}
	for i := range c.result.Differences {
		c.redact(&c.result.Differences[i])
	}
	return c.result
}

type comparison struct {
	options Options
	result  Result
}

// pair compares the two sides of an object.
func (c *comparison) pair(was, is *Object) {
	changes := c.changes(was, is)
	switch {
	case len(changes) > 0:
		c.result.Differences = append(c.result.Differences, Difference{Kind: Changed, Before: was, After: is, Changes: changes})
	case was.Phase != is.Phase:
		c.result.Differences = append(c.result.Differences, Difference{Kind: Moved, Before: was, After: is})
	default:
		c.result.Same++
		if len(c.options.Ignore) > 0 && len(Values(was.Manifest.Object, is.Manifest.Object)) > 0 {
			c.result.Ignored++
		}
	}
}

// changes are the fields that differ and count, without values of Secrets.
func (c *comparison) changes(was, is *Object) []Change {
	before, after := c.shown(was.Manifest, is.Manifest)
	changes := slices.DeleteFunc(Values(c.counting(before.Object), c.counting(after.Object)), c.isIgnored)
	for _, change := range Values(nonNil(was.Settings), nonNil(is.Settings)) {
		changes = append(changes, Change{Path: "(" + change.Path[1:] + ")", Before: change.Before, After: change.After})
	}
	return changes
}

func nonNil(fields map[string]any) map[string]any {
	if fields == nil {
		return map[string]any{}
	}
	return fields
}

func (c *comparison) shown(was, is *unstructured.Unstructured) (before, after *unstructured.Unstructured) {
	if c.options.ShowSecrets {
		return was, is
	}
	return redactPair(was, is)
}

// counting is content without what is ignored.
func (c *comparison) counting(content map[string]any) map[string]any {
	for _, pattern := range c.options.Ignore {
		content = pattern.Without(content)
	}
	return content
}

// isIgnored says whether a change is at a path that is ignored. Entries that an index names
// are found here only: as long as the lists are whole, an index means what is printed.
func (c *comparison) isIgnored(change Change) bool {
	path, err := probes.ParsePath(change.Path)
	return err == nil && slices.ContainsFunc(c.options.Ignore, func(p probes.Pattern) bool { return p.Covers(path) })
}

// redact takes the values of Secrets out of what is returned.
func (c *comparison) redact(d *Difference) {
	var was, is *unstructured.Unstructured
	if d.Before != nil {
		was = d.Before.Manifest
	}
	if d.After != nil {
		is = d.After.Manifest
	}
	was, is = c.shown(was, is)
	if d.Before != nil {
		d.Before = &Object{Manifest: was, Phase: d.Before.Phase, Settings: d.Before.Settings}
	}
	if d.After != nil {
		d.After = &Object{Manifest: is, Phase: d.After.Phase, Settings: d.After.Settings}
	}
}

// likeness is from which share of equal fields on an object counts as renamed.
const likeness = 0.6

// mostRenames bounds how many pairs are compared.
const mostRenames = 4096

// rename pairs objects that were removed with the ones of the same kind that are most
// like them, turns their additions into renames, and returns the others.
func (c *comparison) rename(removed, added []*Object) []*Object {
	type candidate struct {
		was, is *Object
		like    float64
	}
	var candidates []candidate
	compared := 0
	for _, is := range added {
		for _, was := range removed {
			if was.Manifest.GroupVersionKind().GroupKind() != is.Manifest.GroupVersionKind().GroupKind() || compared >= mostRenames {
				continue
			}
			compared++
			if like := alike(was.Manifest, is.Manifest); like >= likeness {
				candidates = append(candidates, candidate{was, is, like})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		switch {
		case a.like > b.like:
			return -1
		case a.like < b.like:
			return 1
		}
		return 0
	})
	paired := map[*Object]bool{}
	for _, pair := range candidates {
		if paired[pair.was] || paired[pair.is] {
			continue
		}
		paired[pair.was], paired[pair.is] = true, true
		at := slices.IndexFunc(c.result.Differences, func(d Difference) bool { return d.After == pair.is && d.Kind == Added })
		c.result.Differences[at] = Difference{Kind: Renamed, Before: pair.was, After: pair.is, Changes: c.changes(pair.was, pair.is)}
	}
	return slices.DeleteFunc(removed, func(was *Object) bool { return paired[was] })
}

// alike is the share of fields that two manifests have in common, apart from their
// names.
func alike(a, b *unstructured.Unstructured) float64 {
	left, right := leaves(a), leaves(b)
	if len(left)+len(right) == 0 {
		return 0
	}
	common := 0
	for text := range left {
		if right[text] {
			common++
		}
	}
	return 2 * float64(common) / float64(len(left)+len(right))
}

// leaves are the fields of a manifest with their values, as text.
func leaves(m *unstructured.Unstructured) map[string]bool {
	all := map[string]bool{}
	collect := func(path string, value any) {
		if data, err := json.Marshal(value); err == nil {
			all[path+"="+string(data)] = true
		}
	}
	var visit func(path string, value any)
	visit = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, child := range v {
				visit(path+probes.FieldStep(key), child)
			}
		case []any:
			for _, child := range v {
				visit(path+"[]", child)
			}
		default:
			collect(path, value)
		}
	}
	for key, value := range m.Object {
		if key == "metadata" || key == "apiVersion" || key == "kind" {
			continue
		}
		visit(probes.FieldStep(key), value)
	}
	return all
}
