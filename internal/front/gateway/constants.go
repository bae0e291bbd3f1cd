// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "k8s.io/apimachinery/pkg/runtime/schema"

// Names that users, istiod and OpenShift rely on.
const (
	// Namespace is that of the Gateways that are looked after.
	Namespace = "openshift-ingress"

	// classController is the controller of the classes whose Gateways are looked after.
	classController = "openshift.io/gateway-controller/v1"

	// LabelGateway stands on what belongs to a Gateway and names it.
	LabelGateway = "gateway.networking.k8s.io/gateway-name"

	// LabelClass stands on what istiod makes for a Gateway and names the class that it had.
	LabelClass = "gateway.networking.k8s.io/gateway-class-name"

	// DefaultFinalizer is that of the DNS controller of OpenShift's ingress operator,
	// which takes a record out of its zones before the DNSRecord goes.
	DefaultFinalizer = "operator.openshift.io/ingress-dns"

	// NoFinalizer in the place of a finalizer asks for none, whatever the platform is.
	NoFinalizer = "none"

	// Config is the name of the cluster's DNS and of its Infrastructure.
	Config = "cluster"

	// PhaseRecords is the only phase of a Gateway's package.
	PhaseRecords = "dns-records"
)

// The kinds of OpenShift that the front looks at. None of them has to be served.
var (
	RecordKind         = schema.GroupVersionKind{Group: "ingress.operator.openshift.io", Version: "v1", Kind: "DNSRecord"}
	DNSKind            = schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "DNS"}
	InfrastructureKind = schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}
)

const (
	// recordTTL is how long resolvers keep a record, in seconds.
	recordTTL int64 = 30

	// maxLabel is how long a label's value may be, and maxPackage the name of a package.
	maxLabel   = 63
	maxPackage = 52
)
