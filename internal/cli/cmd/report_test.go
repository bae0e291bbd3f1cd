// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

func readZip(t *testing.T, path string) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

func TestReport(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	r := &f.view.Revisions[2]
	r.Spec.Phases[1].Objects = append(r.Spec.Phases[1].Objects, v1alpha1.Object{Object: raw(`{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"db","namespace":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"CANARY"}},
		"spec":{"template":{"spec":{"containers":[{"name":"db","args":["--db-password=CANARY","--port=1"],"env":[{"name":"A","value":"CANARY"}]}]}}}}`)},
		v1alpha1.Object{Object: raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"CANARY"}}`)})
	tm := newTerminal(t, f)
	path := filepath.Join(t.TempDir(), "bundle.zip")
	var doc view.Report
	parse(t, tm.run("report", fixturePackage, "-f", path, "-o", "json"), &doc)
	files := readZip(t, path)
	if len(doc.Entries) != len(files) {
		t.Errorf("%d entries are reported, %d are there: %v", len(doc.Entries), len(files), doc.Entries)
	}
	dir := "packages/" + fixturePackage + "/"
	for _, name := range []string{"report.json", "version.json", dir + "package.yaml", dir + "revisions/3.yaml", dir + "status.json", dir + "tree.json", dir + "history.json", dir + "explanation.json", dir + "events.json"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	for name, text := range files {
		if strings.Contains(text, "CANARY") {
			t.Errorf("%s holds what is confidential:\n%s", name, text)
		}
	}
	if !strings.Contains(files[dir+"revisions/3.yaml"], "--port=1") || !strings.Contains(files[dir+"revisions/3.yaml"], "redacted, 6 bytes") {
		t.Errorf("too much is redacted:\n%s", files[dir+"revisions/3.yaml"])
	}
	var inside view.Report
	if err := json.Unmarshal([]byte(files["report.json"]), &inside); err != nil || inside.Packages[0] != fixturePackage {
		t.Errorf("report.json: %v, %+v", err, inside)
	}
	tm.run("report", "-f", path).wants(t, CodeUsage, "", "exists already")
	tm.run("report", "nothing", "-f", path+"2").wants(t, CodeNotFound, "", "not in the cluster")
}

// TestReport_Logs: the manager's logs are in it, those of a container that has ended, too,
// without what sounds like a password.
func TestReport_Logs(t *testing.T) {
	f := fixtureNamed(t, "done")
	f.cluster = append(f.cluster, clusterObject{"/api/v1/namespaces/strata-system/pods", corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "strata-system", Name: "strata-manager-0"},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "manager", RestartCount: 1}}},
	}})
	tm := newTerminal(t, f)
	const log = "/api/v1/namespaces/strata-system/pods/strata-manager-0/log?previous="
	tm.server.logs = map[string]string{
		log + "false": "I1121 Rolled out package=web\n", log + "true": `E1121 Refused err="args: --db-password=CANARY, {\"token\": \"CANARY\"} Authorization: Bearer CANARY" secret=app/web` + "\n" +
			`I1121 Response Body body="{\"kind\":\"Secret\",\"data\":{\"tls.crt\":\"CANARY\",\"tls.key\":\"CANARY\"},\"type\":\"Opaque\"}"` + "\n",
	}
	path := filepath.Join(t.TempDir(), "bundle.zip")
	tm.run("report", "-f", path).wants(t, CodeOK, "", "")
	files := readZip(t, path)
	if got := files["manager/logs/strata-manager-0-manager.log"]; got != "I1121 Rolled out package=web\n" {
		t.Errorf("the log is %q", got)
	}
	previous := files["manager/logs/strata-manager-0-manager-previous.log"]
	if strings.Contains(previous, "CANARY") || !strings.Contains(previous, "secret=app/web") || strings.Count(previous, "<redacted>") != 4 {
		t.Errorf("the log of the container that has ended is %q", previous)
	}
	tm.run("report", "-f", path+"2", "--log-lines=0").wants(t, CodeOK, "", "")
	if _, found := readZip(t, path+"2")["manager/logs/strata-manager-0-manager.log"]; found {
		t.Error("logs were not asked for")
	}
}

// TestReport_LeastRights has a user who may read packages and revisions alone.
func TestReport_LeastRights(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	tm.server.fail = func(r *http.Request) *metav1.Status {
		if strings.HasSuffix(r.URL.Path, "/packages") || strings.Contains(r.URL.Path, "/revisions") {
			return nil
		}
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil).ErrStatus
		err.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return &err
	}
	path := filepath.Join(t.TempDir(), "bundle.zip")
	tm.run("report", "-f", path).wants(t, CodeOK, "about 1 package", "left out: events of namespace openshift-ingress")
	if files := readZip(t, path); files["packages/"+fixturePackage+"/revisions/3.yaml"] == "" {
		t.Error("what may be read is missing")
	}
}

func TestRedact_Secret(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "data": map[string]any{"a": "Q0FOQVJZ"}, "stringData": map[string]any{"b": "CANARY"}}}
	clean := redact(secret)
	text, err := json.Marshal(clean.Object)
	if err != nil || strings.Contains(string(text), "CANARY") || strings.Contains(string(text), "Q0FOQVJZ") {
		t.Errorf("got %s, %v", text, err)
	}
	if secret.Object["data"].(map[string]any)["a"] != "Q0FOQVJZ" {
		t.Error("the manifest given was changed")
	}
}
