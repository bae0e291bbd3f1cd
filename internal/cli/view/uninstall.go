// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

// Uninstallation is the document of `strata uninstall`: which packages are released, what
// stands in the way, and what is left to remove.
type Uninstallation struct {
	metav1.TypeMeta `json:",inline"`

	// Packages are released: their objects stay.
	Packages []PackageToRelease `json:"packages"`
	// Resources are those of fronts that have a finalizer of Strata: they stay, and cannot
	// be deleted before it is taken off.
	Resources []HeldResource `json:"resources"`
	// Obstacles say what stands in the way. Nothing is changed before there is none.
	Obstacles []string `json:"obstacles"`
	// Remaining are the commands that remove the rest once the packages are released.
	Remaining []string `json:"remaining"`
	// Released is true once every package is released.
	Released bool `json:"released"`
}

// PackageToRelease is a package that an uninstallation releases.
type PackageToRelease struct {
	// Name is the Package's name.
	Name string `json:"name"`
	// Front is the front that made it, empty when none did.
	Front string `json:"front,omitempty"`
	// Objects is how many objects stay.
	Objects int `json:"objects"`
}

// HeldResource is a resource of a front that has the front's finalizer.
type HeldResource struct {
	v1alpha1.ObjectReference `json:",inline"`

	// Front is the front that has put the finalizer there.
	Front string `json:"front"`
	// Finalizer is the finalizer, and At its place among the finalizers.
	Finalizer string `json:"finalizer"`
	At        int    `json:"at"`
}

// Of are the packages and resources of a front.
func (d *Uninstallation) Of(front string) []string {
	var names []string
	for _, pkg := range d.Packages {
		if pkg.Front == front {
			names = append(names, "package "+pkg.Name)
		}
	}
	for _, resource := range d.Resources {
		if resource.Front == front {
			names = append(names, ObjectName(resource.ObjectReference))
		}
	}
	return names
}

// StandsInTheWay says why a package cannot be released as it is.
func StandsInTheWay(pkg *v1alpha1.Package, now time.Time) []string {
	var reasons []string
	if pause := history.PauseOf(pkg, now); pause != nil {
		reasons = append(reasons, fmt.Sprintf("package %s is %s: `strata resume %s` ends that", pkg.Name, PauseText(pause), pkg.Name))
	}
	if pkg.DeletionTimestamp != nil && pkg.Spec.DeletionPolicy != v1alpha1.DeletionPolicyOrphan && !slices.Contains(pkg.Finalizers, metav1.FinalizerOrphanDependents) {
		reasons = append(reasons, fmt.Sprintf("package %s is being deleted with its objects: `strata wait %s --for deleted` waits for that", pkg.Name, pkg.Name))
	}
	return reasons
}

// WriteUninstallation writes what would happen.
func WriteUninstallation(p *output.Printer, d Uninstallation) {
	if len(d.Packages) == 0 {
		p.Line(output.Span{Text: "There are no packages to release."})
	}
	var packages, resources []string
	for _, pkg := range d.Packages {
		packages = append(packages, pkg.Name+", "+CountOf(pkg.Objects, "object")+Prefixed(", made by front ", pkg.Front))
	}
	for _, r := range d.Resources {
		resources = append(resources, ObjectName(r.ObjectReference))
	}
	writeStaying(p, "Packages that are released; all of their objects stay:", packages)
	writeStaying(p, "Resources of fronts that stay, with a finalizer that is to be taken off:", resources)
}
