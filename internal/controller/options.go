// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/front/kyma"
)

// Options are the manager's settings. The zero value is not usable: start from
// DefaultOptions.
type Options struct {
	// Fronts are those that run, of [AllFronts].
	Fronts []string

	// IstioVersion is what a GatewayClass gets that asks for no other: a version
	// that is in the binary, such as 1.31.
	IstioVersion string

	// IstioResources are the CRDs of Istio that the istiod of GatewayClasses takes
	// configuration from besides Gateway API, or [gatewayclass.AllResources].
	IstioResources []string

	// DNSRecordFinalizer is put on the DNSRecords of Gateways, for a DNS controller that
	// takes it off after it has taken the record out of its zones. Empty puts that of
	// OpenShift's DNS controller where OpenShift publishes records, and none elsewhere: where
	// no such controller runs, records would never go. [gateway.NoFinalizer] puts none.
	DNSRecordFinalizer string

	// IstiodImage and ProxyImage are full image references that run instead of those of
	// every Istio release. Empty for none.
	IstiodImage, ProxyImage string

	// ImagesFile is a YAML file with images: the fields istiod and proxy for every
	// version, and below versions the same for one, such as "1.31". Empty for none.
	ImagesFile string

	// Images are what ReadImages makes of the flags, the environment and the file.
	Images ImageSettings

	// AgentImage is a full image reference that istio-csr runs, and AgentVersion the
	// version of the agent in it, which empty stands for the tag. Empty takes those of the
	// environment, and else [istiocsr.DefaultImage].
	AgentImage, AgentVersion string

	// ClusterResourceNamespace is where cert-manager looks for the Secrets of
	// ClusterIssuers.
	ClusterResourceNamespace string

	// Kyma are the settings of the kyma front.
	Kyma kyma.Options

	// Namespace is the manager's own, for leases and Secrets.
	Namespace string

	// LeaderElect lets only one of several managers act.
	LeaderElect bool

	// MetricsAddress is where metrics are served; 0 serves none. Without
	// MetricsSecure it has to be a loopback address.
	MetricsAddress string

	// MetricsSecure serves metrics over HTTPS, and only to those whom the API server
	// knows and lets get the path /metrics.
	MetricsSecure bool

	// MetricsCertificates is a folder with tls.crt and tls.key for MetricsSecure. They
	// are read again when they change. Empty, or a folder without them at the start, stands
	// for a certificate that the manager signs itself.
	MetricsCertificates string

	// HealthAddress is where /healthz and /readyz are served; 0 serves none.
	HealthAddress string
}

// AllFronts are the fronts that there are: each is about one kind of custom resource, and
// waits for its definition.
var AllFronts = []string{"gatewayclass", "gateway", "istiocsr", "kyma"}

// DefaultOptions are the settings of a manager without flags.
func DefaultOptions() Options {
	return Options{
		Fronts:         slices.Clone(AllFronts),
		IstioVersion:   "1.31",
		IstioResources: gatewayclass.DefaultResources(),
		Namespace:      "strata-system",
		LeaderElect:    true,
		MetricsAddress: "127.0.0.1:8080",
		HealthAddress:  "127.0.0.1:8081",

		ClusterResourceNamespace: "cert-manager",

		Kyma: kyma.DefaultOptions(),
	}
}

// AddFlags adds a flag for each setting, with its present value as default.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Fronts, "fronts", o.Fronts, "fronts that run, of "+strings.Join(AllFronts, ", ")+"; empty for none")
	fs.StringVar(&o.IstioVersion, "istio-version", o.IstioVersion, "Istio version for a GatewayClass that asks for no other")
	fs.StringSliceVar(&o.IstioResources, "istio-resources", o.IstioResources,
		"CustomResourceDefinitions of Istio that istiod takes configuration from besides Gateway API; "+gatewayclass.AllResources+" for all, empty for none")
	fs.StringVar(&o.DNSRecordFinalizer, "dns-record-finalizer", o.DNSRecordFinalizer,
		"finalizer for the DNSRecords of Gateways; empty for "+gateway.DefaultFinalizer+" where OpenShift publishes records, "+gateway.NoFinalizer+" for none")
	fs.StringVar(&o.IstiodImage, "istiod-image", o.IstiodImage, "image that istiod runs instead of its release's; so does the variable "+envIstiodImage)
	fs.StringVar(&o.ProxyImage, "proxy-image", o.ProxyImage, "image that gateways run instead of their release's; so does the variable "+envProxyImage)
	fs.StringVar(&o.ImagesFile, "images-file", o.ImagesFile, "YAML file with the images istiod and proxy, and below versions those of one minor version")
	fs.StringVar(&o.AgentImage, "istio-csr-image", o.AgentImage, "image that istio-csr runs; so does the variable "+envAgentImage)
	fs.StringVar(&o.AgentVersion, "istio-csr-version", o.AgentVersion, "version of istio-csr in its image, when the tag does not say it; so does the variable "+envAgentVersion)
	fs.StringVar(&o.ClusterResourceNamespace, "cluster-resource-namespace", o.ClusterResourceNamespace, "namespace where cert-manager has the Secrets of ClusterIssuers")
	o.Kyma.AddFlags(fs)
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "the manager's own namespace, for its lease and Secrets")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let only one of several managers act")
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "address to serve metrics on; 0 serves none")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics over HTTPS, to those who may get /metrics")
	fs.StringVar(&o.MetricsCertificates, "metrics-cert-dir", o.MetricsCertificates, "folder with tls.crt and tls.key for --metrics-secure; without them the manager makes a certificate of its own")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "address to serve /healthz and /readyz on; 0 serves none")
}

// Validate says which setting cannot work, and what would.
func (o Options) Validate() error {
	for _, front := range o.Fronts {
		if !slices.Contains(AllFronts, front) {
			return fmt.Errorf("--fronts: there is no front %.50q: there are %s", front, strings.Join(AllFronts, ", "))
		}
	}
	if _, err := gatewayclass.AppVersion(o.IstioVersion); err != nil {
		return fmt.Errorf("--istio-version: %w", err)
	}
	if err := gatewayclass.CheckResources(o.IstioResources); err != nil {
		return fmt.Errorf("--istio-resources: %w", err)
	}
	if err := o.Images.Validate(); err != nil {
		return err
	}
	if o.MetricsAddress != "0" && !o.MetricsSecure && !isLoopback(o.MetricsAddress) {
		return fmt.Errorf("--metrics-bind-address %s would show metrics to everyone who can reach it: add --metrics-secure, or take a loopback address such as 127.0.0.1:8080", o.MetricsAddress)
	}
	if f := o.DNSRecordFinalizer; f != "" && f != gateway.NoFinalizer && (!strings.Contains(f, "/") || len(validation.IsQualifiedName(f)) > 0) {
		return fmt.Errorf("--dns-record-finalizer %q is no finalizer: it is a domain, a slash and a name, such as %s", f, gateway.DefaultFinalizer)
	}
	if image := o.agentImage().Reference; !istiocsr.IsImage(image) {
		return fmt.Errorf("--istio-csr-image %.100q is not a full image reference with a tag or digest, such as %s", image, istiocsr.DefaultImage)
	}
	if found := validation.IsDNS1123Label(o.ClusterResourceNamespace); len(found) > 0 {
		return fmt.Errorf("--cluster-resource-namespace %.100q is no namespace: %s", o.ClusterResourceNamespace, strings.Join(found, "; "))
	}
	if err := o.Kyma.Validate(); err != nil {
		return err
	}
	if o.Namespace == "" {
		return fmt.Errorf("--namespace is required: the lease and the Secrets of revisions live there")
	}
	return nil
}

// gatewayClasses are the settings of the front of GatewayClasses.
func (o Options) gatewayClasses() gatewayclass.Input {
	return gatewayclass.Input{DefaultVersion: o.IstioVersion, Images: o.Images.All, VersionImages: o.Images.Versions, Resources: append([]string{}, o.IstioResources...)}
}

// isLoopback says whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
