// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				w.Header().Set("Retry-After", "0")
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
			if response.Header.Get("Retry-After") != "" {
				t.Errorf("%s\nclient-go would repeat the request up to ten times more", tc.reason)
			}
			if response.StatusCode != tc.want || sent != tc.sent {
				t.Errorf("%s\ncode %d after %d requests, want %d after %d", tc.reason, response.StatusCode, sent, tc.want, tc.sent)
			}
		})
	}
}

// TestRetry_Commands has an API server that turns away each request once. Every command
// gets through, unless it is told not to repeat.
func TestRetry_Commands(t *testing.T) {
	commands := [][]string{
		{"get"}, {"history"}, {"tree"}, {"status"}, {"show"}, {"diff", "1", "2"}, {"explain"}, {"events"}, {"stats"}, {"wait"}, {"assert"},
		{"pause", "--reason", "x"}, {"resume"}, {"rollback", "--dry-run=server", "--to", "1"}, {"delete", "--yes"}, {"report"},
	}
	for _, command := range commands {
		t.Run(command[0], func(t *testing.T) {
			for times, works := range map[string]bool{"1": true, "0": false} {
				tm := newTerminal(t, fixtureNamed(t, "done"))
				seen := map[string]bool{}
				tm.server.fail = func(r *http.Request) *metav1.Status {
					request := r.Method + r.URL.String()
					if seen[request] || strings.HasPrefix(r.URL.Path, "/api/v1") && r.Method == http.MethodGet {
						return nil
					}
					seen[request] = true
					err := apierrors.NewTooManyRequestsError("try again").ErrStatus
					err.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
					return &err
				}
				args := append([]string{command[0], "--retry", times}, command[1:]...)
				switch command[0] {
				case "get", "stats":
				case "report":
					args = append(args, "-f", filepath.Join(t.TempDir(), "report.zip"))
				case "diff":
					args = append([]string{command[0], fixturePackage}, args[1:]...)
				default:
					args = append(args, fixturePackage)
				}
				r := tm.run(args...)
				// What watches goes on by itself.
				patient := command[0] == "wait" || command[0] == "assert"
				wanted := CodeOK
				if command[0] == "diff" {
					wanted = CodeFalse
				}
				if got := r.code == wanted; got != works && !patient {
					t.Errorf("--retry %s: exit code %d\nstdout:\n%s\nstderr:\n%s", times, r.code, r.out, r.err)
				}
			}
		})
	}
}
