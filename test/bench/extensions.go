// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/test/setup"
)

const (
	// manyExtensions is the step of the large part that makes them.
	manyExtensions   = "installation of 1,000 ClusterExtensions of 5 objects"
	extensionsAtRest = "1,000 ClusterExtensions at rest"
	// bundlesOfPackage is how many bundles the catalog has of each package, and catalogPadding what
	// each of them has besides: 50 MB in all.
	bundlesOfPackage, catalogPadding = 10, 4800
)

// store is a registry that counts its requests.
type store struct {
	*httptest.Server

	asked atomic.Int64
}

func newStore() *store {
	s := &store{}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	images := registry.New(registry.Logger(quiet))
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		s.asked.Add(1)
		images.ServeHTTP(answer, request)
	}))
	s.Config.ErrorLog = quiet // clients of a registry on this machine try HTTP, too
	s.StartTLS()
	return s
}

// measureExtensions installs many ClusterExtensions from one catalog, changes the catalog for one of
// them, and restarts the manager over them.
func (b *bench) measureExtensions(ctx context.Context) error {
	images := newStore()
	defer images.Close()
	cache, authorities := filepath.Join(b.work, "cache"), filepath.Join(b.work, "authorities")
	if err := errors.Join(os.Mkdir(cache, 0o700), os.Mkdir(authorities, 0o700), setup.WriteCA(images.Server, authorities)); err != nil {
		return err
	}
	// A machine that is busy with everything at once may renew no lease in time.
	b.flags = []string{"--leader-elect=false", "--clusterextensions=on", "--catalogs=own", "--olm-namespaces=elsewhere", "--cache-dir=" + cache, "--pull-ca-dir=" + authorities}
	if err := b.quiet(ctx, stepLimit); err != nil {
		return err
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	for i := range namespaces {
		if err := b.newNamespace(ctx, scaleNamespace(i)); err != nil {
			return err
		}
	}
	catalog, err := b.pushAll(ctx, images)
	if err != nil {
		return err
	}
	if err := b.quiet(ctx, scaleLimit); err != nil {
		return err
	}
	if err := b.installMany(ctx, images, catalog); err != nil {
		return err
	}
	since := time.Now()
	for _, s := range []step{
		{extensionsAtRest, b.rest, nil},
		{"catalog with a new bundle for 1 of 1,000 ClusterExtensions", b.renewOne(images, catalog), map[string]func(counts) int{"object writes": writes, "status patches": statuses, "object reads": reads}},
	} {
		before := images.asked.Load()
		if err := b.take(ctx, s); err != nil {
			return err
		}
		b.figures[s.name+"/registry requests"] = float64(images.asked.Load() - before)
		if s.name == extensionsAtRest {
			if err := b.countAtRest(since); err != nil {
				return err
			}
		}
	}
	before := images.asked.Load()
	const restarted = "restart with 1,000 ClusterExtensions"
	if err := b.restartMany(ctx, restarted, true); err != nil {
		return err
	}
	b.figures[restarted+"/registry requests"] = float64(images.asked.Load() - before)
	return nil
}

// countAtRest counts the requests since a time. Watches end after some minutes and begin anew.
func (b *bench) countAtRest(since time.Time) error {
	events, err := b.requestsSince(since, managerUser)
	sent := slices.DeleteFunc(events, func(e localplane.AuditEvent) bool { return !isOnce(e) || e.Verb == "watch" })
	b.figures[extensionsAtRest+"/requests in 30 s"] = float64(len(sent))
	return err
}

// pushAll makes a bundle of each package, and the catalog of all, which it returns.
func (b *bench) pushAll(ctx context.Context, images *store) (string, error) {
	b.say("making %d bundles and a catalog", b.packages)
	references := make([]string, b.packages)
	err := b.each(ctx, func(_ context.Context, i int) (err error) {
		references[i], err = pushBundle(images, i, "v1")
		return err
	})
	if err != nil {
		return "", err
	}
	return pushCatalog(images, "v1", func(of int) (string, []string) {
		return references[of], versionsUpTo(bundlesOfPackage)
	}, b.packages)
}

func pushBundle(images *store, of int, tag string) (string, error) {
	name := packageOf(of)
	documents := &strings.Builder{}
	for _, m := range small(scaleNamespace(of), name) {
		if m.name != name+"-0" {
			continue // one of each kind is enough: what objects cost is measured with packages
		}
		if tag != "v1" && m.kind == "ConfigMap" {
			m.content["data"] = fields{"version": tag}
		}
		raw, err := json.Marshal(m.content)
		if err != nil {
			return "", fmt.Errorf("encoding %s %s: %w", m.kind, m.name, err)
		}
		fmt.Fprintf(documents, "%s\n---\n", raw)
	}
	return setup.PushImage(images.Server, name+":"+tag, nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/all.yaml":        documents.String(),
	})
}

func packageOf(i int) string { return fmt.Sprintf("scale-%d", i) }

// versionsUpTo are the versions of a package, the newest last.
func versionsUpTo(most int) []string {
	var versions []string
	for minor := range most {
		versions = append(versions, fmt.Sprintf("1.%d.0", minor))
	}
	return versions
}

// pushCatalog makes a catalog of packages, each with the image of its newest bundle and the versions.
func pushCatalog(images *store, tag string, of func(i int) (string, []string), packages int) (string, error) {
	padding := strings.Repeat("text ", catalogPadding/5)
	blobs := &strings.Builder{}
	for i := range packages {
		name := packageOf(i)
		image, versions := of(i)
		fmt.Fprintf(blobs, `{"schema":"olm.package","name":%q,"defaultChannel":"stable"}`+"\n", name)
		var entries []string
		for v, version := range versions {
			entry := fmt.Sprintf(`{"name":"%s.v%s"}`, name, version)
			if v > 0 {
				entry = fmt.Sprintf(`{"name":"%s.v%s","replaces":"%s.v%s"}`, name, version, name, versions[v-1])
			}
			entries = append(entries, entry)
			fmt.Fprintf(blobs, `{"schema":"olm.bundle","package":%q,"name":"%s.v%s","image":%q,"properties":[{"type":"olm.package","value":{"packageName":%q,"version":%q}},{"type":"olm.csv.metadata","value":{"description":%q}}]}`+"\n",
				name, name, version, image, name, version, padding)
		}
		fmt.Fprintf(blobs, `{"schema":"olm.channel","package":%q,"name":"stable","entries":[%s]}`+"\n", name, strings.Join(entries, ","))
	}
	return setup.PushImage(images.Server, "catalog:"+tag, map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		map[string]string{"configs/catalog.json": blobs.String()})
}

// installMany makes a catalog and the ClusterExtensions, and waits until they are installed.
func (b *bench) installMany(ctx context.Context, images *store, catalog string) error {
	b.say("installing %d ClusterExtensions", b.packages)
	began, before := time.Now(), images.asked.Load()
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	cc.Spec.Source = olmv1.CatalogSource{Type: olmv1.SourceTypeImage, Image: &olmv1.ImageSource{Ref: catalog}}
	if err := b.Admin.Create(ctx, cc); err != nil {
		return fmt.Errorf("creating a ClusterCatalog: %w", err)
	}
	err := b.each(ctx, func(ctx context.Context, i int) error {
		ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: packageOf(i)}}
		ce.Spec.Namespace = scaleNamespace(i)
		ce.Spec.Source = olmv1.SourceConfig{SourceType: olmv1.SourceTypeCatalog, Catalog: &olmv1.CatalogFilter{PackageName: packageOf(i)}}
		if err := b.Admin.Create(ctx, ce); err != nil {
			return fmt.Errorf("creating ClusterExtension %s: %w", ce.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.awaitInstalled(ctx, func(int) string { return "1.9.0" }); err != nil {
		return err
	}
	b.figures[manyExtensions+"/seconds"] = time.Since(began).Seconds()
	if err := b.quiet(ctx, scaleLimit); err != nil {
		return err
	}
	b.figures[manyExtensions+"/registry requests"] = float64(images.asked.Load() - before)
	s := step{name: manyExtensions, figures: map[string]func(counts) int{"object writes": writes, "status patches": statuses, "object reads": reads, "requests": all}}
	if err := b.record(s, began, managerUser); err != nil {
		return err
	}
	return b.recordMemory(ctx, manyExtensions, true)
}

// awaitInstalled waits until each ClusterExtension has its version and wants no other.
func (b *bench) awaitInstalled(ctx context.Context, version func(i int) string) error {
	want := map[string]string{}
	for i := range b.packages {
		want[packageOf(i)] = version(i)
	}
	return await(ctx, "the ClusterExtensions to be installed", scaleLimit, 2*time.Second, func(ctx context.Context) (bool, error) {
		list := &olmv1.ClusterExtensionList{}
		if err := b.Admin.List(ctx, list); err != nil {
			return false, err
		}
		done, last := 0, ""
		for i := range list.Items {
			ce := &list.Items[i]
			doing := meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeProgressing)
			switch {
			case ce.Status.Install != nil && ce.Status.Install.Bundle.Version == want[ce.Name] && doing != nil && doing.Reason == olmv1.ReasonSucceeded:
				done++
			case doing != nil:
				last = doing.Message
			}
		}
		return done == b.packages, errors.Join(b.process.isRunning(), fmt.Errorf("%d of %d are; one says %q", done, b.packages, last))
	})
}

// renewOne has the catalog name an image with a further bundle of one package.
func (b *bench) renewOne(images *store, catalog string) func(context.Context) error {
	return func(ctx context.Context) error {
		newest, err := pushBundle(images, 0, "v2")
		if err != nil {
			return err
		}
		host, _, _ := strings.Cut(catalog, "/")
		renewed, err := pushCatalog(images, "v2", func(of int) (string, []string) {
			if of == 0 {
				return newest, versionsUpTo(bundlesOfPackage + 1)
			}
			return fmt.Sprintf("%s/%s:v1", host, packageOf(of)), versionsUpTo(bundlesOfPackage)
		}, b.packages)
		if err != nil {
			return err
		}
		cc := &olmv1.ClusterCatalog{}
		if err := b.get(ctx, "", "all", cc); err != nil {
			return err
		}
		cc.Spec.Source.Image.Ref = renewed
		if err := b.Admin.Update(ctx, cc); err != nil {
			return fmt.Errorf("changing the ClusterCatalog: %w", err)
		}
		return b.awaitInstalled(ctx, func(i int) string {
			if i == 0 {
				return "1.10.0"
			}
			return "1.9.0"
		})
	}
}
