// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Collections that the tests fill.
const (
	packagesPath  = "/apis/strata.run/v1alpha1/packages"
	revisionsPath = "/apis/strata.run/v1alpha1/revisions"
	slicesPath    = "/apis/strata.run/v1alpha1/objectslices"
	podsPath      = "/api/v1/namespaces/openshift-ingress/pods"
)

// kinds are the apiVersion and the kind of each resource.
var kinds = map[string][2]string{
	"packages":     {"strata.run/v1alpha1", "Package"},
	"revisions":    {"strata.run/v1alpha1", "Revision"},
	"objectslices": {"strata.run/v1alpha1", "ObjectSlice"},
	"pods":         {"v1", "Pod"},
	"istios":       {"operator.kyma-project.io/v1alpha2", "Istio"},
	"deployments":  {"apps/v1", "Deployment"},
	"statefulsets": {"apps/v1", "StatefulSet"},
	"daemonsets":   {"apps/v1", "DaemonSet"},
	"leases":       {"coordination.k8s.io/v1", "Lease"},

	"clustercatalogs":   {"olm.operatorframework.io/v1", "ClusterCatalog"},
	"clusterextensions": {"olm.operatorframework.io/v1", "ClusterExtension"},
}

// apiServer answers as an API server does, as far as the commands ask: get,
// list and watch with selectors, from any version on, and merge patches with
// preconditions and dry runs. It keeps everything in memory.
type apiServer struct {
	*httptest.Server

	t  *testing.T
	mu sync.Mutex
	// version counts changes.
	version int
	// objects are by the path of each.
	objects map[string]*unstructured.Unstructured
	events  []event
	// news is closed and replaced at each change.
	news chan struct{}
	// logs are what is answered as it stands, by path and query.
	logs map[string]string
	// fail answers a request with an error, if it returns one. One request at a time asks it.
	fail    func(r *http.Request) *metav1.Status
	failing sync.Mutex
	// watchError ends each watch at once, if set. Failing protects it.
	watchError *metav1.Status
	// beforePatch and afterPatch run around a patch, once each, to play others.
	beforePatch, afterPatch func()
}

// event is one change, for watches.
type event struct {
	version    int
	collection string
	kind       string
	object     *unstructured.Unstructured
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{t: t, objects: map[string]*unstructured.Unstructured{}, news: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// put creates or replaces an object.
func (s *apiServer) put(collection string, object any) {
	s.t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &u.Object); err != nil {
		s.t.Fatal(err)
	}
	kind := kinds[collection[strings.LastIndex(collection, "/")+1:]]
	u.SetAPIVersion(kind[0])
	u.SetKind(kind[1])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(collection, u)
}

// remove deletes an object.
func (s *apiServer) remove(collection, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := collection + "/" + name
	s.version++
	s.record(event{version: s.version, collection: collection, kind: "DELETED", object: s.objects[path]})
	delete(s.objects, path)
}

func (s *apiServer) store(collection string, u *unstructured.Unstructured) {
	path, kind := collection+"/"+u.GetName(), "ADDED"
	if s.objects[path] != nil {
		kind = "MODIFIED"
	}
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[path] = u
	s.record(event{version: s.version, collection: collection, kind: kind, object: u})
}

func (s *apiServer) record(e event) {
	s.events = append(s.events, e)
	close(s.news)
	s.news = make(chan struct{})
}

// read fills a typed object from the server.
func (s *apiServer) read(collection, name string, into any) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.objects[collection+"/"+name]
	if u == nil {
		s.t.Fatalf("%s/%s does not exist", collection, name)
	}
	text, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// failure asks the test for an error, one request at a time.
func (s *apiServer) failure(r *http.Request) *metav1.Status {
	s.failing.Lock()
	defer s.failing.Unlock()
	if s.fail == nil {
		return nil
	}
	return s.fail(r)
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	if status := s.failure(r); status != nil {
		if status.Code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "0")
		}
		reply(w, int(status.Code), status)
		return
	}
	if log, found := s.logs[r.URL.Path+"?previous="+strconv.FormatBool(r.URL.Query().Get("previous") == "true")]; found {
		if strings.HasPrefix(log, "{") {
			w.Header().Set("Content-Type", "application/jsonl") // what a Service serves
		}
		_, _ = io.WriteString(w, log)
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	collection := path
	if kinds[path[strings.LastIndex(path, "/")+1:]] == [2]string{} {
		collection = path[:strings.LastIndex(path, "/")]
	}
	switch {
	case kinds[collection[strings.LastIndex(collection, "/")+1:]] == [2]string{}:
		http.NotFound(w, r)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, collection)
	case collection == path:
		s.list(w, r, collection)
	case r.Method == http.MethodPatch:
		s.patch(w, r, collection, path)
	case r.Method == http.MethodDelete:
		var options metav1.DeleteOptions
		if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
			s.t.Error(err)
		}
		if len(options.DryRun) == 0 {
			s.remove(collection, strings.TrimPrefix(path, collection+"/"))
		}
		reply(w, http.StatusOK, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		if u := s.objects[path]; u != nil {
			reply(w, http.StatusOK, u)
			return
		}
		notFound(w, collection, path)
	}
}

func notFound(w http.ResponseWriter, collection, path string) {
	name := strings.TrimPrefix(path, collection+"/")
	reply(w, http.StatusNotFound, &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound, Message: name + " not found", Details: &metav1.StatusDetails{Name: name},
	})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	text, err := json.Marshal(body)
	if err != nil {
		text = []byte(err.Error())
	}
	// The client may have gone.
	_, _ = w.Write(text)
}

// selected says whether a request's selectors take an object.
func (s *apiServer) selected(r *http.Request, u *unstructured.Unstructured) bool {
	label, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	field, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		s.t.Error(err)
	}
	pkg, _, _ := unstructured.NestedString(u.Object, "spec", "package")
	return label.Matches(labels.Set(u.GetLabels())) && field.Matches(fields.Set{"metadata.name": u.GetName(), "spec.package": pkg})
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request, collection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := kinds[collection[strings.LastIndex(collection, "/")+1:]]
	list := map[string]any{
		"apiVersion": kind[0], "kind": kind[1] + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)},
	}
	items := []any{}
	onlyMetadata := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		u := s.objects[path]
		if !strings.HasPrefix(path, collection+"/") || !s.selected(r, u) {
			continue
		}
		if onlyMetadata {
			items = append(items, map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": u.Object["metadata"]})
			continue
		}
		items = append(items, u.Object)
	}
	if onlyMetadata {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	list["items"] = items
	reply(w, http.StatusOK, list)
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, collection string) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		s.t.Errorf("a watch must begin where its list ended: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	s.failing.Lock()
	status := s.watchError
	s.failing.Unlock()
	if status != nil {
		if err := json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": status}); err != nil {
			s.t.Errorf("ending a watch: %v", err)
		}
		return
	}
	for {
		s.mu.Lock()
		var due []event
		for _, e := range s.events {
			if e.version > from && e.collection == collection && s.selected(r, e.object) {
				due = append(due, e)
			}
		}
		from = s.version
		news := s.news
		s.mu.Unlock()
		for _, e := range due {
			if err := json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": e.object}); err != nil {
				return
			}
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *apiServer) patch(w http.ResponseWriter, r *http.Request, collection, path string) {
	if before := s.beforePatch; before != nil {
		s.beforePatch = nil
		before()
	}
	s.applyPatch(w, r, collection, path)
	if after := s.afterPatch; after != nil && len(r.URL.Query()["dryRun"]) == 0 {
		after()
	}
}

func (s *apiServer) applyPatch(w http.ResponseWriter, r *http.Request, collection, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.objects[path]
	var patch unstructured.Unstructured
	if err := json.NewDecoder(r.Body).Decode(&patch.Object); err != nil || u == nil {
		notFound(w, collection, path)
		return
	}
	if v := patch.GetResourceVersion(); v != "" && v != u.GetResourceVersion() {
		reply(w, http.StatusConflict, &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusConflict,
			Reason: metav1.StatusReasonConflict, Message: fmt.Sprintf("version %s was asked for, it is %s", v, u.GetResourceVersion()),
		})
		return
	}
	merged, err := mergePatch(u.Object, patch.Object)
	if err != nil {
		s.t.Error(err)
	}
	next := &unstructured.Unstructured{Object: merged}
	next.SetGeneration(u.GetGeneration() + 1)
	if len(r.URL.Query()["dryRun"]) == 0 {
		s.store(collection, next)
	}
	reply(w, http.StatusOK, next)
}

func mergePatch(object, patch map[string]any) (map[string]any, error) {
	from, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	text, err := jsonpatch.MergePatch(from, change)
	if err != nil {
		return nil, err
	}
	var merged map[string]any
	err = json.Unmarshal(text, &merged)
	return merged, err
}
