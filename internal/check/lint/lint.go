// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/check/plan"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// Input is what is checked.
type Input struct {
	// Package is the name of the package that the content is for.
	Package string
	// Objects are the objects with their places, and Problems what could not be parsed.
	Objects  []chart.Located
	Problems []chart.Problem
	// Namespace is that of objects that name none.
	Namespace string
	// Collisions is the collision protection of the content.
	Collisions v1alpha1.CollisionProtection
	// Probes are those that stand in no manifest.
	Probes []v1alpha1.Probe
	// Settings are for the objects that they select.
	Settings []plain.Settings
	// Scope says where the objects of a kind live, as a cluster has it; ScopeUnknown for a
	// kind that it does not serve. Nil when no cluster is asked.
	Scope func(schema.GroupVersionKind) plain.Scope
	// DryRun applies the content to a cluster without effect. Nil when no cluster is asked.
	DryRun func(context.Context, revisions.Revision) []plan.Attempt
	// Against is the revision that the content is to replace, loaded, nil for none, and
	// Owner its Package.
	Against *revisions.Revision
	Owner   *v1alpha1.Package
}

// checking collects findings.
type checking struct {
	in       Input
	findings []Finding
	// places are where the objects stand.
	places map[revisions.ObjectID]chart.Located
}

func (c *checking) add(code, object, message, remedy string, at chart.Located) {
	c.findings = append(c.findings, Finding{Rule: RuleOf(code), Object: object, Message: message, Remedy: remedy, File: at.File, Line: at.Line})
}

// Check finds what is wrong. The findings are in the order of files, lines and codes.
// The error says that the comparison with another revision could not be made.
func Check(ctx context.Context, in Input) ([]Finding, error) {
	c := &checking{in: in, places: map[revisions.ObjectID]chart.Located{}}
	for _, problem := range in.Problems {
		c.add(CodeParse, "", problem.Err.Error(), "correct the file", chart.Located{File: problem.File, Line: problem.Line})
	}
	objects := c.distinct()
	scopes := plain.Scopes(objects, in.Scope)
	c.checkScopes(objects, scopes)
	placed, _ := plain.Place(objects, in.Namespace, scopes)
	c.checkNamespaces(placed, scopes)
	c.checkWebhooks(placed)
	c.checkNames(placed)
	if !c.checkAnnotations(placed) {
		return c.sorted(), nil
	}
	phases, err := plain.Phases(placed, in.Collisions, in.Settings...)
	if err != nil {
		c.add(CodeInvalid, "", err.Error(), "correct the manifest", chart.Located{})
		return c.sorted(), nil
	}
	annotated, err := plain.Probes(placed)
	if err != nil {
		c.add(CodeProbe, "", err.Error(), "correct the annotation", chart.Located{})
		return c.sorted(), nil
	}
	c.in.Probes = append(slices.Clone(in.Probes), annotated...)
	c.checkSize(phases)
	loaded, ok := c.load(ctx, phases)
	if ok {
		c.checkProbes(placed, loaded)
		c.tryOut(ctx, loaded)
		err = c.compare(ctx, loaded)
	}
	return c.sorted(), err
}

func (c *checking) sorted() []Finding {
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule.Code, b.Rule.Code), cmp.Compare(a.Message, b.Message))
	})
	return c.findings
}

// distinct are the objects, each once. Objects without a namespace count as those of
// the namespace that they get.
func (c *checking) distinct() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, located := range c.in.Objects {
		id := c.identity(located.Object)
		if first, twice := c.places[id]; twice {
			c.add(CodeDuplicate, id.String(), fmt.Sprintf("%s also stands in %s, line %d", id, first.File, first.Line), "remove one", located)
			continue
		}
		c.places[id] = located
		objects = append(objects, located.Object)
	}
	return objects
}

func (c *checking) identity(object *unstructured.Unstructured) revisions.ObjectID {
	id := revisions.IDOf(object)
	if id.Namespace == "" && plain.Scopes(nil, c.in.Scope)(object.GroupVersionKind()) == plain.ScopeNamespaced {
		id.Namespace = c.in.Namespace
	}
	return id
}

// at is where an object stands.
func (c *checking) at(object *unstructured.Unstructured) chart.Located {
	return c.places[c.identity(object)]
}

func (c *checking) checkScopes(objects []*unstructured.Unstructured, scopes func(schema.GroupVersionKind) plain.Scope) {
	for _, object := range objects {
		kind, id := object.GroupVersionKind(), revisions.IDOf(object)
		switch scope := scopes(kind); {
		case scope == plain.ScopeNamespaced && id.Namespace == "":
			c.add(CodeNoNamespace, id.String(), fmt.Sprintf("%s names no namespace, and takes %s", id, c.in.Namespace), "set metadata.namespace", c.at(object))
		case scope == plain.ScopeCluster && id.Namespace != "":
			c.add(CodeHasNamespace, id.String(), fmt.Sprintf("%s sets metadata.namespace, and its kind is cluster-scoped", id), "remove metadata.namespace", c.at(object))
		case scope == plain.ScopeUnknown && c.in.Scope != nil:
			c.add(CodeUnknownKind, id.String(), fmt.Sprintf("the cluster does not serve %s %s", kind.GroupVersion(), kind.Kind), "install its CustomResourceDefinition, put that into the content, or correct apiVersion and kind", c.at(object))
		}
	}
}

// checkNamespaces notes the namespaces that the content does not contain, each once.
func (c *checking) checkNamespaces(placed []*unstructured.Unstructured, scopes func(schema.GroupVersionKind) plain.Scope) {
	known := map[string]bool{"": true, "default": true, "kube-system": true}
	for _, object := range placed {
		if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			known[object.GetName()] = true
		}
	}
	for _, object := range placed {
		namespace := object.GetNamespace()
		if known[namespace] || scopes(object.GroupVersionKind()) == plain.ScopeCluster {
			continue
		}
		known[namespace] = true
		c.add(CodeForeignSpace, revisions.IDOf(object).String(), "namespace "+namespace+" is not part of the content", "add it, or see that it exists", c.at(object))
	}
}

// checkSize packs the content as it would be stored.
func (c *checking) checkSize(phases []content.Phase) {
	packed, err := content.Packer{Key: make([]byte, content.KeySize)}.Pack(phases, c.in.Probes)
	if err != nil {
		c.add(CodeSize, "", err.Error(), "split it into several packages", chart.Located{})
		return
	}
	size, err := json.Marshal(packed.Phases)
	if err != nil {
		return
	}
	if limit := content.RevisionLimit(); len(size)*4 > limit*3 {
		c.add(CodeNearSize, "", fmt.Sprintf("the revision takes %d bytes of the %d that can be stored, without its status", len(size), limit), "split it into several packages before it grows", chart.Located{})
	}
}

// load loads the content as the engine would have it.
func (c *checking) load(ctx context.Context, phases []content.Phase) (revisions.Revision, bool) {
	packed, err := content.Packer{Key: make([]byte, content.KeySize)}.Pack(phases, c.in.Probes)
	if err != nil {
		return revisions.Revision{}, false
	}
	pkg := &v1alpha1.Package{}
	pkg.Name = c.in.Package
	revision := history.History{}.Next(pkg, history.Content{Phases: packed.Phases, Probes: c.in.Probes, Digest: packed.Digest})
	if c.in.Against != nil {
		revision.Spec.Revision = c.in.Against.Number + 1
	}
	loaded, err := content.LoadRevision(ctx, plan.Overlay{Packed: packed}, revision)
	var invalid *content.InvalidError
	switch {
	case errors.As(err, &invalid) && len(c.in.Probes) > 0:
		c.add(CodeProbe, "", err.Error(), "correct the probe", chart.Located{})
		return loaded, false
	case err != nil:
		c.add(CodeInvalid, "", err.Error(), "correct the manifest", chart.Located{})
		return loaded, false
	}
	c.checkRevision(loaded)
	return loaded, true
}

// tryOut adds what the API server would refuse.
func (c *checking) tryOut(ctx context.Context, loaded revisions.Revision) {
	if c.in.DryRun == nil {
		return
	}
	for _, attempt := range c.in.DryRun(ctx, loaded) {
		if refused := attempt.Refused; refused != nil {
			c.add(CodeAdmission, attempt.ID.String(), refused.Message, refused.Remedy, c.places[attempt.ID])
		}
	}
}

// checkProbes looks at which objects the probes judge, and what they cost.
func (c *checking) checkProbes(placed []*unstructured.Unstructured, loaded revisions.Revision) {
	for i, probe := range c.in.Probes {
		selects := func(object *unstructured.Unstructured) bool {
			yes, err := content.Selects(probe.Selector, object)
			return err == nil && yes
		}
		if !slices.ContainsFunc(placed, selects) {
			c.add(CodeProbeIdle, "", fmt.Sprintf("spec.probes[%d] (probe %s) selects no object of the content", i, probe.Name), "correct its selector", chart.Located{})
		}
	}
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			c.checkProbe(object)
		}
	}
}

// checkProbe looks at what judges one object.
func (c *checking) checkProbe(object revisions.Object) {
	id := revisions.IDOf(object.Manifest)
	switch {
	case object.Probe == nil && !isBuiltin(id.Group):
		c.add(CodeNoProbe, id.String(), fmt.Sprintf("nothing says when %s is ready", id), "add a probe for its kind", c.at(object.Manifest))
	case object.Probe == nil, len(c.in.Probes) == 0:
	default:
		if result := object.Probe.Probe(object.Manifest); result.Status == probes.Unknown && isCostly(result.Message) {
			c.add(CodeProbeCost, id.String(), fmt.Sprintf("the probes of %s: %s", id, result.Message), "make the expression cheaper", c.at(object.Manifest))
		}
	}
}
