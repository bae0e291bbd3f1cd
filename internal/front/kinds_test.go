// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const definitionName = "gateways.gateway.networking.k8s.io"

var gatewayKind = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}

// kindsFixture is an API server that serves Gateways or not.
type kindsFixture struct {
	client.Client

	t       *testing.T
	mapper  *meta.DefaultRESTMapper
	kinds   *Kinds
	started int
	refused error
	removed []client.Object
}

func (f *kindsFixture) RemoveInformer(_ context.Context, object client.Object) error {
	f.removed = append(f.removed, object)
	return nil
}

func newKindsFixture(t *testing.T) *kindsFixture {
	scheme := runtime.NewScheme()
	metav1.AddMetaToScheme(scheme)
	f := &kindsFixture{t: t, Client: fake.NewClientBuilder().WithScheme(scheme).Build(), mapper: meta.NewDefaultRESTMapper(nil)}
	f.kinds = &Kinds{mapper: f.mapper, caches: f, now: time.Now}
	return f
}

func (f *kindsFixture) await() error {
	return f.kinds.Await(gatewayKind, &gatewayv1.Gateway{}, func() error {
		f.started++
		return f.refused
	})
}

func (f *kindsFixture) define() {
	f.t.Helper()
	definition := Definition()
	definition.Name = definitionName
	definition.CreationTimestamp = metav1.Now()
	if err := f.Create(f.t.Context(), definition); err != nil {
		f.t.Fatal(err)
	}
}

func (f *kindsFixture) serve() {
	resource := gatewayKind.GroupVersion().WithResource("gateways")
	f.mapper.AddSpecific(gatewayKind, resource, resource, meta.RESTScopeNamespace)
}

func (f *kindsFixture) reconcile() (time.Duration, error) {
	result, err := f.kinds.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: definitionName}})
	return result.RequeueAfter, err
}

func TestKinds(t *testing.T) {
	f := newKindsFixture(t)
	if err := f.await(); err != nil {
		t.Fatal(err)
	}
	if f.started != 0 || f.kinds.Served(gatewayKind) {
		t.Error("a kind that is not served was started")
	}
	f.define()
	if after, err := f.reconcile(); err != nil || after == 0 {
		t.Errorf("error %v, again after %v: a definition that is new is served in a moment", err, after)
	}
	f.serve()
	if after, err := f.reconcile(); err != nil || after != 0 {
		t.Errorf("error %v, again after %v", err, after)
	}
	if f.started != 1 || !f.kinds.Served(gatewayKind) {
		t.Error("a kind that is served now was not started")
	}
	if _, err := f.reconcile(); err != nil || f.started != 1 {
		t.Errorf("error %v, started %d times: want once", err, f.started)
	}

	definition := Definition()
	definition.Name = definitionName
	if err := f.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	if f.kinds.Served(gatewayKind) || len(f.removed) != 1 {
		t.Error("a kind that is gone is still read")
	}
	other := Definition()
	other.Name = "gatewayclasses.gateway.networking.k8s.io"
	other.CreationTimestamp = metav1.Now()
	if err := f.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	_, err := f.kinds.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: other.Name}})
	if err != nil || f.kinds.Served(gatewayKind) {
		t.Errorf("error %v; the definition of another kind brings back one that the mapper still knows", err)
	}
	f.define()
	if _, err := f.reconcile(); err != nil || f.started != 2 || !f.kinds.Served(gatewayKind) {
		t.Errorf("error %v, started %d times: a kind that comes back is read again", err, f.started)
	}
}

func TestKinds_ServedAtOnce(t *testing.T) {
	f := newKindsFixture(t)
	f.serve()
	if err := f.await(); err != nil || f.started != 1 {
		t.Errorf("error %v, started %d times: want once, at once", err, f.started)
	}
}

func TestKinds_StartFails(t *testing.T) {
	f := newKindsFixture(t)
	if err := f.await(); err != nil {
		t.Fatal(err)
	}
	f.define()
	f.serve()
	f.refused = errors.New("the cache says no")
	if _, err := f.reconcile(); !errors.Is(err, f.refused) || f.kinds.Served(gatewayKind) {
		t.Errorf("got error %v: want another try", err)
	}
	f.refused = nil
	if _, err := f.reconcile(); err != nil || !f.kinds.Served(gatewayKind) {
		t.Errorf("got error %v", err)
	}
}

func TestKinds_OldDefinitionWithoutKind(t *testing.T) {
	f := newKindsFixture(t)
	if err := f.await(); err != nil {
		t.Fatal(err)
	}
	f.define()
	f.kinds.now = func() time.Time { return time.Now().Add(2 * serving) }
	if after, err := f.reconcile(); err != nil || after != 0 {
		t.Errorf("error %v, again after %v: what is not served for long is not asked for again and again", err, after)
	}
}
