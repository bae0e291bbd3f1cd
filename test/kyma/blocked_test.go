// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// blocked: what keeps the mesh is reported in the status and in the log, at once when it changes,
// and waiting costs no request.
func blocked(t *testing.T) {
	t.Helper()
	logged := func(what string) bool {
		for line := range strings.SplitSeq(managerLog.String(), "\n") {
			if strings.Contains(line, "Deletion is blocked by custom resources") && strings.Contains(line, what) {
				return true
			}
		}
		return false
	}
	eventually(t, "the log to name and count it", func() (bool, error) {
		return logged(`count=1 kinds=["1 Sidecar"] resources=["Sidecar default/mine"]`), nil
	})
	changes := func(what, text string) {
		eventually(t, what, func() (bool, error) {
			got := named("second")
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(got), got)
			return got.Status.State == v1alpha2.StateWarning && strings.Contains(got.Status.Description, text), err
		})
	}
	// In another version than the preferred one, too.
	manifest(t, "{apiVersion: networking.istio.io/v1alpha3, kind: Gateway, metadata: {name: mine, namespace: default}, spec: {}}")
	changes("the second to be counted", "(1 Gateway, 1 Sidecar): Gateway default/mine, Sidecar default/mine")
	eventually(t, "the log to count both", func() (bool, error) {
		return logged(`count=2 kinds=["1 Gateway","1 Sidecar"] resources=["Gateway default/mine","Sidecar default/mine"]`), nil
	})
	manifest(t, "{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {name: mine, namespace: default, labels: {kyma-project.io/module: istio}}, spec: {}}")
	changes("the label to excuse it", "(1 Sidecar): Sidecar default/mine")
	remove(t, untyped("networking.istio.io/v1", "Gateway", "default", "mine"))
	since := time.Now()
	asks := func() (now []string) {
		for _, e := range setup.Requests(t, plane, setup.Manager, since) {
			if strings.HasSuffix(e.Group, "istio.io") {
				now = append(now, e.Verb+" "+e.Resource)
			}
		}
		return now
	}
	eventually(t, "a second without a question", func() (bool, error) {
		if len(asks()) > 0 {
			since = time.Now()
		}
		return time.Since(since) > time.Second, nil
	})
	// Longer than what used to be polled.
	planetest.Stays(t, 20*time.Second, "the manager asks for nothing while the deletion waits", func() (bool, error) { return len(asks()) == 0, fmt.Errorf("it asks for %v", asks()) })
	asked := map[string]int{}
	for _, e := range setup.Audit(t, plane) {
		if e.User == setup.Manager && strings.HasSuffix(e.Group, "istio.io") && e.Time.Before(since) {
			asked[e.Verb]++
		}
	}
	if asked["list"] == 0 {
		t.Errorf("what the manager has asked for before is not found: %v", asked)
	}
}

// restsAfter: without an Istio resource nothing is watched for it any more, and nothing measured.
func restsAfter(t *testing.T) {
	t.Helper()
	for _, resource := range []string{"nodes", "sidecars", "virtualservices"} {
		eventually(t, "the watch of "+resource+" to end", func() (bool, error) {
			began, ended := 0, 0
			for _, e := range setup.Audit(t, plane) {
				// One that is refused does not begin, and only its end is reported.
				if e.User != setup.Manager || e.Verb != "watch" || e.Resource != resource || e.Code != http.StatusOK {
					continue
				}
				if e.Stage == "ResponseStarted" {
					began++
				} else {
					ended++
				}
			}
			return began > 0 && began == ended, fmt.Errorf("%d began, %d have ended", began, ended)
		})
	}
	eventually(t, "the metrics to go", func() (bool, error) { return len(usage(t)) == 0, nil })
}
