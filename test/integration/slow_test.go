// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const (
	// slowPackages is how many packages have writes that take ten seconds to fail.
	slowPackages = 8
	// slowRounds is how often the healthy package is timed alone and beside them in turn, and
	// slowTimes how many times it is then.
	slowRounds, slowTimes = 5, 3
)

// hanging is a webhook that does not answer while the test has it hang, and else refuses.
type hanging struct {
	*httptest.Server

	lock    sync.Mutex
	waiting int
	// release ends the waits, nil while nothing is to wait.
	release chan struct{}
}

func newHanging(t *testing.T) *hanging {
	t.Helper()
	h := &hanging{}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	t.Cleanup(h.refuse)
	return h
}

// ServeHTTP implements http.Handler.
func (h *hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.lock.Lock()
	release := h.release
	h.waiting++
	h.lock.Unlock()
	defer func() {
		h.lock.Lock()
		h.waiting--
		h.lock.Unlock()
	}()
	if release != nil {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	http.Error(w, "refused", http.StatusInternalServerError)
}

// hang has requests wait from now on.
func (h *hanging) hang() {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.release = make(chan struct{})
}

// refuse ends the waits.
func (h *hanging) refuse() {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.release != nil {
		close(h.release)
		h.release = nil
	}
}

// waits is how many requests wait.
func (h *hanging) waits() int {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.waiting
}

// TestSlowPackages: packages behind a webhook that does not answer keep no other package
// waiting. It times a healthy one in turn alone, while the others are paused, and beside them.
func TestSlowPackages(t *testing.T) {
	t.Parallel()
	webhook := newHanging(t)
	slow := make([]*v1alpha1.Package, slowPackages)
	namespaces := make([]string, slowPackages)
	for i := range slow {
		namespaces[i] = planetest.Namespace(t, plane)
	}
	configuration := hangingWebhook(webhook.Server, namespaces)
	must(t, admin.Create(t.Context(), configuration))
	t.Cleanup(func() { must(t, admin.Delete(context.Background(), configuration)) })
	webhook.hang()
	since := time.Now()
	for i, ns := range namespaces {
		slow[i] = newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
	}
	planetest.Eventually(t, "the slow packages to be known as such", func() (bool, error) {
		failed := 0
		for _, e := range requests(t, since) {
			if slices.Contains(namespaces, e.Namespace) && e.Code >= 500 {
				failed++
			}
		}
		return failed >= slowPackages, fmt.Errorf("%d writes have failed", failed)
	})
	var alone, beside []time.Duration
	for range slowRounds {
		pauseAll(t, slow, true)
		webhook.refuse()
		planetest.Eventually(t, "the slow packages to rest", func() (bool, error) { return webhook.waits() == 0, nil })
		alone = append(alone, rolloutTimes(t)...)
		webhook.hang()
		pauseAll(t, slow, false)
		allWait := time.Now()
		planetest.Eventually(t, "the slow packages to have made way", func() (bool, error) {
			if webhook.waits() < slowPackages {
				allWait = time.Now()
			}
			return time.Since(allWait) > time.Second, nil
		})
		beside = append(beside, rolloutTimes(t)...)
	}
	before, during := median(alone), median(beside)
	t.Logf("a healthy package takes %s, and %s beside %d slow ones, medians of %d: %.2f times", before, during, slowPackages, len(alone), float64(during)/float64(before))
	// Without a lane of their own, the slow ones make it wait for 25 s and more.
	if limit := 3*before + 5*time.Second; during > limit {
		t.Errorf("a healthy package takes %s beside %d slow ones, want no more than %s", during, slowPackages, limit)
	}
}

func pauseAll(t *testing.T, packages []*v1alpha1.Package, isPaused bool) {
	t.Helper()
	var paused any
	if isPaused {
		paused = fields{"reason": "the others are timed"}
	}
	for _, pkg := range packages {
		patchAs(t, pkg.DeepCopy(), "kubectl", fields{"spec": fields{"paused": paused}})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// rolloutTimes are how long rollouts of a small healthy package take, one after the other.
func rolloutTimes(t *testing.T) []time.Duration {
	t.Helper()
	all := make([]time.Duration, slowTimes)
	for i := range all {
		ns := planetest.Namespace(t, plane)
		began := time.Now()
		pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
		for !meta.IsStatusConditionTrue(getRevision(t, pkg.Name, 1).Status.Conditions, v1alpha1.ConditionSucceeded) { // each answer takes its time
			if time.Since(began) > time.Minute {
				t.Fatal("a healthy package is not rolled out within a minute")
			}
		}
		all[i] = time.Since(began)
	}
	return all
}

// hangingWebhook asks the server given about every ConfigMap in some namespaces.
func hangingWebhook(server *httptest.Server, namespaces []string) client.Object {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	var values []any
	for _, ns := range namespaces {
		values = append(values, ns)
	}
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": fields{"name": namespaces[0] + ".slow.example.org"},
		"webhooks": []any{fields{
			"name": "slow.example.org", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": int64(10),
			"clientConfig":      fields{"url": server.URL, "caBundle": base64.StdEncoding.EncodeToString(authority)},
			"rules":             []any{fields{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps"}}},
			"namespaceSelector": fields{"matchExpressions": []any{fields{"key": "kubernetes.io/metadata.name", "operator": "In", "values": values}}},
		}},
	}}
}
