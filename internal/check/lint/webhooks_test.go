// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/strata-run/strata/internal/chart"
)

const webhookServer = `
apiVersion: v1
kind: Service
metadata: {name: guard, namespace: guard}
spec: {selector: {app: guard}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: guard, namespace: guard}
spec:
  selector: {matchLabels: {app: guard}}
  template: {metadata: {labels: {app: guard}}, spec: {containers: [{name: g, image: g}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: guard, name: guard}}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}]
`

func TestCheck_WebhookLockout(t *testing.T) {
	cases := map[string]struct {
		reason   string
		from, to string
		want     bool
	}{
		"LocksOut":  {reason: "Its pods cannot be created while it does not answer.", want: true},
		"Ignores":   {reason: "It need not answer.", from: "  sideEffects", to: "  failurePolicy: Ignore\n  sideEffects"},
		"Excludes":  {reason: "It can exclude itself.", from: "  sideEffects", to: "  namespaceSelector: {matchLabels: {guarded: \"true\"}}\n  sideEffects"},
		"Narrow":    {reason: "It does not cover pods.", from: `resources: ["*"]`, to: `resources: ["guards"]`},
		"Elsewhere": {reason: "Its server is not of this content.", from: "service: {namespace: guard", to: "service: {namespace: other"},
		"NoCreate":  {reason: "Deletions do not keep pods from coming.", from: "[CREATE]", to: "[DELETE]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, problems := chart.Locate("a.yaml", []byte(strings.Replace(webhookServer, tc.from, tc.to, 1)))
			findings, err := Check(t.Context(), Input{Package: "guard", Objects: objects, Problems: problems})
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			got := slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule.Code == CodeLockout })
			if got != tc.want {
				t.Errorf("%s found %t, want %t: %+v", tc.reason, got, tc.want, findings)
			}
		})
	}
}
