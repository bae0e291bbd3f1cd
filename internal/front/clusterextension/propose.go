// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/oci"
)

// extensions is what the command line asks.
func extensions() *front.Extensions {
	return &front.Extensions{
		Catalogs: listCatalogs, Describe: describe, Upgrades: upgrades,
		Resource: func() client.Object { return &olmv1.ClusterExtension{} }, Propose: propose,
	}
}

// listCatalogs are the ClusterCatalogs of a cluster.
func listCatalogs(ctx context.Context, reader client.Reader) ([]front.Catalog, error) {
	list := &olmv1.ClusterCatalogList{}
	if err := reader.List(ctx, list); err != nil {
		return nil, err
	}
	found := make([]front.Catalog, len(list.Items))
	for i := range list.Items {
		found[i] = catalogOf(&list.Items[i])
	}
	slices.SortFunc(found, func(a, b front.Catalog) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// preview answers one question of the command line as the passes of the front would. What these wait
// for is read at once, and nothing is written.
type preview struct {
	front.Inquiry

	supply *supply
	// channels are those of the bundle that was chosen.
	channels []string
	// installed is what the answer is for.
	installed *resolve.Identity
	pinned    string
}

// propose says what would be published for a ClusterExtension.
func propose(ctx context.Context, in front.Inquiry, resource client.Object) (front.Proposal, error) {
	ce, is := resource.(*olmv1.ClusterExtension)
	if !is {
		return front.Proposal{}, fmt.Errorf("a %T is no ClusterExtension", resource)
	}
	p := &preview{Inquiry: in, supply: &supply{cache: in.Reader, mapper: in.Mapper, version: in.Version}}
	o := &observer{cache: in.Reader, resolver: p, bundles: p, imports: p, now: time.Now}
	group := front.Group[*olmv1.ClusterExtension]{Name: ce.Name, Resources: []*olmv1.ClusterExtension{ce}}
	list := &v1alpha1.PackageList{}
	if err := in.Reader.List(ctx, list, client.MatchingLabels{v1alpha1.LabelFront: frontName}); err != nil {
		return front.Proposal{}, fmt.Errorf("listing the packages of front %s: %w", frontName, err)
	}
	for i := range list.Items {
		if list.Items[i].Annotations[v1alpha1.AnnotationFrontGroup] == ce.Name {
			group.Existing = append(group.Existing, list.Items[i])
		}
	}
	facts, err := o.Observe(ctx, group)
	if err != nil {
		return front.Proposal{}, err
	}
	packages, err := render(groupInput{Group: group, Facts: facts})
	if err != nil || len(packages) == 0 {
		return front.Proposal{}, err
	}
	proposal := front.Proposal{Owner: front.Owner{Front: frontName, Group: ce.Name}, Package: packages[0], Warnings: facts.bundle.warnings}
	proposal.Resolution = p.resolution(ce, facts)
	return proposal, nil
}

// resolution says which bundle a ClusterExtension gets, or what keeps it from being resolved.
func (p *preview) resolution(ce *olmv1.ClusterExtension, facts observed) front.Resolution {
	if ce.Spec.Source.Catalog == nil {
		return front.Resolution{Resource: "ClusterExtension/" + ce.Name, Outcome: string(resolve.Blocked), Message: facts.trouble.message}
	}
	is := resolutionOf(ce, p.installed, facts.answer, p.channels)
	if is.Bundle != nil {
		is.Bundle.Pinned = p.pinned
	}
	if is.Outcome == "" && facts.trouble != nil { // it was not asked which bundle it gets
		is.Outcome, is.Message = string(resolve.Blocked), facts.trouble.message
	}
	return is
}

// Resolve implements resolver.
func (p *preview) Resolve(ctx context.Context, ce *olmv1.ClusterExtension, installed *resolve.Identity) (resolve.Answer, error) {
	p.installed = installed
	list := &olmv1.ClusterCatalogList{}
	if err := p.Reader.List(ctx, list); err != nil {
		return resolve.Answer{}, fmt.Errorf("listing the ClusterCatalogs: %w", err)
	}
	request := requestOf(ce, installed)
	for i := range list.Items {
		if cc := &list.Items[i]; cc.DeletionTimestamp.IsZero() {
			request.Catalogs = append(request.Catalogs, p.catalog(ctx, cc, ce.Spec.Source.Catalog))
		}
	}
	answer := resolve.Resolve(request)
	if answer.Choice == nil {
		return answer, nil
	}
	for _, c := range request.Catalogs {
		if c.Name == answer.Choice.Catalog {
			p.channels = slices.DeleteFunc(c.Package.Channels(answer.Choice.Name), func(name string) bool {
				return len(request.Channels) > 0 && !slices.Contains(request.Channels, name)
			})
		}
	}
	return answer, nil
}

// catalog reads a catalog, unless it does not count.
func (p *preview) catalog(ctx context.Context, cc *olmv1.ClusterCatalog, wants *olmv1.CatalogFilter) resolve.Catalog {
	snapshot := catalog.Snapshot{}
	if selector, err := selectorOf(wants); err == nil && counts(cc) && selector.Matches(labels.Set(catalogLabels(cc))) {
		from := catalogOf(cc)
		snapshot.Content, snapshot.Err = p.Content(ctx, from)
		if from.UnpackedAt != nil {
			snapshot.Read = from.UnpackedAt.Time
		}
	}
	return p.supply.packages.catalog(cc, snapshot, wants.PackageName)
}

// Render implements bundles.
func (p *preview) Render(ctx context.Context, ce *olmv1.ClusterExtension, choice resolve.Choice, revisions []v1alpha1.Revision) (rendered, *trouble) {
	source := pinnedFor(ce, choice)
	p.pinned = recordedImage(revisions, source)
	if p.Registries == nil {
		return rendered{}, &trouble{olmv1.ReasonRollingOut, "the bundle was not rendered"}
	}
	prefix := fmt.Sprintf("error for resolved bundle %q with version %q: ", choice.Name, choice.Version)
	image, err := p.pull(ctx, choice.Image)
	if err != nil {
		return rendered{}, &trouble{olmv1.ReasonRetrying, prefix + notPulled + err.Error()}
	}
	version, err := p.supply.kubernetes(ctx)
	if err != nil {
		return rendered{}, &trouble{olmv1.ReasonRetrying, prefix + err.Error()}
	}
	certificates := bundle.ChooseCertificates(recordedCertificates(revisions), "", p.supply.defines(ctx, certificateDefinition), p.supply.defines(ctx, clusterVersionDefinition))
	view := sources.BundleView{Pinned: p.pinned, Entry: oci.Entry{Image: image, Folder: p.Scratch}, Ready: true}
	is, trouble := p.supply.make(ce, choice, view, environment{certificates, version})
	if trouble != nil {
		trouble.message = prefix + trouble.message
		return is, trouble
	}
	is.recorded[olmv1.AnnotationPinnedFor] = source
	return is, nil
}

// pull gets the image of a bundle.
func (p *preview) pull(ctx context.Context, image string) (oci.Image, error) {
	if p.pinned == "" {
		var err error
		if p.pinned, err = p.Registries.Resolve(ctx, image, nil); err != nil {
			return oci.Image{}, err
		}
	}
	return p.Registries.Pull(ctx, p.pinned, nil, p.Scratch, oci.Unpack{Limits: oci.BundleLimits})
}

// Forget implements bundles.
func (p *preview) Forget(string) {}

// Import implements imports. To import writes, so that it is left to the manager.
func (p *preview) Import(_ context.Context, ce *olmv1.ClusterExtension) (is *migration.Import, err error) {
	if ce.Status.Install == nil {
		return is, err
	}
	return nil, &migration.RefusedError{Message: fmt.Sprintf("version %s is installed, and was not by Strata: the manager imports it first, as revision 1", ce.Status.Install.Bundle.Version)}
}

// Adopt implements imports.
func (p *preview) Adopt(context.Context, *olmv1.ClusterExtension, *v1alpha1.Package, []content.Phase) error {
	return nil
}
