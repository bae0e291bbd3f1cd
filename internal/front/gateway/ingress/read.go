// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Hostname is a hostname without the dot that may stand at its end.
func Hostname(name string) string { return strings.TrimSuffix(name, ".") }

// ReadDNSConfig reads a DNS of config.openshift.io. Nothing in it is required; what
// has another type than it should is an error.
func ReadDNSConfig(object *unstructured.Unstructured) (*DNSConfig, error) {
	r := reader{object: object.Object}
	config := &DNSConfig{BaseDomain: r.text("spec", "baseDomain")}
	for _, field := range []string{"publicZone", "privateZone"} {
		if zone, ok := r.mapping("spec", field); ok {
			config.Zones = append(config.Zones, r.zone(zone))
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("reading DNS %s: %w", object.GetName(), r.err)
	}
	return config, nil
}

// ReadPlatform reads status.platformStatus.type of an Infrastructure of
// config.openshift.io, which is empty until it is known.
func ReadPlatform(object *unstructured.Unstructured) (string, error) {
	r := reader{object: object.Object}
	platform := r.text("status", "platformStatus", "type")
	if r.err != nil {
		return "", fmt.Errorf("reading Infrastructure %s: %w", object.GetName(), r.err)
	}
	return platform, nil
}

// ReadRecord reads a DNSRecord of ingress.operator.openshift.io.
func ReadRecord(object *unstructured.Unstructured) (*Record, error) {
	r := reader{object: object.Object}
	record := &Record{
		Name: object.GetName(), Package: object.GetLabels()[v1alpha1.LabelPackage], Hostname: Hostname(r.text("spec", "dnsName")),
		Deleting: object.GetDeletionTimestamp() != nil, Unmanaged: r.text("spec", "dnsManagementPolicy") == "Unmanaged",
	}
	for _, entry := range r.list("status", "zones") {
		zone, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		inner := reader{object: zone}
		described, _ := inner.mapping("dnsZone")
		status := ZoneStatus{Zone: inner.zone(described), Published: metav1.ConditionUnknown}
		status.take(inner.list("conditions"))
		record.Zones = append(record.Zones, status)
		r.keep(inner.err)
	}
	if r.err != nil {
		return nil, fmt.Errorf("reading DNSRecord %s: %w", object.GetName(), r.err)
	}
	return record, nil
}

// take takes the condition Published over; of several, which nothing forbids, the
// worst one.
func (z *ZoneStatus) take(conditions []any) {
	found := false
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] != "Published" {
			continue
		}
		text, _ := condition["status"].(string)
		status := metav1.ConditionStatus(text)
		if status != metav1.ConditionTrue && status != metav1.ConditionFalse {
			status = metav1.ConditionUnknown
		}
		if found && (z.Published == metav1.ConditionFalse || status == metav1.ConditionTrue) {
			continue
		}
		found = true
		z.Published = status
		z.Reason, _ = condition["reason"].(string)
		z.Message, _ = condition["message"].(string)
	}
}

// reader reads fields, and keeps the first error.
type reader struct {
	object map[string]any
	err    error
}

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) text(path ...string) string {
	value, _, err := unstructured.NestedString(r.object, path...)
	r.keep(err)
	return value
}

func (r *reader) list(path ...string) []any {
	value, _, err := unstructured.NestedFieldNoCopy(r.object, path...)
	r.keep(err)
	if value == nil {
		return nil
	}
	entries, ok := value.([]any)
	if !ok {
		r.keep(fmt.Errorf("%s is not a list", strings.Join(path, ".")))
	}
	return entries
}

// mapping is an object, and whether it is there. One that is null is not.
func (r *reader) mapping(path ...string) (map[string]any, bool) {
	value, _, err := unstructured.NestedFieldNoCopy(r.object, path...)
	r.keep(err)
	if value == nil {
		return nil, false
	}
	object, ok := value.(map[string]any)
	if !ok {
		r.keep(fmt.Errorf("%s is not an object", strings.Join(path, ".")))
	}
	return object, ok
}

func (r *reader) zone(described map[string]any) Zone {
	inner := reader{object: described}
	zone := Zone{ID: inner.text("id"), Name: inner.text("tags", "Name")}
	r.keep(inner.err)
	return zone
}
