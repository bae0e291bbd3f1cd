// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/test/setup"
)

const (
	// missingImage is an image of istiod that no node can pull, and nextProxy the proxy that
	// goes with it.
	missingImage = "registry.invalid/istio/pilot:1.31.0-next"
	nextProxy    = "registry.istio.io/release/proxyv2:1.31.0-next"
)

// hold: while the istiod of the next release does not start, the one that serves gives new pods
// and Gateways the proxy of its own release. It is started anew in between, so that it has
// mounted its ConfigMaps as they stand then.
func hold(t *testing.T, istiod *program) {
	before := currentRevision(t)
	next := setup.ManagerOptions()
	setup.Flags(&next, "--istiod-image="+missingImage, "--proxy-image="+nextProxy)
	replaceManager(t, next)
	eventually(t, "the new istiod to lack its image", func() string { return pulled(t, gatewayclass.Namespace) })
	istiod.stop(t)
	istiod.start(t)
	const gateway = "held"
	createGateway(t, gatewayclass.Namespace, gateway, listener("good", goodHost, 80))
	eventuallyInjected(t, injectedLabels, proxy)
	checkProxy(t, eventuallyDeployed(t, gatewayclass.Namespace, gateway+"-"+gatewayclass.DefaultClassName))
	if text := pulled(t, gatewayclass.Namespace); text != "" {
		t.Errorf("the rollout was not held all the time: %s", text)
	}
	must(t, admin.Delete(t.Context(), getGateway(t, gateway)))
	replaceManager(t, setup.ManagerOptions())
	eventually(t, "the images of before to be rolled out", func() string { return unrolled(t, gatewayclass.PackageControlPlane, before+2) })
	eventuallyClass(t)
}

// replaceManager ends the manager and starts one with other settings.
func replaceManager(t *testing.T, options controller.Options) {
	t.Helper()
	must(t, cluster.StartManager(options))
}

func currentRevision(t *testing.T) int64 {
	t.Helper()
	return get(t, &v1alpha1.Package{}, "", gatewayclass.PackageControlPlane).Status.CurrentRevision
}

// pulled says why no pod of istiod waits for [missingImage], empty while one does.
func pulled(t *testing.T, namespace string) string {
	t.Helper()
	list := &corev1.PodList{}
	must(t, admin.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"app": "istiod"}))
	for _, pod := range list.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.Image == missingImage && c.State.Waiting != nil && pod.DeletionTimestamp.IsZero() {
				return ""
			}
		}
	}
	return fmt.Sprintf("of %d pods of istiod none waits for %s", len(list.Items), missingImage)
}

// annotate sets annotations of the class, which are JSON.
func annotate(t *testing.T, annotations string) {
	t.Helper()
	must(t, admin.Patch(t.Context(), getClass(t), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":`+annotations+`}}`))))
}
