// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/view"
)

func TestShow(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	cases := map[string]struct {
		reason  string
		args    []string
		code    Code
		in, err string
	}{
		"Target":       {reason: "Without a number it is the target.", args: []string{"show", fixturePackage}, in: "# " + fixturePackage + " revision "},
		"Numbered":     {reason: "N is N.", args: []string{"show", fixturePackage, "1"}, in: "image: pilot:1.28.2"},
		"OneObject":    {reason: "From a slice, too.", args: []string{"show", fixturePackage, "1", "--object", "cm/istio-sidecar-injector-openshift-gateway"}, in: "template of 1.28.2"},
		"Name":         {reason: "The names alone.", args: []string{"show", fixturePackage, "2", "-o", "name"}, in: "configmap/only-in-1.29\n"},
		"JSONPath":     {reason: "Programs take what they need.", args: []string{"show", fixturePackage, "1", "-o", "jsonpath={.phases[1].name} {.verified}"}, in: "control-plane true\n"},
		"NoSuchObject": {reason: "The message says how to list what it contains.", args: []string{"show", fixturePackage, "1", "--object", "pod/x"}, code: CodeNotFound, err: "-o name"},
		"NoRevision":   {reason: "Those there are are named.", args: []string{"show", fixturePackage, "9"}, code: CodeNotFound, err: "there are: 1, 2"},
		"NoPackage":    {reason: "So are packages.", args: []string{"show", "other"}, code: CodeNotFound, err: "there are: " + fixturePackage},
		"NoNumber":     {reason: "A revision is a number.", args: []string{"show", fixturePackage, "two"}, code: CodeUsage, err: `"two" is not a revision`},
		"TooMany":      {reason: "One revision at a time.", args: []string{"show", fixturePackage, "1", "2"}, code: CodeUsage, err: "one too many"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm.run(tc.args...).wants(t, tc.code, tc.in, tc.err)
		})
	}
}

func TestShow_Altered(t *testing.T) {
	f := fixtureNamed(t, "done")
	f.view.Revisions[0].Spec.ContentDigest = "sha256:" + strings.Repeat("0", 64)
	newTerminal(t, f).run("show", fixturePackage, "1").wants(t, CodeFalse, "kind: Deployment", "not what it says")
}

func TestShow_SliceGone(t *testing.T) {
	f := fixtureNamed(t, "done")
	tm := newTerminal(t, f)
	for i := range f.objs {
		tm.server.remove(slicesPath, f.objs[i].Name)
	}
	tm.run("show", fixturePackage, "1").wants(t, CodeFalse, "# not readable: ObjectSlice sha256-", "not all of revision 1 could be read")
}

// TestShow_ContentIsWhatWasStored compares each object with the manifest that was packed.
func TestShow_ContentIsWhatWasStored(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	for revision, version := range map[string]string{"1": "1.28.2", "2": "1.29.1"} {
		var doc view.Content
		if err := json.Unmarshal([]byte(tm.run("show", fixturePackage, revision, "-o", "json").out), &doc); err != nil {
			t.Fatal(err)
		}
		var want, got []map[string]any
		for _, phase := range fixturePhases(version) {
			for _, object := range phase.Objects {
				want = append(want, object.Manifest.Object)
			}
		}
		for _, phase := range doc.Phases {
			for _, object := range phase.Items {
				got = append(got, object.Manifest)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !doc.Verified {
			t.Errorf("revision %s, verified %t: -want, +got:\n%s", revision, doc.Verified, diff)
		}
	}
}

func TestDiff(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	r := tm.run("diff", fixturePackage, "1", "2")
	if r.code != CodeFalse || r.err != "" {
		t.Errorf("code %d, stderr %s", r.code, r.err)
	}
	golden(t, "diff", shorten(r.out))
	r = tm.run("diff", fixturePackage, "1", "2", "-o", "unified", "--object", "deployment/"+fixturePackage)
	golden(t, "diff_unified", r.out)
	cases := map[string]struct {
		reason  string
		args    []string
		code    Code
		in, err string
	}{
		"Same":      {reason: "Equal contents are 0.", args: []string{"diff", fixturePackage, "1", "1"}, in: "18 the same"},
		"Name":      {reason: "The names alone.", args: []string{"diff", fixturePackage, "1", "2", "-o", "name"}, code: CodeFalse, in: "deployment.apps/" + fixturePackage},
		"Ignored":   {reason: "What is ignored does not count.", args: []string{"diff", fixturePackage, "1", "2", "--object", "deployment/" + fixturePackage, "--ignore", ".spec.image"}, in: "1 the same"},
		"JSON":      {reason: "The code is the same.", args: []string{"diff", fixturePackage, "1", "2", "-o", "json"}, code: CodeFalse, in: `"different": true`},
		"NotFound":  {reason: "An error is 2, as 1 says that there are differences.", args: []string{"diff", "other"}, code: CodeUsage, err: "package other"},
		"NoNumber":  {reason: "So is this.", args: []string{"diff", fixturePackage, "9", "1"}, code: CodeUsage, err: "no revision 9"},
		"BadIgnore": {reason: "And this.", args: []string{"diff", fixturePackage, "--ignore", "[["}, code: CodeUsage, err: "--ignore"},
		"LiveTwo":   {reason: "The cluster is one side.", args: []string{"diff", fixturePackage, "1", "2", "--live"}, code: CodeUsage, err: "--live compares one revision"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm.run(tc.args...).wants(t, tc.code, tc.in, tc.err)
		})
	}
}

// shorten keeps the first lines of each long run of lines.
func shorten(text string) string {
	var kept []string
	same := 0
	last := ""
	for line := range strings.SplitSeq(text, "\n") {
		if line == last {
			same++
		} else {
			same = 0
		}
		if last = line; same < 2 {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

const goodManifests = `apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: web}
data: {level: info}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: web}
stringData: {token: hunter2}
`

// file writes a file for a test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRender(t *testing.T) {
	tm := newTerminal(t, nil)
	good := file(t, "web.yaml", goodManifests)
	golden(t, "render", tm.run("render", "web", "-f", good).out)
	shown := tm.run("render", "web", "-f", good, "-o", "yaml")
	if strings.Contains(shown.out, "hunter2") || strings.Contains(shown.out, "aHVudGVyMg") {
		t.Errorf("a value of a Secret is reported:\n%s", shown.out)
	}
	var list struct {
		Items []v1alpha1.Revision `json:"items"`
	}
	if err := yaml.Unmarshal([]byte(shown.out), &list); err != nil {
		t.Fatal(err)
	}
	revision := list.Items[len(list.Items)-1]
	if revision.Name != "web-1" || len(revision.Spec.Phases) != 2 || revision.Spec.Origin.Reference != "File/web.yaml" {
		t.Errorf("the revision is %+v", revision)
	}
	cases := map[string]struct {
		reason string
		args   []string
		code   Code
		err    string
	}{
		"Nothing":    {reason: "It must be said what to take.", args: nil, code: CodeUsage, err: "--filename FILE or --chart CHART"},
		"Both":       {reason: "One of them.", args: []string{"-f", good, "--chart", "."}, code: CodeUsage, err: "not both"},
		"Missing":    {reason: "A file that is not there is a wrong command line.", args: []string{"-f", "none.yaml"}, code: CodeUsage, err: "none.yaml"},
		"Broken":     {reason: "Content that cannot be used is another thing.", args: []string{"-f", file(t, "b.yaml", "a: [")}, code: CodeTerminal, err: "b.yaml"},
		"Empty":      {reason: "A package has objects.", args: []string{"-f", file(t, "e.yaml", "# nothing\n")}, code: CodeTerminal, err: "no object"},
		"Twice":      {reason: "An object stands there once.", args: []string{"-f", good, "-f", file(t, "t.yaml", goodManifests)}, code: CodeTerminal, err: "is also in"},
		"ChartFlags": {reason: "Values are for charts.", args: []string{"-f", good, "--set", "a=1"}, code: CodeUsage, err: "for --chart"},
		"Collision":  {reason: "The words are those of the API.", args: []string{"-f", good, "--collision-protection", "never"}, code: CodeUsage, err: "--collision-protection"},
		"Probes":     {reason: "A field that does not exist is named.", args: []string{"-f", good, "--probes", file(t, "p.yaml", "[{nome: x}]")}, code: CodeTerminal, err: "p.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm.run(append([]string{"render", "web"}, tc.args...)...).wants(t, tc.code, "", tc.err)
		})
	}
}

func TestRender_ChartAndStdin(t *testing.T) {
	tm := newTerminal(t, nil)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":            "{apiVersion: v2, name: web, version: 1.2.3, appVersion: 4.5.6}",
		"values.yaml":           "level: info",
		"templates/object.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Release.Name }}'}, data: {level: '{{ .Values.level }}'}}",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tm.run("render", "web", "--chart", dir, "--set", "level=debug", "-n", "app", "-o", "yaml").wants(t, CodeOK, "level: debug", "")
	tm.run("render", "web", "--chart", dir, "-n", "app", "-o", "yaml").wants(t, CodeOK, "appVersion: 4.5.6", "")
	tm.in = strings.NewReader(goodManifests)
	tm.run("render", "web", "-f", "-", "-o", "name").wants(t, CodeOK, "configmap/settings\n", "")
}

func TestLint(t *testing.T) {
	tm := newTerminal(t, nil)
	bad := file(t, "bad.yaml", goodManifests+"---\n"+"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: web}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: lost}\n")
	dir := filepath.Dir(bad)
	r := tm.run("lint", "-f", bad)
	if r.code != CodeFalse {
		t.Errorf("code %d, stderr %s", r.code, r.err)
	}
	golden(t, "lint", strings.ReplaceAll(r.out, dir+"/", ""))
	golden(t, "lint_sarif", strings.ReplaceAll(tm.run("lint", "-f", bad, "-o", "sarif").out, dir+"/", ""))
	junit := tm.run("lint", "-f", bad, "-o", "junit")
	var suites view.JunitSuites
	if err := xml.Unmarshal([]byte(junit.out), &suites); err != nil || suites.Suites[0].Failures != 2 || junit.code != CodeFalse {
		t.Errorf("code %d, %v, %+v", junit.code, err, suites)
	}
	cases := map[string]struct {
		reason  string
		args    []string
		code    Code
		in, err string
	}{
		"Clean":      {reason: "Good content is 0.", args: []string{"-f", file(t, "good.yaml", goodManifests)}, in: "0 errors, 0 warnings"},
		"Threshold":  {reason: "What is less bad does not count.", args: []string{"-f", bad, "--threshold", "error", "--suppress", "PKG0101"}, in: "1 suppressed"},
		"Suppressed": {reason: "One object may be left out.", args: []string{"-f", bad, "--suppress", "PKG0101=ConfigMap web/settings,PKG0102"}, in: "2 suppressed"},
		"Parse":      {reason: "What cannot be parsed is 3.", args: []string{"-f", file(t, "c.yaml", "a: [")}, code: CodeTerminal, in: "PKG0001"},
		"BadCode":    {reason: "A code that does not exist suppresses nothing.", args: []string{"-f", bad, "--suppress", "PKG9999"}, code: CodeUsage, err: "PKG9999"},
		"JSON":       {reason: "The code is the same.", args: []string{"-f", bad, "-o", "json"}, code: CodeFalse, in: `"failed": true`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm.run(append([]string{"lint"}, tc.args...)...).wants(t, tc.code, tc.in, tc.err)
		})
	}
}

func TestNamesObject(t *testing.T) {
	deployment := v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "web", Name: "main"}
	policy := v1alpha1.ObjectReference{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy", Namespace: "web", Name: "main"}
	cases := map[string]struct {
		ref  v1alpha1.ObjectReference
		want bool
	}{
		"deployment/main": {deployment, true}, "Deployment/main": {deployment, true}, "deployments/main": {deployment, true}, "deploy/main": {deployment, true},
		"deployment.apps/main": {deployment, true}, "deployment/web/main": {deployment, true}, "networkpolicies/main": {policy, true},
		"deployment.batch/main": {deployment, false}, "deployment/other": {deployment, false}, "main": {deployment, false}, "deployment/x/main": {deployment, false},
	}
	for argument, tc := range cases {
		if got := view.NamesObject(argument, tc.ref); got != tc.want {
			t.Errorf("namesObject(%q, %s) is %t", argument, view.ObjectName(tc.ref), got)
		}
	}
}

// TestRender_NamespaceOfContext has manifests that name no namespace go where kubectl and
// Helm would put them.
func TestRender_NamespaceOfContext(t *testing.T) {
	tm := newTerminal(t, nil)
	manifests := file(t, "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	tm.run("render", "web", "-f", manifests, "-o", "yaml").wants(t, CodeOK, "namespace: default", "Note: 1 object names no namespace and goes to namespace default")
	t.Setenv("KUBECONFIG", file(t, "config", `{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: c, namespace: corner-shop}}], clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}`))
	tm.run("render", "web", "-f", manifests, "-o", "yaml").wants(t, CodeOK, "namespace: corner-shop", "goes to namespace corner-shop, that of the kubeconfig's context")
	named := tm.run("render", "web", "-f", manifests, "-o", "yaml", "-n", "other")
	named.wants(t, CodeOK, "namespace: other", "")
	if named.err != "" {
		t.Errorf("a note about a namespace that the command line names: %s", named.err)
	}
}

func TestLint_Nothing(t *testing.T) {
	newTerminal(t, nil).run("lint", "-f", t.TempDir()).wants(t, CodeTerminal, "", "there is no object in it")
}

// TestDiff_CollisionProtection: what an import has set for whole phases is no difference of
// each object, unless noise is asked for; what is set for one object is.
func TestDiff_CollisionProtection(t *testing.T) {
	contentOf := func(phase, object v1alpha1.CollisionProtection) view.StoredContent {
		r := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{{Name: "config", CollisionProtection: phase, Objects: []v1alpha1.Object{
			{CollisionProtection: object, Object: raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)},
		}}}}}
		read, err := view.ContentOf(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	imported := contentOf(v1alpha1.CollisionNone, "")
	for name, tc := range map[string]struct {
		next  view.StoredContent
		noise bool
		want  int
	}{
		"Applied":      {next: contentOf("", "")},
		"Noise":        {next: contentOf("", ""), noise: true, want: 1},
		"OfTheObject":  {next: contentOf("", v1alpha1.CollisionIfNoController), want: 1},
		"NoiseOfBoth":  {next: contentOf(v1alpha1.CollisionNone, ""), noise: true},
		"OtherOfPhase": {next: contentOf(v1alpha1.CollisionIfNoController, "")},
	} {
		t.Run(name, func(t *testing.T) {
			found := diff.Contents(view.ObjectsOf(imported, "", tc.noise), view.ObjectsOf(tc.next, "", tc.noise), diff.Options{}).Differences
			if len(found) != tc.want {
				t.Errorf("found %d differences, want %d: %+v", len(found), tc.want, found)
			}
		})
	}
}
