// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestReadRecord(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         *ingress.Record
		wantErr      bool
	}{
		"Full": {
			reason: "one trailing dot is not part of the hostname",
			text: `
metadata: {name: edge-5x-wildcard, labels: {strata.run/package: gateway-edge}}
spec: {dnsName: "*.example.com.", dnsManagementPolicy: Managed}
status:
  zones:
  - dnsZone: {id: Z1}
    conditions:
    - {type: Other, status: "False"}
    - {type: Published, status: "False", reason: ProviderError, message: denied}
  - dnsZone: {tags: {Name: int, Other: x}}
    conditions: [{type: Published, status: "True", reason: ProviderSuccess}]
  - dnsZone: {id: Z3}
  - dnsZone: {id: Z4}
    conditions: [{type: Published, status: Maybe}]`,
			want: &ingress.Record{Name: "edge-5x-wildcard", Package: "gateway-edge", Hostname: "*.example.com", Zones: []ingress.ZoneStatus{
				{Zone: ingress.Zone{ID: "Z1"}, Published: no, Reason: "ProviderError", Message: "denied"},
				{Zone: ingress.Zone{Name: "int"}, Published: yes, Reason: "ProviderSuccess"},
				{Zone: ingress.Zone{ID: "Z3"}, Published: unknown},
				{Zone: ingress.Zone{ID: "Z4"}, Published: unknown},
			}},
		},
		"WorstOfTwoConditions": {
			reason: "the list has no keys, so a type may stand in it twice",
			text: `
metadata: {name: r}
spec: {dnsName: a.b.., dnsManagementPolicy: Unmanaged}
status: {zones: [{dnsZone: {id: Z1}, conditions: [{type: Published, status: "True"}, {type: Published, status: Unknown, message: m}, {type: Published, status: "True"}]}]}`,
			want: &ingress.Record{Name: "r", Hostname: "a.b.", Unmanaged: true, Zones: []ingress.ZoneStatus{{Zone: ingress.Zone{ID: "Z1"}, Published: unknown, Message: "m"}}},
		},
		"NoStatus":   {reason: "a new record has no status", text: "metadata: {name: r}\nspec: {dnsName: a.b}", want: &ingress.Record{Name: "r", Hostname: "a.b"}},
		"NullZones":  {reason: "null is empty", text: "metadata: {name: r}\nstatus: {zones: null}", want: &ingress.Record{Name: "r"}},
		"WrongZones": {reason: "a kind that is not what it should be is reported", text: "metadata: {name: r}\nstatus: {zones: 3}", wantErr: true},
		"WrongID":    {reason: "also far inside", text: "metadata: {name: r}\nstatus: {zones: [{dnsZone: {id: 3}}]}", wantErr: true},
		"WrongName":  {reason: "and at the top", text: "metadata: {name: r}\nspec: {dnsName: [x]}", wantErr: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ingress.ReadRecord(parse(t, c.text))
			if (err != nil) != c.wantErr {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestReadConfig(t *testing.T) {
	got, err := ingress.ReadDNSConfig(parse(t, `spec: {baseDomain: example.com, publicZone: {id: Z1}, privateZone: {tags: {Name: int}}}`))
	want := &ingress.DNSConfig{BaseDomain: "example.com", Zones: []ingress.Zone{{ID: "Z1"}, {Name: "int"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("both zones: error %v (-want +got):\n%s", err, diff)
	}
	got, err = ingress.ReadDNSConfig(parse(t, `spec: {baseDomain: example.com, publicZone: null}`))
	if diff := cmp.Diff(&ingress.DNSConfig{BaseDomain: "example.com"}, got); err != nil || diff != "" {
		t.Errorf("no zones: error %v (-want +got):\n%s", err, diff)
	}
	if _, err := ingress.ReadDNSConfig(parse(t, `spec: {publicZone: Z1}`)); err == nil {
		t.Error("a zone that is a text is taken")
	}
	platform, err := ingress.ReadPlatform(parse(t, `status: {platformStatus: {type: AWS}}`))
	if platform != "AWS" || err != nil {
		t.Errorf("the platform is %q, error %v", platform, err)
	}
	if platform, err = ingress.ReadPlatform(parse(t, `status: {}`)); platform != "" || err != nil {
		t.Errorf("without a status the platform is %q, error %v", platform, err)
	}
	if _, err := ingress.ReadPlatform(parse(t, `status: {platformStatus: AWS}`)); err == nil {
		t.Error("a platform that is a text is taken")
	}
}
