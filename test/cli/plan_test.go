// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// seeds are those of the walks. Each has its package.
var seeds = []uint64{1, 2, 3}

// steps is how many contents a walk applies.
const steps = 6

// TestPlan_IsWhatHappens walks from one random content of a package to the next. Before
// each step it asks for the plan, and afterwards the audit log must show the manager
// write exactly that: what was to be created, updated or adopted, and deleted, and
// nothing else. What the plan holds back must not be made without being forced.
func TestPlan_IsWhatHappens(t *testing.T) {
	planned := map[v1alpha1.PlannedAction]int{}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("Seed%d", seed), func(t *testing.T) {
			w := newWalk(t, seed)
			for step := range steps {
				for _, object := range w.step(t, step).Objects {
					planned[object.Action]++
				}
			}
		})
	}
	for _, action := range []v1alpha1.PlannedAction{v1alpha1.PlanCreate, v1alpha1.PlanUpdate, v1alpha1.PlanReplace, v1alpha1.PlanAdopt, v1alpha1.PlanDelete} {
		if planned[action] == 0 {
			t.Errorf("no walk has met %s: %v", action, planned)
		}
	}
}

// walk is a package on its way.
type walk struct {
	random     *rand.Rand
	namespace  string
	name       string
	kubeconfig string
	// content has the version of each object by its kind and name.
	content map[string]int
	// foreign counts the objects of other owners that were made.
	foreign int
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	w := &walk{
		random: rand.New(rand.NewPCG(seed, seed)), namespace: planetest.Namespace(t, plane), name: fmt.Sprintf("walk-%d", seed),
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), content: map[string]int{},
	}
	if err := plane.WriteKubeconfig(w.kubeconfig, "walker", "system:masters"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
		// The context of the test is done by now.
		if err := admin.Delete(context.Background(), pkg); err != nil {
			t.Logf("deleting the package: %v", err)
		}
	})
	return w
}

// pool are the objects that contents are made of. Frozen stands for a ConfigMap that
// cannot be changed, and is to be replaced then.
var pool = []string{"ConfigMap/a", "ConfigMap/b", "ConfigMap/c", "Frozen/d", "Secret/e", "Service/f", "ServiceAccount/g", "Role/h"}

// change makes the next content: each object may come, change, or go, but not most of
// them at once, which the preflight would take for a mistake.
func (w *walk) change() {
	gone := 0
	for _, object := range pool {
		version, contained := w.content[object]
		switch roll := w.random.IntN(10); {
		case !contained && roll < 5:
			w.content[object] = 1
		case contained && roll < 3:
			w.content[object] = version + 1
		case contained && roll < 4 && gone == 0 && len(w.content) > 3:
			gone++
			delete(w.content, object)
		}
	}
	w.content["ConfigMap/always"] = 1
}

// manifests writes the content to a file.
func (w *walk) manifests(t *testing.T) string {
	t.Helper()
	var documents []string
	for object, version := range w.content {
		kind, name, _ := strings.Cut(object, "/")
		manifest := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
			"name": name, "namespace": w.namespace, "annotations": map[string]any{"example.com/version": fmt.Sprint(version)},
		}}
		switch kind {
		case "Frozen":
			manifest["kind"], manifest["immutable"], manifest["data"] = "ConfigMap", true, map[string]any{"version": fmt.Sprint(version)}
			manifest["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.AnnotationOnImmutableChange: "Replace"}
		case "Secret":
			manifest["stringData"] = map[string]any{"version": fmt.Sprint(version)}
		case "Service":
			manifest["spec"] = map[string]any{"ports": []any{map[string]any{"port": 80}}, "selector": map[string]any{"app": "x"}}
		case "Role":
			manifest["apiVersion"] = "rbac.authorization.k8s.io/v1"
			manifest["rules"] = []any{}
		}
		text, err := yaml.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	slices.Sort(documents)
	path := filepath.Join(t.TempDir(), "content.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(documents, "---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// strata runs a command line in this process.
func (w *walk) strata(t *testing.T, args ...string) (cli.Code, []byte) {
	t.Helper()
	var out, stderr bytes.Buffer
	code := cli.Run(t.Context(), cli.Config{
		Args: append([]string{"strata", "--kubeconfig", w.kubeconfig}, args...), In: strings.NewReader(""), Out: &out, Err: &stderr,
		Getenv: func(string) string { return "" },
	})
	t.Logf("strata %s: code %d\n%s", strings.Join(args[:2], " "), code, stderr.String())
	return code, out.Bytes()
}

// step plans the next content, applies it, and compares. It returns the plan.
func (w *walk) step(t *testing.T, number int) view.Plan {
	t.Helper()
	w.change()
	var flags []string
	// Every other step another owner has one of the objects already.
	if number%2 == 1 {
		w.intrude(t)
		flags = append(flags, "--collision-protection", "IfNoController")
	}
	flags = append(flags, "-f", w.manifests(t))
	code, text := w.strata(t, append([]string{"plan", w.name, "-o", "json"}, flags...)...)
	var plan view.Plan
	if err := json.Unmarshal(text, &plan); err != nil || code != cli.CodeOK {
		t.Fatalf("step %d: the plan ends with code %d (%v): %s", number, code, err, text)
	}
	from := w.mark(t)
	code, text = w.strata(t, append([]string{"apply", w.name, "--yes", "--wait", "--timeout", "5m", "-o", "json"}, flags...)...)
	if code != cli.CodeOK {
		t.Fatalf("step %d: apply ends with code %d: %s", number, code, text)
	}
	want := expected(plan)
	var got []string
	planetest.Eventually(t, fmt.Sprintf("step %d: what was planned", number), func() (bool, error) {
		got = w.effects(t, from)
		return len(got) >= len(want), fmt.Errorf("%v of %v", got, want)
	})
	// What comes late would be one write too many.
	w.awaitMark(t, w.mark(t))
	got = w.effects(t, from)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("step %d: -planned, +audited:\n%s", number, diff)
	}
	return plan
}

// intrude makes an object that the content wants and the package has not got yet.
func (w *walk) intrude(t *testing.T) {
	t.Helper()
	w.foreign++
	name := fmt.Sprintf("foreign-%d", w.foreign)
	if err := admin.Create(t.Context(), foreignConfigMap(w.namespace, name)); err != nil {
		t.Fatal(err)
	}
	w.content["ConfigMap/"+name] = 1
}

func foreignConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// expected is what the audit log has to show for a plan.
func expected(plan view.Plan) []string {
	effects := []string{}
	for _, object := range plan.Objects {
		name := strings.ToLower(object.Kind) + "s/" + object.Name
		switch object.Action {
		case v1alpha1.PlanCreate:
			effects = append(effects, "create "+name)
		case v1alpha1.PlanUpdate, v1alpha1.PlanAdopt:
			effects = append(effects, "write "+name)
		case v1alpha1.PlanDelete:
			effects = append(effects, "delete "+name)
		case v1alpha1.PlanReplace:
			effects = append(effects, "delete "+name, "create "+name)
		default:
			effects = append(effects, string(object.Action)+" "+name)
		}
	}
	slices.Sort(effects)
	return effects
}

// mark leaves a trace in the audit log, and returns how many events there are before.
func (w *walk) mark(t *testing.T) string {
	t.Helper()
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "mark-"}}
	if err := admin.Create(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	return mark.Name
}

// after are the events of the audit log after a mark, nil while the mark is not there.
func (w *walk) after(t *testing.T, mark string) []localplane.AuditEvent {
	t.Helper()
	events := setup.Audit(t, plane)
	at := slices.IndexFunc(events, func(e localplane.AuditEvent) bool { return e.Verb == "delete" && e.Name == mark })
	if at < 0 {
		return nil
	}
	return events[at:]
}

func (w *walk) awaitMark(t *testing.T, mark string) {
	t.Helper()
	planetest.Eventually(t, "the mark in the audit log", func() (bool, error) { return w.after(t, mark) != nil, nil })
}

// effects are the manager's writes in the namespace after a mark, sorted. A create that
// finds the object there has no effect.
func (w *walk) effects(t *testing.T, mark string) []string {
	t.Helper()
	effects := []string{}
	for _, e := range w.after(t, mark) {
		if e.User != setup.Manager || e.Namespace != w.namespace || e.Group == "events.k8s.io" || e.Stage != "ResponseComplete" {
			continue
		}
		name := e.Resource + "/" + e.Name
		switch {
		case e.Verb == "patch" && e.Code == http.StatusCreated:
			effects = append(effects, "create "+name)
		case e.Verb == "patch" && e.Code == http.StatusOK:
			effects = append(effects, "write "+name)
		case e.Verb == "delete" && e.Code == http.StatusOK:
			effects = append(effects, "delete "+name)
		case e.Verb == "get", e.Verb == "list", e.Verb == "watch", e.Code == http.StatusConflict:
		case e.Verb == "patch" && e.Code == http.StatusUnprocessableEntity:
			// That it cannot be changed is known when this was tried.
		default:
			effects = append(effects, fmt.Sprintf("%s %d %s", e.Verb, e.Code, name))
		}
	}
	slices.Sort(effects)
	return effects
}
