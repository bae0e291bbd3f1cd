// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

var update = flag.Bool("update", false, "write the golden files anew")

// working are the facts of a cluster in which nothing is missing.
func working() Facts {
	return Facts{CertManager: true, Namespace: true, Issuer: Issuer{Exists: true, Type: "ca", Ready: true}, ServiceMonitors: true}
}

var image = Image{Reference: DefaultImage, Version: "v0.14.2"}

// smallest is an IstioCSR as the API server stores it when only what is required is set.
func smallest() *operatorv1alpha1.IstioCSR {
	return &operatorv1alpha1.IstioCSR{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "cert-manager", Generation: 3, CreationTimestamp: metav1.Unix(1000, 0)},
		Spec: operatorv1alpha1.IstioCSRSpec{IstioCSRConfig: operatorv1alpha1.IstioCSRConfig{
			LogLevel: 1, LogFormat: "text",
			CertManager: operatorv1alpha1.CertManagerConfig{IssuerRef: operatorv1alpha1.IssuerReference{Name: "istio-ca", Kind: "Issuer", Group: "cert-manager.io"}},
			IstiodTLSConfig: operatorv1alpha1.IstiodTLSConfig{
				TrustDomain: "cluster.local", PrivateKeySize: 2048, PrivateKeyAlgorithm: "RSA",
				CertificateDuration: duration(time.Hour), CertificateRenewBefore: duration(30 * time.Minute), MaxCertificateDuration: duration(time.Hour),
			},
			Istio: operatorv1alpha1.IstioConfig{Namespace: "istio-system", Revisions: []string{"default"}},
		}},
	}
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// TestRender_Golden renders testdata/NAME.yaml to testdata/NAME.golden.yaml.
func TestRender_Golden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered := 0
	for _, path := range inputs {
		if strings.HasSuffix(path, ".golden.yaml") {
			continue
		}
		rendered++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			ic := &operatorv1alpha1.IstioCSR{}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(source, ic); err != nil || ic.Spec.Undecodable != "" {
				t.Fatal(err, ic.Spec.Undecodable)
			}
			before := ic.DeepCopy()
			got := golden(t, Render(Input{IstioCSR: ic, Image: image, Facts: working()}))
			if diff := cmp.Diff(got, golden(t, Render(Input{IstioCSR: ic, Image: image, Facts: working()}))); diff != "" {
				t.Errorf("two renderings differ:\n%s", diff)
			}
			if diff := cmp.Diff(before, ic); diff != "" {
				t.Errorf("rendering has changed what it was given:\n%s", diff)
			}
			compareGolden(t, strings.TrimSuffix(path, ".yaml")+".golden.yaml", got)
		})
	}
	if rendered < 3 {
		t.Errorf("%d inputs were found", rendered)
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got; -update writes it anew:\n%s", diff)
	}
}

// golden is a package as text: what is recorded of it, and its objects by phase.
func golden(t *testing.T, p content.Package) string {
	t.Helper()
	var text strings.Builder
	write := func(value any) {
		document, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(document)
	}
	write(map[string]any{"package": p.Name, "origin": p.Origin, "held": p.Blocked})
	for _, phase := range p.Phases {
		for _, object := range phase.Objects {
			text.WriteString("---\n# phase " + phase.Name + ", collisionProtection " + string(phase.CollisionProtection) + "\n")
			write(object.Manifest.Object)
		}
	}
	return text.String()
}

// manifest is an object of a package, by KIND/NAME.
func manifest(t *testing.T, p content.Package, name string) *unstructured.Unstructured {
	t.Helper()
	for _, phase := range p.Phases {
		for _, object := range phase.Objects {
			if object.Manifest.GetKind()+"/"+object.Manifest.GetName() == name {
				return object.Manifest
			}
		}
	}
	t.Fatalf("package %s has no %s (held: %s)", p.Name, name, p.Blocked)
	return nil
}

func field(t *testing.T, u *unstructured.Unstructured, path string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldCopy(u.Object, strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func args(t *testing.T, p content.Package) []string {
	t.Helper()
	containers, _ := field(t, manifest(t, p, "Deployment/"+AgentName), "spec.template.spec.containers").([]any)
	container, _ := containers[0].(map[string]any)
	list, _, err := unstructured.NestedStringSlice(container, "args")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRender_Phases: an object is applied only after what it needs, and everything that
// is there without a controller is taken over.
func TestRender_Phases(t *testing.T) {
	p := Render(Input{IstioCSR: smallest(), Image: image, Facts: working()})
	var got []string
	for _, phase := range p.Phases {
		if phase.CollisionProtection != v1alpha1.CollisionIfNoController {
			t.Errorf("phase %s has collision protection %q", phase.Name, phase.CollisionProtection)
		}
		for _, o := range phase.Objects {
			got = append(got, phase.Name+" "+o.Manifest.GetKind()+" "+strings.TrimPrefix(o.Manifest.GetNamespace()+"/"+o.Manifest.GetName(), "/"))
		}
	}
	want := []string{
		"access NetworkPolicy cert-manager/istio-csr-deny-all",
		"access NetworkPolicy cert-manager/istio-csr-allow-egress-to-api-server",
		"access NetworkPolicy cert-manager/istio-csr-allow-ingress-to-metrics",
		"access NetworkPolicy cert-manager/istio-csr-allow-ingress-to-grpc",
		"access ServiceAccount cert-manager/cert-manager-istio-csr",
		"access ClusterRole cert-manager-istio-csr-cert-manager",
		"access ClusterRoleBinding cert-manager-istio-csr-cert-manager",
		"access Role istio-system/cert-manager-istio-csr",
		"access RoleBinding istio-system/cert-manager-istio-csr",
		"access Role istio-system/cert-manager-istio-csr-leases",
		"access RoleBinding istio-system/cert-manager-istio-csr-leases",
		"certificate Certificate istio-system/istiod",
		"agent Service cert-manager/cert-manager-istio-csr",
		"agent Service cert-manager/cert-manager-istio-csr-metrics",
		"agent Deployment cert-manager/cert-manager-istio-csr",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestRender_Bindings: a binding is made anew for another role, as a binding's role cannot be changed, and
// nothing else is deleted to be changed.
func TestRender_Bindings(t *testing.T) {
	for _, phase := range Render(Input{IstioCSR: smallest(), Image: image, Facts: working()}).Phases {
		for _, o := range phase.Objects {
			_, isBinding := o.Manifest.Object["roleRef"]
			if replaced := o.OnImmutableChange == v1alpha1.ImmutableReplace; replaced != isBinding {
				t.Errorf("%s %s is replaced for a change: %v", o.Manifest.GetKind(), o.Manifest.GetName(), replaced)
			}
		}
	}
}

// TestRender_Exclusive: what the safety of a mesh rests on is not only there, there is nothing
// else beside it.
func TestRender_Exclusive(t *testing.T) {
	want := map[string][]string{
		"NetworkPolicy": {".spec"}, "Certificate": {".spec"}, "ServiceAccount": {".automountServiceAccountToken"},
		"ClusterRole": {".rules", ".aggregationRule"}, "Role": {".rules"}, "Service": {".spec.ports", ".spec.externalIPs", ".spec.selector"},
		"Deployment": {
			".spec.paused", ".spec.template.spec.containers", ".spec.template.spec.initContainers", ".spec.template.spec.hostNetwork", ".spec.template.spec.hostPID",
			".spec.template.spec.hostIPC", ".spec.template.spec.hostAliases", ".spec.template.spec.automountServiceAccountToken",
		},
	}
	got := map[string][]string{}
	for _, phase := range Render(Input{IstioCSR: smallest(), Image: image, Facts: working()}).Phases {
		for _, o := range phase.Objects {
			if len(o.ExclusiveFields) > 0 {
				got[o.Manifest.GetKind()] = o.ExclusiveFields
			}
			if isCA := o.Manifest.Object["spec"]; o.Manifest.GetKind() == "Certificate" && at(o.Manifest.Object, []string{"spec", "isCA"}) != false {
				t.Errorf("the certificate is a CA: %v", isCA)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exclusive fields (-want +got):\n%s", diff)
	}
}

// TestRender_Labels: every object has ours, and what is elsewhere says whose it is.
func TestRender_Labels(t *testing.T) {
	ic := smallest()
	ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{
		"team": "mesh", "app": "mine", "app.kubernetes.io/version": "9", LabelNamespace: "other", v1alpha1.LabelPackage: "other",
	}}
	p := Render(Input{IstioCSR: ic, Image: image, Facts: working()})
	ours := map[string]string{
		"team": "mesh", "app": AgentName, "app.kubernetes.io/name": AgentName, "app.kubernetes.io/instance": AgentName, "app.kubernetes.io/version": "v0.14.2",
		"app.kubernetes.io/managed-by": "cert-manager-operator", "app.kubernetes.io/part-of": "cert-manager-operator",
	}
	for _, phase := range p.Phases {
		for _, o := range phase.Objects {
			want := maps.Clone(ours)
			if o.Manifest.GetNamespace() != "cert-manager" {
				want[LabelNamespace] = "cert-manager"
			}
			if o.Manifest.GetKind() == "NetworkPolicy" {
				want[labelPolicyOwner] = "istio-csr"
			}
			if diff := cmp.Diff(want, o.Manifest.GetLabels()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", o.Manifest.GetKind(), o.Manifest.GetName(), diff)
			}
		}
	}
	got, _, err := unstructured.NestedStringMap(manifest(t, p, "Deployment/"+AgentName).Object, "spec", "template", "metadata", "labels")
	if diff := cmp.Diff(ours, got); err != nil || diff != "" {
		t.Errorf("labels of the pods (-want +got): %v\n%s", err, diff)
	}
	if warnings := Warnings(Input{IstioCSR: ic, Image: image, Facts: working()}); len(warnings) != 1 || !strings.Contains(warnings[0], "app, app.kubernetes.io/version, cert-manager-istio-csr-namespace, strata.run/package") {
		t.Errorf("warnings are %q", warnings)
	}
}

// TestLabels_Refused: what the API server would refuse is on no object, since the copy of
// the CA certificates is written even while the rest is held back.
func TestLabels_Refused(t *testing.T) {
	ic := smallest()
	ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"a b": "c", "d": "e f", "team": "mesh"}}
	got := Labels(ic, Image{Reference: "r.io/a/b:" + strings.Repeat("1", 64)})
	if got["team"] != "mesh" {
		t.Errorf("a good label is missing: %v", got)
	}
	for key, value := range got {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			t.Errorf("the API server refuses %q=%q", key, value)
		}
	}
}

// TestRender_Takeover: the arguments are those that the operator before gives, byte by
// byte and in its order, so that its pods are not replaced.
func TestRender_Takeover(t *testing.T) {
	want := []string{
		"--log-level=1", "--log-format=text", "--metrics-port=9402", "--readiness-probe-port=6060", "--readiness-probe-path=/readyz",
		"--certificate-namespace=istio-system", "--issuer-enabled=true", "--preserve-certificate-requests=false",
		"--issuer-name=istio-ca", "--issuer-kind=Issuer", "--issuer-group=cert-manager.io", "--root-ca-file=/var/run/configmaps/istio-csr/ca.crt",
		"--serving-certificate-dns-names=cert-manager-istio-csr.cert-manager.svc", "--serving-certificate-duration=60m", "--trust-domain=cluster.local",
		"--cluster-id=Kubernetes", "--max-client-certificate-duration=60m", "--serving-address=0.0.0.0:6443",
		"--serving-certificate-key-size=2048", "--serving-signature-algorithm=RSA", "--enable-client-cert-authenticator=false",
		"--leader-election-namespace=istio-system", "--disable-kubernetes-client-rate-limiter=false", "--istiod-cert-enabled=false",
		"--istiod-cert-namespace=istio-system", "--istiod-cert-duration=60m", "--istiod-cert-renew-before=30m",
		"--istiod-cert-key-algorithm=RSA", "--istiod-cert-key-size=2048", "--istiod-cert-additional-dns-names=", "--istiod-cert-istio-revisions=default",
	}
	if diff := cmp.Diff(want, args(t, Render(Input{IstioCSR: smallest(), Image: image, Facts: working()}))); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestRender_ClusterRoleNames(t *testing.T) {
	const fixed, generated = "cert-manager-istio-csr-cert-manager", "cert-manager-istio-csr-x7k2p"
	for name, tc := range map[string]struct {
		reason, own, reported string
		found                 []string
		want                  string
	}{
		"Fresh":       {reason: "a fixed name, of the namespace", want: fixed},
		"TakenOver":   {reason: "the operator before has generated a name, and its status tells", reported: generated, found: []string{generated, "cert-manager-istio-csr-other"}, want: generated},
		"Claimed":     {reason: "anyone may have written the status", reported: generated, want: fixed},
		"Own":         {reason: "a role is not renamed", own: generated, reported: "cert-manager-istio-csr-any", want: generated},
		"Foreign":     {reason: "a status must not lead us to other roles", reported: "cluster-admin", found: []string{"cluster-admin"}, want: fixed},
		"OtherAgent":  {reason: "the name of an agent that Helm has installed is not generated", reported: "cert-manager-istio-csr", found: []string{"cert-manager-istio-csr"}, want: fixed},
		"Left":        {reason: "an agent of before has it still", found: []string{generated}, want: generated},
		"LeftToo":     {reason: "labels count more than the status", reported: generated, found: []string{"cert-manager-istio-csr-other"}, want: "cert-manager-istio-csr-other"},
		"LeftStrange": {reason: "labels must not lead us to other roles", found: []string{"cluster-admin"}, want: fixed},
		"LeftSeveral": {reason: "the one that is surely the agent's is kept", found: []string{fixed, generated}, want: fixed},
	} {
		t.Run(name, func(t *testing.T) {
			ic, facts := smallest(), working()
			ic.Status.ClusterRole, ic.Status.ClusterRoleBinding = tc.reported, tc.reported
			facts.ClusterRole, facts.ClusterRoleBinding = tc.own, tc.own
			facts.ClusterRoles, facts.ClusterRoleBindings = tc.found, tc.found
			p := Render(Input{IstioCSR: ic, Image: image, Facts: facts})
			manifest(t, p, "ClusterRole/"+tc.want)
			if role := field(t, manifest(t, p, "ClusterRoleBinding/"+tc.want), "roleRef.name"); role != tc.want {
				t.Errorf("%s: the binding is to %v", tc.reason, role)
			}
		})
	}
}

func TestPackageName(t *testing.T) {
	long := strings.Repeat("n", 60)
	for namespace, want := range map[string]string{
		"cert-manager":          "istio-csr-cert-manager",
		strings.Repeat("n", 42): "istio-csr-" + strings.Repeat("n", 42),
		long:                    PackageName(long),
	} {
		got := PackageName(namespace)
		if got != want || len(got) > 52 {
			t.Errorf("of %s it is %s with %d characters, want %s", namespace, got, len(got), want)
		}
	}
	if PackageName(long) == PackageName(long+"x") {
		t.Error("two long namespaces have the same package")
	}
}

func TestRunning(t *testing.T) {
	at := func(namespace string, second int64) *operatorv1alpha1.IstioCSR {
		return &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: metav1.Unix(second, 0)}}
	}
	for name, tc := range map[string]struct {
		reason string
		all    []*operatorv1alpha1.IstioCSR
		want   string
	}{
		"Oldest":     {"the oldest runs, whatever the order", []*operatorv1alpha1.IstioCSR{at("a", 3), at("b", 1), at("c", 2)}, "b"},
		"SameSecond": {"of the same second the first by namespace runs, and not none", []*operatorv1alpha1.IstioCSR{at("b", 1), at("a", 1)}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Running(tc.all); got.Namespace != tc.want {
				t.Errorf("%s: %s runs, want %s", tc.reason, got.Namespace, tc.want)
			}
			slices.Reverse(tc.all)
			if got := Running(tc.all); got.Namespace != tc.want {
				t.Errorf("%s: reversed, %s runs", tc.reason, got.Namespace)
			}
		})
	}
	if Running(nil) != nil {
		t.Error("of none one runs")
	}
}
