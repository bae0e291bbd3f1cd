// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// credentials are those of the registry.
var credentials = &authn.Basic{Username: "ann", Password: "correct-horse"}

// asksForPassword answers only who has the credentials.
func asksForPassword(next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != credentials.Username || password != credentials.Password {
			answer.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			answer.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(answer, request)
	})
}

// pushImage writes an image with files into a registry, and returns its reference.
func pushImage(t *testing.T, server *httptest.Server, repository string, labels, files map[string]string) string {
	t.Helper()
	reference, err := setup.PushImage(server, repository, labels, files, remote.WithAuth(credentials), remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.extension.example.org}
spec:
  group: extension.example.org
  scope: Cluster
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// TestInstall installs a bundle from a registry with a password, and deletes it again: its definition
// stays while a custom resource exists.
func TestInstall(t *testing.T) {
	server := httptest.NewTLSServer(asksForPassword(registry.New()))
	t.Cleanup(server.Close)
	authorities := t.TempDir()
	if err := setup.WriteCA(server, authorities); err != nil {
		t.Fatal(err)
	}
	bundle := pushImage(t, server, "demo:v1", nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/crd.yaml":        widgets,
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo-settings}\ndata: {a: b}\n",
	})
	from := pushImage(t, server, "catalog:v1", map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}, map[string]string{
		"configs/catalog.json": `{"schema":"olm.package","name":"demo","defaultChannel":"stable"}
{"schema":"olm.channel","package":"demo","name":"stable","entries":[{"name":"demo.v1.0.0"}]}
{"schema":"olm.bundle","package":"demo","name":"demo.v1.0.0","image":"` + bundle + `","properties":[{"type":"olm.package","value":{"packageName":"demo","version":"1.0.0"}}]}`,
	})
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+t.TempDir(), "--pull-ca-dir="+authorities, "--pull-secret=default/registry")
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "registry"}, Type: corev1.SecretTypeDockerConfigJson, StringData: map[string]string{
		corev1.DockerConfigJsonKey: `{"auths":{"` + strings.TrimPrefix(server.URL, "https://") + `":{"username":"ann","password":"correct-horse"}}}`,
	}}
	if err := admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	cc.Spec.Source = olmv1.CatalogSource{Type: "Image", Image: &olmv1.ImageSource{Ref: from}}
	if err := admin.Create(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the catalog is served", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(cc), cc)
		return meta.IsStatusConditionTrue(cc.Status.Conditions, olmv1.TypeServing) && cc.Status.ResolvedSource != nil &&
			strings.Contains(cc.Status.ResolvedSource.Image.Ref, "/catalog@sha256:") && cc.Status.LastUnpacked != nil, err
	})
	ce := extensionNamed(t, "installed")
	planetest.Eventually(t, "the extension is installed", func() (bool, error) {
		_, err := isTouched(t, ce)
		c := meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeProgressing)
		return ce.Status.Install != nil && ce.Status.Install.Bundle.Version == "1.0.0" && c != nil && c.Reason == olmv1.ReasonSucceeded &&
			meta.IsStatusConditionTrue(ce.Status.Conditions, olmv1.TypeInstalled) && meta.IsStatusConditionTrue(ce.Status.Conditions, olmv1.TypeAvailable), err
	})

	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "extension.example.org", Version: "v1", Kind: "Widget"})
	widget.SetName("mine")
	if err := admin.Create(t.Context(), widget); err != nil {
		t.Fatal(err)
	}
	cc.Spec.AvailabilityMode = olmv1.AvailabilityModeUnavailable
	if err := admin.Update(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the catalog is unavailable", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(cc), cc)
		c := meta.FindStatusCondition(cc.Status.Conditions, olmv1.TypeServing)
		return c != nil && c.Reason == olmv1.ReasonUserSpecifiedUnavailable && cc.Status.ResolvedSource == nil, err
	})
	if err := admin.Delete(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the extension is gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(ce), ce)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	settings := &unstructured.Unstructured{}
	settings.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-settings"}, settings); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap is still there: %v", err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
		t.Errorf("the custom resource of a user is gone: %v", err)
	}
}
