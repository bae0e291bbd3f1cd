// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// describe sorts what a catalog has of a package.
func describe(pkg *catalog.Package, channels []string) front.PackageDetails {
	is := resolve.NewPackage(pkg)
	notices := is.Deprecations(nil, nil)
	details := front.PackageDetails{Channels: []front.ChannelDetails{}}
	if notices.Package != nil {
		details.Deprecated = notices.Package.Message
	}
	for _, name := range is.Channels("") {
		channel := front.ChannelDetails{Name: name, Default: name == pkg.DefaultChannel}
		if i := slices.IndexFunc(notices.Channels, func(n resolve.Notice) bool { return n.Name == name }); i >= 0 {
			channel.Deprecated = notices.Channels[i].Message
		}
		details.Channels = append(details.Channels, channel)
	}
	for _, bundle := range is.Bundles() {
		in := is.Channels(bundle.Identity.Name)
		countIn(details.Channels, in, bundle.Identity.Version)
		if len(channels) > 0 && !slices.ContainsFunc(in, func(name string) bool { return slices.Contains(channels, name) }) {
			continue
		}
		version := front.VersionDetails{
			Version: bundle.Identity.Version, Bundle: bundle.Identity.Name, Image: bundle.Image, Channels: in,
			Refused: resolve.Dependency(bundle.Identity.Name, bundle.Properties),
		}
		if bundle.Identity.Release != nil {
			version.Release = *bundle.Identity.Release
		}
		if notice := is.Deprecations(nil, &bundle.Identity).Bundle; notice != nil {
			version.Deprecated = notice.Message
		}
		details.Versions = append(details.Versions, version)
	}
	return details
}

// countIn counts a bundle in its channels, of which the first is the latest.
func countIn(channels []front.ChannelDetails, in []string, version string) {
	for i := range channels {
		if slices.Contains(in, channels[i].Name) {
			channels[i].Entries++
			channels[i].Latest = cmp.Or(channels[i].Latest, version)
		}
	}
}

// mostSteps bounds how many upgrades one after the other are shown.
const mostSteps = 100

// upgrades are the bundles that may follow on an installed one, and the versions that upgrades through
// the channels install one after the other.
func upgrades(pkg *catalog.Package, channels []string, installed string) (next []front.Upgrade, path []string, err error) {
	is := resolve.NewPackage(pkg)
	from, err := is.Find(installed)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range is.Successors(from, channels...) {
		next = append(next, front.Upgrade{Version: s.Version, Bundle: s.Name, Edge: s.Edge, Deprecated: s.Deprecated})
	}
	seen := map[string]bool{from.Name: true}
	for range mostSteps {
		steps := is.Successors(from, channels...)
		if len(steps) == 0 || seen[steps[0].Name] {
			break
		}
		from = steps[0].Identity
		seen[from.Name] = true
		path = append(path, from.Version)
	}
	return next, path, nil
}

// catalogOf is a ClusterCatalog as the command line shows and reads it: from the image that its content
// was read from last, or from catalogd where that serves it.
func catalogOf(cc *olmv1.ClusterCatalog) front.Catalog {
	is := front.Catalog{Name: cc.Name, Priority: cc.Spec.Priority, State: "NotServing", Folder: cc.Annotations[olmv1.AnnotationCatalogFolder], UnpackedAt: cc.Status.LastUnpacked}
	if cc.Spec.Source.Image != nil {
		is.Image = cc.Spec.Source.Image.Ref
	}
	if resolved := cc.Status.ResolvedSource; resolved != nil && resolved.Image != nil {
		is.Image = resolved.Image.Ref
	}
	if cc.Status.URLs != nil {
		is.Server = cc.Status.URLs.Base
	}
	conditions := cc.Status.Conditions
	switch progressing := meta.FindStatusCondition(conditions, olmv1.TypeProgressing); {
	case !counts(cc):
		is.State = "Unavailable"
	case meta.IsStatusConditionTrue(conditions, olmv1.TypeServing):
		is.State = "Serving"
		if progressing != nil && progressing.Reason != olmv1.ReasonSucceeded {
			is.Message = progressing.Message
		}
	case progressing != nil:
		is.Message = progressing.Message
	default:
		is.Message = "no controller has read it yet"
	}
	return is
}

// resolutionOf is an answer as the command line shows it.
func resolutionOf(ce *olmv1.ClusterExtension, installed *resolve.Identity, answer resolve.Answer, channels []string) front.Resolution {
	wants := ce.Spec.Source.Catalog
	is := front.Resolution{
		Resource: "ClusterExtension/" + ce.Name, Package: wants.PackageName, Version: wants.Version, Channels: wants.Channels,
		Outcome: string(answer.Outcome), Message: answer.Message, Warnings: answer.Warnings,
	}
	if installed != nil {
		is.Installed = &front.InstalledBundle{Name: installed.Name, Version: installed.Version}
	}
	if choice := answer.Choice; choice != nil {
		is.Bundle = &front.ChosenBundle{
			Name: choice.Name, Version: choice.Version, Catalog: choice.Catalog, Channels: channels,
			Image: choice.Image, Edge: choice.Edge, Deprecated: choice.Deprecated,
		}
		if choice.Release != nil {
			is.Bundle.Release = *choice.Release
		}
	}
	for _, candidate := range answer.Candidates {
		if candidate.LeftOut != "" {
			is.LeftOut = append(is.LeftOut, front.LeftOutBundle{
				Name: candidate.Name, Version: candidate.Version, Catalog: candidate.Catalog,
				Rule: string(candidate.LeftOut), Reason: candidate.Reason(), Deprecated: candidate.Deprecated,
			})
		}
	}
	for _, ignored := range answer.Ignored {
		is.Ignored = append(is.Ignored, fmt.Sprintf("catalog %s: %s", ignored.Catalog, ignored.Reason))
	}
	for _, notice := range noticesOf(answer.Deprecation) {
		is.Deprecations = append(is.Deprecations, notice.Name+": "+notice.Message)
	}
	return is
}

func noticesOf(d resolve.Deprecation) []resolve.Notice {
	notices := slices.Clone(d.Channels)
	for _, notice := range []*resolve.Notice{d.Package, d.Bundle} {
		if notice != nil {
			notices = append(notices, *notice)
		}
	}
	return notices
}
