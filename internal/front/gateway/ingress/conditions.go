// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

// Condition types of a Gateway and its listeners.
const (
	// ConditionLoadBalancerReady is True when the load balancer of a Gateway has an
	// address. It stands in status.conditions of the Gateway.
	ConditionLoadBalancerReady = "LoadBalancerReady"

	// ConditionDNSReady is True when the DNS record of a listener's hostname is published.
	// It stands in the status of each listener that has a hostname, and on no Gateway.
	ConditionDNSReady = "DNSReady"
)

// Reasons of LoadBalancerReady.
const (
	// ReasonServiceNotFound (False): no Service carries the Gateway's name in the label
	// gateway.networking.k8s.io/gateway-name.
	ReasonServiceNotFound = "ServiceNotFound"

	// ReasonLoadBalancerProvisioned (True): the Service has an IP address or a hostname.
	ReasonLoadBalancerProvisioned = "LoadBalancerProvisioned"

	// ReasonSyncLoadBalancerFailed (False): the Service has no address, and the cloud's
	// service controller says why in an event. The message quotes it.
	ReasonSyncLoadBalancerFailed = "SyncLoadBalancerFailed"

	// ReasonLoadBalancerPending (False): the Service has no address. The message quotes
	// the warnings of controllers other than the service controller, and says so if the
	// Service is of a type that gets no address.
	ReasonLoadBalancerPending = "LoadBalancerPending"
)

// Reasons of DNSReady.
const (
	// ReasonNoDNSZones (False): the cluster's DNS config has neither a public nor a
	// private zone, or there is no DNS config.
	ReasonNoDNSZones = "NoDNSZones"

	// ReasonRecordNotFound (False): there is no DNSRecord for the hostname. The message
	// says why, if that is known.
	ReasonRecordNotFound = "RecordNotFound"

	// ReasonUnmanagedDNS (Unknown): the DNSRecord has the policy Unmanaged, so that no
	// controller publishes it or reports whether it is published.
	ReasonUnmanagedDNS = "UnmanagedDNS"

	// ReasonNoZones (False): the DNSRecord has no zones in its status.
	ReasonNoZones = "NoZones"

	// ReasonFailedZones (False): the record could not be published in a zone of the DNS
	// config. The message names these zones, and says what the DNS provider does.
	ReasonFailedZones = "FailedZones"

	// ReasonUnknownZones (False): it is not known whether the record is published in a
	// zone of the DNS config.
	ReasonUnknownZones = "UnknownZones"

	// ReasonNoFailedZones (True): the record is published in all zones of the DNS config
	// that it reports. Zones outside of it do not count.
	ReasonNoFailedZones = "NoFailedZones"
)
