// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/strata-run/strata/internal/front/istiocsr/trust"
	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

// fixture is a keeper on an API server in memory, for an IstioCSR in the namespace csr
// and a mesh in the namespace mesh.
type fixture struct {
	t       *testing.T
	api     client.WithWatch
	keeper  *Keeper
	request Request
	now     time.Time

	// requests counts those past the cache and writes; absent makes the cache know of
	// nothing.
	requests int
	absent   bool
	// refuse, when set, is the answer to a write.
	refuse error
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, now: trusttest.Now,
		api: fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().Build(),
		request: Request{
			Namespace: "csr", Labels: map[string]string{"app": "istio-csr"},
			Certificate: types.NamespacedName{Namespace: "mesh", Name: "istiod-tls"}, Overlap: time.Hour,
		},
	}
	f.restart()
	return f
}

// restart makes another keeper, which remembers nothing.
func (f *fixture) restart() {
	cache := interceptor.NewClient(f.api, interceptor.Funcs{Get: f.cached})
	live := interceptor.NewClient(f.api, interceptor.Funcs{Get: f.got, Apply: f.applied, Delete: f.deleted})
	f.keeper = &Keeper{Cache: cache, Live: live, Writer: live, Now: func() time.Time { return f.now }}
}

func (f *fixture) cached(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, metadata := object.(*metav1.PartialObjectMetadata); !metadata {
		f.t.Errorf("%T %s is read from the cache, which has metadata only", object, key)
	}
	if f.absent {
		key.Name = "nothing-is-called-so"
	}
	return c.Get(ctx, key, object, options...)
}

func (f *fixture) got(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	f.requests++
	return c.Get(ctx, key, object, options...)
}

func (f *fixture) applied(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	f.requests++
	if f.refuse != nil {
		return f.refuse
	}
	return c.Apply(ctx, object, options...)
}

func (f *fixture) deleted(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	f.requests++
	return c.Delete(ctx, object, options...)
}

// configMap and secret write an object as another manager.
func (f *fixture) configMap(namespace, name string, data map[string]string) {
	f.t.Helper()
	f.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

func (f *fixture) secret(namespace, name string, data map[string]string) {
	f.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	f.put(secret)
}

func (f *fixture) put(object client.Object) {
	f.t.Helper()
	err := f.api.Create(f.t.Context(), object, client.FieldOwner("other-manager"))
	if err != nil {
		err = f.api.Update(f.t.Context(), object, client.FieldOwner("other-manager"))
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// istiod issues the certificate of the control plane.
func (f *fixture) istiod(by trusttest.Authority) {
	f.t.Helper()
	f.secret("mesh", "istiod-tls", map[string]string{"ca.crt": by.PEM, "tls.crt": by.Issue(f.t, "istiod", nil).PEM, "tls.key": "secret"})
}

// copied is the copy, and spare the spare, nil when there is none.
func (f *fixture) copied() *corev1.ConfigMap { return f.found(Name) }
func (f *fixture) spare() *corev1.ConfigMap  { return f.found(SpareName) }

func (f *fixture) found(name string) *corev1.ConfigMap { return f.foundIn("csr", name) }

func (f *fixture) foundIn(namespace, name string) *corev1.ConfigMap {
	f.t.Helper()
	var found corev1.ConfigMap
	if err := f.api.Get(f.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &found); err != nil {
		return nil
	}
	return &found
}

// change changes the copy as another manager would, and changeOf another ConfigMap.
func (f *fixture) change(change func(*corev1.ConfigMap)) { f.changeOf(f.copied(), change) }

func (f *fixture) changeOf(object *corev1.ConfigMap, change func(*corev1.ConfigMap)) {
	f.t.Helper()
	change(object)
	if err := f.api.Update(f.t.Context(), object, client.FieldOwner("other-manager")); err != nil {
		f.t.Fatal(err)
	}
}

// remove deletes an object, which there has to be.
func (f *fixture) remove(object client.Object) {
	f.t.Helper()
	if err := f.api.Delete(f.t.Context(), object); err != nil {
		f.t.Fatal(err)
	}
}

// keep makes a pass.
func (f *fixture) keep() trust.State {
	f.t.Helper()
	state, err := f.keeper.Keep(f.t.Context(), f.request)
	if err != nil {
		f.t.Fatal(err)
	}
	return state
}

// holds makes a pass, checks the copy, and that another pass sends nothing.
func (f *fixture) holds(reason, problem string, authorities ...trusttest.Authority) {
	f.t.Helper()
	state := f.keep()
	var want strings.Builder
	for _, a := range authorities {
		want.WriteString(a.PEM)
	}
	got := ""
	if copied := f.copied(); copied != nil {
		got = copied.Data[Key]
	}
	if got != want.String() {
		f.t.Errorf("%s: the copy is\n%s\nwant\n%s", reason, got, want.String())
	}
	switch {
	case problem == "" && state.Problem != nil:
		f.t.Errorf("%s: there is a problem: %s", reason, state.Problem.Message)
	case problem != "" && (state.Problem == nil || !strings.Contains(state.Problem.Message, problem)):
		f.t.Errorf("%s: the problem is %v, want one with %q", reason, state.Problem, problem)
	}
	f.quiet(reason)
}

// hold makes a pass that knows of nothing but the namespace, and another one that has to
// send nothing.
func (f *fixture) hold() {
	f.t.Helper()
	for _, first := range []bool{true, false} {
		f.requests = 0
		if _, err := f.keeper.KeepLast(f.t.Context(), "csr"); err != nil {
			f.t.Fatal(err)
		}
		if !first && f.requests > 0 {
			f.t.Errorf("holding what has not changed sends %d requests", f.requests)
		}
	}
}

// quiet checks that a pass sends nothing.
func (f *fixture) quiet(reason string) {
	f.t.Helper()
	f.requests = 0
	f.keep()
	if f.requests > 0 {
		f.t.Errorf("%s: a pass in which nothing has changed sends %d requests", reason, f.requests)
	}
}

var errRefused = errors.New("refused by the test")
