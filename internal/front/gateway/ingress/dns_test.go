// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

var (
	public  = ingress.Zone{ID: "Z1"}
	private = ingress.Zone{Name: "prod.example.com"}
	foreign = ingress.Zone{ID: "Z9", Name: "elsewhere.example.com"}
)

func config() *ingress.DNSConfig {
	return &ingress.DNSConfig{BaseDomain: "example.com", Zones: []ingress.Zone{public, private}}
}

func record(zones ...ingress.ZoneStatus) *ingress.Record {
	return &ingress.Record{Name: "edge-5x-wildcard", Hostname: "*.prod.example.com", Zones: zones}
}

func in(zone ingress.Zone, published metav1.ConditionStatus, cause ...string) ingress.ZoneStatus {
	status := ingress.ZoneStatus{Zone: zone, Published: published}
	if len(cause) == 2 {
		status.Reason, status.Message = cause[0], cause[1]
	}
	return status
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// dnsCase is a case of [TestDNS].
type dnsCase struct {
	reason string
	in     ingress.DNSInput
	want   ingress.Verdict
}

var dnsThrottled = in(private, no, "ProviderError", "Throttling: Rate exceeded")

// dnsCases are the cases of [TestDNS].
var dnsCases = map[string]dnsCase{
	"NoZonesInConfig": {
		reason: "without zones nothing else is checked, not even a failed record",
		in:     ingress.DNSInput{Config: &ingress.DNSConfig{BaseDomain: "example.com"}, Platform: "AWS", Record: record(dnsThrottled)},
		want:   ingress.Verdict{Status: no, Reason: "NoDNSZones", Message: "No DNS zones are defined in the cluster dns config."},
	},
	"NoConfig": {
		reason: "a cluster without a DNS config has no zones",
		in:     ingress.DNSInput{Platform: "GCP"},
		want:   ingress.Verdict{Status: no, Reason: "NoDNSZones", Message: "No DNS zones are defined, as the cluster has no dns config (dns.config.openshift.io cluster)."},
	},
	"OnPremises": {
		reason: "the message says that OpenShift cannot manage DNS where there is no cloud",
		in:     ingress.DNSInput{Config: &ingress.DNSConfig{}, Platform: "BareMetal"},
		want: ingress.Verdict{Status: no, Reason: "NoDNSZones", Message: "No DNS zones are defined in the cluster dns config. " +
			"OpenShift cannot manage DNS records on infrastructure platform BareMetal: create them where your domain is hosted."},
	},
	"UnknownPlatform": {
		reason: "plain Kubernetes has no Infrastructure",
		in:     ingress.DNSInput{},
		want: ingress.Verdict{Status: no, Reason: "NoDNSZones", Message: "No DNS zones are defined, as the cluster has no dns config (dns.config.openshift.io cluster). " +
			"OpenShift cannot manage DNS records on an unknown infrastructure platform."},
	},
	"NoRecord": {
		reason: "the hostname that is looked for is named",
		in:     ingress.DNSInput{Hostname: "a.example.com", Config: config(), Platform: "AWS"},
		want:   ingress.Verdict{Status: no, Reason: "RecordNotFound", Message: "The DNSRecord for hostname a.example.com is not found."},
	},
	"NoRecordForAReason": {
		reason: "why there is none is reported if it is known",
		in:     ingress.DNSInput{Hostname: "a.example.com", Config: config(), Missing: "the load balancer has no address"},
		want:   ingress.Verdict{Status: no, Reason: "RecordNotFound", Message: "The DNSRecord for hostname a.example.com is not found: the load balancer has no address."},
	},
	"RecordWithoutName": {
		reason: "a record with an empty name is none",
		in:     ingress.DNSInput{Hostname: "a.example.com", Config: config(), Record: &ingress.Record{}},
		want:   ingress.Verdict{Status: no, Reason: "RecordNotFound", Message: "The DNSRecord for hostname a.example.com is not found."},
	},
	"Unmanaged": {
		reason: "the policy comes before the zones",
		in: ingress.DNSInput{Hostname: "a.other.org", Config: config(), Record: &ingress.Record{
			Name: "edge-5x-wildcard", Unmanaged: true, Zones: []ingress.ZoneStatus{dnsThrottled},
		}},
		want: ingress.Verdict{Status: unknown, Reason: "UnmanagedDNS", Message: "The DNS management policy of DNSRecord edge-5x-wildcard is Unmanaged: " +
			"OpenShift does not publish the record for hostname a.other.org."},
	},
	"NoZones": {
		reason: "a record that reports nothing was not published",
		in:     ingress.DNSInput{Config: config(), Record: record()},
		want:   ingress.Verdict{Status: no, Reason: "NoZones", Message: "DNSRecord edge-5x-wildcard reports no zones: it was not published yet."},
	},
	"Failed": {
		reason: "zones and the provider's errors are in the message",
		in:     ingress.DNSInput{Config: config(), Record: record(in(public, yes), dnsThrottled)},
		want: ingress.Verdict{Status: no, Reason: "FailedZones", Message: "The record failed to provision in some zones: [prod.example.com] " +
			"prod.example.com: ProviderError: Throttling: Rate exceeded."},
	},
	"FailedWithoutError": {
		reason: "the message of the seed, when the provider says nothing",
		in:     ingress.DNSInput{Config: config(), Record: record(in(public, yes), in(private, no))},
		want:   ingress.Verdict{Status: no, Reason: "FailedZones", Message: "The record failed to provision in some zones: [prod.example.com]"},
	},
	"FailedAndUnknown": {
		reason: "failed zones take precedence",
		in:     ingress.DNSInput{Config: config(), Record: record(in(public, unknown), dnsThrottled)},
		want: ingress.Verdict{Status: no, Reason: "FailedZones", Message: "The record failed to provision in some zones: [prod.example.com] " +
			"prod.example.com: ProviderError: Throttling: Rate exceeded."},
	},
	"BothFailed": {
		reason: "all zones are named, in one order; a zone without a name by its ID",
		in:     ingress.DNSInput{Config: config(), Record: record(dnsThrottled, in(public, no, "DomainAlreadyInUse", "taken by ns/other."))},
		want: ingress.Verdict{Status: no, Reason: "FailedZones", Message: "The record failed to provision in some zones: [Z1 prod.example.com] " +
			"Z1: DomainAlreadyInUse: taken by ns/other. prod.example.com: ProviderError: Throttling: Rate exceeded."},
	},
	"Unknown": {
		reason: "unknown is False, as the seed has it",
		in:     ingress.DNSInput{Config: config(), Record: record(in(public, yes), in(private, unknown))},
		want:   ingress.Verdict{Status: no, Reason: "UnknownZones", Message: "It is unknown whether the record is provisioned in some zones: [prod.example.com]"},
	},
	"ForeignZoneFailed": {
		reason: "a zone that was taken out of the config is no failure",
		in:     ingress.DNSInput{Config: config(), Record: record(in(foreign, no, "ProviderError", "no such zone"), in(public, yes))},
		want:   ingress.Verdict{Status: yes, Reason: "NoFailedZones", Message: "The record is provisioned in all reported zones."},
	},
	"OnlyForeignZones": {
		reason: "nor is it one when no other zone is reported",
		in:     ingress.DNSInput{Config: config(), Record: record(in(foreign, no))},
		want:   ingress.Verdict{Status: yes, Reason: "NoFailedZones", Message: "The record is provisioned in all reported zones."},
	},
	"Deleting": {
		reason: "what is taken out of its zones is not ready, whatever they say",
		in:     ingress.DNSInput{Hostname: "a.example.com", Config: config(), Record: &ingress.Record{Name: "edge-5x-wildcard", Deleting: true, Zones: []ingress.ZoneStatus{in(public, yes)}}},
		want: ingress.Verdict{Status: no, Reason: "RecordNotFound", Message: "DNSRecord edge-5x-wildcard for hostname a.example.com is being deleted and removed from its zones: " +
			"it is created again afterwards."},
	},
	"OneOfTwoReported": {
		reason: "what a record does not report does not count",
		in:     ingress.DNSInput{Config: config(), Record: record(in(public, yes))},
		want:   ingress.Verdict{Status: yes, Reason: "NoFailedZones", Message: "The record is provisioned in all reported zones."},
	},
	"MatchByEither": {
		reason: "a zone is the config's if the ID or the name is",
		in: ingress.DNSInput{Config: config(), Record: record(
			in(ingress.Zone{ID: "Z1", Name: "x"}, yes), in(ingress.Zone{ID: "Z2", Name: "prod.example.com"}, no))},
		want: ingress.Verdict{Status: no, Reason: "FailedZones", Message: "The record failed to provision in some zones: [prod.example.com]"},
	},
	"EmptyZone": {
		reason: "two zones are not the same for having neither ID nor name",
		in:     ingress.DNSInput{Config: &ingress.DNSConfig{Zones: []ingress.Zone{{}}}, Record: record(in(ingress.Zone{}, no))},
		want:   ingress.Verdict{Status: yes, Reason: "NoFailedZones", Message: "The record is provisioned in all reported zones."},
	},
}

func TestDNS(t *testing.T) {
	for name, c := range dnsCases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ingress.DNS(c.in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if c.in.Record != nil {
				slices.Reverse(c.in.Record.Zones)
			}
			if diff := cmp.Diff(c.want, ingress.DNS(c.in)); diff != "" {
				t.Errorf("%s; with the zones in the other order (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestDNSQuotesNoNovels(t *testing.T) {
	zones := make([]ingress.ZoneStatus, 500)
	for i := range zones {
		zones[i] = in(public, no, "ProviderError", strings.Repeat("x", 100_000))
	}
	if got := ingress.DNS(ingress.DNSInput{Config: config(), Record: record(zones...)}); len(got.Message) > 6000 {
		t.Errorf("the message has %d bytes", len(got.Message))
	}
}
