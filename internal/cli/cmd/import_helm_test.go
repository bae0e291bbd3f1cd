// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

func TestImportHelm_Usage(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"NoRelease":    {reason: "one release is imported", want: "helm list"},
		"Two":          {reason: "one release is imported", args: []string{"web", "api"}, want: "helm list"},
		"Fate":         {reason: "the fates are a closed set", args: []string{"web", "--release-secrets=lose"}, want: "keep, handover or delete"},
		"DeleteNoWait": {reason: "the history is lost only when the import has succeeded", args: []string{"web", "--release-secrets=delete", "--yes"}, want: "needs --wait"},
		"DryWait":      {reason: "there is nothing to wait for", args: []string{"web", "--dry-run=client", "--wait"}, want: "--wait"},
		"DryRun":       {reason: "like kubectl's, the flag has three values", args: []string{"web", "--dry-run=yes"}, want: "none, client or server"},
		"Name":         {reason: "a package's name is bounded, as its revisions' names are longer", args: []string{strings.Repeat("x", 53)}, want: "--package"},
		"Package":      {reason: "and is a DNS name", args: []string{"web", "--package=Web"}, want: `"Web"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTerminal(t, nil)
			tm.server.fail = func(r *http.Request) *metav1.Status {
				t.Errorf("%s: and it asked the cluster %s %s", tc.reason, r.Method, r.URL)
				return nil
			}
			tm.run(append([]string{"import-helm"}, tc.args...)...).wants(t, CodeUsage, "", tc.want)
		})
	}
}

func TestWriteImport(t *testing.T) {
	object := func(phase, action, kind, name string) view.ImportedObject {
		return view.ImportedObject{ObjectReference: v1alpha1.ObjectReference{Kind: kind, Namespace: "shop", Name: name}, Phase: phase, Action: action}
	}
	scaled, drifted, foreign, gone := object("workloads", "Adopt", "Deployment", "web"), object("workloads", "Update", "Deployment", "api"),
		object("config", "Update", "ConfigMap", "settings"), object("rest", "Refuse", "PodDisruptionBudget", "web")
	scaled.Note = "spec.replicas is left to HorizontalPodAutoscaler web"
	drifted.Fields, drifted.Pods = []string{".spec.replicas", ".spec.template.spec.containers[0].image"}, true
	foreign.Fields, foreign.Holder = []string{".data.a"}, "of package base"
	gone.Note = "is of a kind that the cluster does not serve (policy/v1beta1 PodDisruptionBudget): install it, or upgrade the release to a version that is served"
	at := metav1.NewTime(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
	doc := view.HelmImport{
		Package: "web", Release: view.HelmRelease{Namespace: "shop", Name: "web", Version: 3, Status: "deployed", Chart: "web", ChartVersion: "1.2.3", AppVersion: "2.0", Deployed: &at},
		Later:   []view.HelmRelease{{Namespace: "shop", Name: "web", Version: 4, Status: "pending-upgrade"}},
		Objects: []view.ImportedObject{foreign, object("config", "Create", "ServiceAccount", "web"), scaled, drifted, gone},
		Left: []view.LeftObject{
			{Kind: "Job", Name: "web-migrate", Reason: "hook (pre-upgrade)"}, {Kind: "Job", Namespace: "shop", Name: "seed", Reason: "it is gone, and would run again"},
			{Kind: "File", Name: "crds/web.yaml", Reason: "Helm does not manage it either"},
		},
		Secrets: view.ReleaseSecrets{Fate: "keep", Names: []string{"c", "b", "a"}},
	}
	var out strings.Builder
	view.WriteImport(output.New(&out, 80, false), doc)
	golden(t, "import_helm", out.String())
	doc.Secrets = view.ReleaseSecrets{Fate: "handover", Names: []string{"a"}}
	out.Reset()
	view.WriteImport(output.New(&out, 80, false), doc)
	if want := "release history (1 Secret)\n    handed over: Helm does not see the release any more"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
