// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

var update = flag.Bool("update", false, "write the golden files")

// class is a GatewayClass of ours that is days old.
func class(name string, days int, annotations map[string]string) gatewayv1.GatewayClass {
	created := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC).AddDate(0, 0, -days)
	return gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(created), Generation: int64(days), Annotations: annotations},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: ControllerName},
	}
}

// input is one default class with this version.
func input(version string) Input {
	return Input{DefaultVersion: version, Classes: []gatewayv1.GatewayClass{class(DefaultClassName, 1, nil)}}
}

func mustRender(tb testing.TB, in Input) []content.Package {
	tb.Helper()
	packages, err := Render(in)
	if err != nil {
		tb.Fatal(err)
	}
	return packages
}

// findObject is the only object of a kind and name.
func findObject(t *testing.T, packages []content.Package, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, p := range packages {
		for _, phase := range p.Phases {
			for _, o := range phase.Objects {
				if o.Manifest.GetKind() == kind && o.Manifest.GetName() == name {
					return o.Manifest
				}
			}
		}
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

// canonical is an object as JSON, with its keys sorted.
func canonical(tb testing.TB, o *unstructured.Unstructured) []byte {
	tb.Helper()
	raw, err := json.Marshal(o.Object)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// contentOf is all that a revision would hold, on one line an object.
func contentOf(tb testing.TB, packages []content.Package) []byte {
	tb.Helper()
	var b bytes.Buffer
	for _, p := range packages {
		fmt.Fprintln(&b, p.Name, p.After, p.Probes)
		for _, phase := range p.Phases {
			fmt.Fprintln(&b, phase.Name, phase.CollisionProtection)
			for _, o := range phase.Objects {
				fmt.Fprintf(&b, "%s %s %s\n", o.CollisionProtection, o.Deletion, canonical(tb, o.Manifest))
			}
		}
	}
	return b.Bytes()
}

// summary is what a reviewer of a new chart version wants to see: the objects
// with a digest each, the arguments and environment of istiod, and the small
// objects that say what we set.
func summary(t *testing.T, packages []content.Package) string {
	t.Helper()
	var b strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&b, "package %s after %v\n", p.Name, p.After)
		fmt.Fprintf(&b, "  origin %s generation %d, chart %s %s, images %v\n", p.Origin.Reference, p.Origin.Generation, p.Origin.Chart, p.Origin.AppVersion, p.Origin.Images)
		fmt.Fprintf(&b, "  because %s\n", p.Origin.Reason)
		for _, phase := range p.Phases {
			fmt.Fprintf(&b, "  phase %s, collisions %s\n", phase.Name, phase.CollisionProtection)
			for _, o := range phase.Objects {
				name := strings.TrimPrefix(o.Manifest.GetNamespace()+"/"+o.Manifest.GetName(), "/")
				line := fmt.Sprintf("    %s %s %.6x %s", o.Manifest.GetKind(), name, sha256.Sum256(canonical(t, o.Manifest)), o.Deletion)
				if o.UpdatePhase != "" {
					line += " updated in " + o.UpdatePhase
				}
				fmt.Fprintln(&b, strings.TrimRight(line, " "))
			}
		}
	}
	container := istiodContainer(t, packages)
	fmt.Fprintf(&b, "istiod %s %v\n", container["image"], container["args"])
	for _, e := range container["env"].([]any) {
		env := e.(map[string]any)
		if value, ok := env["value"]; ok {
			fmt.Fprintf(&b, "  %s=%s\n", env["name"], value)
		}
	}
	for _, name := range []string{"istio-openshift-gateway", "istio-openshift-gateway-gatewayclass-openshift-default"} {
		data, err := yaml.Marshal(findObject(t, packages, "ConfigMap", name).Object["data"])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "data of %s\n%s", name, data)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run the test with -update:\n%s", path, diff)
	}
}

func TestRender_Golden(t *testing.T) {
	for _, version := range istio.Minors() {
		t.Run(version, func(t *testing.T) {
			golden(t, "summary-"+version+".txt", summary(t, mustRender(t, input(version))))
		})
	}
	for name, file := range map[string]string{NetworkPolicyName: "networkpolicy.yaml", GatewaysPolicyName: "networkpolicy-gateways.yaml"} {
		policy, err := yaml.Marshal(findObject(t, mustRender(t, input("1.31")), "NetworkPolicy", name).Object)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, string(policy))
	}
}

func TestRender_SameInputSameContent(t *testing.T) {
	in := input("1.31")
	in.Classes = append(in.Classes,
		class("internal", 1, nil),
		class("edge", 9, map[string]string{AnnotationIstioVersion: "1.29"}),
		class("zone.a", 3, map[string]string{AnnotationIstiodImage: "example.com/pilot:dev"}),
	)
	want := mustRender(t, in)
	for range 20 {
		rand.Shuffle(len(in.Classes), func(i, j int) { in.Classes[i], in.Classes[j] = in.Classes[j], in.Classes[i] })
		got := mustRender(t, in)
		if !bytes.Equal(contentOf(t, want), contentOf(t, got)) {
			t.Fatalf("the content differs:\n%s", cmp.Diff(string(contentOf(t, want)), string(contentOf(t, got))))
		}
		for i := range want {
			if diff := cmp.Diff(want[i].Origin, got[i].Origin); diff != "" {
				t.Fatalf("the origin of %s differs:\n%s", want[i].Name, diff)
			}
		}
	}
}

func TestRender_ContentIndependentOfOrigin(t *testing.T) {
	byDefault := input("1.29")
	asked := input("1.31")
	asked.Classes[0].Annotations = map[string]string{AnnotationIstioVersion: "v1.29.1"}
	asked.Classes[0].Generation = 77
	a, b := mustRender(t, byDefault), mustRender(t, asked)
	if cmp.Equal(a[1].Origin, b[1].Origin) {
		t.Errorf("the origins are equal, so this shows nothing: %v", a[1].Origin)
	}
	if diff := cmp.Diff(string(contentOf(t, a)), string(contentOf(t, b))); diff != "" {
		t.Errorf("the same version by another way gives other content:\n%s", diff)
	}
}

func TestRender_VersionsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, version := range istio.Minors() {
		got := string(contentOf(t, mustRender(t, input(version))))
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same content", other, version)
		}
		seen[got] = version
	}
}

func TestRender_Concurrently(t *testing.T) {
	versions := istio.Minors()
	want := map[string][]byte{}
	for _, version := range versions {
		want[version] = contentOf(t, mustRender(t, input(version)))
	}
	var wg sync.WaitGroup
	for i := range 2 * len(versions) {
		wg.Go(func() {
			version := versions[i%len(versions)]
			packages, err := Render(input(version))
			if err != nil {
				t.Error(err)
				return
			}
			if !bytes.Equal(want[version], contentOf(t, packages)) {
				t.Errorf("%s rendered at the same time as others differs", version)
			}
			// What the caller gets is the caller's to change.
			for _, p := range packages {
				for _, phase := range p.Phases {
					for _, o := range phase.Objects {
						clear(o.Manifest.Object)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, version := range versions {
		if !bytes.Equal(want[version], contentOf(t, mustRender(t, input(version)))) {
			t.Errorf("%s differs after an earlier result was changed", version)
		}
	}
}

func TestRender_LeavesInputAlone(t *testing.T) {
	in := input("1.31")
	in.Classes = append(in.Classes, class("a", 5, map[string]string{AnnotationIstioVersion: "1.28"}))
	want := in
	want.Classes = nil
	for _, c := range in.Classes {
		want.Classes = append(want.Classes, *c.DeepCopy())
	}
	mustRender(t, in)
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("the input changed:\n%s", diff)
	}
}

func TestRender_WhichClassesCount(t *testing.T) {
	foreign := class("foreign", 9, map[string]string{AnnotationIstioVersion: "0.1"})
	foreign.Spec.ControllerName = "example.com/controller"
	deleted := class("deleted", 9, map[string]string{AnnotationIstioVersion: "0.1"})
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)}
	cases := map[string]struct {
		reason  string
		classes []gatewayv1.GatewayClass
		want    []string
	}{
		"None":     {reason: "without classes there is nothing to run"},
		"Foreign":  {reason: "a class of another controller is not ours", classes: []gatewayv1.GatewayClass{foreign}},
		"Deleting": {reason: "a class that is being deleted needs nothing any more", classes: []gatewayv1.GatewayClass{deleted}},
		"Ours":     {reason: "any name counts", classes: []gatewayv1.GatewayClass{foreign, deleted, class("edge", 1, nil)}, want: []string{PackageCRDs, PackageControlPlane}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			packages := mustRender(t, Input{DefaultVersion: "1.31", Classes: tc.classes})
			var got []string
			for _, p := range packages {
				got = append(got, p.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRender_ClassDefaults(t *testing.T) {
	in := input("1.31")
	in.Classes = append(in.Classes, class("edge", 5, nil), class("zone.a", 2, nil))
	packages := mustRender(t, in)
	for _, name := range []string{DefaultClassName, "edge", "zone.a"} {
		cm := findObject(t, packages, "ConfigMap", "istio-openshift-gateway-gatewayclass-"+name)
		if got := cm.GetLabels()["gateway.istio.io/defaults-for-class"]; got != name {
			t.Errorf("the defaults of class %s are labelled for class %q", name, got)
		}
		var hpa struct {
			Spec struct{ MinReplicas, MaxReplicas int }
		}
		text, _, _ := unstructured.NestedString(cm.Object, "data", "horizontalPodAutoscaler")
		if err := yaml.Unmarshal([]byte(text), &hpa); err != nil || hpa.Spec.MinReplicas != 2 || hpa.Spec.MaxReplicas != 10 {
			t.Errorf("class %s: got autoscaler defaults %q (%v), want 2 to 10 replicas", name, text, err)
		}
		text, _, _ = unstructured.NestedString(cm.Object, "data", "deployment")
		if !strings.Contains(text, "name: istio-proxy") || !strings.Contains(text, "terminationMessagePolicy: FallbackToLogsOnError") {
			t.Errorf("class %s: got Deployment defaults %q, want the termination message policy of istio-proxy", name, text)
		}
	}
}

// TestRender_ClassesChangeOnlyTheirConfig shows that another class costs its
// defaults and the record of values, and restarts nothing.
func TestRender_ClassesChangeOnlyTheirConfig(t *testing.T) {
	in := input("1.31")
	before := mustRender(t, in)
	in.Classes = append(in.Classes, class("edge", 5, nil))
	want := []string{"ConfigMap istio-openshift-gateway-gatewayclass-edge", "ConfigMap values-openshift-gateway"}
	if diff := cmp.Diff(want, changed(t, before, mustRender(t, in))); diff != "" {
		t.Errorf("what a second class changes:\n%s", diff)
	}
}

// changed are the objects of after that are not the same in before.
func changed(t *testing.T, before, after []content.Package) []string {
	t.Helper()
	known := map[string]bool{}
	each(before, func(o *unstructured.Unstructured) { known[string(canonical(t, o))] = true })
	var all []string
	each(after, func(o *unstructured.Unstructured) {
		if !known[string(canonical(t, o))] {
			all = append(all, o.GetKind()+" "+o.GetName())
		}
	})
	return all
}

func each(packages []content.Package, do func(*unstructured.Unstructured)) {
	for _, p := range packages {
		for _, phase := range p.Phases {
			for _, o := range phase.Objects {
				do(o.Manifest)
			}
		}
	}
}

func TestRender_Origin(t *testing.T) {
	in := input("1.31")
	in.Classes = append(in.Classes, class("edge", 5, map[string]string{AnnotationIstioVersion: "1.29"}))
	packages := mustRender(t, in)
	want := []v1alpha1.Origin{
		{Kind: v1alpha1.OriginFront, Reference: "GatewayClass/edge", Generation: 5, Chart: "base", AppVersion: "1.29.1", Reason: "GatewayClass edge asks for Istio 1.29.1"},
		{Kind: v1alpha1.OriginFront, Reference: "GatewayClass/edge", Generation: 5, Chart: "istiod", AppVersion: "1.29.1", Reason: "GatewayClass edge asks for Istio 1.29.1",
			RollbackMinors: &mostMinors, Images: []string{"registry.istio.io/release/pilot:1.29.1", "registry.istio.io/release/proxyv2:1.29.1"}},
	}
	for i, p := range packages {
		if diff := cmp.Diff(want[i], p.Origin); diff != "" {
			t.Errorf("origin of %s:\n%s", p.Name, diff)
		}
		if len(p.Probes) > 0 {
			t.Errorf("%s has probes of its own: %v; the defaults of the kinds are enough", p.Name, p.Probes)
		}
	}
}
