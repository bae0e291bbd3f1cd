// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	imagetypes "github.com/google/go-containerregistry/pkg/v1/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/status/statustest"
)

// images is a registry with TLS that counts requests.
type images struct {
	t        *testing.T
	server   *httptest.Server
	requests atomic.Int64
	// serve answers further requests. Optional.
	serve func(http.ResponseWriter, *http.Request) bool
}

func newImages(t *testing.T) *images {
	t.Helper()
	i := &images{t: t}
	handler := registry.New()
	i.server = httptest.NewTLSServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		i.requests.Add(1)
		if i.serve == nil || !i.serve(answer, request) {
			handler.ServeHTTP(answer, request)
		}
	}))
	t.Cleanup(i.server.Close)
	return i
}

func (i *images) host() string { return strings.TrimPrefix(i.server.URL, "https://") }

// push writes an image with files, and returns its reference.
func (i *images) push(repository string, labels, files map[string]string) string {
	i.t.Helper()
	layer := &bytes.Buffer{}
	writer := tar.NewWriter(layer)
	for path, content := range files {
		if err := writer.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
			i.t.Fatal(err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			i.t.Fatal(err)
		}
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, imagetypes.OCIManifestSchema1), static.NewLayer(layer.Bytes(), imagetypes.OCIUncompressedLayer))
	if err != nil {
		i.t.Fatal(err)
	}
	if image, err = mutate.Config(image, v1.Config{Labels: labels}); err != nil {
		i.t.Fatal(err)
	}
	reference, err := name.ParseReference(i.host() + "/" + repository)
	if err != nil {
		i.t.Fatal(err)
	}
	if err := remote.Write(reference, image, remote.WithTransport(i.server.Client().Transport), remote.WithContext(i.t.Context())); err != nil {
		i.t.Fatal(err)
	}
	return reference.String()
}

// settings trust the registry, and have folders of their own.
func (i *images) settings() *Settings {
	i.t.Helper()
	s := DefaultSettings()
	s.Catalogs = catalogsOwn
	s.CacheDir, s.PullCADir = i.t.TempDir(), i.t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(s.PullCADir, "ca.crt"), certificate, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return s
}

// catalogOf is a catalog with a package p, whose bundle has an image.
func (i *images) catalogOf(repository, image string) string {
	return i.push(repository, map[string]string{catalog.ConfigsLabel: "/configs"}, map[string]string{"configs/p.yaml": blobsOf(image)})
}

func blobsOf(image string) string {
	return `
schema: olm.package
name: p
defaultChannel: stable
---
schema: olm.channel
package: p
name: stable
entries: [{name: p.v1.0.0}]
---
schema: olm.bundle
package: p
name: p.v1.0.0
image: ` + image + `
properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]
`
}

// supplied is the loop with a supply of a registry, and the loop of catalogs.
type supplied struct {
	*loop

	supply   *supply
	catalogs *front.Reconciler[*olmv1.ClusterCatalog, catalogFacts]
	signals  signals
}

func newSupplied(t *testing.T, s *Settings) *supplied {
	t.Helper()
	// Signals of which none is lost, as passes are made one by one here.
	wakes := signals{make(front.Signal, 100), make(front.Signal, 100)}
	l := newLoop(t)
	supply, err := newSupply(t.Context(), l.API, meta.NewDefaultRESTMapper(nil), s, wakes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(supply.catalogs.Queue.Stop)
	rests := func() bool { return l.rests }
	l.front.Front = newFront(&observer{cache: l.API, live: l.API, resolver: supply, bundles: supply, imports: l.is, now: time.Now}, nil, rests)
	catalogs := &front.Reconciler[*olmv1.ClusterCatalog, catalogFacts]{
		Front: newCatalogFront(supply, rests), Client: l.API, Live: l.API, Publisher: l.front.Publisher,
	}
	return &supplied{loop: l, supply: supply, catalogs: catalogs, signals: wakes}
}

// supply is what a manager has that has just been started.
func (l *loop) supply(s *Settings, signal front.Signal) *supply {
	l.T.Helper()
	supply, err := newSupply(l.T.Context(), l.API, meta.NewDefaultRESTMapper(nil), s, signals{signal, make(front.Signal, 100)})
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(supply.catalogs.Queue.Stop)
	return supply
}

func (s *supplied) createCatalog(image string, change ...func(*olmv1.ClusterCatalog)) {
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	cc.Spec.Source = olmv1.CatalogSource{Type: olmv1.SourceTypeImage, Image: &olmv1.ImageSource{Ref: image}}
	for _, change := range change {
		change(cc)
	}
	s.Create(cc)
}

// changeCatalog changes the catalog as a user does.
func (s *supplied) changeCatalog(change func(*olmv1.ClusterCatalog)) {
	s.T.Helper()
	cc := &olmv1.ClusterCatalog{}
	s.Read("c", cc)
	change(cc)
	if err := s.API.Update(s.T.Context(), cc); err != nil {
		s.T.Fatal(err)
	}
}

// catalogPass makes a pass of the catalog, and returns it.
func (s *supplied) catalogPass() (*olmv1.ClusterCatalog, reconcile.Result) {
	s.T.Helper()
	result, err := s.catalogs.Reconcile(s.T.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "c"}})
	if err != nil {
		s.T.Logf("the pass of the catalog: %v", err)
	}
	cc := &olmv1.ClusterCatalog{}
	if err := s.API.Get(s.T.Context(), types.NamespacedName{Name: "c"}, cc); client.IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	}
	return cc, result
}

// catalogRead makes passes of the catalog until the job that the first one starts has ended.
func (s *supplied) catalogRead() (*olmv1.ClusterCatalog, reconcile.Result) {
	s.T.Helper()
	s.catalogPass()
	if woken := next(s.T, s.signals.catalogs); woken.Object.GetName() != "c" {
		s.T.Fatalf("%q is woken", woken.Object.GetName())
	}
	return s.catalogPass()
}

// next is the next that is woken.
func next(t *testing.T, signal front.Signal) event.GenericEvent {
	t.Helper()
	select {
	case woken := <-signal:
		return woken
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing is woken")
		return event.GenericEvent{}
	}
}

// woken are the extensions that were woken since the last call.
func (s *supplied) woken() []string {
	names := []string{}
	for {
		select {
		case woken := <-s.signals.extensions:
			names = append(names, woken.Object.GetName())
		default:
			return names
		}
	}
}

// TestSupply pulls a catalog and a bundle from a registry, and makes a revision of it. At rest
// nothing is asked for.
func TestSupply(t *testing.T) {
	i := newImages(t)
	bundled := i.push("p:v1", nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/crd.yaml":        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.org}\nspec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: []}\n",
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
	})
	l := newSupplied(t, i.settings())
	l.createCatalog(i.catalogOf("catalog:v1", bundled))
	l.create()
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing); !strings.HasPrefix(got, "True/Retrying: ") || !strings.Contains(got, "its content is being read") {
		t.Errorf("Progressing is %q before the catalog is there", got)
	}
	l.catalogRead()
	if woken := l.woken(); !slices.Contains(woken, "demo") {
		t.Errorf("the catalog wakes %q", woken)
	}
	l.progressing("True/RollingOut: bundle p.v1.0.0 with version 1.0.0 is being pulled")
	if woken := next(t, l.signals.extensions); woken.Object.GetName() != "demo" {
		t.Errorf("a bundle wakes %q", woken.Object.GetName())
	}
	l.progressing("True/RollingOut: Revision 1 (1.0.0) is about to be rolled out")
	made := &v1alpha1.Revision{}
	l.Read("demo-1", made)
	if image := made.Annotations[olmv1.AnnotationBundleReference]; !strings.HasPrefix(image, i.host()+"/p@sha256:") {
		t.Errorf("the revision names the image %s", image)
	}
	deletions := map[v1alpha1.ObjectDeletion]int{}
	for _, phase := range made.Spec.Phases {
		for _, object := range phase.Objects {
			deletions[object.Deletion]++
		}
	}
	if deletions[v1alpha1.ObjectDeleteUnused] != 1 || deletions[""] != 1 {
		t.Errorf("the deletions of the objects are %v", deletions)
	}
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypePackageDeprecated); got != "False/NotDeprecated: package p is not deprecated" {
		t.Errorf("PackageDeprecated is %q", got)
	}

	before, writes := i.requests.Load(), made.ResourceVersion
	for range 3 {
		l.pass()
		l.catalogPass()
	}
	l.Read("demo-1", made)
	if asked := i.requests.Load() - before; asked != 0 || made.ResourceVersion != writes || len(l.revisions()) != 1 {
		t.Errorf("at rest the registry gets %d requests, and the revisions are %v", asked, l.revisions())
	}
}

// What is wrong with an image stands in the status, and nothing is installed.
func TestSupply_Refused(t *testing.T) {
	i := newImages(t)
	bundled := i.push("p:v1", nil, map[string]string{"readme.txt": "nothing"})
	l := newSupplied(t, i.settings())
	l.createCatalog(i.catalogOf("catalog:v1", bundled))
	l.create()
	l.catalogRead()
	l.woken()
	l.pass()
	next(t, l.signals.extensions)
	got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing)
	if !strings.HasPrefix(got, `False/Blocked: error for resolved bundle "p.v1.0.0" with version "1.0.0": the bundle is refused: `) || len(l.revisions()) > 0 {
		t.Errorf("Progressing is %q, the revisions are %v", got, l.revisions())
	}
}

// A registry without the image: nothing is installed, and it is tried again.
func TestSupply_Missing(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	l.createCatalog(i.catalogOf("catalog:v1", i.host()+"/absent:v1"))
	l.create()
	l.catalogRead()
	l.woken()
	l.pass()
	next(t, l.signals.extensions)
	got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing)
	if !strings.HasPrefix(got, `True/Retrying: error for resolved bundle "p.v1.0.0" with version "1.0.0": `) {
		t.Errorf("Progressing is %q", got)
	}
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeInstalled); !strings.HasPrefix(got, "False/Failed: No bundle installed: ") {
		t.Errorf("Installed is %q", got)
	}
}

var choice = resolve.Choice{Identity: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}, CatalogDigest: "sha256:c"}

// rendered has a bundle rendered, waiting for what is pulled.
func (s *supply) rendered(t *testing.T, ce *olmv1.ClusterExtension, choice resolve.Choice, signal front.Signal, revisions ...v1alpha1.Revision) (rendered, *trouble) {
	t.Helper()
	got, trouble := s.Render(t.Context(), ce, choice, revisions)
	if trouble != nil && trouble.reason == olmv1.ReasonRollingOut {
		<-signal
		got, trouble = s.Render(t.Context(), ce, choice, revisions)
	}
	return got, trouble
}

func plainBundle(value string) map[string]string {
	return map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: " + value + "}\n",
		"manifests/crd.yaml":        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.org}\nspec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: []}\n",
	}
}

// What a tag was looked up to stands on the revision: a manager that was started anew asks no registry,
// also when the tag has moved. The annotation strata.run/resolve has it looked up again.
func TestSupply_Pinned(t *testing.T) {
	i, l, signal := newImages(t), newLoop(t), front.NewSignal()
	settings := i.settings()
	ce, choice := extension(), choice
	ce.Spec.Namespace, choice.Image = "app", i.push("p:v1", nil, plainBundle("first"))
	first, trouble := l.supply(settings, signal).rendered(t, ce, choice, signal)
	if trouble != nil {
		t.Fatal(trouble.message)
	}
	one := revision(1, v1alpha1.LifecycleActive)
	one.Annotations = first.recorded
	one.Annotations[olmv1.AnnotationBundleReference] = first.image
	i.push("p:v1", nil, plainBundle("second"))

	before, restarted := i.requests.Load(), l.supply(settings, signal)
	second, trouble := restarted.rendered(t, ce, choice, signal, one)
	if trouble != nil || second.image != first.image || i.requests.Load() != before {
		t.Errorf("after a restart: %v, image %s, want %s; %d requests", trouble, second.image, first.image, i.requests.Load()-before)
	}
	ce.Annotations = map[string]string{olmv1.AnnotationResolve: "now"}
	if third, trouble := restarted.rendered(t, ce, choice, signal, one); trouble != nil || third.image == first.image || third.recorded[olmv1.AnnotationPinnedFor] == first.recorded[olmv1.AnnotationPinnedFor] {
		t.Errorf("the tag was not looked up again: %v, image %s", trouble, third.image)
	}
}

// The annotation strata.run/custom-resources lets definitions go while custom resources exist.
func TestSupply_CustomResources(t *testing.T) {
	i, l, signal := newImages(t), newLoop(t), front.NewSignal()
	ce, choice, supply := extension(), choice, l.supply(i.settings(), signal)
	ce.Spec.Namespace, choice.Image = "app", i.push("p:v1", nil, plainBundle("a"))
	deletions := func() (all []string) {
		is, trouble := supply.rendered(t, ce, choice, signal)
		if trouble != nil {
			t.Fatal(trouble.message)
		}
		for _, phase := range is.phases {
			for _, object := range phase.Objects {
				all = append(all, object.Manifest.GetKind()+" "+string(object.Deletion))
			}
		}
		return all
	}
	if diff := cmp.Diff([]string{"ConfigMap ", "CustomResourceDefinition DeleteUnused"}, deletions()); diff != "" {
		t.Errorf("without it (-want +got):\n%s", diff)
	}
	ce.Annotations = map[string]string{olmv1.AnnotationCustomResources: "Delete"}
	if diff := cmp.Diff([]string{"ConfigMap ", "CustomResourceDefinition "}, deletions()); diff != "" {
		t.Errorf("with it (-want +got):\n%s", diff)
	}
}

// registryBundle is a bundle of OLM with a Deployment.
func registryBundle(version, minKube, spec string) map[string]string {
	return map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: registry+v1, operators.operatorframework.io.bundle.package.v1: p}\n",
		"manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: p.v` + version + `}
spec:
  version: ` + version + `
  minKubeVersion: ` + minKube + `
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: controller
        spec:
          selector: {matchLabels: {app: p}}
          template:
            metadata: {labels: {app: p}}
            spec: {containers: [{name: manager, image: registry.example/p:v1}]}
` + spec,
	}
}

// A bundle that needs a newer Kubernetes is refused, and looked at again later.
func TestSupply_KubernetesVersion(t *testing.T) {
	i, l, signal := newImages(t), newLoop(t), front.NewSignal()
	ce, choice, supply := extension(), choice, l.supply(i.settings(), signal)
	ce.Spec.Namespace, choice.Image = "app", i.push("p:v1", nil, registryBundle("1.0.0", "1.30.0", ""))
	version, asked := "v1.29.3", 0
	supply.version = func(context.Context) (string, error) { asked++; return version, nil }
	is, trouble := supply.rendered(t, ce, choice, signal)
	want := "error for resolved bundle \"p.v1.0.0\" with version \"1.0.0\": the bundle is refused: it needs Kubernetes 1.30.0, and the cluster has v1.29.3"
	if trouble == nil || trouble.reason != olmv1.ReasonBlocked || trouble.message != want || is.next.IsZero() {
		t.Fatalf("%+v, again at %s", trouble, is.next)
	}
	for range 3 {
		supply.rendered(t, ce, choice, signal)
	}
	version, supply.asked = "v1.30.0", supply.asked.Add(-versionKept)
	if _, trouble = supply.rendered(t, ce, choice, signal); trouble != nil || asked != 2 {
		t.Errorf("after the upgrade: %v, asked %d times", trouble, asked)
	}
}

// Webhooks keep the source of their certificates when another one comes.
func TestSupply_Certificates(t *testing.T) {
	i, l, signal := newImages(t), newLoop(t), front.NewSignal()
	if err := metav1.AddMetaToScheme(l.API.Scheme()); err != nil {
		t.Fatal(err)
	}
	ce, choice, supply := extension(), choice, l.supply(i.settings(), signal)
	ce.Spec.Namespace, choice.Image = "app", i.push("p:v1", nil, registryBundle("1.0.0", "1.0.0", `
  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, generateName: v.example.org, deploymentName: controller, containerPort: 443, admissionReviewVersions: [v1], sideEffects: None, webhookPath: /v}
`))
	if _, trouble := supply.rendered(t, ce, choice, signal); trouble == nil || trouble.reason != olmv1.ReasonBlocked {
		t.Fatalf("without any: %+v", trouble)
	}
	l.definition(clusterVersionDefinition)
	first, trouble := supply.rendered(t, ce, choice, signal)
	if trouble != nil || first.recorded[olmv1.AnnotationWebhookCertificates] != "service-ca" {
		t.Fatalf("on OpenShift: %+v, recorded %v", trouble, first.recorded)
	}
	one := revision(1, v1alpha1.LifecycleActive)
	one.Annotations = first.recorded
	l.definition(certificateDefinition)
	if second, trouble := supply.rendered(t, ce, choice, signal, one); trouble != nil || second.recorded[olmv1.AnnotationWebhookCertificates] != "service-ca" {
		t.Errorf("when cert-manager has come: %+v, recorded %v", trouble, second.recorded)
	}
}

// --webhook-certificates counts before what the cluster has, and no other value does.
func TestSettings_WebhookCertificates(t *testing.T) {
	i, l, signal := newImages(t), newLoop(t), front.NewSignal()
	if err := metav1.AddMetaToScheme(l.API.Scheme()); err != nil {
		t.Fatal(err)
	}
	l.definition(certificateDefinition)
	settings, ce, choice := i.settings(), extension(), choice
	settings.WebhookCertificates = "service-ca"
	ce.Spec.Namespace, choice.Image = "app", i.push("p:v1", nil, registryBundle("1.0.0", "1.0.0", `
  webhookdefinitions:
  - {type: ValidatingAdmissionWebhook, generateName: v.example.org, deploymentName: controller, containerPort: 443, admissionReviewVersions: [v1], sideEffects: None, webhookPath: /v}
`))
	if is, trouble := l.supply(settings, signal).rendered(t, ce, choice, signal); trouble != nil || is.recorded[olmv1.AnnotationWebhookCertificates] != "service-ca" {
		t.Errorf("set to service-ca: %+v, recorded %v", trouble, is.recorded)
	}
	for value, valid := range map[string]bool{"auto": true, "cert-manager": true, "service-ca": true, "": false, "none": false} {
		settings.WebhookCertificates = value
		if err := settings.Complete(nil); (err == nil) != valid {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func (l *loop) definition(name string) {
	crd := front.Definition()
	crd.Name = name
	l.Create(crd)
}
