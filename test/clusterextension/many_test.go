// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/oci"
	"github.com/strata-run/strata/test/setup"
)

// manyExtensions is how many there are on one catalog. The bench has a thousand.
const manyExtensions = 30

// TestCacheAtStart deletes images for which there is no room, and that no revision uses, when the manager starts.
func TestCacheAtStart(t *testing.T) {
	cache := t.TempDir()
	store, err := oci.OpenStore(filepath.Join(cache, "bundles"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := store.Add("sha256:"+strings.Repeat("0", 64), func(folder string) (oci.Image, error) {
		return oci.Image{}, os.WriteFile(filepath.Join(folder, "file"), []byte("content"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+cache, "--cache-size=1")
	start(t, options)
	planetest.Eventually(t, "the image is deleted", func() (bool, error) {
		_, err := os.Stat(entry.Folder)
		return errors.Is(err, os.ErrNotExist), err
	})
}

// TestHangingRegistry installs and deletes extensions while the registry of others hangs, of which there
// are more than images are pulled at a time.
func TestHangingRegistry(t *testing.T) {
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	ended, hung := make(chan struct{}), atomic.Int64{}
	hanging := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		hung.Add(1)
		select {
		case <-request.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(ended) })
	startFront(t, server)
	const hangs = 6
	var blobs string
	for i := range hangs + 1 {
		image := strings.TrimPrefix(hanging.URL, "https://") + fmt.Sprintf("/stuck-%d:v1", i)
		if i == hangs {
			image = pushConfigMap(t, server, "works", "1.0.0")
		}
		name := []string{fmt.Sprintf("stuck-%d", i), "works"}[i/hangs]
		blobs += packageBlobs(name, image)
		createOf(t, name, "hanging")
	}
	createFrom(t, "hanging", pushImage(t, server, "hanging:v1", catalogLabels, map[string]string{"configs/catalog.json": blobs}))
	works := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "works"}}
	planetest.Eventually(t, "the extension whose registry answers is installed", func() (bool, error) {
		installed, _, err := progress(t, works)
		return installed == "1.0.0" && hung.Load() > 0, err
	})
	for i := range hangs {
		ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("stuck-%d", i)}}
		if _, progressing, err := progress(t, ce); err != nil || !strings.Contains(progressing.Message, "is being pulled") && progressing.Reason != olmv1.ReasonRetrying {
			t.Errorf("%s: %+v, %v", ce.Name, progressing, err)
		}
		if err := admin.Delete(t.Context(), ce); err != nil {
			t.Fatal(err)
		}
	}
	planetest.Eventually(t, "the extensions that hang are deleted", func() (bool, error) {
		list := &olmv1.ClusterExtensionList{}
		err := admin.List(t.Context(), list)
		return !slices.ContainsFunc(list.Items, func(ce olmv1.ClusterExtension) bool { return strings.HasPrefix(ce.Name, "stuck-") }), err
	})
}

// TestMany counts what many extensions on one catalog cost: when they are installed, at rest, when the
// catalog has a new bundle for one of them, and while the registry is away.
func TestMany(t *testing.T) {
	images := &countedRegistry{}
	server := httptest.NewTLSServer(images.counting(registry.New()))
	t.Cleanup(server.Close)
	began := time.Now()
	startFront(t, server)
	versions := func(int) []string { return []string{"1.0.0"} }
	createFrom(t, "many", manyCatalog(t, server, "v1", versions))
	for i := range manyExtensions {
		createOf(t, manyName(i), "many")
	}
	haveVersions(t, func(int) string { return "1.0.0" })
	last := comesToRest(t, began)
	for what, most := range map[string]int{
		"create packages": 1, "create revisions": 1, "patch configmaps": 1, "patch clusterextensions": 1,
		"patch clusterextensions/status": 6, "patch packages/status": 3, "patch revisions/status": 3, "list secrets": 6,
		"create selfsubjectreviews": 1,
	} {
		if got := count(last, what); got > most*manyExtensions {
			t.Errorf("%d requests %s for %d extensions, want at most %d for each", got, what, manyExtensions, most)
		}
	}
	if got := count(last, "create selfsubjectreviews"); got > 1 {
		t.Errorf("the manager asks %d times who it is", got)
	}

	// A new bundle for one package concerns one extension.
	images.taken()
	began = time.Now()
	renewed := func(of int) []string {
		if of == 0 {
			return []string{"1.0.0", "1.1.0"}
		}
		return []string{"1.0.0"}
	}
	changeCatalog(t, "many", manyCatalog(t, server, "v2", renewed))
	haveVersions(t, func(of int) string { return renewed(of)[len(renewed(of))-1] })
	others := slices.DeleteFunc(comesToRest(t, began), func(e localplane.AuditEvent) bool {
		return strings.HasPrefix(e.Name, manyName(0)) || e.Name == "many" || e.Resource == "events" || e.Resource == "selfsubjectreviews" ||
			e.Verb == "list" && strings.Contains(e.RequestURI, manyName(0)) || e.Resource == "serviceaccounts" && e.Verb == "get" || e.Resource == ""
	})
	for _, e := range others {
		t.Errorf("a request about something else: %s %s", e.Verb, e.RequestURI)
	}
	for _, request := range images.taken() {
		if strings.HasPrefix(request, "GET") && strings.Contains(request, "/"+manyName(1)+"/") {
			t.Errorf("%s, though the catalog says the same of its package", request)
		}
	}
	keepsAway(t, images)
}

// keepsAway takes the registry away: a catalog that cannot be looked up is served from the disk, which
// its status and the extensions say.
func keepsAway(t *testing.T, images *countedRegistry) {
	t.Helper()
	images.setAway(true)
	cc := &olmv1.ClusterCatalog{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "many"}, cc); err != nil {
		t.Fatal(err)
	}
	changeCatalog(t, "many", strings.Replace(cc.Spec.Source.Image.Ref, ":v2", ":v3", 1))
	says := func(conditions []metav1.Condition, kind, status, text string) bool {
		c := meta.FindStatusCondition(conditions, kind)
		return c != nil && string(c.Status) == status && strings.Contains(c.Message, text)
	}
	planetest.Eventually(t, "the catalog says that it is not current", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(cc), cc)
		return says(cc.Status.Conditions, olmv1.TypeProgressing, "True", "/catalog:v3") && says(cc.Status.Conditions, olmv1.TypeServing, "True", ""), err
	})
	planetest.Eventually(t, "the extensions say that their catalog is not current, and stay installed", func() (bool, error) {
		list := &olmv1.ClusterExtensionList{}
		err := admin.List(t.Context(), list)
		said := 0
		for i := range list.Items {
			ce := &list.Items[i]
			if strings.HasPrefix(ce.Name, "many-") && says(ce.Status.Conditions, olmv1.TypeInstalled, "True", "") &&
				says(ce.Status.Conditions, olmv1.TypeProgressing, "False", `catalog "many"`) {
				said++
			}
		}
		return said == manyExtensions, errors.Join(err, fmt.Errorf("%d say so", said))
	})
}

func manyName(i int) string { return fmt.Sprintf("many-%d", i) }

var catalogLabels = map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}

// createOf makes a ClusterExtension of the package of its name in a catalog, until the test ends.
func createOf(t *testing.T, name, catalog string) {
	t.Helper()
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ce.Spec.Namespace = "default"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{
		PackageName: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{olmv1.LabelCatalogName: catalog}},
	}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), ce); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// pushConfigMap writes a bundle with a ConfigMap.
func pushConfigMap(t *testing.T, server *httptest.Server, name, version string) string {
	t.Helper()
	return pushImage(t, server, name+":v"+version, nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {version: \"" + version + "\"}\n",
	})
}

// packageBlobs are the blobs of a package with bundles of images, of the versions 1.0.0, 1.1.0 and so on.
func packageBlobs(name string, images ...string) string {
	blobs, entries, before := &strings.Builder{}, "", ""
	for minor, image := range images {
		bundle := fmt.Sprintf("%s.v1.%d.0", name, minor)
		entries += fmt.Sprintf(`,{"name":%q,"replaces":%q}`, bundle, before)
		before = bundle
		fmt.Fprintf(blobs, `{"schema":"olm.bundle","package":%q,"name":%q,"image":%q,"properties":[{"type":"olm.package","value":{"packageName":%q,"version":"1.%d.0"}}]}`+"\n", name, bundle, image, name, minor)
	}
	fmt.Fprintf(blobs, `{"schema":"olm.package","name":%q,"defaultChannel":"stable"}{"schema":"olm.channel","package":%q,"name":"stable","entries":[%s]}`+"\n", name, name, strings.TrimPrefix(entries, ","))
	return blobs.String()
}

// manyCatalog is a catalog with versions of each package.
func manyCatalog(t *testing.T, server *httptest.Server, tag string, versions func(of int) []string) string {
	t.Helper()
	blobs := ""
	for i := range manyExtensions {
		var images []string
		for _, version := range versions(i) {
			images = append(images, pushConfigMap(t, server, manyName(i), version))
		}
		blobs += packageBlobs(manyName(i), images...)
	}
	return pushImage(t, server, "catalog:"+tag, catalogLabels, map[string]string{"configs/catalog.json": blobs})
}

func changeCatalog(t *testing.T, name, image string) {
	t.Helper()
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Sprintf(`{"spec":{"source":{"image":{"ref":%q}}}}`, image)
	if err := admin.Patch(t.Context(), cc, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// haveVersions waits until each extension has its version and wants no other.
func haveVersions(t *testing.T, version func(of int) string) {
	t.Helper()
	planetest.Eventually(t, "the extensions are installed", func() (bool, error) {
		done := 0
		for i := range manyExtensions {
			ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: manyName(i)}}
			installed, progressing, err := progress(t, ce)
			if err != nil {
				return false, err
			}
			if installed == version(i) && progressing.Reason == olmv1.ReasonSucceeded {
				done++
			}
		}
		return done == manyExtensions, fmt.Errorf("%d are", done)
	})
}

// comesToRest waits until the manager has sent nothing for longer than it holds a status back, and
// returns what it has sent since a time.
func comesToRest(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	var all []localplane.AuditEvent
	last := time.Now()
	planetest.Eventually(t, "the manager is at rest", func() (bool, error) {
		now := setup.Requests(t, cluster.Plane, setup.Manager, since)
		if len(now) != len(all) {
			all, last = now, time.Now()
		}
		return time.Since(last) > 10*time.Second, fmt.Errorf("%d requests", len(all))
	})
	return all
}

// count is how many requests are of a kind and not about something else than these extensions.
func count(events []localplane.AuditEvent, what string) int {
	sum := 0
	for _, e := range events {
		if e.Name != "" && !strings.HasPrefix(e.Name, "many-") {
			continue
		}
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		if e.Verb+" "+resource == what {
			sum++
		}
	}
	return sum
}

// countedRegistry notes requests, and can be away.
type countedRegistry struct {
	mutex    sync.Mutex
	requests []string
	away     bool
}

func (c *countedRegistry) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		c.mutex.Lock()
		c.requests = append(c.requests, request.Method+" "+request.URL.Path)
		away := c.away
		c.mutex.Unlock()
		if away {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(answer, request)
	})
}

func (c *countedRegistry) setAway(away bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.away = away
}

// taken are the requests since the last call.
func (c *countedRegistry) taken() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	taken := c.requests
	c.requests = nil
	return taken
}
