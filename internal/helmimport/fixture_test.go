// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content/plain"
)

// version is one version of release shop/web as a Secret.
func version(t *testing.T, number int, status, manifest string) *corev1.Secret {
	t.Helper()
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("sh.helm.release.v1.web.v%d", number),
			Labels: map[string]string{"owner": "helm", "name": "web", "status": status, "version": strconv.Itoa(number)},
		},
		Type: releaseType, Data: map[string][]byte{secretKey: packed(t, releaseJSON(t, number, status, manifest, nil))},
	}
}

// cluster is an importer on a cluster in memory, which serves ConfigMaps, Secrets,
// Jobs and our kinds.
func cluster(t *testing.T, objects ...client.Object) *Importer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	for _, kind := range []string{"ConfigMap", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, meta.RESTScopeNamespace)
	for _, kind := range []string{"Package", "Revision", "ObjectSlice"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).
		WithIndex(&v1alpha1.Revision{}, "spec.package", func(o client.Object) []string {
			revision, _ := o.(*v1alpha1.Revision)
			return []string{revision.Spec.Package}
		}).Build()
	return &Importer{Client: c}
}

func secretNamed(t *testing.T, i *Importer, name string) (*corev1.Secret, bool) {
	t.Helper()
	secret := &corev1.Secret{}
	err := i.Client.Get(context.Background(), types.NamespacedName{Namespace: "shop", Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return secret, err == nil
}

// wantsAll fails the test unless an error contains every text.
func wantsAll(t *testing.T, reason string, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: want an error", reason)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %q does not contain %q", reason, err, text)
		}
	}
}

// lines are objects as text, one a line.
func lines(objects []Object) string {
	all := make([]string, 0, len(objects))
	for i := range objects {
		o := &objects[i]
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", o.Phase, o.Action, plain.NameOf(o.Manifest), o.Note)))
	}
	return strings.Join(all, "\n")
}

func leftLines(left []Left) []string {
	var all []string
	for _, l := range left {
		all = append(all, fmt.Sprintf("%s %s/%s: %s", l.Kind, l.Namespace, l.Name, l.Reason))
	}
	slices.Sort(all)
	return all
}
