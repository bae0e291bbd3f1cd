// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
	"github.com/strata-run/strata/revisions/revisionstest"
)

const (
	// standIn ends the groups of kinds that stand in for those of Kubernetes: no
	// controller works on them, so that a script alone sets their status.
	standIn = ".stand-in.example.org"
	// transcriptLabel keeps the manager of the other tests away.
	transcriptLabel = "strata.test/package"
	// memoryOnly begins the line by which a script says that it cannot be played here.
	memoryOnly = "# needs: memory"
	// mostMemoryOnly is how many scripts may say so.
	mostMemoryOnly = 3
	// mostOwners is how many owners a script may have one after the other.
	mostOwners = 5
)

// TestTranscripts plays the engine's scripts on a real API server, with the real
// informers as the cache: it must go as in memory, request by request.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	stage := newTranscriptStage(t)
	if inMemory := stage.playAll(t); inMemory > mostMemoryOnly {
		t.Errorf("%d scripts are played in memory alone, which %d may", inMemory, mostMemoryOnly)
	}
}

// transcriptStage is what all scripts share. They are played one after the other,
// in a namespace of the name that they use.
type transcriptStage struct {
	config *rest.Config
	gate   *gate
	// foreign is the UID of the controller that scripts call uid-rs.
	foreign string
}

// playAll plays the scripts, one after the other as they share their names, and
// counts those that are played in memory alone.
func (s *transcriptStage) playAll(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("../../revisions/testdata/rollout/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding the scripts: %d found, %v", len(files), err)
	}
	inMemory := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		script := string(text)
		if strings.HasPrefix(script, memoryOnly) {
			inMemory++
			continue
		}
		if diff := cmp.Diff(script, s.play(t, script)); diff != "" {
			t.Errorf("%s goes another way on an API server than in memory (-memory +server):\n%s", filepath.Base(file), diff)
		}
	}
	return inMemory
}

func newTranscriptStage(t *testing.T) *transcriptStage {
	t.Helper()
	stage := &transcriptStage{config: plane.Config(), gate: &gate{}}
	stage.config.Wrap(stage.gate.wrap)
	must(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}}))
	for _, definition := range transcriptKinds() {
		must(t, admin.Create(t.Context(), definition))
	}
	foreign := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "rs"}}
	foreign.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "rs"}}
	foreign.Spec.Template.Labels = foreign.Spec.Selector.MatchLabels
	foreign.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.org/c"}}
	foreign.Spec.Replicas = new(int32)
	must(t, admin.Create(t.Context(), foreign))
	stage.foreign = string(foreign.UID)
	for _, definition := range transcriptKinds() {
		planetest.Eventually(t, "the kind "+definition.GetName(), func() (bool, error) {
			list := &unstructured.UnstructuredList{}
			gvk := definedKind(definition)
			list.SetAPIVersion(gvk[0])
			list.SetKind(gvk[1] + "List")
			err := admin.List(t.Context(), list)
			return err == nil, err
		})
	}
	return stage
}

// play plays a script and returns it in the script's own words.
func (s *transcriptStage) play(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	httpClient, err := rest.HTTPClientFor(s.config)
	must(t, err)
	mapper, err := apiutil.NewDynamicRESTMapper(s.config, httpClient)
	must(t, err)
	writer, err := client.New(s.config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	must(t, err)
	remote := &revisionstest.Remote{Client: writer, Mapper: mapper, Owners: transcriptOwners()}
	remote.NewCache = func() (revisions.Cache, func(bool), error) {
		bodies, err := dynamic.NewForConfig(s.config)
		if err != nil {
			return nil, nil, err
		}
		heads, err := metadata.NewForConfig(s.config)
		if err != nil {
			return nil, nil, err
		}
		return cache.New(ctx, cache.Config{
			Dynamic: bodies, Metadata: heads, Mapper: mapper, Label: transcriptLabel, Notify: func(string) {},
		}), s.gate.hold, nil
	}
	defer func() {
		s.gate.hold(false)
		if err := remote.Clean(); err != nil {
			t.Errorf("deleting what the script has left: %v", err)
		}
	}()
	got, err := revisionstest.Replay(s.there(script), revisionstest.Options{Target: remote.Target()})
	must(t, err)
	return s.back(got, remote.Owners)
}

var (
	workloads = regexp.MustCompile(`(?m)(^|^[a-z]+ +| {2})(Deployment|Service) (app|shop)/`)
	scalers   = regexp.MustCompile(`(?m)^(  |show )HorizontalPodAutoscaler(\.v\d)?(\.autoscaling)? app`)
	owners    = regexp.MustCompile(`\d\.owner\.example\.org/`)
	since     = regexp.MustCompile(`since 20[0-9TZ:-]+`)
)

// there puts a script into the words of the API server.
func (s *transcriptStage) there(script string) string {
	groups := map[string]string{"Deployment": ".v1.apps", "Service": ".v1.core"}
	script = workloads.ReplaceAllStringFunc(script, func(text string) string {
		parts := workloads.FindStringSubmatch(text)
		return parts[1] + parts[2] + groups[parts[2]] + standIn + " " + parts[3] + "/"
	})
	script = scalers.ReplaceAllStringFunc(script, func(text string) string {
		parts := scalers.FindStringSubmatch(text)
		if parts[2] == "" {
			return parts[1] + "HorizontalPodAutoscaler.v1.autoscaling" + standIn + " app"
		}
		return parts[1] + "HorizontalPodAutoscaler" + parts[2] + ".autoscaling" + standIn + " app"
	})
	return strings.NewReplacer("uid-rs", s.foreign, "strata.run/package", transcriptLabel).Replace(script)
}

// back puts what was played into the words of the script.
func (s *transcriptStage) back(played string, used []revisions.Owner) string {
	words := []string{
		".v1.apps" + standIn, "", ".v1.core" + standIn, "", ".core" + standIn, "", standIn, "",
		s.foreign, "uid-rs", transcriptLabel, "strata.run/package",
	}
	for i, owner := range used {
		if owner.UID != "" {
			words = append(words, string(owner.UID), fmt.Sprintf("owner-%d", i+1))
		}
	}
	played = strings.Replace(played, "show HorizontalPodAutoscaler.v1.autoscaling"+standIn, "show HorizontalPodAutoscaler", 1)
	played = strings.NewReplacer(words...).Replace(played)
	played = owners.ReplaceAllString(played, "strata.run/")
	return since.ReplaceAllString(played, "since 2026-01-01T00:00:00Z")
}

// transcriptOwners are owners of one name and different groups, which may exist at
// the same time.
func transcriptOwners() []revisions.Owner {
	all := make([]revisions.Owner, mostOwners)
	for i := range all {
		all[i] = revisions.Owner{
			APIVersion: fmt.Sprintf("%d.owner.example.org/v1alpha1", i+1), Kind: "Package", Name: "demo", Label: transcriptLabel,
		}
	}
	return all
}

// transcriptKinds are the CustomResourceDefinitions of the owners and stand-ins.
func transcriptKinds() []*unstructured.Unstructured {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	deployment := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{
		"replicas": map[string]any{"type": "integer"},
		"selector": map[string]any{"type": "string", "x-kubernetes-validations": []any{
			map[string]any{"rule": "self == oldSelf", "message": "field is immutable"},
		}},
	}}
	kinds := []*unstructured.Unstructured{
		definition("apps"+standIn, "Deployment", "Namespaced", deployment, "v1"),
		definition("core"+standIn, "Service", "Namespaced", open, "v1"),
		definition("autoscaling"+standIn, "HorizontalPodAutoscaler", "Namespaced", open, "v1", "v2"),
	}
	for i := range mostOwners {
		kinds = append(kinds, definition(fmt.Sprintf("%d.owner.example.org", i+1), "Package", "Cluster", open, "v1alpha1"))
	}
	return kinds
}

func definition(group, kind, scope string, spec map[string]any, names ...string) *unstructured.Unstructured {
	plural := strings.ToLower(kind) + "s"
	var versions []any
	for i, name := range names {
		version := map[string]any{
			"name": name, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": spec, "status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		}
		if kind == "Deployment" {
			version["subresources"] = map[string]any{"status": map[string]any{}, "scale": map[string]any{
				"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
			}}
		}
		versions = append(versions, version)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{"group": group, "scope": scope, "versions": versions, "names": map[string]any{"kind": kind, "plural": plural}},
	}}
}

// definedKind is the apiVersion and the kind that a definition brings.
func definedKind(definition *unstructured.Unstructured) [2]string {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	first, _ := versions[0].(map[string]any)
	return [2]string{fmt.Sprintf("%s/%s", group, first["name"]), kind}
}

// gate holds back what watches have to tell.
type gate struct {
	mu sync.Mutex
	// closed is not nil while it is held; it is closed when it opens again.
	closed chan struct{}
}

func (g *gate) hold(hold bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case hold && g.closed == nil:
		g.closed = make(chan struct{})
	case !hold && g.closed != nil:
		close(g.closed)
		g.closed = nil
	}
}

// now is what holds the gate, nil when it is open.
func (g *gate) now() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// wrap holds watches back. One that has begun while the gate was closed goes on: it
// tells first what there is, which a cache must know.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		free := g.now()
		response, err := next.RoundTrip(request)
		if watches := request.URL.Query().Get("watch"); err == nil && (watches == "true" || watches == "1") {
			response.Body = &gatedBody{ReadCloser: response.Body, gate: g, free: free, done: request.Context().Done()}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

type gatedBody struct {
	io.ReadCloser

	gate *gate
	free chan struct{}
	done <-chan struct{}
}

// Read returns what was read when the gate is open.
func (b *gatedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if closed := b.gate.now(); closed != nil && closed != b.free {
		select {
		case <-closed:
		case <-b.done:
		}
	}
	return n, err
}
