// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

// summary is a decision on a few lines: each record with type, target and policy.
func summary(d gateway.Decision) []string {
	if d.Package == nil {
		return []string{strings.TrimSuffix("none: "+d.Reason, ": ")}
	}
	if d.Package.Blocked != "" {
		return []string{"held: " + d.Package.Blocked}
	}
	var lines []string
	for _, phase := range d.Package.Phases {
		for _, object := range phase.Objects {
			spec, _ := object.Manifest.Object["spec"].(map[string]any)
			lines = append(lines, fmt.Sprintf("%s %s %v %s", spec["dnsName"], spec["recordType"], spec["targets"], spec["dnsManagementPolicy"]))
		}
	}
	return lines
}

// decideCase is a case of [TestDecide].
type decideCase struct {
	reason    string
	hostnames []string
	facts     gateway.Facts
	want      []string
}

const decideA, decideWildcard = "a.cluster.example.com", "*.cluster.example.com"

// decideCases are the cases of [TestDecide].
var decideCases = map[string]decideCase{
	"Hostnames": {
		reason:    "a record for each hostname, sorted; listeners may share one, or have none",
		hostnames: []string{decideWildcard, "", decideA, decideWildcard},
		facts:     facts(),
		want: []string{
			"*.cluster.example.com. CNAME [lb.aws.example.net] Managed",
			"a.cluster.example.com. CNAME [lb.aws.example.net] Managed",
		},
	},
	"TrailingDot": {
		reason:    "hostnames that differ in the dot at the end are one",
		hostnames: []string{decideA, decideA + "."},
		facts:     facts(),
		want:      []string{"a.cluster.example.com. CNAME [lb.aws.example.net] Managed"},
	},
	"NoHostname": {
		reason:    "without a hostname there is nothing to publish, whatever is not known",
		hostnames: []string{"", ""},
		facts:     facts(func(f *gateway.Facts) { f.Class = gateway.ClassMissing }),
		want:      []string{"none"},
	},
	"IPv4": {
		reason:    "an IP address makes an A record",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Service = balanced(corev1.LoadBalancerIngress{IP: "192.0.2.1"}) }),
		want:      []string{"a.cluster.example.com. A [192.0.2.1] Managed"},
	},
	"FirstAddress": {
		reason:    "the first address counts that a record can point at",
		hostnames: []string{decideA},
		facts: facts(func(f *gateway.Facts) {
			f.Service = balanced(corev1.LoadBalancerIngress{IP: "2001:db8::1"}, corev1.LoadBalancerIngress{}, corev1.LoadBalancerIngress{IP: "192.0.2.2"}, corev1.LoadBalancerIngress{IP: "192.0.2.1"})
		}),
		want: []string{"a.cluster.example.com. A [192.0.2.2] Managed"},
	},
	"OnlyIPv6": {
		reason:    "the kind knows no AAAA, and an A record of an IPv6 address is wrong",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Service = balanced(corev1.LoadBalancerIngress{IP: "2001:db8::1"}) }),
		want:      []string{"held: a DNSRecord cannot point at 2001:db8::1, the address of service edge-openshift-default: it accepts hostnames and IPv4 addresses"},
	},
	"HostnameAndIP": {
		reason:    "which of them is meant cannot be known",
		hostnames: []string{decideA},
		facts: facts(func(f *gateway.Facts) {
			f.Service = balanced(corev1.LoadBalancerIngress{Hostname: "lb", IP: "192.0.2.1"})
		}),
		want: []string{"held: the load balancer of service edge-openshift-default has both a hostname and an IP address"},
	},
	"Pending": {
		reason:    "records stay while a load balancer has no address: it may come back with the same",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Service = balanced() }),
		want:      []string{"held: the load balancer of service edge-openshift-default has no address yet"},
	},
	"NoService": {
		reason:    "records of a Service that is gone would point at the workload that gets the address next",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Service = nil }),
		want:      []string{"none: no Service has the label gateway.networking.k8s.io/gateway-name: edge"},
	},
	"ClusterIP": {
		reason:    "so would those of a Service that has given its address up",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Service.Spec.Type = corev1.ServiceTypeClusterIP }),
		want:      []string{"none: service edge-openshift-default is of type ClusterIP, which has no external address"},
	},
	"OutsideOfTheDomainOnAWS": {
		reason:    "the zones of AWS and GCP take only names below the base domain; the domain itself is not",
		hostnames: []string{"a.other.org", "cluster.example.com", "acluster.example.com"},
		facts:     facts(func(f *gateway.Facts) { f.Config.BaseDomain += "." }),
		want: []string{
			"a.other.org. CNAME [lb.aws.example.net] Unmanaged",
			"acluster.example.com. CNAME [lb.aws.example.net] Unmanaged",
			"cluster.example.com. CNAME [lb.aws.example.net] Unmanaged",
		},
	},
	"OutsideOfTheDomainOnGCP": {
		reason:    "likewise",
		hostnames: []string{"a.other.org"},
		facts:     facts(func(f *gateway.Facts) { f.Platform = "GCP" }),
		want:      []string{"a.other.org. CNAME [lb.aws.example.net] Unmanaged"},
	},
	"OutsideOfTheDomainOnAzure": {
		reason:    "others take any name",
		hostnames: []string{"a.other.org"},
		facts:     facts(func(f *gateway.Facts) { f.Platform = "Azure" }),
		want:      []string{"a.other.org. CNAME [lb.aws.example.net] Managed"},
	},
	"NoBaseDomain": {
		reason:    "without a base domain no name is below it",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Config.BaseDomain = "" }),
		want:      []string{"a.cluster.example.com. CNAME [lb.aws.example.net] Unmanaged"},
	},
	"ClassGone": {
		reason:    "a class that is made again must not cost the records",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Class, f.Service = gateway.ClassMissing, nil }),
		want:      []string{"held: GatewayClass openshift-default does not exist"},
	},
	"ClassForeign": {
		reason:    "a Gateway that another controller has taken over needs nothing of ours",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Class = gateway.ClassForeign }),
		want:      []string{"none"},
	},
	"KindNotServed": {
		reason:    "plain Kubernetes has no DNSRecords",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.RecordsServed = false }),
		want:      []string{"held: the cluster has no kind DNSRecord.ingress.operator.openshift.io"},
	},
	"NoConfig": {
		reason:    "without the DNS config the policy is not known",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Config = nil }),
		want:      []string{"held: the cluster has no DNS config (DNS.config.openshift.io cluster)"},
	},
	"NoPlatform": {
		reason:    "nor is it without the platform",
		hostnames: []string{decideA},
		facts:     facts(func(f *gateway.Facts) { f.Platform = "" }),
		want:      []string{"held: Infrastructure.config.openshift.io cluster does not say what platform the cluster runs on"},
	},
}

func TestDecide(t *testing.T) {
	for name, c := range decideCases {
		t.Run(name, func(t *testing.T) {
			decision, err := gateway.Decide(edge(c.hostnames...), c.facts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, summary(decision)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			reversed := slices.Clone(c.hostnames)
			slices.Reverse(reversed)
			again, err := gateway.Decide(edge(reversed...), c.facts)
			if diff := cmp.Diff(decision, again); err != nil || diff != "" {
				t.Errorf("the order of listeners matters: error %v (-one +other):\n%s", err, diff)
			}
		})
	}
}

func TestDecideChangesNothing(t *testing.T) {
	g, f := edge("a.cluster.example.com"), facts()
	gatewayBefore, serviceBefore := g.DeepCopy(), f.Service.DeepCopy()
	if _, err := gateway.Decide(g, f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gatewayBefore, g); diff != "" {
		t.Errorf("the Gateway was changed:\n%s", diff)
	}
	if diff := cmp.Diff(serviceBefore, f.Service); diff != "" {
		t.Errorf("the Service was changed:\n%s", diff)
	}
}

func TestChooseRecords(t *testing.T) {
	own := ingress.Record{Name: "z", Package: "gateway-edge", Hostname: "a.b"}
	theirs := []ingress.Record{{Name: "y", Hostname: "a.b"}, {Name: "x", Package: "gateway-other", Hostname: "a.b"}}
	for _, records := range [][]ingress.Record{{own, theirs[0], theirs[1]}, {theirs[1], theirs[0], own}} {
		if got := gateway.ChooseRecords(edge(), records)["a.b"].Name; got != "z" {
			t.Errorf("of %v record %s is chosen, want our own", records, got)
		}
	}
	for _, records := range [][]ingress.Record{{theirs[0], theirs[1]}, {theirs[1], theirs[0]}} {
		if got := gateway.ChooseRecords(edge(), records)["a.b"].Name; got != "x" {
			t.Errorf("of %v record %s is chosen, want the first by name", records, got)
		}
	}
}
