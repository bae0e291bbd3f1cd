// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Zone is a zone of a DNS provider.
type Zone struct {
	// ID is the provider's name for it. It may be empty.
	ID string
	// Name is the zone's tag of that name. It may be empty.
	Name string
}

// String is how the zone is named to people.
func (z Zone) String() string { return cmp.Or(z.Name, z.ID, "unnamed zone") }

// is says whether two descriptions are of one zone.
func (z Zone) is(other Zone) bool {
	return z.ID != "" && z.ID == other.ID || z.Name != "" && z.Name == other.Name
}

// DNSConfig is the cluster's DNS config.
type DNSConfig struct {
	// BaseDomain is the domain that all records of the cluster itself are below.
	BaseDomain string
	// Zones are the public and the private one, as far as there are.
	Zones []Zone
}

// Record is a DNSRecord, as far as it matters here.
type Record struct {
	// Name is the object's.
	Name string
	// Package is the package that it belongs to, empty for none.
	Package string
	// Hostname is spec.dnsName, without the dot at its end.
	Hostname string
	// Deleting says that it is being deleted, and waits for its finalizers: it is taken out
	// of its zones.
	Deleting bool
	// Unmanaged says that its policy is Unmanaged: no controller publishes it.
	Unmanaged bool
	// Zones are where it is or should be published, from its status.
	Zones []ZoneStatus
}

// ZoneStatus is what became of a record in a zone.
type ZoneStatus struct {
	// Zone is where.
	Zone Zone
	// Published says whether it worked: Unknown if its controller has not reported
	// that yet. Reason and Message are the provider's.
	Published       metav1.ConditionStatus
	Reason, Message string
}

// DNSInput is what the record of one hostname is judged by.
type DNSInput struct {
	// Hostname is what the record is for.
	Hostname string
	// Config is the cluster's DNS config, nil if there is none.
	Config *DNSConfig
	// Platform is what the cluster runs on, as its Infrastructure calls it, such as AWS.
	// Empty if it does not say.
	Platform string
	// Record is the hostname's DNSRecord, nil if there is none.
	Record *Record
	// Missing says why there is no record, if that is known: half a sentence.
	Missing string
}

// DNS judges the record of a hostname. Of the zones that it reports those count that
// are in the DNS config, so that a zone that was taken out is no failure, were it the only
// one.
func DNS(in DNSInput) Verdict {
	switch {
	case in.Config == nil || len(in.Config.Zones) == 0:
		return Verdict{metav1.ConditionFalse, ReasonNoDNSZones, noZonesMessage(in)}
	case in.Record == nil || in.Record.Name == "":
		message := fmt.Sprintf("The DNSRecord for hostname %s is not found", in.Hostname)
		if in.Missing != "" {
			message += ": " + in.Missing
		}
		return Verdict{metav1.ConditionFalse, ReasonRecordNotFound, sentence(message)}
	case in.Record.Deleting:
		return Verdict{metav1.ConditionFalse, ReasonRecordNotFound, fmt.Sprintf(
			"DNSRecord %s for hostname %s is being deleted and removed from its zones: it is created again afterwards.", in.Record.Name, in.Hostname)}
	case in.Record.Unmanaged:
		return Verdict{metav1.ConditionUnknown, ReasonUnmanagedDNS, fmt.Sprintf(
			"The DNS management policy of DNSRecord %s is Unmanaged: OpenShift does not publish the record for hostname %s.", in.Record.Name, in.Hostname)}
	case len(in.Record.Zones) == 0:
		return Verdict{metav1.ConditionFalse, ReasonNoZones, fmt.Sprintf("DNSRecord %s reports no zones: it was not published yet.", in.Record.Name)}
	}
	return zonesVerdict(in)
}

func zonesVerdict(in DNSInput) Verdict {
	var failed, unknown []ZoneStatus
	for _, zone := range sorted(in.Record.Zones) {
		switch {
		case !slices.ContainsFunc(in.Config.Zones, zone.Zone.is):
		case zone.Published == metav1.ConditionFalse:
			failed = append(failed, zone)
		case zone.Published != metav1.ConditionTrue:
			unknown = append(unknown, zone)
		}
	}
	switch {
	case len(failed) > 0:
		return Verdict{metav1.ConditionFalse, ReasonFailedZones, "The record failed to provision in some zones: " + describe(failed)}
	case len(unknown) > 0:
		return Verdict{metav1.ConditionFalse, ReasonUnknownZones, "It is unknown whether the record is provisioned in some zones: " + describe(unknown)}
	}
	return Verdict{metav1.ConditionTrue, ReasonNoFailedZones, "The record is provisioned in all reported zones."}
}

// sorted is a copy in an order that does not depend on who reports.
func sorted(zones []ZoneStatus) []ZoneStatus {
	return slices.SortedStableFunc(slices.Values(zones), func(a, b ZoneStatus) int {
		return cmp.Or(cmp.Compare(a.Zone.String(), b.Zone.String()), cmp.Compare(a.Zone.ID, b.Zone.ID), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
}

// maxZones bounds how many zones are named. A cluster has two; what a record reports
// is up to others.
const maxZones = 4

// describe names zones in brackets, and then what the provider says of each.
func describe(zones []ZoneStatus) string {
	var names, causes []string
	for i, zone := range zones {
		if i == maxZones {
			names = append(names, fmt.Sprintf("and %d more", len(zones)-maxZones))
			break
		}
		name := quote(zone.Zone.String())
		names = append(names, name)
		if cause := strings.Trim(quote(zone.Reason)+": "+quote(zone.Message), ": "); cause != "" {
			causes = append(causes, sentence(name+": "+cause))
		}
	}
	return strings.TrimSpace("[" + strings.Join(names, " ") + "] " + strings.Join(causes, " "))
}

// dnsPlatforms are those on which OpenShift publishes DNS records.
var dnsPlatforms = []string{"AWS", "Azure", "GCP", "IBMCloud", "PowerVS"}

// IsPublished says whether OpenShift publishes DNSRecords: it manages the DNS of the platform,
// and there is a zone.
func IsPublished(config *DNSConfig, platform string) bool {
	return config != nil && len(config.Zones) > 0 && slices.Contains(dnsPlatforms, platform)
}

func noZonesMessage(in DNSInput) string {
	message := "No DNS zones are defined in the cluster dns config."
	if in.Config == nil {
		message = "No DNS zones are defined, as the cluster has no dns config (dns.config.openshift.io cluster)."
	}
	switch {
	case in.Platform == "":
		message += " OpenShift cannot manage DNS records on an unknown infrastructure platform."
	case !slices.Contains(dnsPlatforms, in.Platform):
		message += fmt.Sprintf(" OpenShift cannot manage DNS records on infrastructure platform %s: create them where your domain is hosted.", in.Platform)
	}
	return message
}
