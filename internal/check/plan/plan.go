// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// Planner makes plans against a cluster.
type Planner struct {
	// Live reads from the API server. Required.
	Live client.Reader
	// Writer sends dry runs and questions. Required.
	Writer client.Writer
	// Mapper knows which kinds the API server serves. Required.
	Mapper meta.RESTMapper
	// Stored reads what revisions refer to, also what is not stored yet. Required.
	Stored content.Stored
	// Identity is as whom the package acts: its rights are checked then. Without it,
	// rights are not part of the plan.
	Identity *Identity
}

// Identity reads, and checks permissions, as one user or ServiceAccount.
type Identity struct {
	// Live reads, and Asker asks.
	Live  client.Reader
	Asker preflight.Asker
}

// Plan is what a revision would do.
type Plan struct {
	// Objects are those that would be touched, in the order of the phases, and Unchanged
	// how many would not.
	Objects   []v1alpha1.PlannedObject
	Unchanged int
	// Summary counts the actions.
	Summary string
	// Findings are what would keep the controller from its first write.
	Findings []preflight.Finding
	// Invalid is why the content can never be rolled out, empty when it can.
	Invalid string
	// Attempts are the dry runs of the objects that would be created, updated or adopted.
	// What the API server refuses is also a finding.
	Attempts []Attempt
	// Unread are the revisions that serve and could not be loaded, with the reason: what
	// they hold is not in the plan.
	Unread []string
}

// Blocked says that the content would not be rolled out.
func (p Plan) Blocked() bool { return p.Invalid != "" || len(p.Findings) > 0 }

// Plan says what a package's next revision would do. The package need not exist yet:
// it has no UID then. The line is the package's without the revision.
func (p Planner) Plan(ctx context.Context, pkg *v1alpha1.Package, line history.History, next *v1alpha1.Revision) (Plan, error) {
	target, err := content.LoadRevision(ctx, p.Stored, next)
	if _, ok := errors.AsType[*content.InvalidError](err); ok {
		return Plan{Invalid: err.Error()}, nil
	}
	if err != nil {
		return Plan{}, fmt.Errorf("loading the content: %w", err)
	}
	var plan Plan
	serving := p.serving(ctx, line, &plan)
	snapshot := Read(ctx, p.Live, append([]revisions.Revision{target}, serving...)...)
	engine, err := revisions.New(revisions.Config{Writer: p.Writer, Live: p.Live, Cache: snapshot, Mapper: p.Mapper})
	if err != nil {
		return plan, fmt.Errorf("creating the engine: %w", err)
	}
	result, err := engine.Reconcile(ctx, revisions.Rollout{Owner: Owner(pkg), Target: target, Serving: serving, Paused: true})
	if ctx.Err() != nil {
		return plan, ctx.Err()
	}
	var unknown *revisions.UnknownKindError
	if unusable, ok := errors.AsType[*revisions.ValidationError](err); ok {
		plan.Invalid = strings.Join(unusable.Violations, "; ")
	} else if errors.As(err, &unknown) && !result.Target.Phases[0].Reached {
		plan.Invalid = err.Error()
	}
	full := status.FullPlan(status.Observation{Loaded: target, Result: result.Target, Serving: serving, Digest: next.Spec.ContentDigest})
	plan.Objects, plan.Summary = full.Objects, full.Summary
	plan.correct(target)
	plan.Unchanged = count(target) - plan.touched()
	plan.Summary = plan.summary()
	if plan.Findings, err = p.findings(ctx, pkg, next, target, serving); err != nil {
		return plan, err
	}
	p.tryOut(ctx, pkg, target, snapshot, &plan)
	return plan, ctx.Err()
}

// tryOut sends dry runs of what would be written and of which nothing bad is known yet.
func (p Planner) tryOut(ctx context.Context, pkg *v1alpha1.Package, target revisions.Revision, snapshot *Snapshot, plan *Plan) {
	if plan.Invalid != "" {
		return
	}
	written := map[revisions.ObjectID]bool{}
	for _, object := range plan.Objects {
		id := revisions.ObjectID{GroupKind: schema.GroupKind{Group: object.Group, Kind: object.Kind}, Namespace: object.Namespace, Name: object.Name}
		written[id] = object.Action == v1alpha1.PlanCreate || object.Action == v1alpha1.PlanUpdate || object.Action == v1alpha1.PlanAdopt
	}
	for _, finding := range plan.Findings {
		delete(written, finding.Object)
	}
	owned := pkg.DeepCopy()
	owned.UID = Owner(pkg).UID
	run := DryRun{Writer: p.Writer, Package: owned}
	if p.Identity != nil {
		run.Writer, run.Exact = p.Identity.Asker, true
	}
	plan.Attempts = run.Run(ctx, target, func(id revisions.ObjectID) bool { return written[id] }, func(id revisions.ObjectID) *unstructured.Unstructured {
		live, _ := snapshot.Live(id) // the plan says of what could not be read that it is unknown
		return live
	})
	for i := range plan.Attempts {
		if refused := plan.Attempts[i].Refused; refused != nil {
			plan.Findings = append(plan.Findings, *refused)
		}
	}
}

// Owner is who owns the objects of a package. One that does not exist yet has a UID
// that no object can carry.
func Owner(pkg *v1alpha1.Package) revisions.Owner {
	uid := pkg.UID
	if uid == "" {
		uid = "00000000-0000-0000-0000-000000000000"
	}
	return revisions.Owner{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: uid, Label: v1alpha1.LabelPackage}
}

// serving are the revisions that the next one would replace, newest first.
func (p Planner) serving(ctx context.Context, line history.History, plan *Plan) []revisions.Revision {
	var all []revisions.Revision
	standing := line.Serving
	if line.Target != nil {
		standing = append([]*v1alpha1.Revision{line.Target}, standing...)
	}
	for _, revision := range standing {
		loaded, err := content.LoadRevision(ctx, p.Stored, revision)
		if err != nil {
			plan.Unread = append(plan.Unread, fmt.Sprintf("revision %d: %v", revision.Spec.Revision, err))
			continue
		}
		all = append(all, loaded)
	}
	return all
}

// correct mends what a plan that is made at one moment does not know of a rollout:
// an object whose kind the revision brings along is created as soon as it is served.
func (p *Plan) correct(target revisions.Revision) {
	brought := map[schema.GroupKind]bool{}
	for _, phase := range target.Phases {
		for _, object := range phase.Objects {
			group, _, _ := unstructured.NestedString(object.Manifest.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(object.Manifest.Object, "spec", "names", "kind")
			if object.Manifest.GetKind() == "CustomResourceDefinition" && kind != "" {
				brought[schema.GroupKind{Group: group, Kind: kind}] = true
			}
		}
	}
	for i := range p.Objects {
		object := &p.Objects[i]
		if object.Action == v1alpha1.PlanWait && brought[schema.GroupKind{Group: object.Group, Kind: object.Kind}] {
			object.Action, object.Reason = v1alpha1.PlanCreate, "it does not exist; its kind comes with the revision"
		}
	}
}

func count(r revisions.Revision) int {
	n := 0
	for _, phase := range r.Phases {
		n += len(phase.Objects)
	}
	return n
}

// touched is how many objects of the revision would be touched. Deleted and retained
// ones are not of the revision.
func (p *Plan) touched() int {
	n := 0
	for _, object := range p.Objects {
		if object.Action != v1alpha1.PlanDelete && object.Action != v1alpha1.PlanRetain {
			n++
		}
	}
	return n
}

// Count is how many objects have an action.
func (p *Plan) Count(action v1alpha1.PlannedAction) int {
	n := 0
	for _, object := range p.Objects {
		if object.Action == action {
			n++
		}
	}
	return n
}

var counted = []v1alpha1.PlannedAction{
	v1alpha1.PlanCreate, v1alpha1.PlanUpdate, v1alpha1.PlanReplace, v1alpha1.PlanAdopt, v1alpha1.PlanCollide,
	v1alpha1.PlanDelete, v1alpha1.PlanRetain, v1alpha1.PlanWait, v1alpha1.PlanUnknown,
}

func (p *Plan) summary() string {
	var parts []string
	for _, action := range counted {
		if n := p.Count(action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(action))))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", p.Unchanged)), ", ")
}

// findings asks the preflight. Without an identity it leaves out permissions: those
// of the user of the command are not those that the rollout uses.
func (p Planner) findings(ctx context.Context, pkg *v1alpha1.Package, next *v1alpha1.Revision, target revisions.Revision, serving []revisions.Revision) ([]preflight.Finding, error) {
	as := Identity{Live: p.Live, Asker: p.Writer}
	if p.Identity != nil {
		as = *p.Identity
	}
	checker := &preflight.Checker{Live: as.Live, Writer: as.Asker, Mapper: p.Mapper}
	in := preflight.Input{Package: pkg, Target: target, Serving: serving, ContentDigest: next.Spec.ContentDigest}
	err := checker.Check(ctx, in)
	var found *preflight.Error
	switch {
	case errors.As(err, &found) && p.Identity != nil:
		return found.Findings, nil
	case errors.As(err, &found):
		var rest []preflight.Finding
		for _, finding := range found.Findings {
			if finding.Check != preflight.CheckPermission {
				rest = append(rest, finding)
			}
		}
		return rest, nil
	case meta.IsNoMatchError(err), apierrors.IsForbidden(err):
		return nil, nil
	}
	return nil, err
}
