// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gateway"
)

// TestRecord pins a whole manifest: DNS controllers and operators of before know
// these names and labels.
func TestRecord(t *testing.T) {
	decision, err := gateway.Decide(edge("*.cluster.example.com"), facts())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "ingress.operator.openshift.io/v1",
		"kind":       "DNSRecord",
		"metadata": map[string]any{
			"name": "edge-55947f9476-wildcard", "namespace": "openshift-ingress",
			"labels": map[string]any{
				"gateway.istio.io/managed": "openshift.io-gateway-controller-v1", "gateway.networking.k8s.io/gateway-name": "edge",
			},
		},
		"spec": map[string]any{
			"dnsName": "*.cluster.example.com.", "targets": []any{"lb.aws.example.net"}, "recordType": "CNAME", "recordTTL": int64(30), "dnsManagementPolicy": "Managed",
		},
	}
	pkg := decision.Package
	if diff := cmp.Diff(want, pkg.Phases[0].Objects[0].Manifest.Object); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if pkg.Name != "gateway-edge" || !pkg.MayShrink || pkg.Phases[0].CollisionProtection != v1alpha1.CollisionIfNoController {
		t.Errorf("package %s, may shrink: %t, collisions %s", pkg.Name, pkg.MayShrink, pkg.Phases[0].CollisionProtection)
	}
	origin := v1alpha1.Origin{Kind: v1alpha1.OriginFront, Reference: "Gateway/openshift-ingress/edge", Generation: 3, Reason: "1 hostname points at lb.aws.example.net"}
	if diff := cmp.Diff(origin, pkg.Origin); diff != "" {
		t.Errorf("the origin (-want +got):\n%s", diff)
	}
}

// TestHostnamesWithOneHash: two names of one hash would be one object.
func TestHostnamesWithOneHash(t *testing.T) {
	one, other := collision(t)
	_, err := gateway.Decide(edge(one, other), facts())
	if err == nil || !strings.Contains(err.Error(), one) || !strings.Contains(err.Error(), other) {
		t.Errorf("the error is %v, want one that names both hostnames", err)
	}
}

// collision finds two hostnames whose records have one name.
func collision(t *testing.T) (one, other string) {
	t.Helper()
	seen := map[string]string{}
	for i := range 1_000_000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		hostname := fmt.Sprintf("h%x.cluster.example.com", sum[:8])
		name := gateway.RecordName("edge", hostname)
		if before, ok := seen[name]; ok {
			return before, hostname
		}
		seen[name] = hostname
	}
	t.Fatal("no two of a million hostnames have one hash")
	return "", ""
}

func TestLongGatewayName(t *testing.T) {
	g := edge("a.cluster.example.com")
	g.Name = strings.Repeat("n", 64)
	if _, err := gateway.Decide(g, facts()); err == nil || !strings.Contains(err.Error(), "64 characters") {
		t.Errorf("the error is %v, want one about the label", err)
	}
}

// TestPackageName: names are valid, and no two Gateways share one.
func TestPackageName(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	label := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?`)
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(label, 1, 5).Draw(t, "labels"), ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		one, other := name.Draw(t, "one"), name.Draw(t, "other")
		a, b := gateway.PackageName(one), gateway.PackageName(other)
		if len(a) > 52 || !valid.MatchString(a) {
			t.Fatalf("%s gets package %s, which is no valid name", one, a)
		}
		if (a == b) != (one == other) {
			t.Fatalf("%s gets package %s and %s gets %s", one, a, other, b)
		}
	})
	if got, want := gateway.PackageName("edge"), "gateway-edge"; got != want {
		t.Errorf("the package is %s, want %s", got, want)
	}
}
