// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// istioCRDs are those of every version; 1.31 has one more.
var istioCRDs = []string{
	"authorizationpolicies.security.istio.io",
	"destinationrules.networking.istio.io",
	"envoyfilters.networking.istio.io",
	"gateways.networking.istio.io",
	"peerauthentications.security.istio.io",
	"proxyconfigs.networking.istio.io",
	"requestauthentications.security.istio.io",
	"serviceentries.networking.istio.io",
	"sidecars.networking.istio.io",
	"telemetries.telemetry.istio.io",
	"virtualservices.networking.istio.io",
	"wasmplugins.extensions.istio.io",
	"workloadentries.networking.istio.io",
	"workloadgroups.networking.istio.io",
}

func TestManagedCRDs(t *testing.T) {
	newer := slices.Sorted(slices.Values(append(slices.Clone(istioCRDs), "trafficextensions.extensions.istio.io")))
	cases := map[string][]string{"1.28": istioCRDs, "v1.29.1": istioCRDs, "1.31": newer, "1.30": nil}
	for version, want := range cases {
		if diff := cmp.Diff(want, managedCRDs(version)); diff != "" {
			t.Errorf("%s:\n%s", version, diff)
		}
	}
}

func TestRender_CRDs(t *testing.T) {
	for i, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			p := mustRender(t, input(version))[0]
			if p.Name != PackageCRDs || len(p.Phases) != 1 || p.Phases[0].Name != "crds" || len(p.After) > 0 {
				t.Fatalf("got package %s after %v with %d phases", p.Name, p.After, len(p.Phases))
			}
			if got := p.Phases[0].CollisionProtection; got != v1alpha1.CollisionPrevent {
				t.Errorf("collision protection is %s, want Prevent", got)
			}
			var names []string
			for _, o := range p.Phases[0].Objects {
				crd := o.Manifest
				names = append(names, crd.GetName())
				if crd.GetKind() != "CustomResourceDefinition" || crd.GetAPIVersion() != "apiextensions.k8s.io/v1" || o.Deletion != v1alpha1.ObjectRetain {
					t.Errorf("%s is a %s %s with deletion %s", crd.GetName(), crd.GetAPIVersion(), crd.GetKind(), o.Deletion)
				}
				if got := crd.GetLabels()[LabelOwned]; got != "true" {
					t.Errorf("%s: label %s is %q", crd.GetName(), LabelOwned, got)
				}
				want := map[string]string{"helm.sh/resource-policy": "keep", "app.kubernetes.io/version": istio.Releases()[i].Version()}
				if diff := cmp.Diff(want, crd.GetAnnotations()); diff != "" {
					t.Errorf("annotations of %s:\n%s", crd.GetName(), diff)
				}
				if _, ok := crd.Object["status"]; ok {
					t.Errorf("%s has a status", crd.GetName())
				}
				if !strings.HasSuffix(crd.GetName(), ".istio.io") {
					t.Errorf("%s is not of Istio", crd.GetName())
				}
			}
			if diff := cmp.Diff(managedCRDs(version), names); diff != "" {
				t.Errorf("what is rendered is not what is said to be managed:\n%s", diff)
			}
		})
	}
}

func TestRender_CRDVersion(t *testing.T) {
	cases := map[string]struct {
		reason  string
		wanted  string
		inPlace string
		want    string
	}{
		"None":         {reason: "without CRDs in place those of the version are rendered", wanted: "1.29", want: "1.29.1"},
		"Upgrade":      {reason: "older CRDs are upgraded", wanted: "1.31", inPlace: "1.28.2", want: "1.31.0"},
		"Same":         {reason: "the same stay", wanted: "1.29", inPlace: "1.29.1", want: "1.29.1"},
		"Downgrade":    {reason: "newer CRDs stay when istiod goes back", wanted: "1.28", inPlace: "1.31.0", want: "1.31.0"},
		"OlderPatch":   {reason: "a patch counts", wanted: "1.29", inPlace: "v1.29.0", want: "1.29.1"},
		"UnknownPatch": {reason: "a version that is not in the binary is replaced by a newer one only", wanted: "1.28", inPlace: "1.29.7", want: "1.31.0"},
		"TooNew":       {reason: "CRDs of a newer operator are left alone", wanted: "1.31", inPlace: "1.32.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.wanted)
			in.CRDVersion = tc.inPlace
			packages := mustRender(t, in)
			controlPlane := packages[len(packages)-1]
			if app, _ := AppVersion(tc.wanted); controlPlane.Origin.AppVersion != app {
				t.Errorf("%s: istiod is %s, want %s", tc.reason, controlPlane.Origin.AppVersion, app)
			}
			if tc.want == "" {
				if packages[0].Name != PackageCRDs || !strings.Contains(packages[0].Blocked, tc.inPlace) || len(packages[0].Phases) > 0 {
					t.Errorf("%s: %s is held for %q", tc.reason, packages[0].Name, packages[0].Blocked)
				}
				if len(controlPlane.After) > 0 {
					t.Errorf("%s: istiod waits for %v, which may never come", tc.reason, controlPlane.After)
				}
				return
			}
			if diff := cmp.Diff([]string{PackageCRDs}, controlPlane.After); diff != "" {
				t.Errorf("%s: after:\n%s", tc.reason, diff)
			}
			if got := packages[0].Origin.AppVersion; got != tc.want {
				t.Errorf("%s: the CRDs are of %s, want %s", tc.reason, got, tc.want)
			}
			if got := packages[0].Phases[0].Objects[0].Manifest.GetAnnotations()[AnnotationAppVersion]; got != tc.want {
				t.Errorf("%s: the CRDs say %s, want %s", tc.reason, got, tc.want)
			}
			kept := strings.Contains(packages[0].Origin.Reason, "never go back")
			if kept != (packages[0].Origin.AppVersion != controlPlane.Origin.AppVersion) {
				t.Errorf("%s: the reason is %q", tc.reason, packages[0].Origin.Reason)
			}
		})
	}
	in := input("1.31")
	in.CRDVersion = "new"
	if _, err := Render(in); err == nil || !strings.Contains(err.Error(), PackageCRDs) {
		t.Errorf("a version that is none: got error %v, want one that names the package", err)
	}
}

// checkAlone checks that there is only the control plane, and that it waits for
// nothing.
func checkAlone(t *testing.T, reason string, packages []content.Package) {
	t.Helper()
	if len(packages) != 1 || packages[0].Name != PackageControlPlane || len(packages[0].After) > 0 {
		t.Errorf("%s: got %d packages, the first %s after %v; want the control plane alone", reason, len(packages), packages[0].Name, packages[0].After)
	}
}

func TestRender_ForeignCRDs(t *testing.T) {
	in := input("1.31")
	in.ForeignCRDs = true
	checkAlone(t, "CRDs of another operator never block the control plane", mustRender(t, in))
}

func TestRender_CRDCollisions(t *testing.T) {
	in := input("1.31")
	in.CRDCollisions = v1alpha1.CollisionIfNoController
	if got := mustRender(t, in)[0].Phases[0].CollisionProtection; got != v1alpha1.CollisionIfNoController {
		t.Errorf("collision protection is %s, want what the caller says", got)
	}
}

// managedCRDs are the names of the CRDs of an Istio version, sorted. It is nil
// for a version that is not known.
func managedCRDs(version string) []string {
	r, ok := istio.Resolve(version)
	if !ok {
		return nil
	}
	names, err := r.CRDNames()
	if err != nil {
		return nil
	}
	return names
}
