// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/cli/view"
)

// TestRestarts lists what was restarted and what stands in the way, the latter first.
func TestRestarts(t *testing.T) {
	tm := newTerminal(t, nil)
	tm.run("restarts").wants(t, CodeNotFound, "", "there is no Istio resource of Kyma in namespace kyma-system")

	istio := func(name string, conditions ...any) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "kyma-system", "name": name, "annotations": map[string]any{"strata.run/restart-window": "22:00-04:00"}},
			"status":   map[string]any{"state": "Processing", "conditions": conditions},
		}
	}
	tm.server.put("/apis/operator.kyma-project.io/v1alpha2/namespaces/kyma-system/istios", istio("another"))
	tm.server.put("/apis/operator.kyma-project.io/v1alpha2/namespaces/kyma-system/istios", istio("default", map[string]any{
		"type": "ProxySidecarRestartSucceeded", "status": "False", "reason": "ProxySidecarRestartFailed", "message": "restarts have stopped in the namespaces of workloads that do not become ready: shop/Deployment/cart",
	}))
	tm.run("restarts").wants(t, CodeOK, "Istio kyma-system/default is Processing: restarts have stopped", "No workload was restarted")

	workload := func(collection, name, causes string, available int, more ...any) {
		annotations := map[string]any{}
		if causes != "" {
			annotations["strata.run/restarted-for"] = fixtureNow.Add(-2*time.Hour).Format(time.RFC3339) + " " + causes
		}
		tm.server.put("/apis/apps/v1/"+collection, map[string]any{
			"metadata": map[string]any{"namespace": "shop", "name": name, "annotations": annotations},
			"spec":     map[string]any{"replicas": 2},
			"status":   map[string]any{"replicas": 2, "updatedReplicas": 2, "availableReplicas": available, "conditions": more},
		})
	}
	workload("deployments", "web", "ProxyImage=a@1,DNSProxying=b@2,template=c", 2)
	workload("deployments", "never", "", 2)
	workload("statefulsets", "db", "ProxyImage=a@1", 1)
	workload("deployments", "cart", "ProxyImage=a@1", 0,
		map[string]any{"type": "Progressing", "reason": "ProgressDeadlineExceeded"},
		map[string]any{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"})
	golden(t, "command_restarts", tm.run("restarts").out)

	var document view.Restarts
	if err := json.Unmarshal([]byte(tm.run("restarts", "-o", "json").out), &document); err != nil {
		t.Fatal(err)
	}
	if document.Istio != "kyma-system/default" || document.Window != "22:00-04:00" || len(document.Workloads) != 3 || document.Workloads[0].State != restartFailed {
		t.Errorf("the document is %+v", document)
	}
	tm.run("restarts", "-n", "elsewhere").wants(t, CodeOK, "", "No workload was restarted")
}
