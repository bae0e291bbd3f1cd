// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/strata-run/strata/internal/chart"
)

// The folders of the charts that a release has.
const (
	// ChartBase has the CRDs ([Release.CRDs] gives them) and what is for the whole mesh.
	ChartBase = "charts/base"
	// ChartIstiod is the control plane.
	ChartIstiod = "charts/istio-control/istio-discovery"
	// ChartCNI is the node agent that redirects the traffic of pods.
	ChartCNI = "charts/istio-cni"
	// ChartZtunnel is the node proxy of ambient mode.
	ChartZtunnel = "charts/ztunnel"
	// ChartIngress is the ingress gateway as the IstioOperator API has it.
	ChartIngress = "charts/gateways/istio-ingress"
	// ChartEgress is the egress gateway as the IstioOperator API has it.
	ChartEgress = "charts/gateways/istio-egress"
)

// crdFile contains the CRDs.
const crdFile = ChartBase + "/files/crd-all.gen.yaml"

// parsed is what has been asked for.
type parsed struct {
	lock   sync.Mutex
	charts map[string]*chart.Chart
	crds   []crd
}

// crd is a CRD as JSON, which takes a tenth of the memory that the parsed object would.
type crd struct {
	name string
	raw  []byte
}

// Chart is the chart in a folder of the release, with the release's version. It is parsed
// once. That of [ChartBase] is without the CRDs, which would be most of its cost: it has to
// be rendered with the value base.enableCRDTemplates set to false.
func (r *Release) Chart(dir string) (*chart.Chart, error) {
	r.parsed.lock.Lock()
	defer r.parsed.lock.Unlock()
	if c := r.parsed.charts[dir]; c != nil {
		return c, nil
	}
	c, err := chart.Load(chart.Source{FS: without{FS: r.files, file: crdFile}, Dir: dir, Version: r.app, AppVersion: r.app})
	if err != nil {
		return nil, err
	}
	if r.parsed.charts == nil {
		r.parsed.charts = map[string]*chart.Chart{}
	}
	r.parsed.charts[dir] = c
	return c, nil
}

// File is a file of the release's module, such as a profile, by its path below manifests.
// The error wraps fs.ErrNotExist when there is none.
func (r *Release) File(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.files, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s of Istio %s: %w", name, r.app, err)
	}
	return data, nil
}

// CRDs are the CustomResourceDefinitions of the release, sorted by name. They are the
// caller's to change.
func (r *Release) CRDs() ([]*unstructured.Unstructured, error) {
	all, err := r.packedCRDs()
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(all))
	for _, c := range all {
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(c.raw, &object.Object); err != nil {
			return nil, fmt.Errorf("decoding CRD %s: %w", c.name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// CRDNames are the names of [Release.CRDs], sorted.
func (r *Release) CRDNames() ([]string, error) {
	all, err := r.packedCRDs()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.name)
	}
	return names, nil
}

// packedCRDs parses the CRDs, once. The chart's template is not rendered: it adds nothing
// to the file but a condition.
func (r *Release) packedCRDs() ([]crd, error) {
	r.parsed.lock.Lock()
	defer r.parsed.lock.Unlock()
	if r.parsed.crds != nil {
		return r.parsed.crds, nil
	}
	data, err := r.File(crdFile)
	if err != nil {
		return nil, err
	}
	objects, err := chart.Manifests(crdFile, data)
	if err != nil {
		return nil, err
	}
	crds := make([]crd, 0, len(objects))
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			return nil, fmt.Errorf("reading the CRDs of Istio %s: %s is a %s", r.app, o.GetName(), o.GetKind())
		}
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("reading the CRDs of Istio %s: %w", r.app, err)
		}
		crds = append(crds, crd{name: o.GetName(), raw: raw})
	}
	r.parsed.crds = slices.Clip(crds)
	return r.parsed.crds, nil
}

// without is a file system that does not list one of its files.
type without struct {
	fs.FS

	file string
}

// ReadDir lists a folder.
func (w without) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, dir)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return path.Join(dir, e.Name()) == w.file }), err
}
