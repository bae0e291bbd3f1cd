// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// flagsOfAgent parses arguments as the agent of a release does: by the same library, and
// with no other flags than that release prints with --help. It shares nothing with the
// table of flags that arguments are rendered from.
func flagsOfAgent(release string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("istio-csr "+release, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for name := range strings.FieldsSeq(`readiness-probe-path trust-domain root-ca-file serving-signature-algorithm log-format
		runtime-issuance-config-map-name runtime-issuance-config-map-namespace cluster-id leader-election-namespace configmap-namespace-selector
		istiod-cert-name istiod-cert-namespace istiod-cert-key-algorithm`) {
		flags.String(name, "", "")
	}
	for name, letter := range map[string]string{
		"log-level": "v", "certificate-namespace": "c", "issuer-name": "u", "issuer-kind": "k", "issuer-group": "g", "serving-address": "a",
	} {
		flags.StringP(name, letter, "", "")
	}
	for name := range strings.FieldsSeq("readiness-probe-port metrics-port serving-certificate-key-size istiod-cert-key-size") {
		flags.Int(name, 0, "")
	}
	flags.DurationP("serving-certificate-duration", "t", time.Hour, "")
	flags.DurationP("max-client-certificate-duration", "m", time.Hour, "")
	flags.Duration("istiod-cert-duration", time.Hour, "")
	flags.Duration("istiod-cert-renew-before", time.Hour, "")
	flags.BoolP("preserve-certificate-requests", "d", false, "")
	flags.BoolP("issuer-enabled", "e", true, "")
	for name := range strings.FieldsSeq("enable-client-cert-authenticator disable-kubernetes-client-rate-limiter istiod-cert-enabled") {
		flags.Bool(name, false, "")
	}
	for name := range strings.FieldsSeq("serving-certificate-dns-names ca-trusted-node-accounts istiod-cert-additional-dns-names istiod-cert-istio-revisions") {
		flags.StringSlice(name, nil, "")
	}
	flags.StringToString("certificate-request-additional-annotations", nil, "")
	flags.StringToString("istiod-cert-additional-annotations", nil, "")
	if release != "0.14" && release != "0.15" {
		flags.Int("max-concurrent-reconciles", 1, "")
	}
	if release == "main" {
		flags.String("serving-tls-min-version", "", "")
		flags.StringSlice("serving-tls-cipher-suites", nil, "")
		flags.StringSlice("serving-tls-curve-preferences", nil, "")
	}
	return flags
}

// agents are versions of an agent, and the release whose flags each has at least.
var agents = map[string]string{
	"v0.14.2": "0.14", "v0.15.1": "0.15", "v0.16.0": "0.16", "v0.17.0": "0.17", "main": "main",
	// Not known: no flag may be given that one of the releases lacks.
	"v0.18.0": "0.14", "v0.13.0": "0.14", "latest": "0.14", "sha-0123": "0.14",
}

// TestRender_NoUnknownFlags: whatever is asked for of an agent of whichever version, it is
// either given arguments that it parses, or nothing is rolled out and the field is named.
func TestRender_NoUnknownFlags(t *testing.T) {
	held := 0
	for name, tc := range effects {
		for version, release := range agents {
			ic := smallest()
			tc.set(ic, &ic.Spec.IstioCSRConfig)
			if ic.Spec.AgentConfig = ic.Spec.AgentConfig.DeepCopy(); ic.Spec.AgentConfig == nil {
				ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{}
			}
			ic.Spec.AgentConfig.Image = &operatorv1alpha1.AgentImage{Reference: "example.com/istio-csr:v0.17.0", Version: version}
			p := Render(Input{IstioCSR: ic, Image: image, Facts: working()})
			if p.Blocked != "" {
				held++
				if !strings.HasPrefix(p.Blocked, "spec.agentConfig.") || !strings.Contains(p.Blocked, "is not known to have --") || !strings.Contains(p.Blocked, "remove the field") {
					t.Errorf("%s with %s is held: %s", name, version, p.Blocked)
				}
				continue
			}
			if err := flagsOfAgent(release).Parse(args(t, p)); err != nil {
				t.Errorf("%s: istio-csr %s ends: %v", name, version, err)
			}
		}
	}
	if held == 0 {
		t.Error("nothing is refused for an agent that would end at it")
	}
}

// TestFlagsOfAgent: the table of flags is that of the releases.
func TestFlagsOfAgent(t *testing.T) {
	for _, release := range releases {
		flags := flagsOfAgent(release)
		flags.VisitAll(func(f *pflag.Flag) {
			if !hasFlag(release, f.Name) || agentFlags[f.Name].short != f.Shorthand {
				t.Errorf("the table has not --%s of istio-csr %s, or with the letter %q", f.Name, release, agentFlags[f.Name].short)
			}
		})
		for name := range agentFlags {
			if hasFlag(release, name) && flags.Lookup(name) == nil {
				t.Errorf("istio-csr %s has no flag --%s", release, name)
			}
		}
	}
}
