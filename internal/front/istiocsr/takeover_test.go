// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// byChart is the spec of the Deployment of the Helm chart, as the API server has it.
func byChart(t *testing.T) map[string]any {
	t.Helper()
	source, err := os.ReadFile("testdata/takeover/chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	content, err := yaml.YAMLToJSON(source)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// foundBy is the container of the agent in a Deployment's spec.
func foundBy(t *testing.T, spec map[string]any) map[string]any {
	t.Helper()
	containers, _ := at(spec, []string{"template", "spec", "containers"}).([]any)
	for _, item := range containers {
		if container, ok := item.(map[string]any); ok && container["name"] == AgentName {
			return container
		}
	}
	t.Fatalf("there is no container of the agent in %v", spec)
	return nil
}

// found changes what was found; paths begin at the Deployment's spec.
type found map[string]any

func (f found) in(t *testing.T, spec map[string]any) {
	t.Helper()
	for path, value := range f {
		fields := strings.Split(path, ".")
		target := spec
		if fields[0] == "agent" {
			target, fields = foundBy(t, spec), fields[1:]
		}
		if err := unstructured.SetNestedField(target, value, fields...); err != nil {
			t.Fatal(err)
		}
	}
}

// replaceArg is the arguments with one of them changed, and arguments that follow.
func replaceArg(t *testing.T, from, to string, more ...any) []any {
	t.Helper()
	list, _ := foundBy(t, byChart(t))["args"].([]any)
	if from != "" && !slices.Contains(list, any(from)) {
		t.Fatalf("there is no argument %s", from)
	}
	var all []any
	for _, arg := range list {
		switch {
		case arg != from:
			all = append(all, arg)
		case to != "":
			all = append(all, to)
		}
	}
	return append(all, more...)
}

const pinned = "--root-ca-file=/var/run/secrets/istio-csr/ca.pem"

// meaningCase is a case of [TestRender_TakeoverByMeaning].
type meaningCase struct {
	reason string
	found  found
	ask    func(ic *operatorv1alpha1.IstioCSR)
	// want is the difference that is reported, empty when the pods stay.
	want string
}

func (tc meaningCase) check(t *testing.T) {
	spec, ic := byChart(t), smallest()
	tc.found.in(t, spec)
	if tc.ask != nil {
		tc.ask(ic)
	}
	before := runtime.DeepCopyJSON(spec)
	in := Input{IstioCSR: ic, Image: image, Facts: working()}
	in.Facts.Deployment = &Deployment{Spec: spec, Foreign: true}
	p := Render(in)
	text := TakeoverText(in)
	if tc.want != "" {
		if IsExisting(manifest(t, p, "Deployment/"+AgentName).GetLabels()) || !strings.Contains(text, tc.want) || !strings.Contains(p.Origin.Reason, tc.want) {
			t.Fatalf("%s: the origin is %q and the text %q, want them to be about %q", tc.reason, p.Origin.Reason, text, tc.want)
		}
		return
	}
	if !strings.HasSuffix(text, "and its pods stay") {
		t.Fatalf("%s: %s", tc.reason, text)
	}
	got := manifest(t, p, "Deployment/"+AgentName)
	want := runtime.DeepCopyJSON(before)
	unstructured.RemoveNestedField(want, "template", "metadata", "creationTimestamp")
	if diff := cmp.Diff(want, got.Object["spec"]); diff != "" || !IsExisting(got.GetLabels()) {
		t.Errorf("%s: labels %v, spec (-found +rendered):\n%s", tc.reason, got.GetLabels(), diff)
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("what was found has changed:\n%s", diff)
	}
	if want := []string{foundBy(t, spec)["image"].(string)}; !slices.Equal(want, p.Origin.Images) {
		t.Errorf("the origin says that %v run, and not %v", p.Origin.Images, want)
	}
}

// TestRender_TakeoverByMeaning: pods that mean what is asked for stay as they were found,
// and others are distinguished by what they mean otherwise.
func TestRender_TakeoverByMeaning(t *testing.T) {
	asked := func(change func(c *config)) func(*operatorv1alpha1.IstioCSR) {
		return func(ic *operatorv1alpha1.IstioCSR) { change(&ic.Spec.IstioCSRConfig) }
	}
	agentAsks := func(a operatorv1alpha1.AgentConfig) func(*operatorv1alpha1.IstioCSR) {
		return func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.AgentConfig = &a }
	}
	for name, tc := range map[string]meaningCase{
		"Chart":            {reason: "the chart's defaults are those of the IstioCSR"},
		"NoArguments":      {reason: "all of them are the agent's defaults, but for those of another namespace", found: found{"agent.args": []any{"-c=istio-system"}}},
		"Spelling":         {reason: "flags apart from their values, and letters", found: found{"agent.args": []any{"--log-level", "1", "-m", "3600s", "--cluster-id", "Kubernetes", "-e"}}},
		"InCommand":        {reason: "flags may stand in the command", found: found{"agent.command": []any{"/usr/bin/cert-manager-istio-csr", "--log-level=1"}, "agent.args": []any{}}},
		"Shell":            {reason: "what a shell makes of it is unknown", found: found{"agent.command": []any{"sh", "-c"}}, want: `command differs from the IstioCSR: ["sh","-c"], want ["cert-manager-istio-csr"]`},
		"LogLevel":         {reason: "another value of a flag", found: found{"agent.args": replaceArg(t, "--log-level=1", "--log-level=2")}, want: `--log-level differs from the IstioCSR: "2", want "1"`},
		"LogLevelIsAsked":  {reason: "another value of a field", ask: asked(func(c *config) { c.LogLevel = 3 }), want: `--log-level differs from the IstioCSR: "1", want "3"`},
		"SameLogLevel":     {reason: "the same value in both", found: found{"agent.args": replaceArg(t, "--log-level=1", "-v3")}, ask: asked(func(c *config) { c.LogLevel = 3 })},
		"DurationsByValue": {reason: "90m are 1h30m", found: found{"agent.args": replaceArg(t, "--max-client-certificate-duration=1h", "--max-client-certificate-duration=90m")}, ask: asked(func(c *config) { c.IstiodTLSConfig.MaxCertificateDuration = duration(90 * 60 * 1e9) })},
		"NoRootFile":       {reason: "the agent has the issuer's CA", found: found{"agent.args": replaceArg(t, "--root-ca-file=", "")}},
		"RootIsAsked": {reason: "a CA that the user names has to be mounted", ask: asked(func(c *config) {
			c.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "ca", Key: "ca"}
		}), want: `--root-ca-file differs from the IstioCSR: "", want "/var/run/configmaps/istio-csr/ca.crt"`},
		"PinnedRoot":        {reason: "a file of another owner's is not what the IstioCSR is about", found: found{"agent.args": replaceArg(t, "--root-ca-file=", pinned)}, want: `--root-ca-file differs from the IstioCSR: "/var/run/secrets/istio-csr/ca.pem"`},
		"OurFileUnmounted":  {reason: "our file has to be there", found: found{"agent.args": replaceArg(t, "--root-ca-file=", "--root-ca-file=/var/run/configmaps/istio-csr/ca.crt")}, want: "ConfigMap cert-manager-istio-csr-issuer-ca-copy is not mounted"},
		"UnknownFlag":       {reason: "what it does is not known", found: found{"agent.args": replaceArg(t, "", "", "--kubeconfig=/a")}, want: "known to have the flag --kubeconfig"},
		"DynamicIstiod":     {reason: "two would make the certificate of istiod", found: found{"agent.args": replaceArg(t, "--istiod-cert-enabled=false", "--istiod-cert-enabled=true")}, want: `--istiod-cert-enabled differs from the IstioCSR: "true", want "false"`},
		"IstiodWithout":     {reason: "what is about no certificate has no effect", found: found{"agent.args": replaceArg(t, "--istiod-cert-duration=1h", "--istiod-cert-duration=9h")}},
		"Revisions":         {reason: "they are in the Certificate, and the agent does not look at them", ask: asked(func(c *config) { c.Istio.Revisions = []string{"canary"} })},
		"RuntimeConfigMap":  {reason: "another issuer would sign", found: found{"agent.args": replaceArg(t, "--runtime-issuance-config-map-name=", "--runtime-issuance-config-map-name=x")}, want: "--runtime-issuance-config-map-name"},
		"ProbeElsewhere":    {reason: "where the probe goes is the pod's affair", found: found{"agent.args": replaceArg(t, "--readiness-probe-port=6060", "--readiness-probe-port=7070")}},
		"MetricsElsewhere":  {reason: "the Service of the metrics goes to 9402", found: found{"agent.args": replaceArg(t, "--metrics-port=9402", "--metrics-port=9999")}, want: "--metrics-port"},
		"Selector":          {reason: "what selects the same is the same", found: found{"agent.args": replaceArg(t, "", "", "--configmap-namespace-selector=b=c,a==b")}, ask: asked(func(c *config) { c.IstioDataPlaneNamespaceSelector = "a=b,b=c" })},
		"OtherRegistry":     {reason: "no user has asked for another registry, and the version is the same", found: found{"agent.image": "mirror.example.com/istio-csr:v0.14.2"}},
		"OtherTag":          {reason: "another version is another agent", found: found{"agent.image": "quay.io/jetstack/cert-manager-istio-csr:v0.16.0"}, want: `image differs from the IstioCSR: "quay.io/jetstack/cert-manager-istio-csr:v0.16.0", want "quay.io/jetstack/cert-manager-istio-csr:v0.14.2"`},
		"TagAsked":          {reason: "the user can ask for what runs", found: found{"agent.image": "quay.io/jetstack/cert-manager-istio-csr:v0.16.0"}, ask: agentAsks(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "quay.io/jetstack/cert-manager-istio-csr:v0.16.0"}})},
		"RegistryAsked":     {reason: "an image that is asked for by name is meant", found: found{"agent.image": "mirror.example.com/istio-csr:v0.14.2"}, ask: agentAsks(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "quay.io/jetstack/cert-manager-istio-csr:v0.14.2"}}), want: `image differs from the IstioCSR: "mirror.example.com/istio-csr:v0.14.2"`},
		"NoTag":             {reason: "a digest says no version", found: found{"agent.image": "quay.io/jetstack/cert-manager-istio-csr@sha256:" + strings.Repeat("0", 64)}, want: "image differs from the IstioCSR: "},
		"OwnResources":      {reason: "the IstioCSR says nothing of them", found: found{"agent.resources": map[string]any{"requests": map[string]any{"cpu": "10m"}}}},
		"ResourcesAsked":    {reason: "quantities are compared by value", found: found{"agent.resources": map[string]any{"requests": map[string]any{"cpu": "100m"}}}, ask: asked(func(c *config) { c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.1")} })},
		"ResourcesDiffer":   {reason: "it says something else", ask: asked(func(c *config) { c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("0.1")} }), want: `resources differs from the IstioCSR: {}, want {"requests":{"cpu":"100m"}}`},
		"SecurityContext":   {reason: "the chart may be stricter or laxer", found: found{"agent.securityContext": map[string]any{"runAsUser": int64(7)}}},
		"Probe":             {reason: "the chart's own", found: found{"agent.readinessProbe": map[string]any{"tcpSocket": map[string]any{"port": int64(6443)}}}},
		"MoreVolumes":       {reason: "they belong to what is there", found: found{"template.spec.volumes": []any{map[string]any{"name": "extra", "emptyDir": map[string]any{}}}}},
		"Scheduling":        {reason: "the IstioCSR says nothing of it", found: found{"template.spec.tolerations": []any{map[string]any{"operator": "Exists"}}, "template.spec.nodeSelector": map[string]any{"infra": ""}, "template.spec.priorityClassName": "high"}},
		"TolerationsAsked":  {reason: "it says something", ask: asked(func(c *config) { c.Tolerations = []corev1.Toleration{{Operator: "Exists"}} }), want: `tolerations differs from the IstioCSR: null, want [{"operator":"Exists"}]`},
		"AffinityAsked":     {reason: "it says something", ask: asked(func(c *config) { c.Affinity = &corev1.Affinity{} }), want: "affinity differs from the IstioCSR: null, want {}"},
		"NodeSelectorAsked": {reason: "it says something", ask: asked(func(c *config) { c.NodeSelector = map[string]string{"infra": ""} }), want: `nodeSelector differs from the IstioCSR: {"kubernetes.io/os":"linux"}, want {"infra":""}`},
		"PriorityAsked":     {reason: "it says something", ask: agentAsks(operatorv1alpha1.AgentConfig{PriorityClassName: "high"}), want: `priorityClassName differs from the IstioCSR: "", want "high"`},
		"SpreadAsked": {
			reason: "it says something", ask: agentAsks(operatorv1alpha1.AgentConfig{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: "ScheduleAnyway"}}}),
			want: "topologySpreadConstraints differs from the IstioCSR: ",
		},
		"LabelAsked": {
			reason: "the user's labels stand on the pods", ask: func(ic *operatorv1alpha1.IstioCSR) {
				ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"team": "mesh", "app": "mine"}}
			}, want: `label team differs from the IstioCSR: "", want "mesh"`,
		},
		"OtherSelector": {reason: "it selects the pods that are there", found: found{"selector": map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": AgentName}}}},
		"SelectorStays": {
			reason: "what is in the way of replacing the pods is reported first", found: found{"selector": map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": AgentName}}},
			ask: asked(func(c *config) { c.LogLevel = 3 }), want: `, which cannot be changed: delete the Deployment so that it is created again`,
		},
		"OtherApp":       {reason: "our Services would not find the pods", found: found{"template.metadata.labels": map[string]any{"app": "csr"}}, want: `label app differs from the IstioCSR: "csr", want "cert-manager-istio-csr"`},
		"OtherAccount":   {reason: "our roles are bound to another", found: found{"template.spec.serviceAccountName": "csr"}, want: `serviceAccountName differs from the IstioCSR: "csr", want "cert-manager-istio-csr"`},
		"OtherContainer": {reason: "it is no agent", found: found{"agent.name": "other"}, want: "no container is named"},
		"Repeated":       {reason: "it could never be applied", found: found{"agent.env": []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}}, want: "container cert-manager-istio-csr has variable A twice"},
		"Trusted":        {reason: "ambient mode", found: found{"agent.args": replaceArg(t, "", "", "--ca-trusted-node-accounts=b/z", "--ca-trusted-node-accounts=a/z")}, ask: agentAsks(operatorv1alpha1.AgentConfig{TrustedNodeAccounts: []string{"a/z", "b/z"}})},
		"Nonsense":       {reason: "what cannot be read is not kept", found: found{"template.spec.containers": "none"}, want: "it cannot be read"},
	} {
		t.Run(name, tc.check)
	}
}

// rendered is the spec of the Deployment of a package.
func rendered(t *testing.T, in Input) (map[string]any, bool) {
	t.Helper()
	u := manifest(t, Render(in), "Deployment/"+AgentName)
	spec, _ := u.Object["spec"].(map[string]any)
	return spec, IsExisting(u.GetLabels())
}

// TestRender_AsFoundStays: once it is in a revision, what was found is rendered again and
// again, through changes that are not about the agent, until one is.
func TestRender_AsFoundStays(t *testing.T) {
	in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
	in.Facts.Deployment = &Deployment{Spec: byChart(t), Foreign: true}
	first, kept := rendered(t, in)
	if !kept {
		t.Fatal("it was not kept")
	}
	in.Facts.Deployment = &Deployment{Spec: first, Existing: true}
	if again, kept := rendered(t, in); !kept || !cmp.Equal(first, again) {
		t.Errorf("the next pass renders something else (-first +again):\n%s", cmp.Diff(first, again))
	}
	if text := TakeoverText(in); text != "" {
		t.Errorf("the takeover is reported again: %s", text)
	}
	in.IstioCSR.Spec.IstioCSRConfig.IstiodTLSConfig.CommonName = "istiod"
	if again, kept := rendered(t, in); !kept || !cmp.Equal(first, again) {
		t.Error("a change of the certificate replaces the pods")
	}
	in.IstioCSR.Spec.IstioCSRConfig.LogLevel = 5
	ours, kept := rendered(t, in)
	if reason := Render(in).Origin.Reason; !strings.HasSuffix(reason, `the pods are not kept any longer as they were found: --log-level differs from the IstioCSR: "1", want "5"`) {
		t.Errorf("the origin says %q", reason)
	}
	plain := in
	plain.Facts.Deployment = nil
	if want, _ := rendered(t, plain); kept || !cmp.Equal(want, ours) {
		t.Errorf("a change of the agent is not rendered as any other (-want +got):\n%s", cmp.Diff(want, ours))
	}
	in.Facts.Deployment = &Deployment{Spec: ours}
	in.IstioCSR = smallest()
	plain.IstioCSR = smallest()
	if got, kept := rendered(t, in); kept {
		t.Error("what is ours is taken for another owner's")
	} else if want, _ := rendered(t, plain); !cmp.Equal(want, got) {
		t.Errorf("back to the old spec (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestRender_TakeoverOfOurs: what applying ours would not change is rendered as ours, so
// that it is an agent as any other.
func TestRender_TakeoverOfOurs(t *testing.T) {
	in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
	ours, _ := rendered(t, in)
	stored := runtime.DeepCopyJSON(ours)
	found{"progressDeadlineSeconds": int64(600), "template.spec.dnsPolicy": "ClusterFirst", "agent.terminationMessagePath": "/dev/termination-log", "agent.resources": map[string]any{}}.in(t, stored)
	in.Facts.Deployment = &Deployment{Spec: stored, Foreign: true}
	got, kept := rendered(t, in)
	if diff := cmp.Diff(ours, got); diff != "" || kept {
		t.Errorf("an operator's Deployment is not taken over as ours (-want +got):\n%s", diff)
	}
	if text := TakeoverText(in); !strings.HasSuffix(text, "and its pods stay") {
		t.Errorf("it is reported as %q", text)
	}
	in.Facts.Release = "cert-manager/csr"
	if got, kept := rendered(t, in); !kept || !cmp.Equal(stored, got) {
		t.Errorf("what Helm has set besides would be removed (-found +rendered):\n%s", cmp.Diff(stored, got))
	}
}

// TestRender_TakeoverVolume: another owner's volume of the name of ours must not come
// together with it, now and in later revisions.
func TestRender_TakeoverVolume(t *testing.T) {
	in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
	spec := byChart(t)
	found{
		"agent.args": replaceArg(t, "--root-ca-file=", pinned), "agent.volumeMounts": []any{map[string]any{"name": "root-ca", "mountPath": "/var/run/secrets/istio-csr"}},
		"template.spec.volumes": []any{map[string]any{"name": "root-ca", "secret": map[string]any{"secretName": "istio-root-ca"}}},
	}.in(t, spec)
	in.Facts.Deployment = &Deployment{Spec: spec, Foreign: true}
	first, kept := rendered(t, in)
	volumes, _ := at(first, []string{"template", "spec", "volumes"}).([]any)
	mounts, _ := foundBy(t, first)["volumeMounts"].([]any)
	if kept || len(volumes) != 1 || len(mounts) != 1 || volumes[0].(map[string]any)["name"] != otherVolumeName || mounts[0].(map[string]any)["name"] != otherVolumeName {
		t.Fatalf("volumes %v, mounts %v", volumes, mounts)
	}
	in.Facts.Deployment = &Deployment{Spec: first}
	if again, _ := rendered(t, in); !cmp.Equal(first, again) {
		t.Errorf("the next pass renders something else (-first +again):\n%s", cmp.Diff(first, again))
	}
}

// TestWarnings_Takeover: what an agent lacks that was kept as it was, and that Helm could
// take it away, is reported.
func TestWarnings_Takeover(t *testing.T) {
	in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
	spec := byChart(t)
	found{"replicas": int64(3)}.in(t, spec)
	in.Facts.Deployment, in.Facts.Release = &Deployment{Spec: spec, Existing: true}, "cert-manager/csr"
	if got, _ := rendered(t, in); got["replicas"] != int64(3) {
		t.Errorf("there are %v replicas, and there were 3", got["replicas"])
	}
	warnings := Warnings(in)
	for _, want := range []string{"without --root-ca-file", "there are 3 replicas", "`kubectl delete secret -n cert-manager -l owner=helm,name=csr`"} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning says %q: %q", want, warnings)
		}
	}
	in.IstioCSR.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{Replicas: new(int32(2))}
	if got, kept := rendered(t, in); got["replicas"] != int64(2) || !kept {
		t.Errorf("2 replicas are asked for, and there are %v", got["replicas"])
	}
	found{"replicas": int64(0)}.in(t, spec)
	in.IstioCSR.Spec.AgentConfig, in.Facts.Release = nil, ""
	if got, _ := rendered(t, in); got["replicas"] != int64(1) {
		t.Errorf("a Deployment without pods is kept as one: %v", got["replicas"])
	}
	if warnings := Warnings(in); len(warnings) != 1 {
		t.Errorf("the warnings are %q", warnings)
	}
}

// TestTakeover_More: pods that are as asked for, and have more than that, stay as they were
// found: what is rendered for the agent would take it from them.
func TestTakeover_More(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(pod map[string]any)
		kept   bool
	}{
		"Same":    {func(map[string]any) {}, false},
		"Filled":  {func(pod map[string]any) { pod["dnsPolicy"] = "ClusterFirst" }, false},
		"Network": {func(pod map[string]any) { pod["hostNetwork"] = true }, true},
		"Sidecar": {func(pod map[string]any) {
			pod["containers"] = append(pod["containers"].([]any), map[string]any{"name": "sidecar", "image": "example.com/sidecar:1"})
		}, true},
		"Variable": {func(pod map[string]any) {
			pod["containers"].([]any)[0].(map[string]any)["env"] = []any{map[string]any{"name": "A", "value": "b"}}
		}, true},
		"Limits": {func(pod map[string]any) {
			pod["containers"].([]any)[0].(map[string]any)["resources"] = map[string]any{"limits": map[string]any{"cpu": "1"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{IstioCSR: smallest(), Image: image, Facts: working()}
			spec, ok := manifest(t, Render(in), "Deployment/"+AgentName).Object["spec"].(map[string]any)
			if !ok {
				t.Fatal("the Deployment has no spec")
			}
			spec = runtime.DeepCopyJSON(spec)
			tc.change(at(spec, []string{"template", "spec"}).(map[string]any))
			in.Facts.Deployment = &Deployment{Spec: spec, Foreign: true}
			if kept := IsExisting(manifest(t, Render(in), "Deployment/"+AgentName).GetLabels()); kept != tc.kept {
				t.Errorf("it is kept as it was found: %v, want %v", kept, tc.kept)
			}
		})
	}
}
