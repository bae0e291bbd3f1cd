// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// keeping runs a keeper of the CAs on the events of what concerns it, and on its
// clock, until the test ends or the function that is returned is called.
func (m mesh) keeping(request cabundle.Request) (stop func()) {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	metadata, err := cache.New(plane.Config(), cache.Options{})
	must(m.t, err)
	keeper := &cabundle.Keeper{Cache: metadata, Live: admin, Writer: admin}
	wake := make(chan struct{}, 1)
	for _, kind := range []string{"ConfigMap", "Secret"} {
		informer, err := metadata.GetInformer(ctx, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}, cache.BlockUntilSynced(false))
		must(m.t, err)
		// Of what does not concern the keeper a pass costs no request.
		notice := func(any) {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: notice, UpdateFunc: func(_, event any) { notice(event) }, DeleteFunc: notice,
		})
		must(m.t, err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := metadata.Start(ctx); err != nil {
			m.t.Errorf("the cache of metadata: %v", err)
		}
	})
	running.Go(func() {
		metadata.WaitForCacheSync(ctx)
		for ctx.Err() == nil {
			state, err := keeper.Keep(ctx, request)
			again := time.Hour
			switch {
			case err != nil && ctx.Err() == nil && !apierrors.IsConflict(err):
				m.t.Errorf("keeping the CAs: %v", err)
			case err != nil:
				again = 10 * time.Millisecond
			case state.Again(time.Now()) > 0:
				again = state.Again(time.Now())
			}
			select {
			case <-wake:
			case <-time.After(again):
			case <-ctx.Done():
			}
		}
	})
	stop = func() { cancel(); running.Wait() }
	m.t.Cleanup(stop)
	return stop
}

// copied are the CAs in the copy, when it stands in the namespace of the mesh.
func (m mesh) copied() string {
	m.t.Helper()
	return copiedIn(m.t, m.namespace)
}

// copiedIn are the CAs in the copy in a namespace.
func copiedIn(t *testing.T, namespace string) string {
	t.Helper()
	var copied corev1.ConfigMap
	must(t, client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: cabundle.Name}, &copied)))
	return copied.Data[cabundle.Key]
}

// countCAs counts the CAs in a copy.
func countCAs(cas string) int { return strings.Count(cas, "BEGIN CERTIFICATE") }

// TestTrustThroughRotations replaces the CA of a mesh again and again, while workloads
// get certificates all the time.
func TestTrustThroughRotations(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	issuer := m.issuer("ca", "root")
	m.becomes(issuer, "True", "")
	istiod := m.istiod("ca")
	m.becomes(istiod, "True", "")
	request := cabundle.Request{
		Namespace: m.namespace, Labels: map[string]string{"app": "cert-manager-istio-csr"},
		IssuerSecret: types.NamespacedName{Namespace: m.namespace, Name: "root"},
		Certificate:  types.NamespacedName{Namespace: m.namespace, Name: "istiod-tls"},
		Overlap:      overlap,
	}
	stop := m.keeping(request)
	planetest.Eventually(t, "the copy", func() (bool, error) { return countCAs(m.copied()) == 1, nil })
	a := &agent{mesh: m, issuer: "ca", copies: m.namespace}
	w := m.witness(m.namespace)
	a.round()

	m.renew("root")
	a.until(2, "the new CA is served beside the old one")
	m.renew("istiod")
	a.until(1, "the old CA goes when no workload uses its certificates any more")

	// The same with a restart in each state.
	m.renew("root")
	a.until(2, "in a second rotation, too")
	stop()
	stop = m.keeping(request)
	a.until(2, "after a restart before the istiod certificate is renewed")
	m.renew("istiod")
	stop()
	stop = m.keeping(request)
	a.until(1, "after a restart, the old CA goes in the end")

	// The user takes over, with both CAs before the issuer changes.
	must(t, admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "mine"}, Data: map[string]string{"roots": m.copied()},
	}))
	stop()
	request.Reference = &cabundle.Reference{Name: "mine", Key: "roots"}
	m.keeping(request)
	a.until(1, "a choice of the same CA changes nothing")
	w.check(a.handed, 0)
	if len(a.handed) < 19 { // which slow machines issue, too
		t.Errorf("only %d certificates were issued, which proves little", len(a.handed))
	}
}
