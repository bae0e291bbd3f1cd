// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/istio"
)

func TestDecide(t *testing.T) {
	asks := func(version string) map[string]string { return map[string]string{AnnotationIstioVersion: version} }
	type outcome struct{ Class, App, Istiod, Reason string }
	cases := map[string]struct {
		reason  string
		classes []gatewayv1.GatewayClass
		images  Images
		want    outcome
	}{
		"OldestClass": {
			reason:  "without overrides the oldest class stands for all",
			classes: []gatewayv1.GatewayClass{class("a", 1, nil), class("c", 5, nil), class("b", 5, nil)},
			want:    outcome{Class: "b", App: "1.31.0", Reason: "GatewayClass b gets the default, Istio 1.31.0"},
		},
		"Override": {
			reason:  "a class that asks wins over an older one that does not",
			classes: []gatewayv1.GatewayClass{class("old", 9, nil), class("new", 1, asks("1.28"))},
			want:    outcome{Class: "new", App: "1.28.2", Reason: "GatewayClass new asks for Istio 1.28.2"},
		},
		"OldestOverride": {
			reason:  "of several that ask the oldest wins",
			classes: []gatewayv1.GatewayClass{class("new", 1, asks("1.28")), class("old", 9, asks("1.29.1"))},
			want:    outcome{Class: "old", App: "1.29.1", Reason: "GatewayClass old asks for Istio 1.29.1"},
		},
		"SameAge": {
			reason:  "of the same age the first by name wins",
			classes: []gatewayv1.GatewayClass{class("b", 4, asks("1.28")), class("a", 4, asks("1.29"))},
			want:    outcome{Class: "a", App: "1.29.1", Reason: "GatewayClass a asks for Istio 1.29.1"},
		},
		"LosingUnknown": {
			reason:  "an override that does not decide cannot break anything",
			classes: []gatewayv1.GatewayClass{class("old", 9, asks("v1.31.0")), class("new", 1, asks("0.1"))},
			want:    outcome{Class: "old", App: "1.31.0", Reason: "GatewayClass old asks for Istio 1.31.0"},
		},
		"EmptyOverride": {
			reason:  "an empty annotation asks for nothing",
			classes: []gatewayv1.GatewayClass{class("a", 9, asks(" "))},
			want:    outcome{Class: "a", App: "1.31.0", Reason: "GatewayClass a gets the default, Istio 1.31.0"},
		},
		"Image": {
			reason: "version and image may be asked for by different classes",
			classes: []gatewayv1.GatewayClass{
				class("new", 1, map[string]string{AnnotationIstiodImage: "a.io/x:1"}),
				class("old", 2, map[string]string{AnnotationIstiodImage: "example.com:5000/dev/pilot:pr-7"}),
				class("newest", 0, asks("1.29")),
			},
			want: outcome{Class: "newest", App: "1.29.1", Istiod: "example.com:5000/dev/pilot:pr-7",
				Reason: "GatewayClass newest asks for Istio 1.29.1; GatewayClass old asks for istiod image example.com:5000/dev/pilot:pr-7"},
		},
		"ImageOverSetting": {
			reason:  "a class wins over the manager's setting",
			classes: []gatewayv1.GatewayClass{class("a", 1, map[string]string{AnnotationIstiodImage: "a.io/x:1"})},
			images:  Images{Istiod: "b.io/x:1"},
			want:    outcome{Class: "a", App: "1.31.0", Istiod: "a.io/x:1", Reason: "GatewayClass a gets the default, Istio 1.31.0; GatewayClass a asks for istiod image a.io/x:1"},
		},
		"ImageSetting": {
			reason:  "the manager's setting holds where no class asks",
			classes: []gatewayv1.GatewayClass{class("a", 1, nil)},
			images:  Images{Istiod: "b.io/x:1"},
			want:    outcome{Class: "a", App: "1.31.0", Istiod: "b.io/x:1", Reason: "GatewayClass a gets the default, Istio 1.31.0; istiod image b.io/x:1 is set by the manager's settings"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := decide(Input{DefaultVersion: "1.31", Images: tc.images}, counting(tc.classes))
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{Class: d.class.Name, App: d.release.Version(), Istiod: d.istiodImage, Reason: d.reason}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecide_Errors(t *testing.T) {
	cases := map[string]struct {
		reason string
		class  gatewayv1.GatewayClass
		images Images
		want   []string
	}{
		"Image":     {reason: "an image name alone would get our registry", class: class("a", 1, map[string]string{AnnotationIstiodImage: "pilot:dev"}), want: []string{"GatewayClass a", AnnotationIstiodImage, `"pilot:dev"`}},
		"Injection": {reason: "the chart quotes nothing", class: class("a", 1, map[string]string{AnnotationIstiodImage: "a.io/x:1\"\n command: [\"sh\"]"}), want: []string{"GatewayClass a", "not a full image reference"}},
		"Istiod":    {reason: "a setting is checked too", class: class("a", 1, nil), images: Images{Istiod: "a.io/x"}, want: []string{"image of istiod", `"a.io/x"`}},
		"Proxy":     {reason: "also that of the proxy", class: class("a", 1, nil), images: Images{Proxy: "x"}, want: []string{"image of proxy", `"x"`}},
		"LongClass": {reason: "istiod could not find its defaults", class: class(strings.Repeat("a", 64), 1, nil), want: []string{"64 characters", "63"}},
		"NoDefault": {reason: "no version at all", class: class("a", 1, map[string]string{AnnotationIstioVersion: "9"}), want: []string{"GatewayClass a", `"9"`}},
		"LongImage": {reason: "a reference has an end", class: class("a", 1, map[string]string{AnnotationIstiodImage: "a.io/" + strings.Repeat("x", 600) + ":1"}), want: []string{"not a full image reference"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(Input{Classes: []gatewayv1.GatewayClass{tc.class}, DefaultVersion: "1.31", Images: tc.images})
			if err == nil {
				t.Fatalf("%s: got no error", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not contain %q", tc.reason, err, want)
				}
			}
		})
	}
}

// A class that istiod cannot find takes nothing from the others.
func TestDecide_LongNameBesideOthers(t *testing.T) {
	classes := []gatewayv1.GatewayClass{class(strings.Repeat("a", 64), 9, nil), class("b", 1, nil)}
	d, err := decide(Input{DefaultVersion: "1.31"}, counting(classes))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.names) != 1 || d.names[0] != "b" {
		t.Errorf("istiod gets defaults for the classes %v, want b alone", d.names)
	}
	if CheckClass(&classes[0]) == nil || CheckClass(&classes[1]) != nil {
		t.Error("want the first class refused, and the second not")
	}
}

func TestCheckImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	cases := map[string]bool{
		"registry.istio.io/release/pilot:1.31.0": true,
		"localhost:5000/pilot:dev":               true,
		"istio/pilot:1.29.1":                     true,
		"a.io/b/c_d/e--f:V1_x.y-z":               true,
		"a.io/b" + digest:                        true,
		"a.io/b:1" + digest:                      true,
		"":                                       false,
		"pilot":                                  false,
		"pilot:1":                                false,
		"a.io/b":                                 false,
		"a.io/b:":                                false,
		"a.io/b@sha256:12":                       false,
		"a.io/B:1":                               false,
		"a.io//b:1":                              false,
		"a.io/b:1 ":                              false,
		"a.io/b:1\n":                             false,
		"a.io/{{ .Values }}:1":                   false,
		"a.io/b:" + strings.Repeat("x", 129):     false,
	}
	for image, want := range cases {
		if err := checkImage(image); (err == nil) != want {
			t.Errorf("%q: got error %v, want it to be complete: %t", image, err, want)
		}
	}
}

func TestRender_ImageOverrides(t *testing.T) {
	for _, version := range istio.Minors() {
		before := mustRender(t, input(version))
		cases := map[string]struct {
			reason string
			input  func(*Input)
			want   []string
			images []string
		}{
			"Annotation": {
				reason: "another istiod changes its Deployment and the record of values",
				input: func(in *Input) {
					in.Classes[0].Annotations = map[string]string{AnnotationIstiodImage: "example.com/dev/pilot:pr-7"}
				},
				want:   []string{"ConfigMap values-openshift-gateway", "Deployment istiod-openshift-gateway"},
				images: []string{"example.com/dev/pilot:pr-7", "registry.istio.io/release/proxyv2:" + before[1].Origin.AppVersion},
			},
			"Proxy": {
				reason: "another proxy changes what istiod starts for a Gateway, not istiod",
				input:  func(in *Input) { in.Images.Proxy = "example.com/proxy:1" },
				want:   []string{"ConfigMap istio-sidecar-injector-openshift-gateway", "ConfigMap values-openshift-gateway"},
				images: []string{"example.com/proxy:1", "registry.istio.io/release/pilot:" + before[1].Origin.AppVersion},
			},
		}
		for name, tc := range cases {
			t.Run(version+name, func(t *testing.T) {
				in := input(version)
				tc.input(&in)
				after := mustRender(t, in)
				if diff := cmp.Diff(tc.want, changed(t, before, after)); diff != "" {
					t.Errorf("%s\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.images, after[1].Origin.Images); diff != "" {
					t.Errorf("%s\n%s", tc.reason, diff)
				}
				proxy := imagesOfGateways(t, after)
				if want := in.Images.Proxy; want != "" && (proxy.Proxy.Image != want || proxy.ProxyInit.Image != want) {
					t.Errorf("%s: gateways get %+v, want %s", tc.reason, proxy, want)
				}
			})
		}
	}
}
