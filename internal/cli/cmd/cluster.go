// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/strata-run/strata/api/v1alpha1"
)

const remedy = "start a local one with `strata up`, or name another with --kubeconfig or --context"

type cluster struct {
	// client reads and writes without a cache.
	client client.WithWatch
	// host is the API server's address, for messages.
	host string
	// config is how it is reached.
	config *rest.Config
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, authenticationv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// newMapper maps kinds to their paths. Those that most commands read are fixed, so
// that they need no discovery: that would cost requests, and would ask for rights.
// Others are discovered when a command asks for one of them.
func newMapper(cfg *rest.Config) (meta.RESTMapper, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	discovered, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{fixedMapper(), discovered}}, nil
}

func fixedMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range ownKinds {
		m.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	for _, kind := range append([]string{"ReplicaSet"}, restartKinds...) {
		m.Add(appsv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	m.Add(istioKind, meta.RESTScopeNamespace)
	return m
}

// connectTo is the cluster that the flags and the kubeconfig name. It sends
// nothing yet.
func (a *app) connectTo() (*cluster, error) {
	cfg, err := a.restConfig()
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mapper, err := newMapper(cfg)
	if err != nil {
		return nil, exitf(CodeUsage, "%w", err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, exitf(CodeUsage, "connecting to %s: %w", cfg.Host, err)
	}
	return &cluster{client: c, host: cfg.Host, config: cfg}, nil
}

func (a *app) restConfig() (*rest.Config, error) {
	loader := a.flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, exitf(CodeUsage, "reading the kubeconfig: %w", err)
	}
	inCluster := os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	if len(raw.Clusters) == 0 && *a.flags.APIServer == "" && !inCluster {
		places := loader.ConfigAccess().GetLoadingPrecedence()
		if explicit := loader.ConfigAccess().GetExplicitFile(); explicit != "" {
			places = []string{explicit}
		}
		return nil, exitf(CodeUnreachable, "no cluster is named: no kubeconfig at %s; %s", strings.Join(places, ", "), remedy)
	}
	cfg, err := a.flags.ToRESTConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, exitf(CodeUnreachable, "no cluster is named: the kubeconfig has no current context; %s", remedy)
	case err != nil:
		return nil, exitf(CodeUsage, "reading the kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 100, 200
	cfg.UserAgent = "strata"
	cfg.WarningHandler = &warnings{app: a, seen: map[string]bool{}}
	return cfg, nil
}

type warnings struct {
	app  *app
	seen map[string]bool
}

// HandleWarningHeader is called by the client for each warning.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != 299 || text == "" || w.seen[text] {
		return
	}
	w.seen[text] = true
	w.app.note("Warning: %s", text)
}

// explain turns an error of a request into one that says what to do, with its
// exit code.
func (c *cluster) explain(doing string, err error) error {
	var exit *ExitError
	var urlErr *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit), errors.Is(err, context.Canceled):
		return err
	case meta.IsNoMatchError(err), isMissingKind(err):
		return exitf(CodeNotFound, "%s: the cluster at %s has no Strata: its CustomResourceDefinitions are not installed", doing, c.host)
	case apierrors.IsUnauthorized(err):
		return exitf(CodeUnreachable, "%s: the cluster at %s does not accept these credentials: %w", doing, c.host, err)
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return exitf(CodeUnreachable, "%s: the cluster at %s cannot answer at present: %w", doing, c.host, err)
	case errors.As(err, &urlErr):
		return exitf(CodeUnreachable, "no cluster answers at %s: %w; %s", c.host, urlErr.Err, remedyFor(urlErr.Err))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func remedyFor(err error) string {
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var connection *net.OpError
	switch {
	case errors.As(err, &untrusted):
		return "check certificate-authority-data and tls-server-name of the cluster in the kubeconfig"
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "what answers there does not speak TLS: check the address, and proxies"
	case errors.As(err, &connection) && connection.Op == "proxyconnect":
		return "check the proxy: HTTPS_PROXY, NO_PROXY and proxy-url of the cluster in the kubeconfig"
	}
	return remedy
}

// isMissingKind is true when the API server does not serve the kind at all, as
// opposed to having no object of that name.
func isMissingKind(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}
