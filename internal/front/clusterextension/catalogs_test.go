// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/status/statustest"
)

// wantCatalog compares the conditions of a catalog with their beginnings.
func wantCatalog(t *testing.T, cc *olmv1.ClusterCatalog, serving, progressing string) {
	t.Helper()
	for kind, want := range map[string]string{olmv1.TypeServing: serving, olmv1.TypeProgressing: progressing} {
		if got := statustest.Text(cc.Status.Conditions, kind); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
}

// TestCatalog_Own writes the status of a catalog whose image the manager reads, polls its tag with one
// request, and keeps lastUnpacked while it names the same image.
func TestCatalog_Own(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	one := 1
	l.createCatalog(i.catalogOf("catalog:v1", "r.example/p:v1"), func(cc *olmv1.ClusterCatalog) { cc.Spec.Source.Image.PollIntervalMinutes = &one })
	cc, _ := l.catalogPass()
	wantCatalog(t, cc, "False/Unavailable: ", "True/Retrying: The content of the catalog is being read")
	next(t, l.signals.catalogs)
	cc, result := l.catalogPass()
	wantCatalog(t, cc, "True/Available: ", "True/Succeeded: ")
	if resolved := cc.Status.ResolvedSource; resolved == nil || !strings.HasPrefix(resolved.Image.Ref, i.host()+"/catalog@sha256:") || cc.Status.LastUnpacked == nil || cc.Status.URLs != nil {
		t.Errorf("the status is %+v", cc.Status)
	}
	if result.RequeueAfter < 30*time.Second || result.RequeueAfter > 61*time.Second {
		t.Errorf("the next poll is after %s", result.RequeueAfter)
	}
	unpacked, version := cc.Status.LastUnpacked, cc.ResourceVersion
	before := i.requests.Load()
	if cc, _ = l.catalogPass(); i.requests.Load() != before || cc.ResourceVersion != version {
		t.Errorf("at rest: %d requests, version %s after %s", i.requests.Load()-before, cc.ResourceVersion, version)
	}

	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { cc.Spec.Source.Image.Ref = i.host() + "/absent:v1" })
	cc, _ = l.catalogRead()
	wantCatalog(t, cc, "True/Available: ", "True/Retrying: image "+i.host()+"/absent:v1: ")
	if !cc.Status.LastUnpacked.Equal(unpacked) {
		t.Error("lastUnpacked moves though nothing was unpacked")
	}
	noCatalog := i.push("program:v1", nil, map[string]string{"a": "b"})
	digest := pinnedOf(t, i, noCatalog)
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) {
		cc.Spec.Source.Image.Ref, cc.Spec.Source.Image.PollIntervalMinutes = digest, nil
	})
	cc, _ = l.catalogRead()
	wantCatalog(t, cc, "True/Available: ", "False/Blocked: ")
}

// TestSetCatalogStatus has lastUnpacked stay while polls find the same image.
func TestSetCatalogStatus(t *testing.T) {
	view := sources.CatalogView{Snapshot: catalog.Snapshot{
		Content: contentOf(t, "", 1, 1), Version: catalog.Version{Reference: "r.example/c@sha256:1"}, Read: then.Time, Checked: later.Time,
	}}
	cc := &olmv1.ClusterCatalog{Spec: olmv1.ClusterCatalogSpec{Source: olmv1.CatalogSource{Image: &olmv1.ImageSource{}}}}
	setCatalogStatus(cc, view, later)
	if !cc.Status.LastUnpacked.Equal(&then) || cc.Status.ResolvedSource.Image.Ref != "r.example/c@sha256:1" {
		t.Errorf("the status is %+v", cc.Status)
	}
}

// pinnedOf is the reference of an image by digest.
func pinnedOf(t *testing.T, i *images, image string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, i.server.URL+"/v2/"+strings.Replace(strings.TrimPrefix(image, i.host()+"/"), ":", "/manifests/", 1), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := i.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	name, _, _ := strings.Cut(image, ":v")
	return name + "@" + answer.Header.Get("Docker-Content-Digest")
}

// A catalog that is set to Unavailable, or deleted, is dropped from the disk.
func TestCatalog_Dropped(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	l.createCatalog(i.catalogOf("catalog:v1", "r.example/p:v1"))
	l.catalogRead()
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { cc.Spec.AvailabilityMode = olmv1.AvailabilityModeUnavailable })
	cc, _ := l.catalogPass()
	wantCatalog(t, cc, "False/UserSpecifiedUnavailable: ", "True/Succeeded: ")
	if cc.Status.ResolvedSource != nil || cc.Status.LastUnpacked != nil || len(l.supply.catalogs.Store.Names()) > 0 {
		t.Errorf("the catalog is unavailable: %+v, stored are %q", cc.Status, l.supply.catalogs.Store.Names())
	}
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { cc.Spec.AvailabilityMode = "" })
	cc, _ = l.catalogRead()
	wantCatalog(t, cc, "True/Available: ", "True/Succeeded: ")
	if err := l.API.Delete(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	l.catalogPass()
	if len(l.supply.catalogs.Store.Names()) > 0 {
		t.Errorf("the catalog is deleted, and stored are %q", l.supply.catalogs.Store.Names())
	}
}

// TestCatalog_Wakes wakes only extensions that select a catalog that has changed.
func TestCatalog_Wakes(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	l.createCatalog(i.catalogOf("catalog:v1", "r.example/p:v1"))
	for name, selects := range map[string]map[string]string{
		"all": nil, "named": {olmv1.LabelCatalogName: "c"}, "labelled": {"tier": "gold"}, "other": {olmv1.LabelCatalogName: "d"},
	} {
		ce := extension()
		ce.Name, ce.Spec.Namespace = name, "default"
		if selects != nil {
			ce.Spec.Source.Catalog.Selector = &metav1.LabelSelector{MatchLabels: selects}
		}
		l.Create(ce)
	}
	want := func(step string, names ...string) {
		t.Helper()
		if got := slices.Compact(slices.Sorted(slices.Values(l.woken()))); !slices.Equal(got, names) {
			t.Errorf("%s: woken are %q, want %q", step, got, names)
		}
	}
	l.catalogPass()
	want("created", "all", "named")
	next(t, l.signals.catalogs)
	l.catalogPass()
	want("read", "all", "named")
	l.catalogPass()
	want("at rest")
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { cc.Labels = map[string]string{"tier": "gold"} })
	l.catalogPass()
	want("labelled", "labelled")
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { cc.Spec.Priority = 1 })
	l.catalogPass()
	want("priority", "all", "labelled", "named")
	l.changeCatalog(func(cc *olmv1.ClusterCatalog) { maps.DeleteFunc(cc.Labels, func(string, string) bool { return true }) })
	l.catalogPass()
	want("not labelled", "labelled")
}

// given is a catalog with a package p.
type given struct{}

func (given) Fetch(_ context.Context, _ catalog.Version, _ string, read func(catalog.Source) error) (catalog.Version, error) {
	return catalog.Version{Reference: "1"}, read(catalog.Stream(strings.NewReader(blobsOf("r.example/p:v1"))))
}

// Of the catalogs that an extension selects the one of the highest priority counts, and none that is
// not available.
func TestSupply_ChoosesCatalog(t *testing.T) {
	l := newSupplied(t, newImages(t).settings())
	for name, change := range map[string]func(*olmv1.ClusterCatalog){
		"base":   func(*olmv1.ClusterCatalog) {},
		"bronze": func(cc *olmv1.ClusterCatalog) { cc.Spec.Priority, cc.Labels = -1, map[string]string{"tier": "metal"} },
		"gold":   func(cc *olmv1.ClusterCatalog) { cc.Spec.Priority, cc.Labels = 1, map[string]string{"tier": "metal"} },
		"off": func(cc *olmv1.ClusterCatalog) {
			cc.Spec.Priority, cc.Spec.AvailabilityMode = 5, olmv1.AvailabilityModeUnavailable
		},
	} {
		l.createCatalog("r.example/c:v1", func(cc *olmv1.ClusterCatalog) { cc.Name = name; change(cc) })
		if _, err := l.supply.catalogs.Store.Refresh(t.Context(), name, given{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		selector map[string]string
		want     string
	}{
		"All":         {want: "gold"},
		"Labelled":    {selector: map[string]string{"tier": "metal"}, want: "gold"},
		"Named":       {selector: map[string]string{olmv1.LabelCatalogName: "base"}, want: "base"},
		"Lower":       {selector: map[string]string{olmv1.LabelCatalogName: "bronze"}, want: "bronze"},
		"Unavailable": {selector: map[string]string{olmv1.LabelCatalogName: "off"}},
	} {
		ce := extension()
		if test.selector != nil {
			ce.Spec.Source.Catalog.Selector = &metav1.LabelSelector{MatchLabels: test.selector}
		}
		answer, err := l.supply.Resolve(t.Context(), ce, nil)
		got := ""
		if answer.Choice != nil {
			got = answer.Choice.Catalog
		}
		if err != nil || got != test.want {
			t.Errorf("%s: catalog %q, want %q: %s, %v", name, got, test.want, answer.Message, err)
		}
	}
}

// While OLM's own controller leads, nothing is pulled and no status is written.
func TestCatalog_Rests(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	l.rests = true
	l.createCatalog(i.host() + "/catalog:v1")
	if cc, _ := l.catalogPass(); len(cc.Status.Conditions) > 0 || i.requests.Load() > 0 {
		t.Errorf("%d requests, status %+v", i.requests.Load(), cc.Status)
	}
}

// TestCatalog_Served reads what catalogd serves, which wrote the definition of catalogs, and leaves the
// status to it. What was read last stays while it answers 404.
func TestCatalog_Served(t *testing.T) {
	i := newImages(t)
	s := i.settings()
	s.Catalogs, s.CatalogdCADir = catalogsAuto, s.PullCADir
	l := newSupplied(t, s)
	definition := front.Definition()
	definition.Name = catalogDefinition
	l.Create(definition)
	found := true
	i.serve = func(answer http.ResponseWriter, request *http.Request) bool {
		if request.URL.Path != "/catalogs/c/api/v1/all" {
			return false
		}
		if !found {
			http.NotFound(answer, request)
			return true
		}
		answer.Header().Set("Content-Type", "application/jsonl")
		_, err := answer.Write([]byte(`{"schema":"olm.package","name":"p"}`))
		return err == nil
	}
	l.createCatalog("r.example/catalog:v1")
	l.create()
	if cc, _ := l.catalogPass(); len(cc.Status.Conditions) > 0 {
		t.Errorf("a status is written that is catalogd's: %+v", cc.Status)
	}
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing); !strings.Contains(got, "catalogd does not serve it") {
		t.Errorf("Progressing is %q", got)
	}
	serve := func(reference string) {
		cc := &olmv1.ClusterCatalog{}
		l.Read("c", cc)
		meta.SetStatusCondition(&cc.Status.Conditions, metav1.Condition{Type: olmv1.TypeServing, Status: "True", Reason: "Available"})
		cc.Status.URLs = &olmv1.ClusterCatalogURLs{Base: i.server.URL + "/catalogs/c"}
		cc.Status.ResolvedSource = &olmv1.ResolvedCatalogSource{Type: olmv1.SourceTypeImage, Image: &olmv1.ResolvedImageSource{Ref: reference}}
		if err := l.API.Status().Update(t.Context(), cc); err != nil {
			t.Fatal(err)
		}
	}
	serve("r.example/catalog@sha256:1")
	l.catalogRead()
	if packages := l.supply.catalogs.Store.Get("c"); packages.Content == nil || !slices.Equal(packages.Content.Packages(), []string{"p"}) {
		t.Fatalf("the catalog is %+v", packages)
	}
	found = false
	serve("r.example/catalog@sha256:2")
	cc, _ := l.catalogRead()
	if known := l.supply.catalogs.Store.Get("c"); known.Content == nil || known.Err == nil || !strings.Contains(known.Err.Error(), "404") {
		t.Errorf("the catalog is %+v", known)
	}
	if len(cc.Status.Conditions) != 1 {
		t.Errorf("a status is written that is catalogd's: %+v", cc.Status)
	}

	// With our definition the images count.
	if err := l.API.Get(t.Context(), client.ObjectKey{Name: catalogDefinition}, definition); err != nil {
		t.Fatal(err)
	}
	definition.Labels = map[string]string{v1alpha1.LabelFront: frontName}
	if err := l.API.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	if cc, _ = l.catalogPass(); meta.FindStatusCondition(cc.Status.Conditions, olmv1.TypeProgressing) == nil {
		t.Errorf("the definition is ours, and the status %+v", cc.Status)
	}
}

// TestCatalog_Folder reads a folder instead of an image, only below that of the manager.
func TestCatalog_Folder(t *testing.T) {
	i := newImages(t)
	root, outside := t.TempDir(), t.TempDir()
	for _, folder := range []string{filepath.Join(root, "mine"), outside} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "p.yaml"), []byte(blobsOf("r.example/p:v1")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for folder, test := range map[string]struct{ root, serving, progressing string }{
		filepath.Join(root, "mine"): {root: root, serving: "True/Available: ", progressing: "True/Succeeded: "},
		filepath.Join(root, "link"): {root: root, serving: "False/Unavailable: ", progressing: "True/Retrying: "},
		outside:                     {root: root, serving: "False/Unavailable: ", progressing: "True/Retrying: the folder " + outside + " is not below " + root},
		"/anything":                 {serving: "False/Unavailable: ", progressing: "False/Blocked: its annotation strata.run/catalog-folder names a folder, and the manager runs without --catalog-folders"},
	} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			s := i.settings()
			s.CatalogFolders = test.root
			l := newSupplied(t, s)
			l.createCatalog("r.example/none:v1", func(cc *olmv1.ClusterCatalog) {
				cc.Annotations = map[string]string{olmv1.AnnotationCatalogFolder: folder}
			})
			cc, _ := l.catalogPass()
			if test.root != "" {
				next(t, l.signals.catalogs)
				cc, _ = l.catalogPass()
			}
			wantCatalog(t, cc, test.serving, test.progressing)
			if cc.Status.ResolvedSource != nil {
				t.Errorf("a folder has no digest: %+v", cc.Status.ResolvedSource)
			}
		})
	}
}

// contentOf is a catalog of packages with so many bundles each. The text stands in the description of the first.
func contentOf(t *testing.T, text string, packages, bundles int) *catalog.Content {
	t.Helper()
	blobs := &strings.Builder{}
	for p := range packages {
		name := fmt.Sprintf("p%d", p)
		fmt.Fprintf(blobs, `{"schema":"olm.package","name":%q,"defaultChannel":"stable","description":%q}`+"\n", name, text)
		text = ""
		entries := []string{}
		for b := range bundles {
			fmt.Fprintf(blobs, `{"schema":"olm.bundle","package":%q,"name":"%s.v1.0.%d","image":"r.example/%s:%d","properties":[{"type":"olm.package","value":{"packageName":%q,"version":"1.0.%d"}}]}`+"\n", name, name, b, name, b, name, b)
			entries = append(entries, fmt.Sprintf(`{"name":"%s.v1.0.%d"}`, name, b))
		}
		fmt.Fprintf(blobs, `{"schema":"olm.channel","package":%q,"name":"stable","entries":[%s]}`+"\n", name, strings.Join(entries, ","))
	}
	content, err := catalog.Build(t.Context(), t.TempDir(), catalog.Stream(strings.NewReader(blobs.String())))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A change of a catalog concerns the extensions of packages that have changed, and not the others.
func TestConcerns_Package(t *testing.T) {
	before := edition{exists: true, content: contentOf(t, "", 3, 2)}
	now := before
	now.content = contentOf(t, "a longer text", 3, 2)
	for name, want := range map[string]bool{"p0": true, "p1": false, "p2": false, "absent": false} {
		ce := extension()
		ce.Spec.Source.Catalog.PackageName = name
		if got := concerns(before, now, ce); got != want {
			t.Errorf("%s: %v", name, got)
		}
		now := now
		now.trouble = "the registry is away"
		if !concerns(before, now, ce) {
			t.Errorf("%s does not hear that the catalog is not current", name)
		}
	}
}

// Packages are parsed once, and at most so many bytes of them are kept.
func TestParsedPackages(t *testing.T) {
	p := parsedPackages{recent[*resolve.Package]{most: mostParsed}}
	parsed := func(content *catalog.Content, name string) *resolve.Package {
		t.Helper()
		found, err := p.of(content, name)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	content := contentOf(t, "", 40, 500)
	first := parsed(content, "p0")
	if parsed(contentOf(t, "other", 2, 1), "p0") == first || parsed(contentOf(t, "", 40, 500), "p0") != first {
		t.Error("the same package is parsed again, or another one is taken for it")
	}
	for i := range 40 {
		parsed(content, fmt.Sprintf("p%d", i))
		if parsed(content, "p0") != first {
			t.Fatal("a package that is in use is parsed again")
		}
	}
	if p.bytes > mostParsed || len(p.all) >= 40 || len(p.all) < 10 {
		t.Errorf("%d packages of %d bytes are kept", len(p.all), p.bytes)
	}
	if _, err := p.of(content, "absent"); !errors.Is(err, catalog.ErrNoPackage) {
		t.Errorf("%v", err)
	}
}

// TestManyExtensions has 1,000 extensions on one catalog resolved: what stays in memory, and how many of
// them a new content brings back, in which one package is another one.
func TestManyExtensions(t *testing.T) {
	i := newImages(t)
	s := i.settings()
	s.CatalogFolders = t.TempDir()
	l := newSupplied(t, s)
	folder := filepath.Join(s.CatalogFolders, "c")
	write := func(text string) {
		t.Helper()
		raw := &strings.Builder{}
		for p := range 1000 {
			description := ""
			if p == 500 {
				description = text
			}
			fmt.Fprintf(raw, `{"schema":"olm.package","name":"p%[1]d","defaultChannel":"stable","description":%[2]q}
{"schema":"olm.channel","package":"p%[1]d","name":"stable","entries":[{"name":"p%[1]d.v1.0.0"}]}
{"schema":"olm.bundle","package":"p%[1]d","name":"p%[1]d.v1.0.0","image":"r.example/p:1","properties":[{"type":"olm.package","value":{"packageName":"p%[1]d","version":"1.0.0"}},{"type":"example.org/notes","value":%[3]q}]}
`, p, description, strings.Repeat("x", 20_000))
		}
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "c.json"), []byte(raw.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	l.signals.extensions = make(front.Signal, 2000)
	l.supply.signals = l.signals
	var extensions []*olmv1.ClusterExtension
	for p := range 1000 {
		ce := extension()
		ce.Name, ce.Spec.Namespace, ce.Spec.Source.Catalog.PackageName = fmt.Sprintf("e%d", p), "default", fmt.Sprintf("p%d", p)
		l.Create(ce)
		extensions = append(extensions, ce)
	}
	l.createCatalog("r.example/none:v1", func(cc *olmv1.ClusterCatalog) {
		cc.Annotations = map[string]string{olmv1.AnnotationCatalogFolder: folder}
	})
	l.catalogRead()
	if woken := l.woken(); len(slices.Compact(slices.Sorted(slices.Values(woken)))) != 1000 {
		t.Errorf("%d extensions are woken", len(woken))
	}
	before := heap()
	for _, ce := range extensions {
		if answer, err := l.supply.Resolve(t.Context(), ce, nil); err != nil || answer.Choice == nil {
			t.Fatalf("%s: %+v, %v", ce.Name, answer, err)
		}
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d bytes stay in memory", grown)
	}
	write("changed")
	if _, err := l.supply.catalogs.Store.Refresh(t.Context(), "c", catalog.Mounted{Root: s.CatalogFolders, Path: folder}); err != nil {
		t.Fatal(err)
	}
	l.catalogPass()
	if woken := l.woken(); !slices.Equal(woken, []string{"e500"}) {
		t.Errorf("one package is another one, and woken are %d: %.100q", len(woken), woken)
	}
	if asked := i.requests.Load(); asked != 0 {
		t.Errorf("%d requests", asked)
	}
}

func heap() int64 {
	runtime.GC()
	stats := runtime.MemStats{}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
