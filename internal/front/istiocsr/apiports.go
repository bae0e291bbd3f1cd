// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

var (
	// endpointsKind says where a Service leads, and apiServer is that of the API server,
	// which it keeps itself.
	endpointsKind = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	apiServer     = types.NamespacedName{Namespace: "default", Name: "kubernetes"}
)

// observeAPIServer finds the ports of the API server for the network policy, unless the
// IstioCSR names them. While there are none, as in the midst of a restart of the API server,
// those of the newest revision apply.
func (o *observer) observeAPIServer(ctx context.Context, ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts *observed) error {
	if !AsksForAPIServerPorts(ic) {
		return nil
	}
	endpoints := front.Untyped(endpointsKind)
	found, err := front.Read(ctx, o.objects, apiServer.Namespace, apiServer.Name, endpoints)
	if err != nil {
		return err
	}
	if found {
		facts.APIServerPorts = PortsOf(endpoints)
	}
	if len(facts.APIServerPorts) > 0 {
		return nil
	}
	manifests, err := o.newestManifests(ctx, ownPackage(ic, group))
	facts.APIServerPorts = APIServerPortsIn(manifests)
	return err
}
