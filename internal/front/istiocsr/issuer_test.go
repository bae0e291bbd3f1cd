// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

func TestIssuerOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, yaml string
		want         Issuer
		signs        bool
		secret       string
	}{
		"CA": {
			"it is ready", "{metadata: {generation: 2}, spec: {ca: {secretName: root}}, status: {conditions: [{type: Ready, status: 'True', message: verified, observedGeneration: 2}]}}",
			Issuer{Exists: true, Type: "ca", Ready: true, Message: "verified"}, true, "root",
		},
		"Stale": {
			"what was ready is another spec", "{metadata: {generation: 3}, spec: {vault: {}}, status: {conditions: [{type: Ready, status: 'True', message: verified, observedGeneration: 2}]}}",
			Issuer{Exists: true, Type: "vault", Message: "verified"}, true, "",
		},
		"NotReady": {
			"it says why", "{spec: {ca: {secretName: root}}, status: {conditions: [{type: Ready, status: 'False', message: no secret}]}}",
			Issuer{Exists: true, Type: "ca", Message: "no secret"}, true, "root",
		},
		"Unseen":     {"no controller has looked at it", "{spec: {selfSigned: {}}}", Issuer{Exists: true, Type: "selfSigned"}, false, ""},
		"ACME":       {"it signs for DNS names", "{spec: {acme: {}}}", Issuer{Exists: true, Type: "acme"}, false, ""},
		"OtherKind":  {"one that is new to us may sign", "{spec: {cloud: {}}}", Issuer{Exists: true}, true, ""},
		"Unreadable": {"what is not as it should be is missing", "{spec: 7, status: {conditions: [7]}}", Issuer{Exists: true}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := utilyaml.Unmarshal([]byte(tc.yaml), &u.Object); err != nil {
				t.Fatal(err)
			}
			got := IssuerOf(u)
			if diff := cmp.Diff(tc.want, got); diff != "" || got.Signs() != tc.signs || CASecretOf(u) != tc.secret {
				t.Errorf("%s: signs %v, secret %q (-want +got):\n%s", tc.reason, got.Signs(), CASecretOf(u), diff)
			}
		})
	}
}
