// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	manifests128 "alias.strata.run/istio-1-28/manifests"
	manifests129 "alias.strata.run/istio-1-29/manifests"
	manifests131 "istio.io/istio/manifests"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/strata-run/strata/internal/chart"
)

// releases are the Istio versions in this binary, oldest first. The modules tell
// only their minor (in a file VERSION that is not embedded); the patch is the
// release that each module's commit belongs to.
var releases = []*release{
	newRelease("1.28", "1.28.2", manifests128.FS, false),
	newRelease("1.29", "1.29.1", manifests129.FS, true),
	newRelease("1.31", "1.31.0", manifests131.FS, true),
}

// release is one Istio version.
type release struct {
	minor string
	app   string

	// ignoresResources says whether istiod reads PILOT_IGNORE_RESOURCES.
	ignoresResources bool

	// content parses the charts, once: only versions that are asked for cost
	// memory.
	content func() (*content, error)
}

// content is what does not depend on any GatewayClass.
type content struct {
	istiod *chart.Chart

	// crds are the CRDs as JSON, which takes a tenth of the memory that the
	// parsed objects would, and crdNames their names, in the same order.
	crds     [][]byte
	crdNames []string
}

func newRelease(minor, app string, manifests fs.FS, ignoresResources bool) *release {
	r := &release{minor: minor, app: app, ignoresResources: ignoresResources}
	r.content = sync.OnceValues(func() (*content, error) {
		return parseContent(manifests, app)
	})
	return r
}

func parseContent(manifests fs.FS, app string) (*content, error) {
	istiod, err := chart.Load(chart.Source{FS: manifests, Dir: "charts/istio-control/istio-discovery", Version: app, AppVersion: app})
	if err != nil {
		return nil, err
	}
	// The base chart is not rendered: for a revision with a name of its own it
	// has nothing but the CRDs.
	const file = "charts/base/files/crd-all.gen.yaml"
	data, err := fs.ReadFile(manifests, file)
	if err != nil {
		return nil, fmt.Errorf("reading Istio CRDs: %w", err)
	}
	crds, err := chart.Manifests(file, data)
	if err != nil {
		return nil, err
	}
	c := &content{istiod: istiod}
	for _, crd := range crds {
		if crd.GetKind() != "CustomResourceDefinition" {
			return nil, fmt.Errorf("reading Istio CRDs: %s is a %s", crd.GetName(), crd.GetKind())
		}
		raw, err := json.Marshal(crd.Object)
		if err != nil {
			return nil, fmt.Errorf("reading Istio CRDs: %w", err)
		}
		c.crds = append(c.crds, raw)
		c.crdNames = append(c.crdNames, crd.GetName())
	}
	return c, nil
}

// Versions are the Istio minors that a GatewayClass can ask for, oldest first.
func Versions() []string {
	all := make([]string, 0, len(releases))
	for _, r := range releases {
		all = append(all, r.minor)
	}
	return all
}

// AppVersion is the full version of a known Istio version, such as 1.29.1 for
// 1.29, 1.29.1 and v1.29.1. The error is an [UnknownVersionError].
func AppVersion(version string) (string, error) {
	r, ok := resolve(version)
	if !ok {
		return "", &UnknownVersionError{Version: version, Known: Versions()}
	}
	return r.app, nil
}

// ManagedCRDs are the names of the CRDs of an Istio version, sorted. It is nil
// for a version that is not known.
func ManagedCRDs(version string) []string {
	r, ok := resolve(version)
	if !ok {
		return nil
	}
	c, err := r.content()
	if err != nil {
		return nil
	}
	return slices.Clone(c.crdNames)
}

// UnknownVersionError says that an Istio version is not in this binary.
type UnknownVersionError struct {
	// Class is the GatewayClass that asks for it. Empty when it is the default
	// version.
	Class string
	// Version is what is asked for.
	Version string
	// Known are the versions that can be asked for.
	Known []string
}

// Error names who asks, for what, and the remedy.
func (e *UnknownVersionError) Error() string {
	known := strings.Join(e.Known, ", ")
	if e.Class == "" {
		return fmt.Sprintf("the default Istio version %q is not known: set it to one of %s", e.Version, known)
	}
	return fmt.Sprintf("GatewayClass %s asks for Istio version %q, which is not known: set its annotation %s to one of %s, or remove it",
		e.Class, e.Version, AnnotationIstioVersion, known)
}

// resolve finds a release by its minor or full version, with or without a v.
func resolve(version string) (*release, bool) {
	version = strings.TrimPrefix(strings.TrimSpace(version), "v")
	for _, r := range releases {
		if version == r.minor || version == r.app {
			return r, true
		}
	}
	return nil, false
}

// crdRelease is the release whose CRDs go with wanted when those of the version
// in place must not be downgraded: the oldest that is as new as both. It is not
// ok when the ones in place are newer than all of this binary.
func crdRelease(wanted *release, inPlace string) (*release, bool, error) {
	if inPlace == "" {
		return wanted, true, nil
	}
	least, err := utilversion.ParseGeneric(inPlace)
	if err != nil {
		return nil, false, fmt.Errorf("reading the version of the CRDs in place: %w", err)
	}
	for _, r := range releases[slices.Index(releases, wanted):] {
		v, err := utilversion.ParseGeneric(r.app)
		if err != nil {
			return nil, false, fmt.Errorf("reading a version in this binary: %w", err)
		}
		if v.AtLeast(least) {
			return r, true, nil
		}
	}
	return nil, false, nil
}
