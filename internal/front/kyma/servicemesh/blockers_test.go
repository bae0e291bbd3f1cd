// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/istio"
)

func TestBlocking(t *testing.T) {
	const ns = IstioNamespace
	cases := map[string]struct {
		reason    string
		resources []CustomResource
		kinds     []string
		names     []string
	}{
		"None":      {reason: "nothing is there"},
		"Module":    {reason: "the module's label excuses anything", resources: []CustomResource{{Kind: "VirtualService", Namespace: "shop", Name: "a", Labels: map[string]string{"kyma-project.io/module": "istio"}}}},
		"Other":     {reason: "another module is a user", resources: []CustomResource{{Kind: "VirtualService", Namespace: "shop", Name: "a", Labels: map[string]string{"kyma-project.io/module": "api"}}}, kinds: []string{"1 VirtualService"}, names: []string{"VirtualService shop/a"}},
		"Historic":  {reason: "what older versions have made", resources: []CustomResource{{Kind: "EnvoyFilter", Namespace: ns, Name: "stats-filter-1.10"}, {Kind: "EnvoyFilter", Namespace: ns, Name: "tcp-stats-filter-1.10"}, {Kind: "EnvoyFilter", Namespace: ns, Name: "kyma-referer"}, {Kind: "EnvoyFilter", Namespace: ns, Name: "proxy-protocol"}, {Kind: "PeerAuthentication", Namespace: ns, Name: "default"}, {Kind: "VirtualService", Namespace: ns, Name: "istio-healthz"}}},
		"Anchored":  {reason: "a name that only contains one of ours is a user's", resources: []CustomResource{{Kind: "EnvoyFilter", Namespace: ns, Name: "my-proxy-protocol-x"}}, kinds: []string{"1 EnvoyFilter"}, names: []string{"EnvoyFilter istio-system/my-proxy-protocol-x"}},
		"Elsewhere": {reason: "the names count in the namespace of Istio only", resources: []CustomResource{{Kind: "PeerAuthentication", Namespace: "shop", Name: "default"}}, kinds: []string{"1 PeerAuthentication"}, names: []string{"PeerAuthentication shop/default"}},
		"Several":   {reason: "counted by kind, named in order", resources: []CustomResource{{Kind: "VirtualService", Namespace: "b", Name: "b"}, {Kind: "Gateway", Namespace: "x", Name: "y"}, {Kind: "VirtualService", Namespace: "a", Name: "z"}}, kinds: []string{"1 Gateway", "2 VirtualService"}, names: []string{"Gateway x/y", "VirtualService a/z", "VirtualService b/b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Blocking(tc.resources)
			var got *BlockedError
			if errors.As(err, &got) != (len(tc.names) > 0) {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff([][]string{tc.kinds, tc.names}, [][]string{got.Kinds, got.Names}); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	var many []CustomResource
	for i := range 5000 {
		many = append(many, CustomResource{Kind: "VirtualService", Namespace: "shop", Name: fmt.Sprintf("route-%04d", i)})
	}
	err := Blocking(many)
	if listed, ok := errors.AsType[*BlockedError](err); !ok || len(listed.Listed) != 100 || listed.Listed[99] != "VirtualService shop/route-0099" {
		t.Errorf("for the log: got %v", listed)
	}
	text := err.Error()
	if !strings.Contains(text, "5000 VirtualService") || !strings.Contains(text, "and 4990 more") || len(text) > 1000 {
		t.Errorf("of many, a few are named: got %s", text)
	}
}

// Every kind that the CRDs define blocks.
func TestBlockingKinds(t *testing.T) {
	var definitions []string
	for _, kind := range BlockingKinds {
		definitions = append(definitions, kind.Definition())
	}
	slices.Sort(definitions)
	if diff := cmp.Diff(istio.CRDNames(), definitions); diff != "" {
		t.Error(diff)
	}
}
