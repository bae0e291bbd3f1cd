// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/render/gatewayclass"
)

// quietTime is how long nothing may be written when nothing changes.
const quietTime = time.Minute

// TestIstiod installs istiod for a class, starts the real one behind it, and goes
// through what the two share.
func TestIstiod(t *testing.T) {
	began := time.Now()
	must(t, admin.Create(t.Context(), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayclass.DefaultClassName},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}))
	stop := startIstiod(t)
	t.Logf("istiod is ready %s after the class was created", time.Since(began).Round(100*time.Millisecond))
	createGateway(t, gatewayName, listener("stage", "*.stage.example.com", 80), listener("plain", "", 8080))
	t.Run("Class", class)
	t.Run("Webhooks", webhooks)
	t.Run("Gateway", gateway)
	t.Run("Restart", func(t *testing.T) { restart(t, stop) })
	t.Run("Rights", rights)
	t.Run("Quiet", quiet)
}

// class: istiod accepts the class, and what it and the manager say stands side by side.
func class(t *testing.T) {
	eventuallyClass(t)
	class := getClass(t)
	if got := message(class.Status.Conditions, string(gatewayv1.GatewayClassConditionStatusAccepted)); got != "Handled by Istio controller" {
		t.Errorf("Accepted says %q, so it is not istiod's", got)
	}
	if diff := cmp.Diff([]string{istiodWriter, managerWriter}, writers(class, "status")); diff != "" {
		t.Errorf("the status was written by others than the two:\n%s", diff)
	}
}

// restart: an istiod that comes back writes over nothing, and gives the manager
// nothing to do.
func restart(t *testing.T, stop func() error) {
	settle(t)
	class, gateway, since := getClass(t), getGateway(t, gatewayName), time.Now()
	must(t, stop())
	startIstiod(t)
	settle(t)
	if diff := cmp.Diff(class.Status, getClass(t).Status); diff != "" {
		t.Errorf("the status of the class has changed:\n%s", diff)
	}
	if diff := cmp.Diff(gateway.Status, getGateway(t, gatewayName).Status); diff != "" {
		t.Errorf("the status of the Gateway has changed:\n%s", diff)
	}
	if events := requests(t, manager, since); len(events) > 0 {
		t.Errorf("the restart made the manager ask or write:%s", describe(events))
	}
}

// rights: what istiod asked for, it was allowed to. Its rights are all rendered ones.
func rights(t *testing.T) {
	events := requests(t, istiodUser, time.Time{})
	if len(events) == 0 {
		t.Fatalf("the audit log has no request of %s", istiodUser)
	}
	for _, e := range events {
		if e.Code == http.StatusForbidden || e.Code == http.StatusUnauthorized {
			t.Errorf("istiod may not %s %s/%s %s/%s: %d", e.Verb, e.Resource, e.Subresource, e.Namespace, e.Name, e.Code)
		}
	}
}

// quiet: beside istiod, too, the manager at rest writes nothing, and asks nothing.
func quiet(t *testing.T) {
	settle(t)
	since := time.Now()
	time.Sleep(quietTime)
	if events := requests(t, manager, since); len(events) > 0 {
		t.Errorf("%s of rest cost %d requests:%s", quietTime, len(events), describe(events))
	}
}

// settle waits until what is held back, and the echo of what was done, is over.
func settle(t *testing.T) {
	t.Helper()
	time.Sleep(8 * time.Second)
}
