// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	jobKind    = schema.GroupKind{Group: "batch", Kind: "Job"}
)

// Importer imports releases of Helm. Its fields are required.
type Importer struct {
	// Client reads from the API server and writes, as the user who imports.
	Client client.Client
	// Contents stores the content. Only [Importer.Import] needs it.
	Contents *content.Store
}

// Action is what an import does to an object.
type Action string

// The actions.
const (
	// ActionAdopt: it is as the release says, and becomes the package's.
	ActionAdopt Action = "Adopt"
	// ActionUpdate: it becomes the package's, and fields that differ from the release
	// are set back.
	ActionUpdate Action = "Update"
	// ActionCreate: it is missing.
	ActionCreate Action = "Create"
	// ActionRefuse: it cannot be imported.
	ActionRefuse Action = "Refuse"
)

// Object is an object of a plan.
type Object struct {
	// Manifest is the manifest for the revision.
	Manifest *unstructured.Unstructured
	// Phase is the name of the phase that it stands in.
	Phase string
	// Action is what the import does.
	Action Action
	// Fields are the paths that an update changes, sorted; the first 8.
	Fields []string
	// Pods says that the update starts or stops pods.
	Pods bool
	// Owner is what else owns the object, empty when nothing does.
	Owner string
	// Note is what is special about it; for ActionRefuse why.
	Note string
}

// Left is an object that is not imported.
type Left struct {
	// Kind, Namespace and Name are the object's.
	Kind, Namespace, Name string
	// Reason is why.
	Reason string
}

// Plan is what an import does.
type Plan struct {
	Choice

	// Objects are those of the revision, in the order of the phases.
	Objects []Object
	// Left are the objects that are not imported.
	Left []Left
}

// Plan looks at the objects of a release; with crds also at those of its chart's
// folder crds/. It changes nothing.
func (i *Importer) Plan(ctx context.Context, choice Choice, crds bool) (*Plan, error) {
	objects, err := objectsOf(choice.Release, crds)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Choice: choice, Objects: objects}
	brought := kindsOf(objects)
	for n := range plan.Objects {
		i.place(&plan.Objects[n], choice.Release.Namespace, brought)
	}
	if err := i.yieldReplicas(ctx, plan.Objects); err != nil {
		return nil, err
	}
	for n := range plan.Objects {
		if err := i.compare(ctx, &plan.Objects[n], choice.Release); err != nil {
			return nil, err
		}
	}
	plan.leaveOut(crds)
	return plan, i.findStrays(ctx, plan, brought)
}

// leaveOut takes out what must not be created again, and lists it with the hooks.
func (p *Plan) leaveOut(crds bool) {
	p.Objects = slices.DeleteFunc(p.Objects, func(o Object) bool {
		again := o.Action == ActionCreate && o.Manifest.GroupVersionKind().GroupKind() == jobKind
		if again {
			p.Left = append(p.Left, Left{Kind: o.Manifest.GetKind(), Namespace: o.Manifest.GetNamespace(), Name: o.Manifest.GetName(), Reason: "it is gone, and would run again"})
		}
		return again
	})
	for _, hook := range p.Release.Hooks {
		p.Left = append(p.Left, Left{Kind: hook.Kind, Name: hook.Name, Reason: "hook (" + strings.Join(hook.Events, ", ") + ")"})
	}
	if !crds {
		for _, file := range p.Release.CRDs {
			p.Left = append(p.Left, Left{Kind: "File", Name: file.Name, Reason: "Helm does not manage it either"})
		}
	}
}

// findStrays lists the objects that only a later version has, which did not become
// the deployed one: the import leaves them alone.
func (i *Importer) findStrays(ctx context.Context, plan *Plan, brought map[schema.GroupKind]bool) error {
	known := map[revisions.ObjectID]bool{}
	for _, object := range plan.Objects {
		known[revisions.IDOf(object.Manifest)] = true
	}
	for _, later := range plan.Later {
		objects, err := objectsOf(later, false)
		if err != nil {
			// It is not imported, so it need not be sound.
			plan.Left = append(plan.Left, Left{Kind: "Version", Name: later.String(), Reason: "its manifest cannot be read, and may have left objects behind"})
			continue
		}
		for n := range objects {
			object := &objects[n]
			i.place(object, plan.Release.Namespace, brought)
			id := revisions.IDOf(object.Manifest)
			if known[id] || object.Action == ActionRefuse {
				continue
			}
			known[id] = true
			_, found, err := i.current(ctx, object.Manifest)
			if err != nil {
				return err
			}
			if found {
				plan.Left = append(plan.Left, Left{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Reason: fmt.Sprintf("only version %d has it, which is %s", later.Version, later.Status)})
			}
		}
	}
	return nil
}

// Permissions are what a person has allowed beyond what is harmless.
type Permissions struct {
	// Restarts lets the import start or stop pods.
	Restarts bool
	// TakeOver takes objects from other owners.
	TakeOver bool
}

// Refusals are the reasons not to carry out the plan.
func (p *Plan) Refusals(allowed Permissions) []string {
	var reasons []string
	for i := range p.Objects {
		if reason := p.Objects[i].refusal(allowed); reason != "" {
			reasons = append(reasons, plain.NameOf(p.Objects[i].Manifest)+" "+reason)
		}
	}
	if len(p.Objects) == 0 {
		reasons = append(reasons, p.Release.String()+" has no objects to import")
	}
	return reasons
}

func (o *Object) refusal(allowed Permissions) string {
	switch {
	case o.Action == ActionRefuse:
		return o.Note
	case o.Owner != "" && !allowed.TakeOver:
		return "is " + o.Owner + ": remove it from the release, or allow to take it over (--take-over)"
	case o.Pods && !allowed.Restarts:
		return "differs from the release in " + strings.Join(o.Fields, ", ") + ", so that the import would start or stop pods: bring the release up to date with `helm upgrade`, or allow it (--allow-restarts)"
	default:
		return ""
	}
}

// phases are the phases of the revision.
func (p *Plan) phases() ([]content.Phase, error) {
	return plain.Phases(manifestsOf(p.Objects), v1alpha1.CollisionNone)
}

// origin is what the revision says about where it is from.
func (p *Plan) origin(s Settings) v1alpha1.Origin {
	r, reason := p.Release, s.Reason
	if reason == "" {
		reason = fmt.Sprintf("imported from Helm release %s (%s %s)", r, r.Chart, r.ChartVersion)
	}
	return v1alpha1.Origin{
		Kind: v1alpha1.OriginHelmImport, Reference: reference(r.Namespace, r.Name), Generation: int64(r.Version),
		Chart: r.Chart, AppVersion: r.AppVersion, Images: plain.Images(manifestsOf(p.Objects)), Reason: reason, CreatedBy: s.CreatedBy,
	}
}

func reference(namespace, name string) string { return "HelmRelease/" + namespace + "/" + name }
