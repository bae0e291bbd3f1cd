// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// DefaultKubeVersion is what a template sees as the cluster's version. It is
	// a constant, and rather old than new, so that an upgrade of the cluster
	// changes no content.
	DefaultKubeVersion = "v1.33.0"

	// MaxOutputBytes is the most that the templates of a chart, or one YAML
	// file, may render to.
	MaxOutputBytes = 16 << 20

	// MaxObjects is how many objects a chart, or one YAML file, may have.
	MaxObjects = 2048
)

// defaultAPIVersions are served by every cluster of [DefaultKubeVersion] on.
var defaultAPIVersions = []string{
	"v1",
	"admissionregistration.k8s.io/v1",
	"apiextensions.k8s.io/v1",
	"apiregistration.k8s.io/v1",
	"apps/v1",
	"authentication.k8s.io/v1",
	"authorization.k8s.io/v1",
	"autoscaling/v1",
	"autoscaling/v2",
	"batch/v1",
	"certificates.k8s.io/v1",
	"coordination.k8s.io/v1",
	"discovery.k8s.io/v1",
	"events.k8s.io/v1",
	"networking.k8s.io/v1",
	"node.k8s.io/v1",
	"policy/v1",
	"rbac.authorization.k8s.io/v1",
	"scheduling.k8s.io/v1",
	"storage.k8s.io/v1",
}

// Release is what a chart is rendered with.
type Release struct {
	// Name is what templates see as .Release.Name. Required.
	Name string

	// Namespace is what templates see as .Release.Namespace. Required. It is not
	// put into objects whose template leaves it out: the chart does not say
	// which kinds have a namespace.
	Namespace string

	// Values are laid over the chart's own. They are not changed.
	Values map[string]any

	// IsUpgrade is what templates see as .Release.IsUpgrade; IsInstall is the
	// opposite. Default false.
	IsUpgrade bool

	// KubeVersion is what templates see as the cluster's version, such as
	// v1.36.3. Default [DefaultKubeVersion].
	KubeVersion string

	// APIVersions are what templates see as served, such as apps/v1. Default:
	// the stable ones that every cluster has.
	APIVersions []string

	// CheckValues checks the values against the chart's values.schema.json, for those
	// that come from a person. Default false.
	CheckValues bool
}

// Validate says what is missing or malformed.
func (r Release) Validate() error {
	if r.Name == "" {
		return errors.New("release name is empty")
	}
	if r.Namespace == "" {
		return errors.New("release namespace is empty")
	}
	_, err := r.kubeVersion()
	return err
}

func (r Release) kubeVersion() (*common.KubeVersion, error) {
	version := r.KubeVersion
	if version == "" {
		version = DefaultKubeVersion
	}
	parsed, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("parsing Kubernetes version %q: %w", version, err)
	}
	return parsed, nil
}

// capabilities are what a template sees of the cluster and of Helm.
func (r Release) capabilities() (*common.Capabilities, error) {
	version, err := r.kubeVersion()
	if err != nil {
		return nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *version
	caps.APIVersions = r.APIVersions
	if len(caps.APIVersions) == 0 {
		caps.APIVersions = defaultAPIVersions
	}
	// What this binary was built with must not show in content.
	caps.HelmVersion.GoVersion = ""
	caps.HelmVersion.KubeClientVersion = ""
	return caps, nil
}

// Render renders the chart and returns its objects, sorted by group, version,
// kind, namespace and name. Test hooks and NOTES.txt are left out. The error
// names the chart, the template, and the line: of the template when it cannot be
// executed, of the rendered text when that is not valid YAML.
func (c *Chart) Render(r Release) ([]*unstructured.Unstructured, error) {
	objects, err := c.render(r)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", c.Name(), err)
	}
	return objects, nil
}

func (c *Chart) render(r Release) ([]*unstructured.Unstructured, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	caps, err := r.capabilities()
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsUpgrade: r.IsUpgrade, IsInstall: !r.IsUpgrade}
	// Helm's check of the schema would follow its references over the network.
	values, err := util.ToRenderValuesWithSchemaValidation(c.parsed, r.Values, options, caps, true)
	if err != nil {
		return nil, fmt.Errorf("merging values: %w", oneLine(err))
	}
	if r.CheckValues {
		merged, err := values.Table("Values")
		if err != nil {
			return nil, fmt.Errorf("merging values: %w", oneLine(err))
		}
		if err := c.checkValues(merged.AsMap()); err != nil {
			return nil, err
		}
	}
	e := engine.Engine{CustomTemplateFuncs: functions()}
	texts, err := e.RenderWithContext(context.Background(), c.parsed, values)
	if err != nil {
		return nil, oneLine(err)
	}

	var size int
	var all []Located
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Base(name) == "NOTES.txt" {
			continue
		}
		if size += len(texts[name]); size > MaxOutputBytes {
			return nil, fmt.Errorf("%s: the output has more than %d bytes", name, MaxOutputBytes)
		}
		found, err := parse(name, []byte(texts[name]), yaml.YAMLToJSONStrict)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	all, err = finish(all)
	return objectsOf(all), err
}

// oneLine is the error with its text on one line: the engine spreads a template
// error over several, which a condition's message shows badly.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
