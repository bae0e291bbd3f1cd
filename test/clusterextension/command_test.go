// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// user runs strata on the test's cluster.
type user struct{ kubeconfig, home, registries string }

// newUser is a user who trusts a registry.
func newUser(t *testing.T, server *httptest.Server) user {
	t.Helper()
	u := user{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), home: t.TempDir(), registries: t.TempDir()}
	if err := cluster.WriteKubeconfig(u.kubeconfig, "ann", "system:masters"); err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(u.registries, "ca.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

// strata runs a command, and wants an exit code.
func (u user) strata(t *testing.T, code cmd.Code, args ...string) string {
	t.Helper()
	var out, complaint bytes.Buffer
	got := cmd.Run(t.Context(), cmd.Config{
		Args: append([]string{"strata", "--kubeconfig", u.kubeconfig}, args...), In: strings.NewReader(""), Out: &out, Err: &complaint,
		Getenv: func(name string) string { return map[string]string{"HOME": u.home}[name] },
	})
	if got != code {
		t.Errorf("strata %s ends with %d, not %d\n%s\n%s", strings.Join(args, " "), got, code, out.String(), complaint.String())
	}
	return out.String()
}

// plan is the document of a plan.
func (u user) plan(t *testing.T, code cmd.Code, args ...string) view.ExtensionPlan {
	t.Helper()
	var doc view.ExtensionPlan
	out := u.strata(t, code, append([]string{"extension", "plan", "--pull-ca-dir", u.registries, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return doc
}

// planned is the manifest of an extension that asks for a version.
func planned(t *testing.T, version string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "extension.yaml")
	manifest := fmt.Sprintf(`apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: planned}
spec:
  namespace: planned
  source: {sourceType: Catalog, catalog: {packageName: operator, version: %q, selector: {matchLabels: {olm.operatorframework.io/metadata.name: offered}}}}
`, version)
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCommand_Plan plans an extension that is not created yet, creates it, and plans its upgrade: what
// happens then is what was planned.
func TestCommand_Plan(t *testing.T) {
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	startFront(t, server)
	createFrom(t, "offered", operators(t, server))
	t.Cleanup(func() {
		// Other tests take every catalog. The context of this one is done by now.
		if err := admin.Delete(context.Background(), &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "offered"}}); err != nil {
			t.Error(err)
		}
	})
	u := newUser(t, server)
	planetest.Eventually(t, "the catalog is served", func() (bool, error) {
		return strings.Contains(u.strata(t, cmd.CodeOK, "catalog", "list"), "offered   Serving"), nil
	})
	if found := u.strata(t, cmd.CodeOK, "catalog", "show", "operator", "--catalog", "offered", "--pull-ca-dir", u.registries, "--upgrade-from", "1.0.0"); !strings.Contains(found, "1.0.0 → 1.1.0 → 1.2.0") {
		t.Error(found)
	}
	first := isPlanned(t, u)
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "planned"}}
	ce.Spec.Namespace = "planned"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{
		PackageName: "operator", Version: "1.0.0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{olmv1.LabelCatalogName: "offered"}},
	}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	becomes(t, ce, "1.0.0")
	revision := &v1alpha1.Revision{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: v1alpha1.RevisionName("planned", first.Revision)}, revision); err != nil || revision.Spec.ContentDigest != first.Digest {
		t.Errorf("revision %d has the digest %s, and %s was planned: %v", first.Revision, revision.Spec.ContentDigest, first.Digest, err)
	}
	if doc := u.plan(t, cmd.CodeOK, "planned", "--exit-code"); doc.Plan == nil || doc.Plan.Need != "None" || len(doc.Plan.Objects) > 0 {
		t.Errorf("planned again: %+v", doc.Plan)
	}
	asks(t, ce, "<=1.1.0")
	becomes(t, ce, "1.1.0")
	isUpgrade(t, u)
	u.strata(t, cmd.CodeNotFound, "extension", "plan", "elsewhere")
	isExplained(t, u)
	isDeleted(t, ce)
}

// isPlanned plans what is not created yet: first its namespace is missing.
func isPlanned(t *testing.T, u user) view.Plan {
	t.Helper()
	file := planned(t, "1.0.0")
	if doc := u.plan(t, cmd.CodeTerminal, "-f", file); doc.Plan != nil || !strings.Contains(doc.Blocked, "namespace planned does not exist") {
		t.Errorf("without its namespace: %+v", doc)
	}
	ensureNamespace(t, "planned")
	doc := u.plan(t, cmd.CodeOK, "-f", file)
	if b := doc.Resolution.Bundle; b == nil || b.Name != "operator.v1.0.0" || b.Catalog != "offered" || !strings.Contains(b.Pinned, "@sha256:") || b.Channels[0] != "stable" {
		t.Fatalf("the resolution is %+v", doc.Resolution)
	}
	if doc.Plan == nil || !doc.Plan.NewPackage || doc.Plan.Count(v1alpha1.PlanCreate) == 0 || doc.Plan.RightsOf == "" {
		t.Fatalf("the plan is %+v", doc.Plan)
	}
	if l := doc.Resolution.LeftOut; len(l) != 2 || l[0].Rule != "NotInRange" || l[0].Name != "operator.v1.2.0" {
		t.Errorf("left out are %+v", doc.Resolution.LeftOut)
	}
	return *doc.Plan
}

// isUpgrade explains version 1.1.0, and plans the one after.
func isUpgrade(t *testing.T, u user) {
	t.Helper()
	if text := u.strata(t, cmd.CodeOK, "explain", "planned"); !strings.Contains(text, "operator.v1.1.0 of catalog offered, channel stable") || !strings.Contains(text, "operator.v1.2.0 of offered: NotInRange") {
		t.Error(text)
	}
	file := planned(t, ">1.1.0")
	doc := u.plan(t, cmd.CodeFalse, "-f", file, "--exit-code")
	if b := doc.Resolution.Bundle; b == nil || b.Edge != `replaces operator.v1.1.0 in channel "stable"` {
		t.Fatalf("the upgrade is %+v", doc.Resolution)
	}
	if doc.Plan.FromRevision != 2 || doc.Plan.Revision != 3 || doc.Plan.Count(v1alpha1.PlanUpdate) == 0 {
		t.Errorf("the upgrade is %+v", doc.Plan)
	}
	if text := u.strata(t, cmd.CodeOK, "extension", "plan", "-f", file, "--pull-ca-dir", u.registries); !strings.Contains(text, "ClusterExtension/planned: operator 1.1.0 → 1.2.0") {
		t.Error(text)
	}
}

// isExplained explains an extension that no bundle is found for, and that has no package therefore.
func isExplained(t *testing.T, u user) {
	t.Helper()
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "unresolved"}}
	ce.Spec.Namespace = "planned"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{
		PackageName: "operator", Version: ">9", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{olmv1.LabelCatalogName: "offered"}},
	}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	text := u.strata(t, cmd.CodeOK, "explain", "unresolved", "--pull-ca-dir", u.registries)
	for _, want := range []string{"operator >9", "operator.v1.2.0 of offered: NotInRange", "strata extension plan unresolved"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not explained:\n%s", want, text)
		}
	}
	u.strata(t, cmd.CodeNotFound, "explain", "elsewhere")
	isDeleted(t, ce)
}

// isDeleted deletes an extension, and waits until it is gone.
func isDeleted(t *testing.T, ce *olmv1.ClusterExtension) {
	t.Helper()
	if err := admin.Delete(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the extension is gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(ce), ce)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
