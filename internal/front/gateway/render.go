// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// records renders a package with a DNSRecord for each hostname.
func records(gateway *gatewayv1.Gateway, hostnames []string, to address, facts Facts) (*content.Package, error) {
	if len(gateway.Name) > maxLabel {
		return nil, fmt.Errorf("rendering the records of Gateway %s: its name has %d characters; the label %s takes at most %d", gateway.Name, len(gateway.Name), LabelGateway, maxLabel)
	}
	phase := content.Phase{Name: PhaseRecords, CollisionProtection: v1alpha1.CollisionIfNoController}
	names := map[string]string{}
	for _, hostname := range hostnames {
		name := RecordName(gateway.Name, hostname)
		if other, ok := names[name]; ok {
			return nil, fmt.Errorf("rendering the records of Gateway %s: hostnames %s and %s have the same hash, so that both records would be named %s: put one of them on another Gateway", gateway.Name, other, hostname, name)
		}
		names[name] = hostname
		phase.Objects = append(phase.Objects, content.Object{Manifest: record(gateway.Name, hostname, to, facts)})
	}
	return &content.Package{
		Name: PackageName(gateway.Name), Phases: []content.Phase{phase}, MayShrink: true,
		Origin: v1alpha1.Origin{
			Kind: v1alpha1.OriginFront, Reference: fmt.Sprintf("Gateway/%s/%s", Namespace, gateway.Name), Generation: gateway.Generation,
			Reason: reasonFor(hostnames, to),
		},
	}, nil
}

// reasonFor is the text in the history about the records.
func reasonFor(hostnames []string, to address) string {
	count := "1 hostname points"
	if len(hostnames) != 1 {
		count = fmt.Sprintf("%d hostnames point", len(hostnames))
	}
	return fmt.Sprintf("%s at %s", count, to.target)
}

func record(gateway, hostname string, to address, facts Facts) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"dnsName":             hostname + ".",
			"targets":             []any{to.target},
			"recordType":          to.kind,
			"recordTTL":           recordTTL,
			"dnsManagementPolicy": policy(hostname, facts),
		},
	}}
	object.SetGroupVersionKind(RecordKind)
	object.SetNamespace(Namespace)
	object.SetName(RecordName(gateway, hostname))
	object.SetLabels(recordLabels(gateway, facts))
	return object
}

// labels are those of the Service, but the engine's, and the Gateway's name.
func recordLabels(gateway string, facts Facts) map[string]string {
	labels := maps.Clone(facts.Service.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, v1alpha1.LabelPackage)
	labels[LabelGateway] = gateway
	return labels
}

// domainBound are the platforms whose zones only take names below the base domain.
var domainBound = []string{"AWS", "GCP"}

// policy says whether OpenShift is to publish a hostname's record.
func policy(hostname string, facts Facts) string {
	if slices.Contains(domainBound, facts.Platform) && !strings.HasSuffix(hostname, "."+ingress.Hostname(facts.Config.BaseDomain)) {
		return "Unmanaged"
	}
	return "Managed"
}
