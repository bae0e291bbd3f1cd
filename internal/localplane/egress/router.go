// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// configuration sends what goes into the cluster, and nothing else, through the
	// socket.
	configuration = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %q
`
	dialTimeout   = 5 * time.Second
	headerTimeout = 5 * time.Second
)

// Router is a running proxy. Its methods may be called from several goroutines.
type Router struct {
	dir    string
	server *http.Server
	ended  chan error

	mu     sync.Mutex
	routes map[string]string
	open   map[net.Conn]bool
	closed bool
}

// Listen starts a proxy without routes. Close ends it.
func Listen() (*Router, error) {
	// The length of a socket's path is limited to about 100 characters, so it cannot
	// be put just anywhere.
	dir, err := os.MkdirTemp("", "egress-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of the egress proxy: %w", err)
	}
	r := &Router{dir: dir, ended: make(chan error, 1), routes: map[string]string{}, open: map[net.Conn]bool{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: headerTimeout}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", r.socket())
	if err == nil {
		err = os.WriteFile(r.config(), fmt.Appendf(nil, configuration, r.socket()), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the egress proxy: %w", err), os.RemoveAll(dir))
	}
	go func() { r.ended <- r.server.Serve(listener) }()
	return r, nil
}

func (r *Router) socket() string { return filepath.Join(r.dir, "socket") }
func (r *Router) config() string { return filepath.Join(r.dir, "egress.yaml") }

// APIServerArgs are the arguments that make an API server use the proxy.
func (r *Router) APIServerArgs() []string {
	return []string{"--egress-selector-config-file=" + r.config()}
}

// Route sends connections to service, the cluster IP and port of a Service, to
// process, a host and port. A second call for the same service replaces the first.
func (r *Router) Route(service, process string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routes[service] = process
}

// Close ends the proxy and its connections and removes its socket.
func (r *Router) Close() error {
	errs := []error{r.server.Close()}
	if err := <-r.ended; !errors.Is(err, http.ErrServerClosed) {
		errs = append(errs, err)
	}
	r.mu.Lock()
	r.closed = true
	for conn := range r.open {
		_ = conn.Close()
	}
	r.mu.Unlock()
	if err := errors.Join(append(errs, os.RemoveAll(r.dir))...); err != nil {
		return fmt.Errorf("ending the egress proxy: %w", err)
	}
	return nil
}

// ServeHTTP answers one CONNECT of the API server.
func (r *Router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
		return
	}
	r.mu.Lock()
	process, known := r.routes[request.Host]
	r.mu.Unlock()
	if !known {
		http.Error(w, "nothing stands behind "+request.Host, http.StatusBadGateway)
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	upstream, err := dialer.DialContext(request.Context(), "tcp", process)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer r.forget(upstream)
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "the connection cannot be taken over", http.StatusInternalServerError)
		return
	}
	downstream, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer r.forget(downstream)
	if !r.remember(upstream, downstream) {
		return
	}
	if _, err := io.WriteString(downstream, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	tunnel(downstream, buffered, upstream)
}

// remember keeps the connections for Close; it returns false once that was called.
func (r *Router) remember(connections ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range connections {
		r.open[conn] = true
	}
	return !r.closed
}

func (r *Router) forget(conn net.Conn) {
	_ = conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
}

// tunnel copies both ways until one side ends. What the caller has sent already is
// in sent.
func tunnel(caller net.Conn, sent io.Reader, process net.Conn) {
	done := make(chan struct{}, 2)
	pipe := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // the end of a connection is no error of ours
		done <- struct{}{}
	}
	go pipe(process, sent)
	go pipe(caller, process)
	<-done
	_ = caller.Close()
	_ = process.Close()
	<-done
}
