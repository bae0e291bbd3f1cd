// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/oci"
)

const (
	// pulls is how many images are pulled at a time, and pullsPerHost how many from one registry.
	pulls, pullsPerHost = 4, 2
	// firstRetry is when a pull that failed is tried again, and lastRetry how long that gets.
	firstRetry, lastRetry = 5 * time.Second, 5 * time.Minute
	// serverPatience is how long catalogd may take for the next part of an answer: it unpacks a
	// catalog before.
	serverPatience = time.Minute
)

// supply answers from the contents of catalogs and the images of bundles that are on disk, and has
// what is missing pulled beside the passes.
type supply struct {
	cache    client.Reader
	mapper   meta.RESTMapper
	catalogs *sources.Catalogs
	bundles  *sources.Bundles
	packages parsedPackages
	// made is what was rendered last, by the name of the ClusterExtension.
	made    recent[making]
	signals signals
	// secrets are those with credentials. Nil is none.
	secrets *pullSecrets
	// mode is that of --catalogs, and certificates that of --webhook-certificates.
	mode         string
	certificates bundle.Certificates
	// version asks for the version of Kubernetes. Nil does not.
	version func(context.Context) (string, error)
	// resolved takes in how resolutions end. Nil does not.
	resolved func(resolve.Outcome)

	lock sync.Mutex
	// editions are the catalogs that count, as extensions have seen them last.
	editions map[string]edition
	// current is the version of Kubernetes, and asked when it was asked for.
	current string
	asked   time.Time
}

// making is a bundle that was rendered.
type making struct {
	bundle  rendered
	trouble *trouble
}

// newSupply keeps what it pulls in a folder, of bundles at most so many bytes, and trusts the CAs of
// another folder besides those of the system. Signals say when there is something new.
func newSupply(ctx context.Context, cached client.Reader, mapper meta.RESTMapper, s *Settings, wakes signals) (*supply, error) {
	contents, err := catalog.OpenStore(filepath.Join(s.CacheDir, "catalogs"))
	if err != nil {
		return nil, err
	}
	images, err := oci.OpenStore(filepath.Join(s.CacheDir, "bundles"), s.CacheSize)
	if err != nil {
		return nil, err
	}
	queue := oci.NewQueue(ctx, oci.QueueConfig{
		Jobs: pulls, PerHost: pullsPerHost, First: firstRetry, Most: lastRetry,
		Wake: func(who string) {
			if name, is := strings.CutPrefix(who, "catalog "); is {
				wakes.catalogs.RaiseFor(ctx, &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}})
				return
			}
			wakes.extensions.RaiseFor(ctx, &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: who}})
		},
	})
	registries := &oci.Client{Transport: oci.NewTransport(oci.TransportConfig{CADir: s.PullCADir})}
	if s.RegistriesConf != "" {
		if registries.Mirrors, err = oci.NewMirrors(s.RegistriesConf); err != nil {
			return nil, err
		}
	}
	if s.ImagePolicy != "" {
		if registries.Policy, err = oci.NewPolicy(s.ImagePolicy); err != nil {
			return nil, err
		}
	}
	return &supply{
		cache: cached, mapper: mapper, signals: wakes, mode: s.Catalogs, certificates: s.certificates(), editions: map[string]edition{},
		packages: parsedPackages{recent[*resolve.Package]{most: mostParsed}}, made: recent[making]{most: mostRendered},
		catalogs: &sources.Catalogs{
			Store: contents, Queue: queue, Client: registries, Folders: s.CatalogFolders,
			Servers: &http.Client{Transport: oci.NewTransport(oci.TransportConfig{CADir: s.CatalogdCADir, Patience: serverPatience})},
		},
		bundles: &sources.Bundles{Store: images, Queue: queue, Client: registries, Used: func(ctx context.Context) ([]string, error) { return usedImages(ctx, cached) }},
	}, nil
}

// usedImages are the bundles of revisions that are not archived.
func usedImages(ctx context.Context, cached client.Reader) ([]string, error) {
	list := &v1alpha1.RevisionList{}
	if err := cached.List(ctx, list, client.MatchingLabels{olmv1.LabelOwnerKind: "ClusterExtension"}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the revisions of ClusterExtensions: %w", err)
	}
	var used []string
	for i := range list.Items {
		if list.Items[i].Spec.LifecycleState != v1alpha1.LifecycleArchived {
			used = append(used, list.Items[i].Annotations[olmv1.AnnotationBundleReference])
		}
	}
	return used, nil
}

// Resolve implements resolver.
func (s *supply) Resolve(ctx context.Context, ce *olmv1.ClusterExtension, installed *resolve.Identity) (resolve.Answer, error) {
	own, err := s.own(ctx)
	if err != nil {
		return resolve.Answer{}, err
	}
	list := &olmv1.ClusterCatalogList{}
	if err := s.cache.List(ctx, list); err != nil {
		return resolve.Answer{}, fmt.Errorf("listing the ClusterCatalogs: %w", err)
	}
	request := requestOf(ce, installed)
	for i := range list.Items {
		if cc := &list.Items[i]; cc.DeletionTimestamp.IsZero() {
			request.Catalogs = append(request.Catalogs, s.known(cc, own, request.Package))
		}
	}
	answer := resolve.Resolve(request)
	if s.resolved != nil {
		s.resolved(answer.Outcome)
	}
	return answer, nil
}

// requestOf is what a ClusterExtension asks for, without the catalogs.
func requestOf(ce *olmv1.ClusterExtension, installed *resolve.Identity) resolve.Request {
	wants := ce.Spec.Source.Catalog
	return resolve.Request{
		Package: wants.PackageName, Version: wants.Version, Channels: wants.Channels, Selector: wants.Selector,
		SelfCertified: wants.UpgradeConstraintPolicy == olmv1.PolicySelfCertified, Installed: installed,
	}
}

// known is a catalog as far as it is on disk. It is kept current by its own front.
func (s *supply) known(of *olmv1.ClusterCatalog, own bool, pkg string) resolve.Catalog {
	snapshot := s.catalogs.Store.Get(of.Name)
	if counts(of) {
		if _, err := s.wanted(of, own); err != nil {
			snapshot.Err = err
		}
	}
	return s.packages.catalog(of, snapshot, pkg)
}

// Render implements bundles.
func (s *supply) Render(ctx context.Context, ce *olmv1.ClusterExtension, choice resolve.Choice, revisions []v1alpha1.Revision) (rendered, *trouble) {
	source := pinnedFor(ce, choice)
	view := s.bundles.Observe(sources.Bundle{Who: ce.Name, Image: choice.Image, Pinned: recordedImage(revisions, source), Content: source, Credentials: s.secrets.of(ce)})
	prefix := fmt.Sprintf("error for resolved bundle %q with version %q: ", choice.Name, choice.Version)
	switch {
	case !view.Ready && view.Err == nil:
		return rendered{next: view.Next}, &trouble{olmv1.ReasonRollingOut, fmt.Sprintf("bundle %s with version %s is being pulled", choice.Name, choice.Version)}
	case !view.Ready && view.Final:
		return rendered{}, &trouble{olmv1.ReasonBlocked, prefix + notPulled + view.Err.Error()}
	case !view.Ready:
		return rendered{next: view.Next}, &trouble{olmv1.ReasonRetrying, prefix + notPulled + view.Err.Error()}
	}
	version, err := s.kubernetes(ctx)
	if err != nil {
		return rendered{next: time.Now().Add(firstRetry)}, &trouble{olmv1.ReasonRetrying, prefix + err.Error()}
	}
	certificates := bundle.ChooseCertificates(recordedCertificates(revisions), s.certificates, s.defines(ctx, certificateDefinition), s.defines(ctx, clusterVersionDefinition))
	wanted := fmt.Sprint(ce.UID, ce.Generation, ce.Annotations[olmv1.AnnotationCustomResources], source, view.Pinned, choice.Name, certificates, version)
	if last, found := s.made.get(ce.Name, wanted); found {
		return s.again(last)
	}
	next := making{}
	next.bundle, next.trouble = s.make(ce, choice, view, environment{certificates, version})
	if next.trouble != nil {
		next.trouble.message = prefix + next.trouble.message
	} else {
		next.bundle.recorded[olmv1.AnnotationPinnedFor] = source
	}
	s.made.put(ce.Name, wanted, view.Entry.Size, next)
	return s.again(next)
}

// again has what was refused looked at again when the cluster may have a newer Kubernetes.
func (s *supply) again(is making) (rendered, *trouble) {
	if is.trouble != nil && is.trouble.reason == olmv1.ReasonBlocked && s.version != nil {
		is.bundle.next = s.asked.Add(versionKept)
	}
	return is.bundle, is.trouble
}

// environment is what a bundle is rendered to besides the ClusterExtension.
type environment struct {
	certificates bundle.Certificates
	// kubernetes is the version of the API server, empty when it is not asked for.
	kubernetes string
}

// make reads and renders a bundle.
func (s *supply) make(ce *olmv1.ClusterExtension, choice resolve.Choice, view sources.BundleView, in environment) (rendered, *trouble) {
	read, err := bundle.Read(bundle.Source{Files: os.DirFS(view.Entry.Folder), MediaType: view.Entry.Image.ConfigType, Labels: view.Entry.Image.Labels})
	if err != nil {
		return rendered{}, refusal(err)
	}
	target := bundle.Target{
		Extension: ce.Name, Package: packageName(ce.Name), PackageName: ce.Spec.Source.Catalog.PackageName, Version: choice.Version,
		Namespace: ce.Spec.Namespace, Certificates: in.certificates, KubeVersion: in.kubernetes, Scope: s.scope,
	}
	if ce.Spec.Config != nil && ce.Spec.Config.Inline != nil {
		target.Config = ce.Spec.Config.Inline.Raw
	}
	is, err := read.Render(target)
	if err != nil {
		return rendered{}, refusal(err)
	}
	keepUsedDefinitions(ce, is.Phases)
	recorded := map[string]string{}
	if read.HasWebhooks() {
		recorded[olmv1.AnnotationWebhookCertificates] = string(in.certificates)
	}
	return rendered{phases: is.Phases, image: view.Pinned, images: is.Images, properties: is.PropertiesJSON(), recorded: recorded, warnings: is.Warnings}, nil
}

// keepUsedDefinitions lets definitions go with their package only while no resource of theirs exists,
// unless the ClusterExtension asks for these to go, too.
func keepUsedDefinitions(ce *olmv1.ClusterExtension, phases []content.Phase) {
	if ce.Annotations[olmv1.AnnotationCustomResources] == "Delete" {
		return
	}
	for i := range phases {
		for j := range phases[i].Objects {
			if object := &phases[i].Objects[j]; object.Manifest.GetKind() == "CustomResourceDefinition" {
				object.Deletion = v1alpha1.ObjectDeleteUnused
			}
		}
	}
}

// refusal is the trouble of a bundle that cannot be rendered.
func refusal(err error) *trouble {
	if _, ok := errors.AsType[*bundle.ConfigError](err); ok {
		return &trouble{olmv1.ReasonInvalidConfiguration, err.Error()}
	}
	if _, ok := errors.AsType[*bundle.RefusedError](err); ok {
		return &trouble{olmv1.ReasonBlocked, err.Error()}
	}
	return &trouble{olmv1.ReasonRetrying, err.Error()}
}

// Forget implements bundles.
func (s *supply) Forget(name string) {
	s.bundles.Forget(name)
	s.made.forget(name)
}

// The definitions by which a cluster shows who issues certificates of webhooks.
const certificateDefinition, clusterVersionDefinition = "certificates.cert-manager.io", "clusterversions.config.openshift.io"

// defines says whether the cluster has a definition.
func (s *supply) defines(ctx context.Context, name string) bool {
	return s.cache.Get(ctx, client.ObjectKey{Name: name}, front.Definition()) == nil
}

// scope is where objects of a kind live.
func (s *supply) scope(kind schema.GroupVersionKind) plain.Scope {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err != nil:
		return plain.ScopeUnknown
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return plain.ScopeNamespaced
	default:
		return plain.ScopeCluster
	}
}

// earlier is the earlier of two times, of which the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
