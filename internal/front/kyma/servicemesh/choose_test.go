// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/istio"
)

func TestOldest(t *testing.T) {
	at := func(name string, seconds int) *v1alpha2.Istio {
		created := time.Date(2026, 6, 30, 12, 0, seconds, 0, time.UTC)
		return &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: name, CreationTimestamp: metav1.NewTime(created)}}
	}
	going, elsewhere := at("going", 0), at("elsewhere", 0)
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	elsewhere.Namespace = "default"
	cases := map[string]struct {
		reason string
		all    []*v1alpha2.Istio
		want   string
	}{
		"None":      {reason: "there is none"},
		"AnyName":   {reason: "the name does not matter", all: []*v1alpha2.Istio{at("mesh", 3)}, want: "mesh"},
		"Oldest":    {reason: "whatever the order", all: []*v1alpha2.Istio{at("default", 3), at("old", 1), at("mid", 2)}, want: "old"},
		"SameTime":  {reason: "the name decides in the same second", all: []*v1alpha2.Istio{at("b", 1), at("a", 1)}, want: "a"},
		"Going":     {reason: "what is being deleted hands over", all: []*v1alpha2.Istio{going, at("next", 5)}, want: "next"},
		"Elsewhere": {reason: "other namespaces do not count", all: []*v1alpha2.Istio{elsewhere, at("next", 5)}, want: "next"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if oldest := Oldest(tc.all); oldest != nil {
				got = oldest.Name
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
		field  string
		warn   bool
	}{
		"Empty":       {reason: "everything has a default", spec: "{}"},
		"Unique":      {spec: "config: {authorizers: [{name: a, service: a.b, port: 1}, {name: b, service: a.b, port: 1}]}"},
		"Duplicate":   {reason: "policies choose by name", spec: "config: {authorizers: [{name: a, service: a.b, port: 1}, {name: b, service: a.b, port: 1}, {name: a, service: a.b, port: 2}]}", field: "spec.config.authorizers[2].name", warn: true},
		"Null":        {reason: "a list may hold null", spec: "config: {authorizers: [null]}", field: "spec.config.authorizers[0]", warn: true},
		"NoTimeout":   {reason: "istiod takes none that is not longer than nothing", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, timeout: 0s}]}", field: "spec.config.authorizers[0].timeout", warn: true},
		"HalfASecond": {reason: "fractions are fine", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, timeout: 500ms}]}"},
		"BuiltIn":     {reason: "istiod takes one provider of a name", spec: "config: {authorizers: [{name: stdout-json, service: a.b, port: 1}]}", field: "spec.config.authorizers[0].name", warn: true},
		"NoName":      {reason: "no workload could choose it", spec: "config: {authorizers: [{name: '', service: a.b, port: 1}]}", field: "spec.config.authorizers[0].name", warn: true},
		"NoService":   {reason: "istiod would deny what asks it", spec: "config: {authorizers: [{name: a, port: 1}]}", field: "spec.config.authorizers[0].service", warn: true},
		"ServicePort": {reason: "likewise", spec: "config: {authorizers: [{name: a, service: 'a.b:80', port: 80}]}", field: "spec.config.authorizers[0].service", warn: true},
		"ServiceURL":  {reason: "likewise", spec: "config: {authorizers: [{name: a, service: 'http://a.b', port: 80}]}", field: "spec.config.authorizers[0].service", warn: true},
		"ServicePath": {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a/b/c, port: 80}]}", field: "spec.config.authorizers[0].service", warn: true},
		"ServiceOf":   {reason: "a namespace, and addresses, are fine", spec: "config: {authorizers: [{name: a, service: a/b.c, port: 1}, {name: b, service: '10.0.0.1', port: 1}, {name: c, service: 'fd00::1', port: 1}]}"},
		"Headers":     {reason: "what is only compared with may be anything", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, headers: {inCheck: {include: [x-*, ''], add: {x-a: 'b c'}}, toUpstream: {onAllow: [authorization]}}}]}"},
		"HeaderEmpty": {reason: "proxies would refuse what asks it", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, headers: {inCheck: {add: {'': a}}}}]}", field: "spec.config.authorizers[0].headers.inCheck.add", warn: true},
		"HeaderSpace": {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, headers: {inCheck: {add: {x-a: a, x b: a}}}}]}", field: "spec.config.authorizers[0].headers.inCheck.add", warn: true},
		"HeaderValue": {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, headers: {inCheck: {add: {x-a: \"b\\nc\"}}}}]}", field: "spec.config.authorizers[0].headers.inCheck.add", warn: true},
		"Large":       {reason: "the copy has to fit into an annotation", spec: "config: {proxyStatsMatcher: {inclusionRegexps: [" + strings.Repeat("a", largestSpec) + "]}}", field: "spec", warn: true},
		"NotLarge":    {reason: "this one does", spec: "config: {proxyStatsMatcher: {inclusionRegexps: [" + strings.Repeat("a", largestSpec-200) + "]}}"},
		"PortZero":    {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a.b, port: 0}]}", field: "spec.config.authorizers[0].port", warn: true},
		"PortHigh":    {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a.b, port: 65536}]}", field: "spec.config.authorizers[0].port", warn: true},
		"PathPrefix":  {reason: "likewise", spec: "config: {authorizers: [{name: a, service: a.b, port: 1, pathPrefix: check}]}", field: "spec.config.authorizers[0].pathPrefix", warn: true},
		"TrustDomain": {reason: "istiod would drop the whole mesh configuration", spec: "config: {trustDomain: a_b.local}", field: "spec.config.trustDomain", warn: true},
		"TrustDots":   {reason: "likewise", spec: "config: {trustDomain: a..b}", field: "spec.config.trustDomain", warn: true},
		"TrustDot":    {reason: "a last dot is fine", spec: "config: {trustDomain: td-1.example.}"},
		"Expression":  {spec: `config: {proxyStatsMatcher: {inclusionRegexps: ["a.*", "b("]}}`, field: "spec.config.proxyStatsMatcher.inclusionRegexps[1]"},
		"Lookahead":   {reason: "Envoy's expressions are RE2 as well", spec: `config: {proxyStatsMatcher: {inclusionRegexps: ["(?!a)"]}}`, field: "spec.config.proxyStatsMatcher.inclusionRegexps[0]"},
		"Experiment":  {reason: "off unless the manager allows it", spec: "experimental: {}", field: "spec.experimental"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Validate(mesh(t, tc.spec), false)
			var got *ValidationError
			if errors.As(err, &got) != (tc.field != "") {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if got != nil && (got.Field != tc.field || got.Warn != tc.warn || !strings.HasPrefix(err.Error(), tc.field+" ")) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
	if err := Validate(mesh(t, "experimental: {}"), true); err != nil {
		t.Errorf("experimental features that are allowed: %v", err)
	}
}

func TestSettingsFrom(t *testing.T) {
	const hub = "example.com:5000/istio/"
	cases := map[string]struct {
		reason string
		env    map[string]string
		proxy  string
		tag    string
		err    string
	}{
		"None": {reason: "those of the release", proxy: "registry.istio.io/release/proxyv2:1.31.0-distroless", tag: "1.31.0-distroless"},
		"All": {
			reason: "those of the environment; ztunnel is optional",
			env:    map[string]string{"pilot": hub + "pilot:1.31.2-a", "proxyv2": hub + "proxyv2:1.31.2-a", "install-cni": hub + "install-cni:1.31.2-a"},
			proxy:  hub + "proxyv2:1.31.2-a", tag: "1.31.2-a",
		},
		"Digest": {
			reason: "a digest does not count",
			env: map[string]string{
				"pilot": hub + "pilot:1.31.2", "proxyv2": hub + "proxyv2:1.31.2@sha256:" + strings.Repeat("a", 64), "install-cni": hub + "install-cni:1.31.2",
			},
			proxy: hub + "proxyv2:1.31.2@sha256:" + strings.Repeat("a", 64), tag: "1.31.2",
		},
		"Missing": {reason: "half of them are not enough", env: map[string]string{"pilot": hub + "pilot:1.31.2", "proxyv2": hub + "proxyv2:1.31.2"}, err: "install-cni"},
		"FIPS": {
			reason: "FIPS has images of its own",
			env: map[string]string{
				"KYMA_FIPS_MODE_ENABLED": "true", "pilot": hub + "pilot:1.31.2", "pilot-fips": hub + "pilot-fips:1.31.2",
				"proxyv2-fips": hub + "proxyv2-fips:1.31.2", "install-cni-fips": hub + "install-cni-fips:1.31.2",
			},
			proxy: hub + "proxyv2-fips:1.31.2", tag: "1.31.2",
		},
		"NoFIPS":   {reason: "there is nothing to fall back on", env: map[string]string{"KYMA_FIPS_MODE_ENABLED": "true"}, err: "pilot-fips"},
		"Tags":     {reason: "of one release", env: map[string]string{"pilot": hub + "pilot:1.31.2", "proxyv2": hub + "proxyv2:1.31.1", "install-cni": hub + "install-cni:1.31.2"}, err: "proxyv2"},
		"Hubs":     {reason: "of one registry", env: map[string]string{"pilot": hub + "pilot:1.31.2", "proxyv2": "b.io/proxyv2:1.31.2", "install-cni": hub + "install-cni:1.31.2"}, err: "proxyv2"},
		"NoTag":    {reason: "a reference has a tag", env: map[string]string{"pilot": hub + "pilot"}, err: "pilot"},
		"Quote":    {reason: "what is no reference reaches no template", env: map[string]string{"pilot": hub + `pilot:1"`}, err: "pilot"},
		"Minor":    {reason: "charts and images go together", env: map[string]string{"pilot": hub + "pilot:1.30.2", "proxyv2": hub + "proxyv2:1.30.2", "install-cni": hub + "install-cni:1.30.2"}, err: "--kyma-istio-version"},
		"NoNumber": {reason: "a tag that says no version cannot pass the gate", env: map[string]string{"pilot": hub + "pilot:dev", "proxyv2": hub + "proxyv2:dev", "install-cni": hub + "install-cni:dev"}, err: "dev"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			release, _ := istio.Resolve("1.31")
			s, err := SettingsFrom(func(key string) string { return tc.env[key] }, release)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got %v, want an error that names %s", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil || s.Images.Proxy != tc.proxy || s.Images.Tag != tc.tag {
				t.Errorf("%s: got %+v, %v", tc.reason, s.Images, err)
			}
		})
	}
}
