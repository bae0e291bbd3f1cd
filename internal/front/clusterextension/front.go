// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/telemetry"
)

// resolver says which bundle a ClusterExtension gets, by what catalogs have. It does not wait: an
// answer that takes reading a catalog is given when a signal has brought the ClusterExtension back.
type resolver interface {
	Resolve(ctx context.Context, ce *olmv1.ClusterExtension, installed *resolve.Identity) (resolve.Answer, error)
}

// bundles renders the bundle that was chosen. It does not wait for pulling one either: the trouble
// says so meanwhile, or why it cannot be rendered.
type bundles interface {
	// The revisions are those of the ClusterExtension: what they have recorded stays.
	Render(ctx context.Context, ce *olmv1.ClusterExtension, choice resolve.Choice, revisions []v1alpha1.Revision) (rendered, *trouble)
	// Forget says that a ClusterExtension of this name wants no bundle any more.
	Forget(name string)
}

// imports find what OLM's own controller has installed, and hand its objects over.
type imports interface {
	// Import is nil when there is nothing to import. A *migration.RefusedError says why it cannot be.
	Import(ctx context.Context, ce *olmv1.ClusterExtension) (*migration.Import, error)
	// Adopt hands over what a first installation that failed has left.
	Adopt(ctx context.Context, ce *olmv1.ClusterExtension, pkg *v1alpha1.Package, phases []content.Phase) error
}

// rendered is a bundle as a revision holds it.
type rendered struct {
	phases []content.Phase
	probes []v1alpha1.Probe
	// image is that of the bundle by its digest, and images are those that it runs, sorted.
	image  string
	images []string
	// properties are those of the bundle as JSON, empty for none.
	properties string
	// recorded are further annotations of the revision.
	recorded map[string]string
	warnings []string
	// next is when to ask again without a signal, the zero time for never.
	next time.Time
}

// observed is what the front looks at besides a ClusterExtension.
type observed struct {
	revisions []v1alpha1.Revision
	unread    error
	answer    resolve.Answer
	bundle    rendered
	trouble   *trouble
	// collision is what the target collides with, as far as it is of a ClusterExtension.
	collision collision
	// imported is what revision 1 is made of, nil for nothing, and next when to look again.
	imported *migration.Import
	next     time.Time
	// since is when the trouble began, and deadline when it has lasted too long.
	since, deadline time.Time
}

type (
	groupInput = front.Input[*olmv1.ClusterExtension, observed]
	groupState = front.State[observed]
)

// observer reads what a ClusterExtension depends on.
type observer struct {
	cache    client.Reader
	resolver resolver
	bundles  bundles
	imports  imports
	now      func() time.Time
	overdue  overdue
	notices  notices
	// live reads from the API server.
	live     client.Reader
	absences absences
}

// newFront has each ClusterExtension in a group of its own, with one package.
func newFront(o *observer, signal front.Signal, rests func() bool) front.Front[*olmv1.ClusterExtension, observed] {
	return front.Front[*olmv1.ClusterExtension, observed]{
		Name:      frontName,
		Finalizer: olmv1.Finalizer,
		List:      func() client.ObjectList { return &olmv1.ClusterExtensionList{} },
		Selects:   func(*olmv1.ClusterExtension) bool { return true },
		Group:     func(ce *olmv1.ClusterExtension) string { return ce.Name },
		Rests:     rests,
		Observe:   o.Observe,
		Render:    render,
		Leftovers: func(observed) []string {
			return []string{"olm.operatorframework.io/cleanup-unpack-cache", "olm.operatorframework.io/cleanup-contentmanager-cache"}
		},
		Status: func(ce *olmv1.ClusterExtension, all groupState) {
			setStatus(ce, stateOf(all))
		},
		Events: changeEvents,
		Conditions: func(ce *olmv1.ClusterExtension) []telemetry.ResourceCondition {
			return front.ConditionsOf(ce, "", ce.Status.Conditions)
		},
		Again: func(facts observed) time.Duration {
			next := earlier(facts.bundle.next, earlier(facts.deadline, facts.next))
			if next.IsZero() {
				return 0
			}
			return max(next.Sub(o.now()), time.Second)
		},
		Watches: []front.Watch{
			{Object: front.Metadata(namespaceKind), Groups: o.needs, Changed: comesOrGoes},
			{Object: front.Metadata(serviceAccountKind), Groups: o.needs, Changed: comesOrGoes},
			{Object: front.Definition(), Changed: predicate.And(predicate.NewPredicateFuncs(func(crd client.Object) bool {
				return crd.GetName() == certificateDefinition || crd.GetName() == clusterVersionDefinition
			}), comesOrGoes)},
		},
		Signal: signal,
	}
}

// Observe reads the revisions of a ClusterExtension, and asks which bundle it gets.
func (o *observer) Observe(ctx context.Context, group front.Group[*olmv1.ClusterExtension]) (observed, error) {
	facts := observed{}
	list := &v1alpha1.RevisionList{}
	if err := o.cache.List(ctx, list, client.MatchingLabels{v1alpha1.LabelPackage: packageName(group.Name)}); err != nil {
		facts.unread = fmt.Errorf("listing the revisions of package %s: %w", packageName(group.Name), err)
		return facts, facts.unread
	}
	facts.revisions = list.Items
	if len(group.Resources) == 0 {
		o.bundles.Forget(group.Name)
		o.overdue.forget(group.Name)
		o.absences.forget(group.Name)
		if len(group.Existing) > 0 {
			return facts, nil
		}
		for _, ce := range group.Deleting {
			if err := o.notices.kept(ctx, o.live, ce); err != nil {
				return facts, err
			}
		}
		o.notices.forget(group.Name)
		return facts, nil
	}
	ce := group.Resources[0]
	if err := front.Unreadable(ce); err != nil {
		return facts, err
	}
	err := o.bundle(ctx, ce, group, &facts)
	facts.since, facts.deadline = o.overdue.since(ce, facts.trouble, o.now())
	return facts, err
}

// bundle asks which bundle a ClusterExtension gets, and what keeps it from that.
func (o *observer) bundle(ctx context.Context, ce *olmv1.ClusterExtension, group front.Group[*olmv1.ClusterExtension], facts *observed) (err error) {
	if facts.trouble = blockedSpec(ce); facts.trouble != nil {
		return nil
	}
	if err = o.takeOver(ctx, group, ce, facts); err != nil || facts.trouble != nil {
		return err
	}
	installed := installedBundle(group, *facts)
	if facts.answer, err = o.resolver.Resolve(ctx, ce, installed); err != nil {
		return err
	}
	if facts.imported != nil {
		o.notices.imported(ce, facts.imported)
		return nil // what follows on an import is for the next pass
	}
	if facts.trouble = unresolved(facts.answer); facts.trouble != nil || facts.answer.Choice == nil {
		return nil
	}
	if standsFor(ce, *facts) {
		facts.answer.Choice = nil
		return nil
	}
	o.notices.resolved(ce, *facts.answer.Choice, installed, facts.revisions)
	facts.bundle, facts.trouble = o.bundles.Render(ctx, ce, *facts.answer.Choice, facts.revisions)
	if facts.trouble == nil {
		lacks, err := o.missing(ctx, ce, facts.bundle.phases)
		if err != nil {
			return err
		}
		if lacks != "" {
			facts.trouble = &trouble{olmv1.ReasonRetrying, lacks}
		}
	}
	if pkg := collided(group); pkg != nil && facts.trouble == nil {
		if err := o.imports.Adopt(ctx, ce, pkg, facts.bundle.phases); err != nil {
			return err
		}
	}
	facts.collision, err = o.collidesWith(ctx, group)
	return err
}
