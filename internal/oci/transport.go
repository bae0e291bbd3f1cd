// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// errStalled ends a request whose answer does not go on.
var errStalled = errors.New("nothing more was received in time")

// TransportConfig says how to connect to servers.
type TransportConfig struct {
	// CADir is a folder with PEM files of CAs that are trusted besides those of the system. It is
	// read again when it changes.
	CADir string
	// Patience is how long the beginning of an answer may take, and each further part of it; 30
	// seconds if it is 0.
	Patience time.Duration
}

// NewTransport connects with TLS 1.2 or newer, through the proxies that the environment names. Nothing
// that a server does not send keeps a request open. What goes wrong is an [Error], also while an
// answer is read.
func NewTransport(config TransportConfig) http.RoundTripper {
	if config.Patience == 0 {
		config.Patience = 30 * time.Second
	}
	return &reloading{config: config}
}

// reloading is a transport that trusts the CAs of a folder as it is now.
type reloading struct {
	config TransportConfig

	mutex sync.Mutex
	// stamp is that of the folder when current was made.
	stamp   string
	current *http.Transport
}

// RoundTrip sends a request.
func (r *reloading) RoundTrip(request *http.Request) (*http.Response, error) {
	transport, err := r.transport()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	patience := time.AfterFunc(r.config.Patience, func() { cancel(errStalled) })
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		patience.Stop()
		err = orStalled(ctx, err)
		cancel(nil)
		return nil, explain(err, "", request.URL.Host)
	}
	// Who looks at the request of an answer looks for the one that was sent.
	response.Request = request
	response.Body = &patientBody{
		ReadCloser: response.Body, timer: patience, patience: r.config.Patience,
		explain: func(err error) error { return endOf(ctx, err, request.URL.Host) },
		end:     func() { cancel(nil) },
	}
	return response, nil
}

func orStalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// endOf is how reading an answer ended. A server that sees that the client leaves may end its answer
// as if it were whole, before the connection is closed: that is not the end of it.
func endOf(ctx context.Context, err error, host string) error {
	switch {
	case ctx.Err() != nil:
		return explain(context.Cause(ctx), "", host)
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return explain(err, "", host)
}

// patientBody ends with an error when the next part of an answer takes too long.
type patientBody struct {
	io.ReadCloser

	timer    *time.Timer
	patience time.Duration
	// explain says how the answer ended, and end cancels the request.
	explain func(error) error
	end     func()
}

// Read waits for the next part.
func (b *patientBody) Read(into []byte) (int, error) {
	b.timer.Reset(b.patience)
	read, err := b.ReadCloser.Read(into)
	b.timer.Stop()
	if err != nil {
		err = b.explain(err)
	}
	return read, err
}

// Close ends the request.
func (b *patientBody) Close() error {
	b.timer.Stop()
	b.end()
	return b.ReadCloser.Close()
}

// transport is one that trusts the folder as it is.
func (r *reloading) transport() (*http.Transport, error) {
	stamp, err := stampOf(r.config.CADir)
	if err != nil {
		return nil, fmt.Errorf("reading the folder with CAs: %w", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.current != nil && stamp == r.stamp {
		return r.current, nil
	}
	pool, err := readCAs(r.config.CADir)
	if err != nil {
		return nil, fmt.Errorf("reading the folder with CAs: %w", err)
	}
	if r.current != nil {
		r.current.CloseIdleConnections()
	}
	r.stamp = stamp
	r.current = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     30 * time.Second,
		MaxIdleConns:        8,
		ForceAttemptHTTP2:   true,
	}
	return r.current, nil
}

// stampOf changes when a file of a folder does.
func stampOf(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	stamp := &strings.Builder{}
	for _, entry := range entries {
		// The target of a link counts: volumes are updated by another one.
		info, err := os.Stat(filepath.Join(folder, entry.Name()))
		if err != nil {
			continue
		}
		fmt.Fprintf(stamp, "%s %d %d\n", entry.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return stamp.String(), nil
}

// readCAs adds the certificates in a folder to those of the system.
func readCAs(folder string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if folder == "" {
		return pool, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		pool.AppendCertsFromPEM(raw)
	}
	return pool, nil
}
