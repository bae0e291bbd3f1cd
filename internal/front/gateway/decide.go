// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// Class says whose a Gateway is.
type Class int

const (
	// ClassMissing is that of a Gateway whose GatewayClass does not exist: it may be
	// about to be made again, which is the only way to change it.
	ClassMissing Class = iota
	// ClassOurs is that of a Gateway that our control plane serves.
	ClassOurs
	// ClassForeign is that of a Gateway of another controller.
	ClassForeign
)

// Facts are what a Gateway's records and conditions are made from, besides itself. The
// zero value, which is there when something could not be read, leaves all as it is.
type Facts struct {
	// Class says whose the Gateway is.
	Class Class
	// RecordsServed says whether the cluster knows DNSRecords.
	RecordsServed bool
	// Service is the one before the Gateway's proxies, nil if there is none; Others are
	// the names of further ones with its label.
	Service *corev1.Service
	Others  []string
	// Events are warnings about Services.
	Events []corev1.Event
	// Config is the cluster's DNS config, nil if there is none.
	Config *ingress.DNSConfig
	// Platform is what the cluster runs on, empty if that is not known.
	Platform string
	// Records are the Gateway's DNSRecords by hostname.
	Records map[string]*ingress.Record
}

// Decision is what is to become of a Gateway's records.
type Decision struct {
	// Package is the Gateway's, nil if it wants none. Its Blocked says that what there is
	// stays for now.
	Package *content.Package
	// Reason says why no record is made, half a sentence. Empty if records are made, or
	// there is no hostname to make one for.
	Reason string
}

// Decide says what is to become of a Gateway's records. An error says what in the
// Gateway cannot be rendered.
func Decide(gateway *gatewayv1.Gateway, facts Facts) (Decision, error) {
	hostnames := hostnames(gateway)
	if facts.Class == ClassForeign || len(hostnames) == 0 {
		return Decision{}, nil
	}
	if reason := uncertain(gateway, facts); reason != "" {
		return keep(gateway, reason), nil
	}
	if facts.Service == nil && len(facts.Others) > 0 {
		return keep(gateway, fmt.Sprintf("there is no Service for GatewayClass %s yet, and %s of another class", gateway.Spec.GatewayClassName, strings.Join(facts.Others, ", "))), nil
	}
	if facts.Service == nil {
		return Decision{Reason: fmt.Sprintf("no Service has the label %s: %s", LabelGateway, gateway.Name)}, nil
	}
	if kind := facts.Service.Spec.Type; kind != "" && kind != corev1.ServiceTypeLoadBalancer {
		return Decision{Reason: fmt.Sprintf("service %s is of type %s, which has no external address", facts.Service.Name, kind)}, nil
	}
	address, reason := addressOf(facts.Service)
	if reason != "" {
		return keep(gateway, reason), nil
	}
	pkg, err := records(gateway, hostnames, address, facts)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Package: pkg}, nil
}

// uncertain says why it is not known what records there should be.
func uncertain(gateway *gatewayv1.Gateway, facts Facts) string {
	switch {
	case facts.Class == ClassMissing:
		return fmt.Sprintf("GatewayClass %s does not exist", gateway.Spec.GatewayClassName)
	case !facts.RecordsServed:
		return fmt.Sprintf("the cluster has no kind %s.%s", RecordKind.Kind, RecordKind.Group)
	case facts.Config == nil:
		return fmt.Sprintf("the cluster has no DNS config (%s.%s %s)", DNSKind.Kind, DNSKind.Group, Config)
	case facts.Platform == "":
		return fmt.Sprintf("%s.%s %s does not say what platform the cluster runs on", InfrastructureKind.Kind, InfrastructureKind.Group, Config)
	}
	return ""
}

// keep leaves as it is what there is.
func keep(gateway *gatewayv1.Gateway, reason string) Decision {
	return Decision{Package: &content.Package{Name: PackageName(gateway.Name), Blocked: reason}, Reason: reason}
}

// hostnames are those of the listeners, sorted, each once.
func hostnames(gateway *gatewayv1.Gateway) []string {
	return slices.Compact(slices.Sorted(maps.Values(ingress.Hostnames(gateway))))
}
