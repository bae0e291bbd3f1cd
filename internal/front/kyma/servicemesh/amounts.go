// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// amounts are what a component gets.
type amounts struct {
	// field is where it is set, below spec.components.
	field string
	// k8s has its resources, and the bounds of its replicas if it has any.
	k8s tree
}

// validateAmounts checks what the components get together with the defaults. The API server
// would refuse the object halfway through a rollout, and of sidecars each pod that has one.
func validateAmounts(operator tree) error {
	components := at(operator, "spec", "components")
	all := []amounts{
		{"pilot", at(components, "pilot", "k8s")},
		{"ingressGateway", at(entry(components, IngressGateway, "ingressGateways"), "k8s")},
		{"proxy", at(operator, "spec", "values", "global", "proxy")},
	}
	if gateway := entry(components, EgressGateway, "egressGateways"); gateway["enabled"] == true {
		all = append(all, amounts{"egressGateway", at(gateway, "k8s")})
	}
	if cni := at(components, "cni"); cni["enabled"] == true {
		all = append(all, amounts{"cni", at(cni, "k8s")})
	}
	for _, a := range all {
		if err := a.validateResources(); err != nil {
			return err
		}
		if err := a.validateReplicas(); err != nil {
			return err
		}
	}
	return nil
}

func (a amounts) refuse(of, format string, args ...any) error {
	return &ValidationError{Field: "spec.components." + a.field + ".k8s." + of, Problem: fmt.Sprintf(format, args...), Warn: true}
}

// validateResources checks that nothing may use less than it asks for.
func (a amounts) validateResources() error {
	for _, name := range []string{"cpu", "memory"} {
		request, err := a.quantity("requests", name)
		if err != nil {
			return err
		}
		limit, err := a.quantity("limits", name)
		if err != nil {
			return err
		}
		if !limit.IsZero() && request.Cmp(limit) > 0 {
			return a.refuse("resources", "gives a request of %s of %s, by default perhaps, and a limit of %s: set both, and the request not above the limit", request.String(), name, limit.String())
		}
	}
	return nil
}

// quantity is one of the amounts of a container, zero when it has none.
func (a amounts) quantity(kind, name string) (resource.Quantity, error) {
	value, found, _ := unstructured.NestedFieldNoCopy(a.k8s, "resources", kind, name)
	if !found {
		return resource.Quantity{}, nil
	}
	q, err := resource.ParseQuantity(fmt.Sprint(value))
	if err != nil {
		return q, a.refuse("resources."+kind+"."+name, "is %q, which is not an amount: %v", value, err)
	}
	return q, nil
}

// validateReplicas checks the bounds of an autoscaler. There is none where one of them is 0.
func (a amounts) validateReplicas() error {
	hpa, _ := a.k8s["hpaSpec"].(tree)
	least, _ := hpa["minReplicas"].(int64)
	most, _ := hpa["maxReplicas"].(int64)
	if least > most && most > 0 {
		return a.refuse("hpaSpec", "asks for at least %d replicas, by default perhaps, and for %d at most: set both, and minReplicas not above maxReplicas", least, most)
	}
	return nil
}
