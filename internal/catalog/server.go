// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
)

// Server is a catalog that a catalogd serves.
type Server struct {
	Client *http.Client
	// Base is the address of the catalog, as its status has it.
	Base string
	// Reference is the image by digest that it is unpacked from, as its status has it. It is not
	// asked for again while that stays the same.
	Reference string
}

// streamTypes are the media types that catalogs are served as. Anything else is the page of a proxy.
var streamTypes = []string{"application/jsonl", "application/json", "application/x-ndjson"}

// Fetch implements [Origin].
func (s Server) Fetch(ctx context.Context, last Version, _ string, read func(Source) error) (Version, error) {
	if s.Reference != "" && s.Reference == last.Reference {
		return last, ErrUnchanged
	}
	address, err := url.JoinPath(s.Base, "api/v1/all")
	if err != nil {
		return Version{}, fmt.Errorf("the address %q of the catalog does not parse", s.Base)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return Version{}, fmt.Errorf("asking for the catalog: %w", err)
	}
	if last.Modified != "" {
		request.Header.Set("If-Modified-Since", last.Modified)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return Version{}, fmt.Errorf("asking for the catalog: %w", err)
	}
	defer closeRead(response.Body)
	if err := s.check(response, last); err != nil {
		return Version{}, err
	}
	now := Version{Reference: s.Reference, Modified: response.Header.Get("Last-Modified")}
	return now, read(whole(Stream(response.Body)))
}

// check says why an answer has no catalog.
func (s Server) check(response *http.Response, last Version) error {
	host := response.Request.URL.Host
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		if s.Reference != "" && s.Reference != last.Reference {
			return fmt.Errorf("the server %s does not have the content of %s yet", host, s.Reference)
		}
		return ErrUnchanged
	case http.StatusNotFound:
		return fmt.Errorf("the server %s does not have the catalog (404); a replica that is not the leader has none, either", host)
	default:
		return fmt.Errorf("the server %s answers %d %s", host, response.StatusCode, http.StatusText(response.StatusCode))
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(streamTypes, kind) {
		return fmt.Errorf("the server %s answers with %q and not with a catalog", host, brief(response.Header.Get("Content-Type")))
	}
	return nil
}

// whole fails when an answer ends in the middle of an object.
func whole(answer Source) Source {
	return func(ctx context.Context, visit func(Blob) error) error {
		err := answer(ctx, func(blob Blob) error {
			if blob.Problem != nil && blob.Problem.Message == endsInside {
				return errors.New("the answer ends in the middle of an object")
			}
			return visit(blob)
		})
		if err != nil {
			return fmt.Errorf("reading the answer of the server: %w", err)
		}
		return nil
	}
}
