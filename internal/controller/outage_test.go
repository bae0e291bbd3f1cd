// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// hangUp closes a connection without an answer.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		err = connection.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// TestOutage has a server go and come back: it is noticed once, and one request that fails
// while the server answers is no outage. Writes fail meanwhile, and reads wait.
func TestOutage(t *testing.T) {
	listen := func(address string) (net.Listener, *http.Server) {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/broken" {
				hangUp(t, w)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
		})}
		go func() { _ = server.Serve(listener) }()
		return listener, server
	}
	first, server := listen("127.0.0.1:0")
	address := first.Addr().String()
	over := make(chan struct{}, 10)
	watched := &outage{stop: t.Context().Done()}
	watched.wakes(func() { over <- struct{}{} })
	events := watched.events()
	transport := watched.Wrap(&http.Transport{DisableKeepAlives: true})
	send := func(ctx context.Context, method, path string) error {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	if err := send(t.Context(), http.MethodGet, "/broken"); err == nil {
		t.Fatal("the request has not failed")
	}
	err := wait.PollUntilContextCancel(t.Context(), time.Millisecond, true, func(context.Context) (bool, error) {
		watched.lock.Lock()
		defer watched.lock.Unlock()
		return watched.present == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(over) != 0 {
		t.Error("a request that failed alone is an outage")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := send(t.Context(), http.MethodPatch, "/"); err == nil {
			t.Fatal("the server still answers")
		}
	}
	short, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := send(short, http.MethodGet, "/"); err == nil {
		t.Fatal("the server still answers")
	}
	read := make(chan error, 1)
	go func() { read <- send(t.Context(), http.MethodGet, "/") }()
	select {
	case <-over:
		t.Fatal("the outage is over, and the server does not answer")
	case err := <-read:
		t.Fatalf("a read has ended with %v while the server does not answer", err)
	case <-time.After(2 * askEvery):
	}
	_, server = listen(address)
	defer func() { _ = server.Close() }()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("the end of the outage was not noticed")
	}
	if err := <-read; err != nil {
		t.Errorf("a read that waited for the server: %v", err)
	}
	if len(over) != 0 {
		t.Error("one outage is over twice")
	}
	select {
	case <-events:
	case <-time.After(time.Minute):
		t.Error("the fronts got no signal")
	}
}
