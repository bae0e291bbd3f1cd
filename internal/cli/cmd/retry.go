// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of the pause between two attempts.
const (
	firstRetryPause   = 200 * time.Millisecond
	longestRetryPause = 10 * time.Second
)

// retrying sends a request again that the API server has turned away: with 429, as
// it has too much to do, or with 500, 502, 503 or 504. A write is sent again only
// after 429, which says that nothing was done.
//
// client-go retries by itself only what comes with Retry-After, which load balancers do not
// send, and up to ten times: how often cannot be set for a client.
type retrying struct {
	next http.RoundTripper
	// times is how many times more a request is sent.
	times int
}

// RoundTrip sends a request.
func (r *retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	pause := firstRetryPause
	for attempt := 0; ; attempt++ {
		sent := request
		if attempt > 0 && request.GetBody != nil {
			body, err := request.GetBody()
			if err != nil {
				return nil, err
			}
			sent = request.Clone(request.Context())
			sent.Body = body
		}
		response, err := r.next.RoundTrip(sent)
		if err != nil {
			return nil, err
		}
		if attempt >= r.times || !isWorthRetry(request, response.StatusCode) {
			// With this header client-go would go on by itself, up to ten times.
			response.Header.Del("Retry-After")
			return response, nil
		}
		wait := max(retryAfter(response), pause)
		// The connection can be used again once the answer is read.
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
		select {
		case <-time.After(min(wait, longestRetryPause)):
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		pause = min(2*pause, longestRetryPause)
	}
}

func isWorthRetry(request *http.Request, code int) bool {
	if request.Body != nil && request.Body != http.NoBody && request.GetBody == nil {
		return false
	}
	switch code {
	case http.StatusTooManyRequests:
		return true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return request.Method == http.MethodGet
	}
	return false
}

func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
