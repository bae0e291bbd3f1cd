// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/helmimport"
)

// secretsByName are Secrets that a row alters.
type secretsByName map[string]*corev1.Secret

const (
	first = "sh.helm.release.v1.demo.v1"
	part1 = first + "-1"
)

func of(version int, status string) written {
	return written{version: version, status: status, manifest: settings, labels: complete}
}

// rows are releases, and which becomes revision 1 or why none does.
var rows = []struct {
	name     string
	versions []written
	alter    func(secretsByName)
	want     string
}{
	{name: "plain", versions: []written{of(1, "deployed")}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "two parts", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 2}}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "eleven parts", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 11}}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "twelve parts", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 12}}, want: "Secret olmv1-system/" + first + " names 11 further parts"},
	{name: "newest of two", versions: []written{of(1, "superseded"), of(2, "deployed")}, want: "version 2: p.v1.0.0 1.0.0"},
	{name: "two deployed", versions: []written{of(1, "deployed"), of(2, "deployed")}, want: "version 2: p.v1.0.0 1.0.0"},
	{name: "ten, compared as numbers", versions: []written{of(9, "deployed"), of(10, "deployed")}, want: "version 10: p.v1.0.0 1.0.0"},
	{name: "failed upgrade", versions: []written{of(1, "deployed"), of(2, "failed")}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "several failed upgrades", versions: []written{of(1, "superseded"), of(2, "deployed"), of(3, "failed"), of(4, "failed")}, want: "version 2: p.v1.0.0 1.0.0"},
	{name: "pending upgrade", versions: []written{of(1, "deployed"), of(2, "pending-upgrade")}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "pending rollback", versions: []written{of(1, "deployed"), of(2, "pending-rollback")}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "newer superseded", versions: []written{of(1, "deployed"), of(2, "superseded")}, want: "version 1: p.v1.0.0 1.0.0"},
	{name: "none", want: "nothing"},
	{name: "failed first installation", versions: []written{of(1, "failed")}, want: "nothing"},
	{name: "pending first installation", versions: []written{of(1, "pending-install")}, want: "nothing"},
	{name: "only superseded", versions: []written{of(1, "superseded")}, want: "nothing"},
	{name: "uninstalling", versions: []written{of(1, "uninstalling")}, want: "nothing"},
	{name: "uninstalled", versions: []written{of(1, "uninstalled")}, want: "nothing"},
	{name: "uninstalled after it was deployed", versions: []written{of(1, "deployed"), of(2, "uninstalled")}, want: "nothing"},
	{name: "of a ClusterExtension that has gone", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, uid: "another"}}, want: "nothing"},
	{name: "of another owner", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Labels["owner"] = "helm" }, want: "nothing"},
	{name: "another release name", versions: []written{{version: 1, status: "deployed", name: "other", manifest: settings, labels: complete}}, want: `Secret olmv1-system/` + first + ` has version 1 of release "other", not version 1 of demo`},
	{name: "another version", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Labels["version"] = "2" }, want: `has version 1 of release "demo", not version 2 of demo`},
	{name: "version is no number", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Labels["version"] = "one" }, want: "Secret olmv1-system/" + first + " has the label version=\"one\""},
	{name: "label and content differ", versions: []written{{version: 1, status: "deployed", inside: "failed", manifest: settings, labels: complete}}, want: `is labelled deployed, and contains a release that is "failed"`},
	{name: "part is missing", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 3}}, alter: func(s secretsByName) { delete(s, part1) }, want: "Secret olmv1-system/" + part1 + " is missing, which has a part of the release in Secret olmv1-system/" + first},
	{name: "part is empty", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 3}}, alter: func(s secretsByName) { s[part1].Data = nil }, want: "Secret olmv1-system/" + part1 + " has no data.chunk"},
	{name: "part of another type", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 3}}, alter: func(s secretsByName) { s[part1].Type = "Opaque" }, want: "Secret olmv1-system/" + part1 + ` is of type "Opaque"`},
	{name: "parts in the wrong order", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 3}}, alter: func(s secretsByName) {
		s[first].Data[extraKey] = []byte(`["` + first + `-2","` + part1 + `"]`)
	}, want: "no whole gzip"},
	{name: "index lacks a part", versions: []written{{version: 1, status: "deployed", manifest: settings, labels: complete, parts: 3}}, alter: func(s secretsByName) {
		s[first].Data[extraKey] = []byte(`["` + part1 + `"]`)
	}, want: "no whole gzip"},
	{name: "list of parts is no list", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Data[extraKey] = []byte("x") }, want: "has no list of names in data.extraChunks"},
	{name: "not gzip", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Data[chunkKey] = []byte("{}") }, want: "its parts are no gzip"},
	{name: "broken gzip", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) {
		data := s[first].Data[chunkKey]
		data[len(data)-6] ^= 0xff
	}, want: "no whole gzip"},
	{name: "index of another type", versions: []written{of(1, "deployed")}, alter: func(s secretsByName) { s[first].Type = "helm.sh/release.v1" }, want: `is of type "helm.sh/release.v1"`},
	{name: "broken, but not the one that counts", versions: []written{of(1, "superseded"), of(2, "deployed")}, alter: func(s secretsByName) { s[first].Data = nil }, want: "version 2: p.v1.0.0 1.0.0"},
	{name: "older labels, known by the status", versions: []written{{version: 1, status: "deployed", manifest: settings}}, want: "version 1: p.v0.9.0 0.9.0"},
	{name: "manifest is YAML", versions: []written{{version: 1, status: "deployed", manifest: "kind: ConfigMap\n", labels: complete}}, want: "has a manifest whose line 1 is no object as JSON"},
	{name: "manifest is empty", versions: []written{{version: 1, status: "deployed", labels: complete}}, want: "has a manifest without objects"},
	{name: "object stands there twice", versions: []written{{version: 1, status: "deployed", manifest: settings + settings, labels: complete}}, want: "has a manifest that cannot be applied"},
}

func TestReleases(t *testing.T) {
	if len(rows) < 30 {
		t.Errorf("there are %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			kept := secretsByName{}
			for _, w := range row.versions {
				for _, secret := range w.secrets(t) {
					kept[secret.Name] = secret
				}
			}
			if row.alter != nil {
				row.alter(kept)
			}
			before := fmt.Sprint(kept)
			if got := imported(t, kept); got != row.want && (row.want == "nothing" || !strings.Contains(got, row.want)) {
				t.Errorf("got %q, want %q", got, row.want)
			} else if strings.Contains(got, "cannot be imported") && !strings.Contains(got, "restore the Secret") {
				t.Errorf("there is no remedy: %q", got)
			}
			if after := fmt.Sprint(kept); after != before {
				t.Error("the Secrets were altered")
			}
		})
	}
}

// imported says what becomes of the Secrets.
func imported(t *testing.T, kept secretsByName) string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := fake.NewClientBuilder().WithScheme(scheme)
	for secret := range maps.Values(kept) {
		server.WithObjects(secret.DeepCopy())
	}
	i := &Importer{Live: server.Build(), Namespaces: []string{"elsewhere", "olmv1-system"}, Defines: func(context.Context, string) bool { return false }}
	ce := extension()
	release, found, err := i.release(t.Context(), ce)
	if err != nil {
		return err.Error()
	}
	if !found {
		return "nothing"
	}
	from, err := release.installed()
	if err != nil {
		return err.Error()
	}
	is, err := convert(from, ce, target(ce), map[helmimport.Scaled]string{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("version %d: %s %s", release.Version, is.Bundle.Name, is.Bundle.Version)
}

func extension() *olmv1.ClusterExtension {
	ce := &olmv1.ClusterExtension{}
	ce.Name, ce.UID = "demo", uid
	ce.Status.Install = &olmv1.InstallStatus{Bundle: olmv1.BundleMetadata{Name: "p.v0.9.0", Version: "0.9.0"}}
	return ce
}

func target(ce *olmv1.ClusterExtension) bundle.Target {
	return bundle.Target{Extension: ce.Name, Package: ce.Name, PackageName: "p", Namespace: "app"}
}

// TestInflate_Limit: a release may not inflate to more than the limit, however large a field is.
func TestInflate_Limit(t *testing.T) {
	w := of(1, "deployed")
	w.manifest = strings.Repeat(settings, 2000)
	packed := w.secrets(t)[0].Data[chunkKey]
	if _, err := inflate(bytes.NewReader(packed), 10_000); err == nil || err.Error() != "inflates to more than 10000 bytes" {
		t.Errorf("the error is %v", err)
	}
	if is, err := inflate(bytes.NewReader(packed), 1<<20); err != nil || is.Manifest != w.manifest {
		t.Errorf("the manifest differs, or the error is %v", err)
	}
}
