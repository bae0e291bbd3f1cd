// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
)

const (
	leasesPath    = "/apis/coordination.k8s.io/v1/namespaces/" + defaultManagerNamespace + "/leases"
	foreignHolder = "example.com/backup"
)

// TestUninstall_NamesFinalizers has objects of Strata whose definitions could not be deleted.
func TestUninstall_NamesFinalizers(t *testing.T) {
	owned := []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: "web", UID: "1"}}
	cases := map[string]struct {
		reason string
		path   string
		meta   metav1.ObjectMeta
		want   string
	}{
		"Foreign":  {reason: "Strata does not take it off.", path: slicesPath, meta: metav1.ObjectMeta{Finalizers: []string{foreignHolder}}, want: "objectslice.strata.run/web-1 has the finalizer " + foreignHolder},
		"Revision": {reason: "A backup may be taken of a revision.", path: revisionsPath, meta: metav1.ObjectMeta{Finalizers: []string{foreignHolder}, OwnerReferences: owned}, want: "revision.strata.run/web-1 has the finalizer " + foreignHolder},
		"Left":     {reason: "The manager takes it off, and none runs.", path: revisionsPath, meta: metav1.ObjectMeta{Finalizers: []string{v1alpha1.FinalizerTeardown}, OwnerReferences: owned}, want: "no manager renews the lease"},
		"Alone":    {reason: "The manager takes it off when it is deleted, which only a user does.", path: revisionsPath, meta: metav1.ObjectMeta{Finalizers: []string{v1alpha1.FinalizerTeardown}}, want: "`kubectl delete revision.strata.run/web-1`"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTerminal(t, nil)
			tc.meta.Name = "web-1"
			tm.server.put(tc.path, &metav1.PartialObjectMetadata{ObjectMeta: tc.meta})
			tm.run("uninstall", "--yes").wants(t, CodeFalse, "", tc.want)
			if t.Failed() {
				t.Error(tc.reason)
			}
		})
	}
}

// TestUninstall_WaitsForFinalizers has a revision that outlives its package, and a manager that takes
// its finalizer off late: what is left to remove is named only then.
func TestUninstall_WaitsForFinalizers(t *testing.T) {
	tm := newTerminal(t, nil)
	deleted := metav1.NewTime(fixtureNow)
	tm.server.put(revisionsPath, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web-1", DeletionTimestamp: &deleted, Finalizers: []string{v1alpha1.FinalizerTeardown}}})
	renewed, released := 0, false
	tm.server.fail = func(r *http.Request) *metav1.Status {
		switch {
		case strings.HasPrefix(r.URL.Path, leasesPath):
			renewed++
			tm.server.put(leasesPath, map[string]any{
				"metadata": map[string]any{"name": controller.LeaseName},
				"spec":     map[string]any{"holderIdentity": "manager-0", "renewTime": time.Unix(int64(renewed), 0).UTC().Format(metav1.RFC3339Micro)},
			})
		case r.URL.Path == revisionsPath && r.URL.Query().Get("watch") != "" && !released:
			tm.server.remove(revisionsPath, "web-1")
			released = true
		}
		return nil
	}
	tm.run("uninstall", "--yes").wants(t, CodeOK, "Every package is released.", "")
	if !released {
		t.Error("a revision that still has the finalizer was not waited for: the definitions cannot be deleted before")
	}
}
