// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/istio"
)

// component is a part of the installation that is switched on in the merged input.
type component struct {
	// chart is its folder.
	chart string
	// values are what the chart gets.
	values tree
	// k8s are settings of its objects that the charts do not take as values.
	k8s tree
	// container is the one of its workload that k8s is about.
	container string
	// gateway says that it is one.
	gateway bool
}

// componentsOf are the components that the merged input switches on.
func componentsOf(operator tree) []component {
	spec := at(operator, "spec")
	values := commonValues(spec)
	var on []component
	add := func(c component, settings tree) {
		if enabled, _ := settings["enabled"].(bool); enabled {
			c.k8s, _ = settings["k8s"].(tree)
			if c.values == nil {
				c.values = values
			}
			on = append(on, c)
		}
	}
	components := at(spec, "components")
	add(component{chart: istio.ChartBase}, at(components, "base"))
	add(component{chart: istio.ChartIstiod, container: "discovery"}, at(components, "pilot"))
	add(component{chart: istio.ChartCNI, container: "install-cni"}, at(components, "cni"))
	add(component{chart: istio.ChartZtunnel, container: "istio-proxy", values: ztunnelValues(spec, values)}, at(components, "ztunnel"))
	add(component{chart: istio.ChartIngress, container: "istio-proxy", gateway: true}, entry(components, IngressGateway, "ingressGateways"))
	add(component{chart: istio.ChartEgress, container: "istio-proxy", gateway: true}, entry(components, EgressGateway, "egressGateways"))
	return on
}

// commonValues are the values for the charts: those of the input, and what the input says
// elsewhere and the charts take as values.
func commonValues(spec tree) tree {
	input, _ := spec["values"].(tree)
	values := runtime.DeepCopyJSON(input)
	put(values, spec["hub"], "global", "hub")
	put(values, spec["tag"], "global", "tag")
	values["ownerName"] = owner
	put(values, false, "base", "enableCRDTemplates")
	mesh, _ := spec["meshConfig"].(tree)
	values["meshConfig"] = runtime.DeepCopyJSON(mesh)
	cni, _ := at(spec, "components", "cni")["enabled"].(bool)
	put(values, cni, "pilot", "cni", "enabled")
	scale(at(values, "pilot"), at(spec, "components", "pilot"))
	scale(at(values, "gateways", IngressGateway), entry(spec, IngressGateway, "components", "ingressGateways"))
	scale(at(values, "gateways", EgressGateway), entry(spec, EgressGateway, "components", "egressGateways"))
	return values
}

// scale sets the bounds of replicas as values: whether there is a disruption budget depends
// on them.
func scale(values, settings tree) {
	hpa := at(settings, "k8s", "hpaSpec")
	if least, ok := hpa["minReplicas"]; ok {
		values["autoscaleMin"] = least
	}
	if most, ok := hpa["maxReplicas"]; ok {
		values["autoscaleMax"] = most
	}
}

// ztunnelValues are those of a chart that takes its own at the top.
func ztunnelValues(spec, values tree) tree {
	own, _ := values["ztunnel"].(tree)
	all := overlay(values, own)
	all["hub"], all["tag"] = spec["hub"], spec["tag"]
	delete(all, "ztunnel")
	return all
}

// render gives the objects of a component.
func (c component) render(release *istio.Release) ([]*unstructured.Unstructured, error) {
	parsed, err := release.Chart(c.chart)
	if err != nil {
		return nil, err
	}
	// As an upgrade, the charts leave out what istiod sets itself.
	objects, err := parsed.Render(chart.Release{Name: releaseName, Namespace: IstioNamespace, Values: c.values, IsUpgrade: true})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := c.patch(o); err != nil {
			return nil, fmt.Errorf("rendering %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return objects, nil
}
