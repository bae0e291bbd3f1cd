// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRetrying(t *testing.T) {
	cases := map[string]struct {
		reason  string
		method  string
		answers []int
		want    int
		sent    int
	}{
		"TooMany":       {reason: "429 says that nothing was done.", method: http.MethodPost, answers: []int{429, 200}, want: 200, sent: 2},
		"Unavailable":   {reason: "A read that could not be answered can be repeated.", method: http.MethodGet, answers: []int{503, 503, 200}, want: 200, sent: 3},
		"NotWritten":    {reason: "503 may come from behind the API server.", method: http.MethodPatch, answers: []int{503, 200}, want: 503, sent: 1},
		"ReadFailed":    {reason: "A read can be repeated.", method: http.MethodGet, answers: []int{500, 502, 200}, want: 200, sent: 3},
		"WriteFailed":   {reason: "Nobody knows what a write that failed with 500 has done.", method: http.MethodPost, answers: []int{500, 200}, want: 500, sent: 1},
		"Refused":       {reason: "What is forbidden stays forbidden.", method: http.MethodGet, answers: []int{403, 200}, want: 403, sent: 1},
		"StillTooMany":  {reason: "The last answer is the answer.", method: http.MethodGet, answers: []int{429, 429, 429, 200}, want: 429, sent: 3},
		"AnsweredAtOne": {reason: "An answer is not asked for twice.", method: http.MethodGet, answers: []int{200}, want: 200, sent: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sent := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err != nil || r.Method != http.MethodGet && string(body) != "content" {
					t.Errorf("attempt %d carries %q (%v)", sent+1, body, err)
				}
				sent++
				w.WriteHeader(tc.answers[sent-1])
			}))
			defer server.Close()
			var body io.Reader
			if tc.method != http.MethodGet {
				body = strings.NewReader("content")
			}
			request, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&retrying{next: http.DefaultTransport, times: 2}).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != tc.want || sent != tc.sent {
				t.Errorf("%s\ncode %d after %d requests, want %d after %d", tc.reason, response.StatusCode, sent, tc.want, tc.sent)
			}
		})
	}
}
