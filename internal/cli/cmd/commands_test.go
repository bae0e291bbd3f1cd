// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

func TestExitCodes(t *testing.T) {
	cases := map[string]struct {
		reason  string
		fixture string
		args    []string
		code    Code
		out     string
		err     string
	}{
		"Help":            {reason: "Help is no error.", args: []string{"--help"}, code: CodeOK, out: "Usage:"},
		"UnknownCommand":  {reason: "A wrong command is a usage error.", args: []string{"gte"}, code: CodeUsage, err: "See `strata --help`."},
		"UnknownFlag":     {reason: "So is a wrong flag.", args: []string{"get", "--nope"}, code: CodeUsage, err: "See `strata get --help`."},
		"WrongOutput":     {reason: "So is an unknown format.", args: []string{"get", "-o", "xml"}, code: CodeUsage, err: "wide, json, yaml, name"},
		"WrongSelector":   {reason: "So is a broken selector.", args: []string{"get", "-l", "a in"}, code: CodeUsage, err: "--selector"},
		"NoPackageNamed":  {reason: "The name is required.", args: []string{"history"}, code: CodeUsage, err: "`strata get` lists them"},
		"TwoPackages":     {reason: "One at a time.", args: []string{"tree", "a", "b"}, code: CodeUsage, err: "b is one too many"},
		"AllAndRevision":  {reason: "Flags that exclude each other.", args: []string{"tree", "a", "--all", "--revision", "1"}, code: CodeUsage},
		"TimeoutNoWatch":  {reason: "A timeout without --watch would be ignored.", fixture: "done", args: []string{"status", fixturePackage, "--timeout", "1s"}, code: CodeUsage, err: "--watch"},
		"NotFound":        {reason: "What exists is named.", fixture: "done", args: []string{"status", "istio"}, code: CodeNotFound, err: "package istio: not in the cluster at https://cluster.example; there are: " + fixturePackage},
		"NotFoundAtAll":   {reason: "An empty cluster is distinguished from a wrong name.", args: []string{"history", "istio"}, code: CodeNotFound, err: "which has no packages"},
		"GetNotFound":     {reason: "What is found is printed all the same.", fixture: "done", args: []string{"get", fixturePackage, "istio"}, code: CodeNotFound, out: "RolledOut", err: "istio"},
		"TreeNoRevision":  {reason: "The revisions that exist are named.", fixture: "done", args: []string{"tree", fixturePackage, "--revision", "9"}, code: CodeNotFound, err: "has no revision 9; there are: 1, 2, 3"},
		"TypeSlashName":   {reason: "kubectl's way to name an object works.", fixture: "done", args: []string{"history", "packages.strata.run/" + fixturePackage}, code: CodeOK, out: "3 current"},
		"StatusDone":      {reason: "0 is rolled out.", fixture: "done", args: []string{"status", fixturePackage}, code: CodeOK, out: "RolledOut"},
		"StatusBack":      {reason: "A rollback that is rolled out is rolled out.", fixture: "rolled_back", args: []string{"status", fixturePackage}, code: CodeOK, out: "RolledOut"},
		"StatusRolling":   {reason: "1 is not yet.", fixture: "rolling_out", args: []string{"status", fixturePackage}, code: CodeFalse, out: "RollingOut"},
		"StatusPaused":    {reason: "A pause can end.", fixture: "paused", args: []string{"status", fixturePackage}, code: CodeFalse, out: "change freeze"},
		"StatusNothing":   {reason: "No revision is not yet.", fixture: "no_revision", args: []string{"status", fixturePackage}, code: CodeFalse},
		"StatusCollision": {reason: "3 is that waiting does not help.", fixture: "collision", args: []string{"status", fixturePackage}, code: CodeTerminal, out: "blocking Deployment"},
		"StatusDeadline":  {reason: "So is a deadline that has passed.", fixture: "deadline", args: []string{"status", fixturePackage}, code: CodeTerminal},
		"StatusDeleting":  {reason: "And a package that goes.", fixture: "deleting", args: []string{"status", fixturePackage}, code: CodeTerminal},
		"StatusJSON":      {reason: "The code does not depend on the format.", fixture: "collision", args: []string{"status", fixturePackage, "-o", "json"}, code: CodeTerminal, out: `"verdict": "Failed"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			if tc.fixture != "" {
				f = fixtureNamed(t, tc.fixture)
			}
			r := newTerminal(t, f).run(tc.args...)
			r.wants(t, tc.code, tc.out, tc.err)
			if t.Failed() {
				t.Log(tc.reason)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	run := func(args ...string) result {
		var out, err buffer
		a := newApp(Config{Args: append([]string{"strata"}, args...), In: strings.NewReader(""), Out: &out, Err: &err, Getenv: func(string) string { return "" }})
		return result{code: a.execute(t.Context()), out: out.String(), err: err.String()}
	}
	t.Run("ConnectionRefused", func(t *testing.T) {
		run("get", "--server", "https://127.0.0.1:1").wants(t, CodeUnreachable, "",
			"no cluster answers at https://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; start a local one with `strata up`, or name another with --kubeconfig or --context")
	})
	t.Run("NoKubeconfig", func(t *testing.T) {
		run("get").wants(t, CodeUnreachable, "", "no kubeconfig at ")
	})
	t.Run("VersionHasANote", func(t *testing.T) {
		r := run("version", "--server", "https://127.0.0.1:1", "-o", "json")
		r.wants(t, CodeOK, `"kind": "Version"`, "")
		if strings.Contains(r.out, "server") || !strings.Contains(r.err, "no cluster answers") {
			t.Errorf("got %q, %q: the cluster's version is left out, with a note", r.out, r.err)
		}
	})
}

// TestAPIErrors has the API server answer each request with an error.
func TestAPIErrors(t *testing.T) {
	status := func(err *apierrors.StatusError) func(*http.Request) *metav1.Status {
		err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return func(*http.Request) *metav1.Status { return &err.ErrStatus }
	}
	resource := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "packages"}
	cases := map[string]struct {
		reason string
		fail   func(*http.Request) *metav1.Status
		code   Code
		text   string
	}{
		"Unauthorized": {reason: "CI tries again with new credentials.", fail: status(apierrors.NewUnauthorized("expired")), code: CodeUnreachable, text: "does not accept these credentials"},
		"Unavailable":  {reason: "CI tries again later.", fail: status(apierrors.NewServiceUnavailable("starting")), code: CodeUnreachable, text: "cannot answer at present"},
		"Forbidden":    {reason: "Trying again does not help.", fail: status(apierrors.NewForbidden(resource, "", nil)), code: CodeFalse, text: "forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"get"}, {"get", "x"}, {"history", "x"}, {"status", "x", "-w"}} {
				tm := newTerminal(t, nil)
				tm.server.fail = tc.fail
				tm.run(args...).wants(t, tc.code, "", tc.text)
				if t.Failed() {
					t.Fatal(args, tc.reason)
				}
			}
		})
	}
}

// TestTurnedAway has an API server that turns away each request once, as it has too much to do.
// Every command gets through.
func TestTurnedAway(t *testing.T) {
	for _, args := range [][]string{
		{"get"}, {"history", "x"}, {"tree", "x"}, {"status", "x"}, {"show", "x"}, {"diff", "x", "1", "2"}, {"explain", "x"}, {"events", "x"}, {"stats"}, {"wait", "x"}, {"assert", "x"},
		{"pause", "x", "--reason", "x"}, {"resume", "x"}, {"rollback", "x", "--dry-run=server", "--to", "1"}, {"delete", "x", "--yes"}, {"report", "x", "-f", filepath.Join(t.TempDir(), "report.zip")},
	} {
		t.Run(args[0], func(t *testing.T) {
			tm := newTerminal(t, fixtureNamed(t, "done"))
			seen := map[string]bool{}
			tm.server.fail = func(r *http.Request) *metav1.Status {
				request := r.Method + r.URL.String()
				if seen[request] {
					return nil
				}
				seen[request] = true
				err := apierrors.NewTooManyRequestsError("try again").ErrStatus
				err.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
				return &err
			}
			if len(args) > 1 {
				args[1] = fixturePackage
			}
			want := CodeOK
			if args[0] == "diff" {
				want = CodeFalse
			}
			if r := tm.run(args...); r.code != want {
				t.Errorf("exit code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.out, r.err)
			}
		})
	}
}

// TestNotInstalled has a server that knows none of our kinds: it answers 404 with
// a text that is no API status.
func TestNotInstalled(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	tm := newTerminal(t, nil)
	for _, args := range [][]string{{"get"}, {"get", "x"}, {"tree", "x"}, {"status", "x"}, {"status", "x", "-w"}} {
		tm.run(append(args, "--server", server.URL)...).wants(t, CodeNotFound, "", "has no Strata: its CustomResourceDefinitions are not installed")
	}
}

// TestForbiddenDetails has a user who may read packages and revisions, and
// neither pods nor slices: the view does without.
func TestForbiddenDetails(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	tm.server.fail = func(r *http.Request) *metav1.Status {
		for _, resource := range []string{"objectslices", "pods"} {
			if strings.Contains(r.URL.Path, "/"+resource) {
				err := apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil).ErrStatus
				err.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
				return &err
			}
		}
		return nil
	}
	r := tm.run("tree", fixturePackage)
	r.wants(t, CodeOK, "an object of slice ", "some objects cannot be named")
	r.wants(t, CodeOK, "ProbeFailed for 12s", "why pods do not run is not shown")
}

// TestFailingPods goes from the Deployment to the pods of its ReplicaSets.
func TestFailingPods(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	for _, command := range []string{"tree", "status"} {
		r := tm.run(command, fixturePackage)
		if n := strings.Count(r.out, "Pod istiod"); n != 1 || !strings.Contains(r.out, "x2x7p: ErrImagePull:") {
			t.Errorf("%s names %d pods, want the one that fails:\n%s", command, n, r.out)
		}
	}
}

func TestGet_Documents(t *testing.T) {
	f := fixtureNamed(t, "done")
	for _, format := range []string{"json", "yaml"} {
		t.Run(format, func(t *testing.T) {
			tm := newTerminal(t, f)
			var list struct {
				APIVersion, Kind string
				Items            []v1alpha1.Package
			}
			r := tm.run("get", "-o", format)
			r.wants(t, CodeOK, "", "")
			if err := yaml.UnmarshalStrict([]byte(r.out), &list); err != nil && !strings.Contains(err.Error(), `"metadata"`) {
				t.Fatal(err)
			}
			if list.APIVersion != "v1" || list.Kind != "List" || len(list.Items) != 1 {
				t.Fatalf("got %s %s of %d, want v1 List of 1", list.APIVersion, list.Kind, len(list.Items))
			}
			var single v1alpha1.Package
			if err := yaml.Unmarshal([]byte(tm.run("get", fixturePackage, "-o", format).out), &single); err != nil {
				t.Fatal(err)
			}
			if single.Kind != "Package" || single.APIVersion != "strata.run/v1alpha1" {
				t.Errorf("one name gives %s %s, want the object itself", single.APIVersion, single.Kind)
			}
			if diff := cmp.Diff(list.Items[0], single); diff != "" {
				t.Errorf("-list, +single:\n%s", diff)
			}
			if diff := cmp.Diff(f.view.Package.Status, single.Status); diff != "" {
				t.Errorf("status: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestUnreachable_Remedies: an address where something else answers, or a proxy that does
// not, is no reason to start a local cluster.
func TestUnreachable_Remedies(t *testing.T) {
	cases := map[string]struct {
		err  error
		want string
	}{
		"Untrusted": {&tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}, "certificate-authority-data"},
		"NoTLS":     {errors.New("http: server gave HTTP response to HTTPS client"), "does not speak TLS"},
		"Proxy":     {&net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("refused")}, "HTTPS_PROXY"},
		"NoAnswer":  {&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}, "strata up"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := (&cluster{host: "https://x"}).explain("looking", &url.Error{Op: "Get", URL: "https://x", Err: tc.err})
			if codeOf(err) != CodeUnreachable || !strings.Contains(err.Error(), tc.want) || tc.want != "strata up" && strings.Contains(err.Error(), "strata up") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestListed: what cannot be listed is named by its kind.
func TestListed(t *testing.T) {
	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DeploymentList"})
	for list, want := range map[client.ObjectList]string{untyped: "Deployment objects", &v1alpha1.PackageList{}: "Package objects"} {
		if got := listed(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDocuments_ParseBack(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	t.Run("History", func(t *testing.T) {
		var h view.History
		parse(t, tm.run("history", fixturePackage, "-o", "json"), &h)
		if h.APIVersion != view.DocumentVersion || h.Kind != "History" || len(h.Revisions) != 4 {
			t.Fatalf("got %s %s of %d revisions", h.APIVersion, h.Kind, len(h.Revisions))
		}
		last := h.Revisions[3]
		if last.RollbackFrom != 3 || last.RollbackTo != 2 || !last.Succeeded || *last.DurationSeconds != 2 {
			t.Errorf("revision 4: got rollback from %d to %d, succeeded %t", last.RollbackFrom, last.RollbackTo, last.Succeeded)
		}
		if diff := cmp.Diff([]string{"current", "target"}, last.Roles); diff != "" {
			t.Errorf("roles: -want, +got:\n%s", diff)
		}
		if h.Revisions[2].Outcome != "RolledBack" || h.Revisions[2].Succeeded {
			t.Errorf("revision 3: got outcome %s", h.Revisions[2].Outcome)
		}
	})
	t.Run("Tree", func(t *testing.T) {
		var tree view.Tree
		parse(t, tm.run("tree", fixturePackage, "-o", "json", "--all"), &tree)
		if tree.Kind != "Tree" || len(tree.Revisions) != 4 || tree.Revisions[0].Revision != 4 {
			t.Fatalf("got %s of %d revisions", tree.Kind, len(tree.Revisions))
		}
		objects := 0
		for _, phase := range tree.Revisions[0].Phases {
			objects += len(phase.Items)
		}
		if objects != 19 {
			t.Errorf("revision 4 has %d objects, want 19", objects)
		}
	})
	t.Run("Status", func(t *testing.T) {
		var s view.Status
		parse(t, tm.run("status", fixturePackage, "-o", "yaml"), &s)
		if s.Kind != "Status" || s.Verdict != view.VerdictRolledOut || s.Target.Revision != 4 {
			t.Errorf("got %s %s of revision %d", s.Kind, s.Verdict, s.Target.Revision)
		}
	})
	t.Run("Version", func(t *testing.T) {
		var v view.Version
		parse(t, tm.run("version", "--client", "-o", "json"), &v)
		if v.Kind != "Version" || v.Client.GoVersion == "" {
			t.Errorf("got %+v", v)
		}
	})
}

func parse(t *testing.T, r result, into any) {
	t.Helper()
	var err error
	if strings.HasPrefix(r.out, "{") {
		d := json.NewDecoder(strings.NewReader(r.out))
		d.DisallowUnknownFields()
		err = d.Decode(into)
	} else {
		err = yaml.UnmarshalStrict([]byte(r.out), into)
	}
	if err != nil {
		t.Fatalf("%v in:\n%s", err, r.out)
	}
}

// TestCommands_NeutraliseClusterData has escape sequences in every field that
// a user of the cluster can write, and looks for them in all output.
func TestCommands_NeutraliseClusterData(t *testing.T) {
	const hostile = "x\x1b]0;owned\x07\u009b2J\u202e"
	f := fixtureNamed(t, "bad_image")
	f.view.Package.Labels[v1alpha1.LabelFront] = hostile
	for i := range f.view.Package.Status.Conditions {
		f.view.Package.Status.Conditions[i].Message = hostile
	}
	f.view.Package.Status.Version = hostile
	for i := range f.view.Revisions {
		r := &f.view.Revisions[i]
		*r.Spec.Origin = v1alpha1.Origin{Kind: hostile, Reference: hostile, AppVersion: hostile, Reason: hostile, CreatedBy: hostile, Images: []string{hostile}}
		for j := range r.Status.Conditions {
			r.Status.Conditions[j].Message = hostile
		}
		for j := range r.Status.Objects {
			r.Status.Objects[j].Message, r.Status.Objects[j].Hint, r.Status.Objects[j].Reason = hostile, hostile, hostile
		}
	}
	tm := newTerminal(t, f)
	for _, args := range [][]string{
		{"get"}, {"get", "-o", "wide"}, {"get", "-o", "json"}, {"get", "-o", "yaml"}, {"get", "-o", "name"},
		{"history", fixturePackage}, {"history", fixturePackage, "-o", "wide"}, {"history", fixturePackage, "-o", "json"}, {"history", fixturePackage, "-o", "yaml"},
		{"tree", fixturePackage}, {"tree", fixturePackage, "-o", "wide", "--all"}, {"tree", fixturePackage, "-o", "json"},
		{"status", fixturePackage}, {"status", fixturePackage, "-o", "yaml"}, {"status", fixturePackage, "-w", "--timeout", "2s"},
		{"rollback", fixturePackage, "--dry-run=client"}, {"rollback", fixturePackage, "--dry-run=client", "-o", "json"},
		{"__complete", "get", ""}, {"__complete", "rollback", fixturePackage, "--to", ""},
	} {
		r := tm.run(args...)
		if r.out == "" {
			t.Errorf("%v wrote nothing; stderr: %s", args, r.err)
		}
		for _, c := range r.out + r.err {
			if unicode.Is(unicode.Cf, c) || unicode.IsControl(c) && c != '\n' && c != '\t' {
				t.Errorf("%v lets %U reach the terminal:\n%s%s", args, c, r.out, r.err)
				break
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	cases := map[string]struct {
		args []string
		want string
	}{
		"Packages":  {args: []string{"__complete", "history", ""}, want: fixturePackage + "\t1.29.1, RolledOut\n"},
		"NoSecond":  {args: []string{"__complete", "history", fixturePackage, ""}, want: ""},
		"Revisions": {args: []string{"__complete", "rollback", fixturePackage, "--to", ""}, want: "4\t1.29.1, Succeeded, 20s ago\n3\t1.31.0, RolledBack, 24s ago\n"},
		"Formats":   {args: []string{"__complete", "get", "-o", ""}, want: "wide\njson\nyaml\nname\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := tm.run(tc.args...)
			if !strings.HasPrefix(r.out, tc.want) {
				t.Errorf("got:\n%s\nwant first:\n%s", r.out, tc.want)
			}
			if tc.want == "" && !strings.HasPrefix(r.out, ":") {
				t.Errorf("got:\n%s\nwant nothing", r.out)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell", "kubectl"} {
		tm.run("completion", shell).wants(t, CodeOK, "__complete", "")
	}
}
