// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer says how metrics are served. A folder that has no certificate yet counts as
// none: the manager makes one of its own then, rather than not to start.
func metricsServer(o Options) metricsserver.Options {
	server := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure, CertDir: o.MetricsCertificates}
	if _, err := os.Stat(filepath.Join(o.MetricsCertificates, "tls.crt")); err != nil {
		server.CertDir = ""
	}
	if o.MetricsSecure {
		server.FilterProvider = admitScrapers
	}
	return server
}

// admitScrapers lets those read metrics who may get /metrics. A token that is not accepted
// is answered 401, as the API server answers it, and not 500.
func admitScrapers(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		filtered, err := filter(log, handler)
		if err != nil {
			return nil, err
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			filtered.ServeHTTP(&scrape{ResponseWriter: w}, r)
		}), nil
	}, nil
}

// scrape is the answer to a scrape. What controller-runtime's filter says with 500 is known
// by its text alone, so a status of 500 is held back until there is one.
type scrape struct {
	http.ResponseWriter

	failed bool
}

// WriteHeader sends the status, unless it has to wait for the text.
func (s *scrape) WriteHeader(code int) {
	if s.failed = code == http.StatusInternalServerError; !s.failed {
		s.ResponseWriter.WriteHeader(code)
	}
}

// Write sends the text, and before it the status that has waited.
func (s *scrape) Write(text []byte) (int, error) {
	if s.failed {
		s.failed = false
		code := http.StatusInternalServerError
		if bytes.HasPrefix(text, []byte("Authentication failed")) {
			code = http.StatusUnauthorized
		}
		s.ResponseWriter.WriteHeader(code)
	}
	return s.ResponseWriter.Write(text)
}
