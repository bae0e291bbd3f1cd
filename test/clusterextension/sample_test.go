// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/txtar"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// sampleName is that of the extension of the proposal's sample, and of its namespace.
const sampleName = "clusterextension-h8284vg7"

// samples is a catalog with the bundle of the proposal's sample: in version 1.0.0 its pod never starts.
func samples(t *testing.T, server *httptest.Server) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "internal", "front", "clusterextension", "bundle", "testdata", "cases", "seed.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	text := `{"schema":"olm.package","name":"test","defaultChannel":"stable"}
{"schema":"olm.channel","package":"test","name":"stable","entries":[{"name":"testoperator.v1.0.0"},{"name":"testoperator.v1.0.1","replaces":"testoperator.v1.0.0"}]}
`
	for version, image := range map[string]string{"1.0.0": "busybox:does-not-exist", "1.0.1": "busybox:1.36"} {
		files := map[string]string{}
		for _, file := range archive.Files {
			if name, is := strings.CutPrefix(file.Name, "bundle/"); is {
				files[name] = strings.NewReplacer("busybox:1.36", image, "testoperator.v1.0.0", "testoperator.v"+version).Replace(string(file.Data))
			}
		}
		text += `{"schema":"olm.bundle","package":"test","name":"testoperator.v` + version + `","image":"` + pushImage(t, server, "test:"+version, nil, files) +
			`","properties":[{"type":"olm.package","value":{"packageName":"test","version":"` + version + `"}}]}` + "\n"
	}
	return pushImage(t, server, "samples:v1", map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}, map[string]string{"configs/catalog.json": text})
}

// sample makes a ClusterExtension of the sample in a namespace of its name.
func sample(t *testing.T, name, version string) *olmv1.ClusterExtension {
	t.Helper()
	ensureNamespace(t, name)
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ce.Spec.Namespace = name
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "test", Version: version, UpgradeConstraintPolicy: olmv1.PolicySelfCertified}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	return ce
}

// TestSample rolls out the sample of the proposal in its phases: a pod that does not start is named, and
// another version leaves that behind. Of two extensions of one package the second waits until the first
// is gone, and one that is deleted in the middle of a rollout leaves nothing.
func TestSample(t *testing.T) {
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	startFront(t, server)
	createFrom(t, "samples", samples(t, server))
	t.Cleanup(func() { goes(t, &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "samples"}}) })
	ce := sample(t, sampleName, "1.0.0")
	planetest.Eventually(t, "the Deployment that hangs is named", func() (bool, error) {
		_, progressing, err := progress(t, ce)
		available := meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeAvailable)
		return progressing.Reason == olmv1.ReasonRollingOut && strings.HasPrefix(progressing.Message, "Revision 1.0.0 is rolling out.") && strings.Contains(progressing.Message, "phase 7/7") &&
			strings.Contains(progressing.Message, "Deployment "+sampleName+"/test-operator") && available != nil && available.Status == metav1.ConditionFalse, err
	})
	t.Log(meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeProgressing).Message)
	checkSample(t)
	asks(t, ce, "1.0.1")
	becomes(t, ce, "1.0.1")

	second := sample(t, "second-sample", "1.0.1")
	awaits(t, second, olmv1.ReasonRetrying, "revision object collisions", "ClusterExtension "+sampleName+", with Package")
	if installed, progressing, err := progress(t, ce); err != nil || installed != "1.0.1" || progressing.Reason != olmv1.ReasonSucceeded {
		t.Errorf("the first extension says %s, %v: %v", installed, progressing, err)
	}
	goes(t, ce)
	becomes(t, second, "1.0.1")
	asks(t, second, "1.0.0")
	awaits(t, second, olmv1.ReasonRollingOut, "Deployment second-sample/test-operator")
	goes(t, second)
	for _, object := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: second.Name, Name: "test-operator"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: second.Name, Name: "test-configmap"}},
		&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: second.Name}},
	} {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s is still there: %v", object, object.GetName(), err)
		}
	}
}

// checkSample checks the revision of the sample, and that template text in its objects is only text.
func checkSample(t *testing.T) {
	t.Helper()
	made := &v1alpha1.Revision{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: sampleName + "-1"}, made); err != nil {
		t.Fatal(err)
	}
	var phases []string
	for _, phase := range made.Spec.Phases {
		phases = append(phases, phase.Name)
	}
	if diff := cmp.Diff([]string{"policies", "identity", "configuration", "crds", "roles", "bindings", "deploy"}, phases); diff != "" {
		t.Errorf("the phases (-want +got):\n%s", diff)
	}
	config := &corev1.ConfigMap{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: sampleName, Name: "test-configmap"}, config); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(config.Annotations["shouldNotTemplate"], "{{ $labels.namespace }}") || config.Labels[olmv1.LabelOwnerName] != sampleName {
		t.Errorf("the ConfigMap has annotations %v, labels %v", config.Annotations, config.Labels)
	}
}
