// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// breakOff closes the connection.
func breakOff(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// TestTransport_Words has failures of any server in words that are the same at each try.
func TestTransport_Words(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		// patience is that of the client.
		patience time.Duration
		kind     Kind
		want     string
	}{
		{"Hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, short, TimedOut, "HOST did not answer in time"},
		{"HangsInside", hang, short, TimedOut, "HOST did not answer in time"},
		{"BreaksOff", func(w http.ResponseWriter, _ *http.Request) { breakOff(w) }, time.Minute, Other, "EOF"},
		{"BreaksOffInside", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			breakOff(w)
		}, time.Minute, Other, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			host, caDir := serve(t, test.answer)
			client := &http.Client{Transport: NewTransport(TransportConfig{CADir: caDir, Patience: test.patience})}
			for range 2 {
				response, err := client.Get("https://" + host + "/")
				if err == nil {
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				wantKind(t, err, test.kind)
				if want := strings.ReplaceAll(test.want, "HOST", host); err != nil && !strings.HasSuffix(err.Error(), want) {
					t.Errorf("got %q, want %q", err, want)
				}
			}
		})
	}
}

// TestTransport_EndAfterCancel does not take an answer for whole that ends because it was cancelled.
func TestTransport_EndAfterCancel(t *testing.T) {
	for name, cause := range map[string]error{"Stalled": errStalled, "Cancelled": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if err := endOf(ctx, io.EOF, "host"); !errors.Is(err, io.EOF) {
				t.Errorf("got %v for the end of an answer", err)
			}
			cancel(cause)
			if err := endOf(ctx, io.EOF, "host"); !errors.Is(err, cause) || errors.Is(err, io.EOF) {
				t.Errorf("got %v", err)
			}
		})
	}
}
