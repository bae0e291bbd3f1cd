// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/oci"
)

// world is a registry or server that can go away, and a manager's sources.
type world struct {
	host     string
	server   *httptest.Server
	catalogs *Catalogs
	bundles  *Bundles
	// woken gets who is woken.
	woken chan string

	mutex    sync.Mutex
	away     bool
	requests []string
}

func newWorld(t *testing.T, handler http.Handler) *world {
	t.Helper()
	w := &world{woken: make(chan string, 10)}
	w.server = httptest.NewTLSServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		w.mutex.Lock()
		w.requests = append(w.requests, request.Method+" "+request.URL.Path)
		away := w.away
		w.mutex.Unlock()
		if away {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(answer, request)
	}))
	t.Cleanup(w.server.Close)
	w.host = strings.TrimPrefix(w.server.URL, "https://")
	caDir := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(caDir, "ca.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	transport := oci.NewTransport(oci.TransportConfig{CADir: caDir})
	queue := oci.NewQueue(t.Context(), oci.QueueConfig{Jobs: 4, PerHost: 2, First: time.Hour, Most: time.Hour, Wake: func(who string) { w.woken <- who }})
	t.Cleanup(queue.Stop)
	contents, err := catalog.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	images, err := oci.OpenStore(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	client := &oci.Client{Transport: transport}
	w.catalogs = &Catalogs{Store: contents, Queue: queue, Client: client, Servers: &http.Client{Transport: transport}}
	w.bundles = &Bundles{Store: images, Queue: queue, Client: client}
	return w
}

func (w *world) setAway(away bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.away = away
}

// asked are the requests since the last call, without that for the version of the API.
func (w *world) asked() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	asked := slices.DeleteFunc(w.requests, func(request string) bool { return request == "GET /v2/" })
	w.requests = nil
	return asked
}

// look observes a catalog, waits for the job that this starts, and observes it again.
func (w *world) look(t *testing.T, wanted Catalog) CatalogView {
	t.Helper()
	if view := w.catalogs.Observe(wanted); !view.Running {
		t.Fatalf("nothing looks at %s: %+v", wanted.Name, view)
	}
	if who := <-w.woken; who != "catalog "+wanted.Name {
		t.Fatalf("%q was woken", who)
	}
	again := wanted
	again.Poll = 0
	return w.catalogs.Observe(again)
}

// push writes an image with a file, and returns its digest.
func (w *world) push(t *testing.T, repository, label, path, content string) string {
	t.Helper()
	layer := &bytes.Buffer{}
	writer := tar.NewWriter(layer)
	if err := writer.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(layer.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	if label != "" {
		if image, err = mutate.Config(image, v1.Config{Labels: map[string]string{catalog.ConfigsLabel: label}}); err != nil {
			t.Fatal(err)
		}
	}
	reference, err := name.ParseReference(w.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image, remote.WithTransport(w.server.Client().Transport), remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	w.asked()
	return digest.String()
}

func packageOf(name string) string { return `{"schema":"olm.package","name":"` + name + `"}` }

func wantPackages(t *testing.T, view CatalogView, want ...string) {
	t.Helper()
	if view.Content == nil || !slices.Equal(view.Content.Packages(), want) {
		t.Errorf("got %+v, want the packages %q", view, want)
	}
}

// TestCatalogs_Image polls the tag of an image with one HEAD, and pulls what is new.
func TestCatalogs_Image(t *testing.T) {
	w := newWorld(t, registry.New())
	w.push(t, "catalog:v1", "/configs", "configs/a.json", packageOf("a"))
	asks := Catalog{Name: "c", Image: w.host + "/catalog:v1", Poll: time.Hour}
	view := w.look(t, asks)
	wantPackages(t, view, "a")
	if view.Err != nil || view.Running || len(w.asked()) == 0 {
		t.Errorf("%+v", view)
	}
	view = w.catalogs.Observe(asks)
	if asked := w.asked(); len(asked) > 0 || view.Running || time.Until(view.Next) < 59*time.Minute {
		t.Errorf("%+v, after the requests %q before the next poll", view, asked)
	}

	asks.Poll = time.Nanosecond
	wantPackages(t, w.look(t, asks), "a")
	if asked := w.asked(); !slices.Equal(asked, []string{"HEAD /v2/catalog/manifests/v1"}) {
		t.Errorf("requests %q for a poll without news", asked)
	}
	w.push(t, "catalog:v1", "/configs", "configs/b.json", packageOf("b"))
	wantPackages(t, w.look(t, asks), "b")

	w.setAway(true)
	view = w.look(t, asks)
	wantPackages(t, view, "b")
	if view.Err == nil || view.Final || view.Running || view.Next.IsZero() {
		t.Errorf("%+v while the registry is away", view)
	}
	w.setAway(false)
	// Another tag is looked up at once, though the last try has failed.
	w.push(t, "catalog:v2", "/configs", "configs/c.json", packageOf("c"))
	asks.Image = w.host + "/catalog:v2"
	if view = w.look(t, asks); view.Err != nil {
		t.Errorf("%+v", view)
	}
	wantPackages(t, view, "c")
	if err := w.catalogs.Drop("c"); err != nil || w.catalogs.Store.Get("c").Content != nil {
		t.Errorf("the content is still there, %v", err)
	}
}

// TestCatalogs_NoLabel is final for a digest, and not for a tag.
func TestCatalogs_NoLabel(t *testing.T) {
	w := newWorld(t, registry.New())
	digest := w.push(t, "program:v1", "", "configs/a.json", packageOf("a"))
	for image, want := range map[string]bool{"program:v1": false, "program@" + digest: true} {
		view := w.look(t, Catalog{Name: image, Image: w.host + "/" + image})
		if view.Err == nil || view.Final != want || !strings.Contains(view.Err.Error(), catalog.ConfigsLabel) {
			t.Errorf("%s: %+v", image, view)
		}
	}
}

// TestCatalogs_Server reads what a catalogd serves, when its status says that there is something else.
func TestCatalogs_Server(t *testing.T) {
	content := packageOf("a")
	w := newWorld(t, http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "application/jsonl")
		http.ServeContent(answer, request, "", time.Time{}, strings.NewReader(content))
	}))
	asks := Catalog{Name: "c", Base: w.server.URL + "/catalogs/c", Reference: "r.example/c@sha256:1"}
	wantPackages(t, w.look(t, asks), "a")
	if asked := w.asked(); !slices.Equal(asked, []string{"GET /catalogs/c/api/v1/all"}) {
		t.Errorf("requests %q", asked)
	}
	if view := w.catalogs.Observe(asks); view.Running || !view.Next.IsZero() {
		t.Errorf("%+v though nothing has changed", view)
	}
	asks.Reference, content = "r.example/c@sha256:2", packageOf("b")
	wantPackages(t, w.look(t, asks), "b")
}

// TestBundles looks a tag up once for each content of a catalog, and needs no registry afterwards.
func TestBundles(t *testing.T) {
	w := newWorld(t, registry.New())
	digest := w.push(t, "bundle:v1", "", "manifests/a.yaml", "a")
	wanted := Bundle{Who: "ce", Image: w.host + "/bundle:v1", Content: "1"}
	pull := func() BundleView {
		t.Helper()
		w.bundles.Observe(wanted)
		if who := <-w.woken; who != "ce" {
			t.Fatalf("%q was woken", who)
		}
		return w.bundles.Observe(wanted)
	}
	view := pull()
	if want := w.host + "/bundle@" + digest; !view.Ready || view.Pinned != want || view.Err != nil {
		t.Fatalf("%+v, want %s", view, want)
	}
	if content, err := os.ReadFile(filepath.Join(view.Entry.Folder, "manifests", "a.yaml")); err != nil || string(content) != "a" {
		t.Errorf("%q, %v", content, err)
	}
	// The tag moves; the same catalog means what it meant.
	moved := w.push(t, "bundle:v1", "", "manifests/a.yaml", "b")
	if again := w.bundles.Observe(wanted); again.Pinned != view.Pinned || len(w.asked()) > 0 {
		t.Errorf("%+v", again)
	}
	wanted.Content = "2"
	if again := pull(); again.Pinned != w.host+"/bundle@"+moved {
		t.Errorf("%+v", again)
	}
	w.setAway(true)
	wanted.Pinned = view.Pinned // as a revision has recorded it
	if again := w.bundles.Observe(wanted); !again.Ready {
		t.Errorf("%+v while the registry is away", again)
	}
	wanted.Pinned, wanted.Image = "", w.host+"/other:v1"
	if failed := pull(); failed.Ready || failed.Err == nil || failed.Final || failed.Next.IsZero() {
		t.Errorf("%+v", failed)
	}
}

// TestBundles_Collect keeps what extensions want or revisions use, whatever room there is, and no more.
func TestBundles_Collect(t *testing.T) {
	w := newWorld(t, registry.New())
	store, err := oci.OpenStore(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	used := ""
	w.bundles.Store, w.bundles.Used = store, func(context.Context) ([]string, error) { return []string{used}, nil }
	pull := func(who, image string) string {
		t.Helper()
		digest := w.push(t, image, "", "manifests/a.yaml", image)
		wanted := Bundle{Who: who, Image: w.host + "/" + image}
		w.bundles.Observe(wanted)
		<-w.woken
		if view := w.bundles.Observe(wanted); !view.Ready {
			t.Errorf("%s: %+v", image, view)
		}
		return digest
	}
	has := func(digest string) bool { _, found := store.Get(digest); return found }
	first, second := pull("a", "a:v1"), pull("b", "b:v1")
	if !has(first) || !has(second) {
		t.Error("what extensions want is deleted")
	}
	used = w.host + "/a@" + first
	w.bundles.Forget("a")
	w.bundles.Forget("b")
	third := pull("c", "c:v1")
	if !has(first) || has(second) || !has(third) {
		t.Errorf("there are: used %v, wanted by none %v, wanted %v", has(first), has(second), has(third))
	}
}

// TestDue decides when a catalog is looked at.
func TestDue(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tagged, pinned := Catalog{Name: "c", Image: "r.example/c:v1", Poll: time.Hour}, Catalog{Name: "c", Image: "r.example/c@sha256:1"}
	never := tagged
	never.Poll = 0
	content := &catalog.Content{}
	for _, test := range []struct {
		name    string
		catalog Catalog
		known   catalog.Snapshot
		checked string
		due     bool
		next    bool
	}{
		{name: "New", catalog: tagged, due: true},
		{name: "AfterRestart", catalog: pinned, known: catalog.Snapshot{Content: content, Checked: now}, due: true},
		{name: "Current", catalog: tagged, known: catalog.Snapshot{Content: content, Checked: now.Add(-59 * time.Minute)}, checked: tagged.origin(), next: true},
		{name: "Poll", catalog: tagged, known: catalog.Snapshot{Content: content, Checked: now.Add(-61 * time.Minute)}, checked: tagged.origin(), due: true, next: true},
		{name: "NeverPolled", catalog: never, known: catalog.Snapshot{Content: content, Checked: now.Add(-1000 * time.Hour)}, checked: tagged.origin()},
		{name: "Pinned", catalog: pinned, known: catalog.Snapshot{Content: content}, checked: pinned.origin()},
		{name: "OtherImage", catalog: pinned, known: catalog.Snapshot{Content: content, Checked: now}, checked: tagged.origin(), due: true},
		{name: "Failed", catalog: pinned, known: catalog.Snapshot{Content: content, Err: context.DeadlineExceeded}, checked: pinned.origin(), due: true},
		{name: "Final", catalog: pinned, known: catalog.Snapshot{Err: errors.Join(&oci.Error{Kind: oci.Refused})}, checked: pinned.origin()},
		{name: "FinalForOtherImage", catalog: tagged, known: catalog.Snapshot{Err: &oci.Error{Kind: oci.Refused}}, checked: pinned.origin(), due: true},
		{name: "Folder", catalog: Catalog{Name: "c", Folder: "/x"}, known: catalog.Snapshot{Content: content, Checked: now}, checked: "folder /x", next: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if due, next := test.catalog.due(test.known, test.checked, now); due != test.due || next.IsZero() == test.next {
				t.Errorf("due %v, next %v", due, next)
			}
		})
	}
}
