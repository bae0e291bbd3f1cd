// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// operatorBundle is a bundle of OLM: a Deployment of an image, with rights and a definition.
func operatorBundle(version, image string) map[string]string {
	return map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: registry+v1, operators.operatorframework.io.bundle.package.v1: operator}\n",
		"manifests/crd.yaml":        strings.ReplaceAll(strings.ReplaceAll(widgets, "widget", "gadget"), "Widget", "Gadget"),
		"manifests/csv.yaml": fmt.Sprintf(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: operator.v%s}
spec:
  version: %s
  minKubeVersion: 1.20.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - {serviceAccountName: operator, rules: [{apiGroups: [extension.example.org], resources: [gadgets], verbs: [get, list, watch]}]}
      deployments:
      - name: operator
        spec:
          replicas: 1
          selector: {matchLabels: {app: operator}}
          template:
            metadata: {labels: {app: operator}}
            spec: {serviceAccountName: operator, containers: [{name: manager, image: "%s"}]}
`, version, version, image),
	}
}

// operators is a catalog of an operator in three versions, each of which replaces the one before. The
// pods of the third never start.
func operators(t *testing.T, server *httptest.Server) string {
	t.Helper()
	channel, bundles := []string{}, ""
	for version, image := range map[string]string{"1.0.0": "example.org/operator:1.0", "1.1.0": "example.org/operator:1.1", "1.2.0": "example.org/operator:does-not-exist"} {
		reference := pushImage(t, server, "operator:"+version, nil, operatorBundle(version, image))
		before := map[string]string{"1.1.0": `,"replaces":"operator.v1.0.0"`, "1.2.0": `,"replaces":"operator.v1.1.0"`}[version]
		channel = append(channel, `{"name":"operator.v`+version+`"`+before+`}`)
		bundles += `{"schema":"olm.bundle","package":"operator","name":"operator.v` + version + `","image":"` + reference +
			`","properties":[{"type":"olm.package","value":{"packageName":"operator","version":"` + version + `"}}]}` + "\n"
	}
	return pushImage(t, server, "operators:v1", map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}, map[string]string{
		"configs/catalog.json": `{"schema":"olm.package","name":"operator","defaultChannel":"stable"}
{"schema":"olm.channel","package":"operator","name":"stable","entries":[` + strings.Join(channel, ",") + `]}
` + bundles,
	})
}

// progress is the condition Progressing of a ClusterExtension as it is now, and which version is installed.
func progress(t *testing.T, ce *olmv1.ClusterExtension) (installed string, progressing metav1.Condition, err error) {
	t.Helper()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(ce), ce); err != nil {
		return "", progressing, err
	}
	if c := meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeProgressing); c != nil {
		progressing = *c
	}
	if ce.Status.Install != nil {
		installed = ce.Status.Install.Bundle.Version
	}
	return installed, progressing, nil
}

// asks has a ClusterExtension ask for a version.
func asks(t *testing.T, ce *olmv1.ClusterExtension, version string) {
	t.Helper()
	changed := ce.DeepCopy()
	changed.Spec.Source.Catalog.Version = version
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(ce)); err != nil {
		t.Fatal(err)
	}
}

// becomes waits until a version is installed, and nothing else is asked for.
func becomes(t *testing.T, ce *olmv1.ClusterExtension, version string) {
	t.Helper()
	last := ""
	defer func() { t.Logf("version %s: %s", version, last) }()
	planetest.Eventually(t, "version "+version+" is installed", func() (bool, error) {
		installed, progressing, err := progress(t, ce)
		last = installed + " " + progressing.Reason + ": " + progressing.Message
		return installed == version && progressing.Reason == olmv1.ReasonSucceeded && progressing.ObservedGeneration == ce.Generation, err
	})
}

// runs is the image of the operator, and how many of its pods are available.
func runs(t *testing.T) (image string, available int32) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "operators", Name: "operator"}, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Spec.Containers[0].Image, deployment.Status.AvailableReplicas
}

// startFront starts a manager that pulls from a registry.
func startFront(t *testing.T, server *httptest.Server) {
	t.Helper()
	authorities := t.TempDir()
	if err := setup.WriteCA(server, authorities); err != nil {
		t.Fatal(err)
	}
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+t.TempDir(), "--pull-ca-dir="+authorities)
	start(t, options)
}

// start runs a manager until the test ends.
func start(t *testing.T, options controller.Options) {
	t.Helper()
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
}

// createFrom makes a ClusterCatalog of an image, until the test ends.
func createFrom(t *testing.T, name, image string) {
	t.Helper()
	cc := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cc.Spec.Source = olmv1.CatalogSource{Type: "Image", Image: &olmv1.ImageSource{Ref: image}}
	if err := admin.Create(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), cc); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// TestUpgrade installs an operator, upgrades it along its channel, holds a version whose pods never
// start, rolls that back, and uninstalls it: its definition stays while a custom resource exists.
func TestUpgrade(t *testing.T) {
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	startFront(t, server)
	createFrom(t, "operators", operators(t, server))
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "operator"}}
	ce.Spec.Namespace = "operators"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{
		PackageName: "operator", Version: "1.0.0", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{olmv1.LabelCatalogName: "operators"}},
	}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the missing namespace is named", func() (bool, error) {
		_, progressing, err := progress(t, ce)
		if last := progressing.Message; last != "" && !strings.Contains(last, "namespace") {
			t.Log(last)
		}
		return progressing.Reason == olmv1.ReasonRetrying && strings.Contains(progressing.Message, "namespace operators does not exist"), err
	})
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operators"}}); err != nil {
		t.Fatal(err)
	}
	becomes(t, ce, "1.0.0")
	roles := &rbacv1.ClusterRoleBindingList{}
	if err := admin.List(t.Context(), roles, client.MatchingLabels{olmv1.LabelOwnerName: "operator"}); err != nil || len(roles.Items) != 1 {
		t.Errorf("the rights of the operator: %d bindings, %v", len(roles.Items), err)
	}
	asks(t, ce, "1.1.0")
	becomes(t, ce, "1.1.0")
	if image, available := runs(t); image != "example.org/operator:1.1" || available != 1 {
		t.Errorf("%d pods of %s run", available, image)
	}
	isHeld(t, ce)
	rollsBack(t, ce)
	uninstalls(t, ce)
}

// isHeld has a version rolled out whose pods never start: those before it keep running.
func isHeld(t *testing.T, ce *olmv1.ClusterExtension) {
	t.Helper()
	asks(t, ce, "1.2.0")
	planetest.Eventually(t, "the rollout waits for the Deployment", func() (bool, error) {
		installed, progressing, err := progress(t, ce)
		image, available := runs(t)
		return installed == "1.1.0" && progressing.Reason == olmv1.ReasonRollingOut && strings.Contains(progressing.Message, "Deployment operators/operator") &&
			image == "example.org/operator:does-not-exist" && available == 1 && meta.IsStatusConditionTrue(ce.Status.Conditions, olmv1.TypeInstalled), err
	})
	if len(ce.Status.ActiveRevisions) < 2 {
		t.Errorf("the active revisions are %v", ce.Status.ActiveRevisions)
	}
}

// rollsBack has the version before that rolled out again, which stays although the newer one is asked for.
func rollsBack(t *testing.T, ce *olmv1.ClusterExtension) {
	t.Helper()
	pkg := &v1alpha1.Package{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "operator"}, pkg); err != nil {
		t.Fatal(err)
	}
	changed := pkg.DeepCopy()
	changed.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: metav1.NewTime(time.Now()), Reason: "its pods never start"}
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(pkg)); err != nil {
		t.Fatal(err)
	}
	becomes(t, ce, "1.1.0")
	_, progressing, err := progress(t, ce)
	if err != nil || !strings.Contains(progressing.Message, "rollback") {
		t.Errorf("Progressing says %q, %v", progressing.Message, err)
	}
	if image, available := runs(t); image != "example.org/operator:1.1" || available != 1 {
		t.Errorf("after the rollback %d pods of %s run", available, image)
	}
}

// uninstalls deletes a ClusterExtension while a custom resource exists.
func uninstalls(t *testing.T, ce *olmv1.ClusterExtension) {
	t.Helper()
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(schema.GroupVersionKind{Group: "extension.example.org", Version: "v1", Kind: "Gadget"})
	gadget.SetName("mine")
	if err := admin.Create(t.Context(), gadget); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the extension is gone", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(ce), ce)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "operators", Name: "operator"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(gadget), gadget); err != nil {
		t.Errorf("the custom resource of a user is gone: %v", err)
	}
	planetest.Eventually(t, "an event says what was kept", func() (bool, error) {
		return hasEvent(t, ce, "CustomResourcesKept", "gadgets.extension.example.org, as 1 of kind Gadget exist")
	})
}
