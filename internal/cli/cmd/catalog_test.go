// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	imagetypes "github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-run/strata/internal/cli/view"
)

const (
	catalogsPath  = "/apis/olm.operatorframework.io/v1/clustercatalogs"
	catalogFolder = "testdata/catalog"
)

// TestCatalog_Golden searches, shows and validates a folder.
func TestCatalog_Golden(t *testing.T) {
	for name, args := range map[string][]string{
		"search":        {"search", "--from", catalogFolder},
		"versions":      {"search", "gitops", "-l", "--from", catalogFolder},
		"nothing":       {"search", "gitops", "elsewhere", "--from", catalogFolder},
		"show":          {"show", "argo", "--from", catalogFolder},
		"show_channel":  {"show", "argo", "--from", catalogFolder, "--channel", "alpha", "-o", "yaml"},
		"show_unusable": {"show", "broken", "--from", catalogFolder},
		"show_missing":  {"show", "nothing", "--from", catalogFolder},
		"upgrades":      {"show", "argo", "--from", catalogFolder, "--upgrade-from", "1.0.0"},
		"upgrades_gone": {"show", "argo", "--from", catalogFolder, "--upgrade-from", "1.1.7", "--channel", "stable"},
		"upgrades_none": {"show", "argo", "--from", catalogFolder, "--upgrade-from", "argo.v2.1.0"},
		"upgrades_bad":  {"show", "argo", "--from", catalogFolder, "--upgrade-from", "newest"},
		"validate":      {"validate", catalogFolder},
		"validate_json": {"validate", catalogFolder + "/argo", "--threshold", "warning", "-o", "json"},
		"no_folder":     {"validate", "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTerminal(t, nil).run(append([]string{"catalog"}, args...)...)
			golden(t, "catalog_"+name, fmt.Sprintf("%s\n-- stderr, exit code %d --\n%s", r.out, r.code, r.err))
		})
	}
}

// catalogImage is an image of the catalog in testdata.
func catalogImage(t *testing.T) v1.Image {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(catalogFolder, "argo", "catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	layer := &bytes.Buffer{}
	writer := tar.NewWriter(layer)
	if err := writer.WriteHeader(&tar.Header{Name: "configs/argo.yaml", Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, imagetypes.OCIManifestSchema1), static.NewLayer(layer.Bytes(), imagetypes.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	image, err = mutate.Config(image, v1.Config{Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// pushCatalog writes the image into a registry, and returns it by digest with a folder that has the
// registry's CA.
func pushCatalog(t *testing.T) (server *httptest.Server, pinned, authorities string) {
	t.Helper()
	server = httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	authorities = t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(authorities, "ca.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "https://") + "/catalog:v1")
	if err != nil {
		t.Fatal(err)
	}
	image := catalogImage(t)
	if err := remote.Write(reference, image, remote.WithTransport(server.Client().Transport), remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return server, reference.Context().String() + "@" + digest.String(), authorities
}

func clusterCatalog(name string, status map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"source": map[string]any{"type": "Image", "image": map[string]any{"ref": "example.org/" + name + ":latest"}}, "priority": 1},
		"status":   status,
	}
}

// TestCatalog_Cluster reads what catalogs of a cluster have from the image that the manager has read,
// from what catalogd serves behind the API server, and keeps an image for later commands.
func TestCatalog_Cluster(t *testing.T) {
	registries, pinned, authorities := pushCatalog(t)
	tm := newTerminal(t, nil)
	tm.home = t.TempDir()
	tm.run("catalog", "search").wants(t, CodeNotFound, "", "has no ClusterCatalog that is available")
	serving := []any{map[string]any{"type": "Serving", "status": "True", "reason": "Available"}, map[string]any{"type": "Progressing", "status": "True", "reason": "Succeeded"}}
	tm.server.put(catalogsPath, clusterCatalog("pulled", map[string]any{
		"conditions": serving, "lastUnpacked": ago(2 * 3600e9), "resolvedSource": map[string]any{"type": "Image", "image": map[string]any{"ref": pinned}},
	}))
	tm.server.put(catalogsPath, clusterCatalog("served", map[string]any{
		"conditions": serving, "urls": map[string]any{"base": "https://catalogd-service.olmv1-system.svc/catalogs/served"},
	}))
	tm.server.put(catalogsPath, clusterCatalog("waiting", map[string]any{
		"conditions": []any{map[string]any{"type": "Progressing", "status": "True", "reason": "Retrying", "message": "the registry does not answer"}},
		"urls":       map[string]any{"base": "https://catalogs.example.org/catalogs/waiting"},
	}))
	tm.server.logs = map[string]string{
		"/api/v1/namespaces/olmv1-system/services/https:catalogd-service:443/proxy/catalogs/served/api/v1/all?previous=false": `{"schema":"olm.package","name":"other","description":"Of catalogd"}`,
	}

	list := tm.run("catalog", "list")
	list.wants(t, CodeOK, "pulled    Serving", "")
	list.wants(t, CodeOK, "the registry does not answer", "")
	found := tm.run("catalog", "search", "--pull-ca-dir", authorities)
	found.wants(t, CodeOK, "served    other", "Note: not read: catalog waiting: ")
	found.wants(t, CodeOK, "pulled    argo      2.0.0", "catalogs.example.org is no Service of the cluster")
	tm.run("catalog", "show", "argo", "--catalog", "elsewhere").wants(t, CodeNotFound, "", "there are: pulled, served, waiting")
	tm.run("catalog", "search", "--catalog", "waiting").wants(t, CodeFalse, "", "its image can be read with --from docker://example.org/waiting:latest")

	registries.Close()
	tm.run("catalog", "show", "argo", "--catalog", "pulled", "-o", "name").wants(t, CodeOK, "pulled/argo\n", "")
	tm.run("__complete", "catalog", "show", "--catalog", "").wants(t, CodeOK, "served\tServing\n", "")
	tm.run("__complete", "catalog", "show", "a").wants(t, CodeOK, "argo\tpulled\n", "")
}

// TestCatalog_Layout reads an OCI image layout.
func TestCatalog_Layout(t *testing.T) {
	folder := t.TempDir()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := written.AppendImage(catalogImage(t), layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v1"})); err != nil {
		t.Fatal(err)
	}
	tm := newTerminal(t, nil)
	for _, from := range []string{"oci:" + folder, "oci:" + folder + ":v1"} {
		var doc view.CatalogPackages
		r := tm.run("catalog", "show", "argo", "--from", from, "-o", "json")
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil || len(doc.Packages) != 1 || len(doc.Packages[0].Versions) != 5 {
			t.Errorf("%s: %+v, %v\n%s", from, doc, err, r.err)
		}
	}
	tm.run("catalog", "validate", "oci:"+folder+":v2").wants(t, CodeTerminal, "", `it has no image with the tag "v2"`)
	tm.run("catalog", "validate", "oci:"+t.TempDir()).wants(t, CodeTerminal, "", "reading the OCI layout")
}
