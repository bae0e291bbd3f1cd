// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

const (
	// quietTime is how long nothing may be written when nothing changes.
	quietTime = time.Minute
	// restTime is longer than anything is held back, and the echo of what was done: who has
	// been quiet for so long is at rest.
	restTime = 8 * time.Second
)

// TestIstiod installs istiod for a class, starts the real one behind it, and goes
// through what the two share.
func TestIstiod(t *testing.T) {
	began := time.Now()
	must(t, admin.Create(t.Context(), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayclass.DefaultClassName},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}))
	istiod := ofClasses(gatewayclass.IstioRevision)
	istiod.start(t)
	t.Logf("istiod is ready %s after the class was created", time.Since(began).Round(100*time.Millisecond))
	createGateway(t, gatewayclass.Namespace, gatewayName, listener("good", goodHost, 80), listener("bad", badHost, 80), listener("plain", "", 8080))
	t.Run("Class", acceptClass)
	t.Run("Rollout", func(t *testing.T) { writtenOnce(t, began) })
	t.Run("Webhooks", patchWebhooks)
	t.Run("Gateway", programGateway)
	t.Run("Elsewhere", programElsewhere)
	t.Run("Routes", conform)
	t.Run("Listeners", func(t *testing.T) { changeListeners(t, istiod) })
	t.Run("Restart", func(t *testing.T) { restart(t, istiod) })
	t.Run("Held", func(t *testing.T) { hold(t, istiod) })
	t.Run("Scaled", func(t *testing.T) { scaleToZero(t, istiod) })
	t.Run("Canary", besideCanary)
	t.Run("Resources", filterResources)
	t.Run("Rights", rights)
	t.Run("Quiet", quiet)
	t.Run("Uninstall", func(t *testing.T) { uninstall(t, istiod) })
}

// acceptClass: istiod accepts the class, and what it and the manager say stands side by side.
func acceptClass(t *testing.T) {
	eventuallyClass(t)
	class := getClass(t)
	if got := message(class.Status.Conditions, string(gatewayv1.GatewayClassConditionStatusAccepted)); got != "Handled by Istio controller" {
		t.Errorf("Accepted says %q, so it is not istiod's", got)
	}
	if diff := cmp.Diff([]string{istiodWriter, managerWriter}, writers(class, "status")); diff != "" {
		t.Errorf("the status was written by other managers than the two:\n%s", diff)
	}
}

// writtenOnce: what istiod fills into the objects that were rolled out gives the
// manager no reason to write them again.
func writtenOnce(t *testing.T, began time.Time) {
	counts := setup.ObjectWrites(t, plane, began)
	if len(counts) < 15+19 {
		t.Errorf("the CRDs and the control plane are %d objects, want 34 at least: %v", len(counts), counts)
	}
	for object, writes := range counts {
		if writes.Count > writes.Most {
			t.Errorf("%s was written %d times, want %d at most", object, writes.Count, writes.Most)
		}
	}
}

// restart: an istiod that comes back writes over nothing, and gives the manager
// nothing to do.
func restart(t *testing.T, istiod *program) {
	settle(t)
	class, gateway, since := getClass(t), getGateway(t, gatewayName), time.Now()
	istiod.stop(t)
	istiod.start(t)
	settle(t)
	if diff := cmp.Diff(ownOfClass(class), ownOfClass(getClass(t))); diff != "" {
		t.Errorf("the manager's conditions of the class have changed:\n%s", diff)
	}
	if diff := cmp.Diff(ownOfGateway(gateway), ownOfGateway(getGateway(t, gatewayName))); diff != "" {
		t.Errorf("the manager's conditions of the Gateway have changed:\n%s", diff)
	}
	if events := requests(t, setup.Manager, since); len(events) > 0 {
		t.Errorf("the restart made the manager ask or write:%s", describe(events))
	}
}

// scaleToZero: an istiod without a pod is not installed, and says so until one runs again.
func scaleToZero(t *testing.T, istiod *program) {
	scale := func(replicas string) {
		t.Helper()
		deployment := get(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane)
		must(t, admin.Patch(t.Context(), deployment, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`))))
	}
	installed := func(want metav1.ConditionStatus) {
		t.Helper()
		eventually(t, "the class to be installed: "+string(want), func() string {
			c := meta.FindStatusCondition(getClass(t).Status.Conditions, gatewayclass.ConditionControllerInstalled)
			if c == nil || c.Status != want {
				return fmt.Sprintf("it says %v", c)
			}
			return ""
		})
	}
	scale("0")
	istiod.stop(t)
	installed(metav1.ConditionFalse)
	scale("1")
	istiod.start(t)
	installed(metav1.ConditionTrue)
	eventuallyClass(t)
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
	planetest.Stays(t, quietTime, "the manager sends nothing at rest", func() (bool, error) {
		events := requests(t, setup.Manager, since)
		return len(events) == 0, errors.New(describe(events))
	})
}

// uninstall: with the last class the control plane goes, and nothing is left that would
// ask an istiod that is not there. The proxies stay.
func uninstall(t *testing.T, istiod *program) {
	must(t, admin.Delete(t.Context(), getClass(t)))
	planetest.Eventually(t, "the class to go", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: gatewayclass.DefaultClassName}, &gatewayv1.GatewayClass{})
		return apierrors.IsNotFound(err), err
	})
	istiod.stop(t) // a kubelet would have, with the pod
	for _, list := range []client.ObjectList{&admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}, &corev1.PodList{}} {
		planetest.Eventually(t, fmt.Sprintf("the end of those in a %T", list), func() (bool, error) {
			err := admin.List(t.Context(), list, client.MatchingLabels{"istio.io/rev": gatewayclass.IstioRevision})
			return err == nil && meta.LenList(list) == 0, errors.Join(err, fmt.Errorf("%d are left", meta.LenList(list)))
		})
	}
	get(t, &apiextensionsv1.CustomResourceDefinition{}, "", "gateways.networking.istio.io")
	eventuallyDeployed(t, gatewayclass.Namespace, gatewayName+"-"+gatewayclass.DefaultClassName)
	if object := getGateway(t, gatewayName); !object.DeletionTimestamp.IsZero() {
		t.Error("the Gateway is being deleted")
	}
}

// settle waits until what is held back, and the echo of what was done, is over: the manager
// asks for nothing then.
func settle(t *testing.T) {
	t.Helper()
	since := time.Now()
	planetest.Eventually(t, "the manager to come to rest", func() (bool, error) {
		events := requests(t, setup.Manager, since)
		if len(events) > 0 {
			since = time.Now()
		}
		return time.Since(since) > restTime, errors.New(describe(events))
	})
}
