// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"net"
	"strings"
	"testing"
)

// TestLostPort takes a port away after it was picked, as another process may.
func TestLostPort(t *testing.T) {
	binaries, err := Build(t.Context(), BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		port   func(Ports) int
		want   string
	}{
		"Etcd":      {reason: "etcd's own message is recognised", port: func(p Ports) int { return p.Etcd }, want: "etcd exited"},
		"APIServer": {reason: "kube-apiserver's own message is recognised", port: func(p Ports) int { return p.APIServer }, want: "kube-apiserver exited"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := newPlane(Options{Binaries: binaries, Progress: &strings.Builder{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := p.Stop(); err != nil {
					t.Errorf("stopping: %v", err)
				}
			}()
			listener, err := net.Listen("tcp", address(tc.port(p.ports)))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if err := p.run(t.Context()); err == nil {
				t.Fatalf("%s: it runs without its port", tc.reason)
			}
			if err := p.Err(); !isAddressInUse(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: Err() = %v", tc.reason, err)
			}
		})
	}
}
