// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// strata runs the command line as admin.
func strata(t *testing.T, args ...string) (code cli.Code, out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), cli.Config{
		Args: append([]string{"strata", "--kubeconfig", plane.Kubeconfig()}, args...),
		In:   strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" },
	})
	return code, stdout.String(), stderr.String()
}

// wantStrata runs the command line and fails the test unless it exits with the code
// and its output contains every text.
func wantStrata(t *testing.T, code cli.Code, args []string, texts ...string) string {
	t.Helper()
	got, out, notes := strata(t, args...)
	if got != code {
		t.Fatalf("strata %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, out, notes)
	}
	for _, text := range texts {
		if !strings.Contains(out+notes, text) {
			t.Errorf("strata %s: no %q in\n%s\n%s", strings.Join(args, " "), text, out, notes)
		}
	}
	return out
}

// helmRelease is a release that Helm has installed in a namespace.
type helmRelease struct {
	t  *testing.T
	ns string
	// serverSide applies as Helm 4 does; Helm 3 creates.
	serverSide bool
	hooks      []any
}

// install does what Helm does for one version: it writes the objects, with its marks,
// and the Secret. What is missing stands in the manifest alone.
func (h *helmRelease) install(version int, status string, objects []fields, missing ...fields) {
	h.t.Helper()
	var manifest strings.Builder
	for _, object := range append(append([]fields{}, objects...), missing...) {
		text, err := yaml.Marshal(object)
		must(h.t, err)
		fmt.Fprintf(&manifest, "---\n# Source: web/templates/all.yaml\n%s", text)
	}
	for _, object := range objects {
		h.write(object)
	}
	h.store(version, status, manifest.String())
}

func (h *helmRelease) write(manifest fields) {
	h.t.Helper()
	raw, err := json.Marshal(manifest)
	must(h.t, err)
	object := &unstructured.Unstructured{}
	must(h.t, json.Unmarshal(raw, &object.Object))
	object.SetNamespace(h.ns)
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = "web", h.ns
	labels["app.kubernetes.io/managed-by"] = "Helm"
	object.SetAnnotations(annotations)
	object.SetLabels(labels)
	if h.serverSide {
		must(h.t, admin.Apply(h.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("helm"), client.ForceOwnership))
		return
	}
	must(h.t, admin.Create(h.t.Context(), object, client.FieldOwner("helm")))
}

func (h *helmRelease) store(version int, status, manifest string) {
	h.t.Helper()
	text, err := json.Marshal(fields{
		"name": "web", "namespace": h.ns, "version": version, "manifest": manifest, "hooks": h.hooks,
		"info":  fields{"last_deployed": "2026-02-02T03:04:05Z", "status": status},
		"chart": fields{"metadata": fields{"name": "web", "version": "1.2.3", "appVersion": "2.0"}},
	})
	must(h.t, err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	must(h.t, err)
	must(h.t, w.Close())
	must(h.t, admin.Create(h.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.ns, Name: releaseSecret(version),
			Labels: map[string]string{"owner": "helm", "name": "web", "status": status, "version": strconv.Itoa(version)},
		},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}))
}

func releaseSecret(version int) string { return "sh.helm.release.v1.web.v" + strconv.Itoa(version) }

func helmConfigMap(name string, data fields) fields {
	return fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": name}, "data": data}
}

// helmWorkload are the objects of a small chart.
func helmWorkload() []fields {
	labels := fields{"app": "web"}
	env := []any{fields{"name": "KEEP", "value": "1"}, fields{"name": "DROP", "value": "1"}}
	return []fields{
		helmConfigMap("settings", fields{"keep": "1", "drop": "1"}),
		{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"name": "credentials"}, "stringData": fields{"password": "topsecret"}},
		{"apiVersion": "v1", "kind": "Service", "metadata": fields{"name": "web"}, "spec": fields{"selector": labels, "ports": []any{fields{"port": 80}}}},
		{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": fields{"name": "web"},
			"spec": fields{
				"replicas": 2, "selector": fields{"matchLabels": labels},
				"template": fields{
					"metadata": fields{"labels": labels},
					"spec":     fields{"containers": []any{fields{"name": "main", "image": goodImage, "env": env}}},
				},
			},
		},
	}
}

func helmJob(name string) fields {
	return fields{"apiVersion": "batch/v1", "kind": "Job", "metadata": fields{"name": name}, "spec": fields{"template": fields{"spec": fields{
		"restartPolicy": "Never", "containers": []any{fields{"name": "main", "image": goodImage}},
	}}}}
}

// running is what must not change when a workload is adopted.
type running struct {
	generation int64
	pods       string
}

func runningOf(t *testing.T, ns string) running {
	t.Helper()
	deployment := deployment(t, ns, "web")
	pods := &corev1.PodList{}
	must(t, admin.List(t.Context(), pods, client.InNamespace(ns)))
	var uids []string
	for _, pod := range pods.Items {
		uids = append(uids, string(pod.UID))
	}
	return running{generation: deployment.Generation, pods: strings.Join(uids, " ")}
}

func eventuallyRuns(t *testing.T, ns string, replicas int32) {
	t.Helper()
	planetest.Eventually(t, "the Deployment that Helm has installed to run", func() (bool, error) {
		d := deployment(t, ns, "web")
		return d.Status.AvailableReplicas == replicas && d.Status.ObservedGeneration == d.Generation, fmt.Errorf("its status: %+v", d.Status)
	})
}

// managersOf are the field managers of an object, but for its status.
func managersOf(object client.Object) string {
	var names []string
	for _, e := range object.GetManagedFields() {
		if e.Subresource == "" {
			names = append(names, e.Manager+"/"+string(e.Operation))
		}
	}
	return strings.Join(names, " ")
}

// TestHelmImport: a release of Helm 3 becomes revision 1 without a pod being
// restarted, what is missing is created, a later revision can remove fields, and the
// package's end takes the objects along.
func TestHelmImport(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := "helm-" + ns
	h := &helmRelease{t: t, ns: ns, hooks: []any{fields{"kind": "Job", "name": "migrate", "events": []any{"pre-upgrade"}, "manifest": "kind: Job"}}}
	h.install(1, "superseded", nil)
	h.install(2, "deployed", helmWorkload(), helmConfigMap("missing", fields{"a": "b"}), helmJob("done"))
	h.install(3, "failed", []fields{helmConfigMap("stray", fields{"a": "b"})})
	eventuallyRuns(t, ns, 2)
	before, settings := runningOf(t, ns), configMap(t, ns, "settings")

	args := []string{"import-helm", "web", "-n", ns, "--package", pkg}
	dry := wantStrata(t, cli.CodeOK, append(args, "--dry-run=client"),
		"version 2 (web 1.2.3, app version 2.0)", "version 3 is newer and failed", "= adopt   Deployment "+ns+"/web", "+ create  ConfigMap "+ns+"/missing",
		"hook (pre-upgrade)", "would run again", "only version 3 has it", "Nothing was changed")
	if strings.Contains(dry, "topsecret") || strings.Contains(dry, "~ change") {
		t.Errorf("the plan shows a secret, or changes where there are none:\n%s", dry)
	}
	wantStrata(t, cli.CodeOK, append(args, "--dry-run=server"), "Nothing was changed")
	if exists(t, &v1alpha1.Package{}, "", pkg) || configMap(t, ns, "settings").ResourceVersion != settings.ResourceVersion {
		t.Fatal("a dry run has changed something")
	}
	wantStrata(t, cli.CodeUsage, args, "give --yes")

	wantStrata(t, cli.CodeOK, append(args, "--yes", "--wait", "--timeout=2m"), "Package "+pkg+" is made")
	t.Cleanup(func() { deletePackage(t, pkg) })
	if got := runningOf(t, ns); got != before {
		t.Errorf("the adoption has touched pods: before %+v, after %+v", before, got)
	}
	checkImported(t, pkg, ns)
	wantStrata(t, cli.CodeOK, append(args, "--yes"), "is imported already")
	if exists(t, &v1alpha1.Revision{}, "", pkg+"-2") {
		t.Error("importing twice has made two revisions")
	}

	importedFieldsGo(t, pkg, ns)
	must(t, admin.Delete(t.Context(), getPackage(t, pkg)))
	planetest.Eventually(t, "the package to be gone", func() (bool, error) { return !exists(t, &v1alpha1.Package{}, "", pkg), nil })
	if exists(t, &appsv1.Deployment{}, ns, "web") || exists(t, configMapType(), ns, "settings") || exists(t, &corev1.Secret{}, ns, "credentials") {
		t.Error("objects have outlived their package")
	}
	if !exists(t, configMapType(), ns, "stray") || !exists(t, &corev1.Secret{}, ns, releaseSecret(2)) {
		t.Error("what was not imported is gone with the package")
	}
}

func deletePackage(t *testing.T, name string) {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(admin.Delete(context.Background(), pkg)); err != nil {
		t.Errorf("deleting the test's package: %v", err)
	}
}

func checkImported(t *testing.T, pkg, ns string) {
	t.Helper()
	revision := getRevision(t, pkg, 1)
	actions := map[string]string{}
	for _, entry := range revision.Status.Inventory {
		actions[entry.Kind+" "+entry.Name] = entry.Action
	}
	for name, want := range map[string]string{
		"ConfigMap settings": "Adopted", "Secret credentials": "Adopted", "Service web": "Adopted", "Deployment web": "Adopted", "ConfigMap missing": "Created",
	} {
		if actions[name] != want {
			t.Errorf("%s was %q, want %s", name, actions[name], want)
		}
	}
	if len(actions) != 5 {
		t.Errorf("the revision has %d objects, want 5: %v", len(actions), actions)
	}
	origin := revision.Spec.Origin
	if origin.Kind != v1alpha1.OriginHelmImport || origin.Reference != "HelmRelease/"+ns+"/web" || origin.Generation != 2 || origin.AppVersion != "2.0" || len(origin.Images) != 1 {
		t.Errorf("the origin is %+v", origin)
	}
	for _, phase := range revision.Spec.Phases {
		if phase.CollisionProtection != v1alpha1.CollisionNone {
			t.Errorf("phase %s has the collision protection %q, want None", phase.Name, phase.CollisionProtection)
		}
	}
	for _, object := range []client.Object{configMap(t, ns, "settings"), deployment(t, ns, "web"), configMap(t, ns, "missing")} {
		if got := managersOf(object); strings.Contains(got, "helm") || !strings.Contains(got, "strata/Apply") {
			t.Errorf("the fields of %s belong to %s, want strata instead of helm", object.GetName(), got)
		}
		if !metav1.IsControlledBy(object, getPackage(t, pkg)) || object.GetLabels()[v1alpha1.LabelPackage] != pkg {
			t.Errorf("%s is not the package's", object.GetName())
		}
	}
	if name := configMap(t, ns, "settings").Annotations["meta.helm.sh/release-name"]; name != "web" {
		t.Errorf("Helm is to know the release, and its mark is %q", name)
	}
	secret := &corev1.Secret{}
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: releaseSecret(2)}, secret))
	if secret.Labels["owner"] != "helm" || len(secret.OwnerReferences) != 0 {
		t.Error("the Secrets of the release are to be kept as they are")
	}
}

// importedFieldsGo rolls out a revision 2 without a key of a ConfigMap and a variable of
// a container, and wants both to be gone.
func importedFieldsGo(t *testing.T, name, ns string) {
	t.Helper()
	phases := getRevision(t, name, 1).Spec.Phases
	for i := range phases {
		for j := range phases[i].Objects {
			raw := phases[i].Objects[j].Object
			if raw == nil {
				continue
			}
			text := strings.Replace(string(raw.Raw), `"drop":"1",`, "", 1)
			text = strings.Replace(text, `,{"name":"DROP","value":"1"}`, "", 1)
			phases[i].Objects[j].Object = &runtime.RawExtension{Raw: []byte(text)}
		}
	}
	pkg := getPackage(t, name)
	newRevision(t, pkg, 2, phases...)
	eventuallyRevision(t, name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if got := configMap(t, ns, "settings").Data; len(got) != 1 || got["keep"] != "1" {
		t.Errorf("revision 2 has no key drop, and the ConfigMap has %v", got)
	}
	if env := deployment(t, ns, "web").Spec.Template.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "KEEP" {
		t.Errorf("revision 2 has no variable DROP, and the container has %v", env)
	}
}

// TestHelmImport_Secrets: what Helm keeps of a release can be handed over or deleted.
// The release is one of Helm 4, which applies.
func TestHelmImport_Secrets(t *testing.T) {
	t.Parallel()
	for _, fate := range []string{"handover", "delete"} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			ns := planetest.Namespace(t, plane)
			pkg := "helm-" + ns
			h := &helmRelease{t: t, ns: ns, serverSide: true}
			h.install(1, "superseded", nil)
			h.install(2, "deployed", helmWorkload())
			eventuallyRuns(t, ns, 2)
			before := runningOf(t, ns)
			args := []string{"import-helm", "web", "-n", ns, "--package", pkg, "--release-secrets", fate, "--yes"}
			if fate == "delete" {
				wantStrata(t, cli.CodeUsage, args, "needs --wait")
			}
			wantStrata(t, cli.CodeOK, append(args, "--wait", "--timeout=2m"))
			t.Cleanup(func() { deletePackage(t, pkg) })
			// An annotation that goes, as Helm's do here, counts as a generation of a Deployment.
			before.generation++
			if got := runningOf(t, ns); got != before {
				t.Errorf("the adoption has touched pods: before %+v, after %+v", before, got)
			}
			settings := configMap(t, ns, "settings")
			if managersOf(settings) != "strata/Apply" || len(settings.Annotations) != 0 || settings.Labels["app.kubernetes.io/managed-by"] != "" {
				t.Errorf("Helm is to have no part in it, and its managers are %s, its annotations %v, its labels %v", managersOf(settings), settings.Annotations, settings.Labels)
			}
			wantStrata(t, cli.CodeOK, append(args, "--wait"), "is imported already")
			secrets := &corev1.SecretList{}
			must(t, admin.List(t.Context(), secrets, client.InNamespace(ns), client.MatchingLabels{"owner": "helm"}))
			if len(secrets.Items) != 0 {
				t.Errorf("Helm sees %d versions, want none", len(secrets.Items))
			}
			importedFieldsGo(t, pkg, ns)
			if kept := exists(t, &corev1.Secret{}, ns, releaseSecret(2)); kept != (fate == "handover") {
				t.Errorf("the Secret of version 2 exists: %t", kept)
			}
			must(t, admin.Delete(t.Context(), getPackage(t, pkg)))
			planetest.Eventually(t, "the Secrets of the release to go with the package", func() (bool, error) {
				return !exists(t, &corev1.Secret{}, ns, releaseSecret(1)) && !exists(t, &corev1.Secret{}, ns, releaseSecret(2)), nil
			})
		})
	}
}

// TestHelmImport_Refused: what would do harm is refused, and nothing is changed.
func TestHelmImport_Refused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		prepare func(t *testing.T, h *helmRelease)
		code    cli.Code
		text    string
		allow   string
	}{
		"Missing": {reason: "there is no such release", prepare: func(*testing.T, *helmRelease) {}, code: cli.CodeNotFound, text: "has no Helm release web"},
		"Failed": {
			reason:  "nothing was ever installed",
			prepare: func(_ *testing.T, h *helmRelease) { h.install(1, "failed", nil) }, code: cli.CodeTerminal, text: "no version that is deployed",
		},
		"Scaled": {
			reason: "a user has scaled the workload, and the release would stop pods",
			prepare: func(t *testing.T, h *helmRelease) {
				h.install(1, "deployed", helmWorkload())
				d := deployment(t, h.ns, "web")
				replicas := int32(3)
				changed := d.DeepCopy()
				changed.Spec.Replicas = &replicas
				must(t, admin.Patch(t.Context(), changed, client.MergeFrom(d), client.FieldOwner("kubectl")))
			},
			code: cli.CodeTerminal, text: "differs from the release in .spec.replicas", allow: "--allow-restarts",
		},
		"Controlled": {
			reason: "another controller has an object",
			prepare: func(t *testing.T, h *helmRelease) {
				h.install(1, "deployed", helmWorkload())
				must(t, admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "owner"}}))
				held := configMap(t, h.ns, "settings")
				yes := true
				held.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: configMap(t, h.ns, "owner").UID, Controller: &yes}}
				must(t, admin.Update(t.Context(), held))
			},
			code: cli.CodeTerminal, text: "controlled by ConfigMap owner", allow: "--take-over",
		},
		"Unserved": {
			reason: "a kind that is gone cannot be rolled out",
			prepare: func(_ *testing.T, h *helmRelease) {
				h.install(1, "deployed", nil, fields{"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": fields{"name": "x"}})
			},
			code: cli.CodeTerminal, text: "does not serve (policy/v1beta1 PodDisruptionBudget)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := planetest.Namespace(t, plane)
			tc.prepare(t, &helmRelease{t: t, ns: ns})
			args := []string{"import-helm", "web", "-n", ns, "--package", "helm-" + ns, "--yes"}
			wantStrata(t, tc.code, args, tc.text)
			if exists(t, &v1alpha1.Package{}, "", "helm-"+ns) {
				t.Errorf("%s: and a package was made", tc.reason)
			}
			if exists(t, configMapType(), ns, "settings") && managersOf(configMap(t, ns, "settings")) == "strata/Apply" {
				t.Errorf("%s: and objects were taken over", tc.reason)
			}
			if tc.allow != "" {
				wantStrata(t, cli.CodeOK, append(args, tc.allow, "--dry-run=server"), "Nothing was changed")
			}
		})
	}
}

// TestHelmImport_Autoscaled: what an autoscaler has set is left to it, and drift is set
// back.
func TestHelmImport_Autoscaled(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := "helm-" + ns
	h := &helmRelease{t: t, ns: ns}
	h.install(1, "deployed", helmWorkload())
	h.write(fields{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": fields{"name": "web"},
		"spec": fields{"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": fields{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
	})
	eventuallyRuns(t, ns, 3)
	drifted := configMap(t, ns, "settings")
	drifted.Data["keep"], drifted.Data["foreign"] = "drift", "kept"
	must(t, admin.Update(t.Context(), drifted))
	before := runningOf(t, ns)
	wantStrata(t, cli.CodeOK, []string{"import-helm", "web", "-n", ns, "--package", pkg, "--yes", "--wait", "--timeout=2m"},
		"is left to HorizontalPodAutoscaler web", "sets back .data.keep")
	t.Cleanup(func() { deletePackage(t, pkg) })
	if got := runningOf(t, ns); got != before {
		t.Errorf("the adoption has touched pods: before %+v, after %+v", before, got)
	}
	if data := configMap(t, ns, "settings").Data; data["keep"] != "1" || data["foreign"] != "kept" {
		t.Errorf("the ConfigMap has %v, want what the release says and what it does not speak of", data)
	}
}
