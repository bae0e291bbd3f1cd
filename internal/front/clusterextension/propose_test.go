// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/oci"
)

// inquiry asks as the command line does, with a catalog of its own.
func inquiry(t *testing.T, l *supplied, s *Settings, blobs string) front.Inquiry {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "p.yaml"), []byte(blobs), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := catalog.ReadInto(t.Context(), t.TempDir(), catalog.Mounted{Root: folder, Path: folder})
	if err != nil {
		t.Fatal(err)
	}
	return front.Inquiry{
		Reader: l.API, Mapper: meta.NewDefaultRESTMapper(nil), Scratch: t.TempDir(),
		Version:    func(context.Context) (string, error) { return "", nil },
		Content:    func(context.Context, front.Catalog) (*catalog.Content, error) { return read, nil },
		Registries: &oci.Client{Transport: oci.NewTransport(oci.TransportConfig{CADir: s.PullCADir})},
	}
}

// TestPropose proposes what the passes of the front then publish, and writes nothing.
func TestPropose(t *testing.T) {
	i := newImages(t)
	bundled := i.push("p:v1", nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
	})
	settings := i.settings()
	l := newSupplied(t, settings)
	l.createCatalog(i.catalogOf("catalog:v1", bundled))
	l.create()
	ce := &olmv1.ClusterExtension{}
	l.Read("demo", ce)
	in := inquiry(t, l, settings, blobsOf(bundled))
	proposal, err := propose(t.Context(), in, ce)
	if err != nil || proposal.Package.Blocked != "" {
		t.Fatalf("%+v, %v", proposal.Resolution, err)
	}
	if b := proposal.Resolution.Bundle; b == nil || b.Name != "p.v1.0.0" || b.Catalog != "c" || !slices.Equal(b.Channels, []string{"stable"}) || !strings.Contains(b.Pinned, "/p@sha256:") {
		t.Errorf("the bundle is %+v", proposal.Resolution.Bundle)
	}
	packed, err := content.Pack(proposal.Package.Phases, proposal.Package.Probes)
	if err != nil {
		t.Fatal(err)
	}
	revisions := &v1alpha1.RevisionList{}
	if err := l.API.List(t.Context(), revisions); err != nil || len(revisions.Items) > 0 {
		t.Fatalf("%d revisions, %v", len(revisions.Items), err)
	}

	l.catalogRead()
	l.woken()
	l.pass()
	next(t, l.signals.extensions)
	l.pass()
	if err := l.API.List(t.Context(), revisions); err != nil || len(revisions.Items) != 1 {
		t.Fatalf("%d revisions, %v", len(revisions.Items), err)
	}
	if got, want := revisions.Items[0].Spec.ContentDigest, content.Identified(packed.Digest, proposal.Package.Origin.Identity); got != want {
		t.Errorf("the digest of the revision is %s, and %s was proposed", got, want)
	}
	if got, want := revisions.Items[0].Annotations[olmv1.AnnotationPinnedFor], proposal.Package.Annotations[olmv1.AnnotationPinnedFor]; got != want || want == "" {
		t.Errorf("it is pinned for %q, and %q was proposed", got, want)
	}
}

// TestPropose_LeftOut names the rules, without pulling an image where that is not asked for.
func TestPropose_LeftOut(t *testing.T) {
	i := newImages(t)
	settings := i.settings()
	l := newSupplied(t, settings)
	l.createCatalog("example.org/catalog:v1")
	l.create()
	ce := &olmv1.ClusterExtension{}
	l.Read("demo", ce)
	in := inquiry(t, l, settings, blobsOf("example.org/p:v1"))
	in.Registries = nil
	proposal, err := propose(t.Context(), in, ce)
	if is := proposal.Resolution; err != nil || is.Outcome != "Resolved" || is.Message != "" || is.Bundle.Version != "1.0.0" {
		t.Errorf("it is resolved as %+v, %v", is, err)
	}
	ce.Spec.Source.Catalog.Version = ">=2"
	proposal, err = propose(t.Context(), in, ce)
	if is := proposal.Resolution; err != nil || is.Outcome != "Retrying" || len(is.LeftOut) != 1 || is.LeftOut[0].Rule != "NotInRange" || is.LeftOut[0].Reason == "" || proposal.Package.Blocked == "" {
		t.Errorf("it is resolved as %+v, %v", is, err)
	}
	in.Content = func(context.Context, front.Catalog) (*catalog.Content, error) { return nil, os.ErrPermission }
	proposal, err = propose(t.Context(), in, ce)
	if is := proposal.Resolution; err != nil || !strings.Contains(is.Message, os.ErrPermission.Error()) {
		t.Errorf("without the catalog it is resolved as %+v, %v", is, err)
	}
	ce.Status.Install = &olmv1.InstallStatus{Bundle: olmv1.BundleMetadata{Name: "p.v0.9.0", Version: "0.9.0"}}
	proposal, err = propose(t.Context(), in, ce)
	if is := proposal.Resolution; err != nil || is.Outcome != "Blocked" || !strings.Contains(is.Message, "the manager imports it first") {
		t.Errorf("what OLM has installed is resolved as %+v, %v", is, err)
	}
}
