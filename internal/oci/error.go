// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Kind tells failures of a pull apart.
type Kind string

// The kinds of failures.
const (
	// Invalid is a reference that does not parse: only another one helps.
	Invalid Kind = "Invalid"
	// Rejected is by the image policy or the registries file. Only a change of these helps, which is
	// seen when the image is asked for again.
	Rejected Kind = "Rejected"
	// Refused is an image with content that is not unpacked: only another one helps.
	Refused      Kind = "Refused"
	Unauthorized Kind = "Unauthorized"
	Forbidden    Kind = "Forbidden"
	NotFound     Kind = "NotFound"
	Certificate  Kind = "Certificate"
	Unreachable  Kind = "Unreachable"
	TimedOut     Kind = "TimedOut"
	// Corrupt is content that does not have its digest.
	Corrupt Kind = "Corrupt"
	Other   Kind = "Other"
)

// Error is a failure of a pull in words.
type Error struct {
	Kind Kind
	// Image is the reference that was asked for.
	Image string
	Text  string

	cause error
}

// Error names the image and what is wrong.
func (e *Error) Error() string {
	if e.Image == "" {
		return e.Text
	}
	return fmt.Sprintf("image %s: %s", e.Image, e.Text)
}

// Unwrap is what the failure was made from.
func (e *Error) Unwrap() error { return e.cause }

// Final is whether trying again cannot help.
func (e *Error) Final() bool { return e.Kind == Invalid || e.Kind == Refused }

// refuse is an error about the content of an image.
func refuse(format string, args ...any) *Error {
	return &Error{Kind: Refused, Text: fmt.Sprintf(format, args...)}
}

// explain finds the kind and the words for what went wrong with a host.
func explain(err error, image, host string) *Error {
	explained := &Error{}
	if errors.As(err, &explained) {
		return &Error{Kind: explained.Kind, Image: image, Text: explained.Text, cause: err}
	}
	result := &Error{Image: image, cause: err}
	status := &transport.Error{}
	switch {
	case errors.As(err, &status):
		result.Kind, result.Text = explainStatus(status, host)
	case corrupt.MatchString(err.Error()):
		result.Kind, result.Text = Corrupt, explainDigest(err.Error())
	default:
		result.Kind, result.Text = explainNetwork(err, host)
	}
	return result
}

func explainStatus(err *transport.Error, host string) (Kind, string) {
	switch err.StatusCode {
	case http.StatusUnauthorized:
		return Unauthorized, fmt.Sprintf("the registry %s does not accept the credentials that the pull secrets have for it, or they have none (401)", host)
	case http.StatusForbidden:
		return Forbidden, fmt.Sprintf("the registry %s does not allow access with the credentials of the pull secrets (403)", host)
	case http.StatusNotFound:
		return NotFound, fmt.Sprintf("the registry %s does not have it (404)", host)
	}
	return Other, fmt.Sprintf("the registry %s answers %d %s", host, err.StatusCode, http.StatusText(err.StatusCode))
}

func explainNetwork(err error, host string) (Kind, string) {
	unknown, invalid, name := x509.UnknownAuthorityError{}, x509.CertificateInvalidError{}, x509.HostnameError{}
	verification, record := &tls.CertificateVerificationError{}, tls.RecordHeaderError{}
	dns := &net.DNSError{}
	timeout := net.Error(nil)
	switch {
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &name), errors.As(err, &verification):
		return Certificate, fmt.Sprintf("the certificate of %s is not trusted: %s", host, withoutAddresses(innermost(err)))
	case errors.As(err, &record):
		return Certificate, host + " does not speak TLS"
	case errors.As(err, &dns) && dns.IsNotFound:
		return Unreachable, fmt.Sprintf("the host %s is not known to DNS", host)
	case errors.Is(err, errStalled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut, host + " did not answer in time"
	case errors.Is(err, context.Canceled):
		return Other, "it is not wanted any more"
	case errors.Is(err, syscall.ECONNREFUSED):
		return Unreachable, host + " does not accept connections"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, os.ErrPermission):
		return Other, withoutAddresses(innermost(err))
	}
	return Other, withoutAddresses(err.Error())
}

// corrupt finds what go-containerregistry says about content with another digest, which has no type.
var corrupt = regexp.MustCompile(`verifying size; got (\d+), want (\d+)|Content-Length header (\d+) does not match expected size (\d+)|verifying \S+ checksum after reading \d+ bytes; got "([^"]+)", want "([^"]+)"|manifest digest: "([^"]+)" does not match requested digest: "([^"]+)"|verifying Digest; got "([^"]+)", want "([^"]+)"`)

func explainDigest(text string) string {
	found := corrupt.FindStringSubmatch(text)
	for i := 1; i+1 < len(found); i += 2 {
		got, want := found[i], found[i+1]
		if got == "" {
			continue
		}
		if i <= 3 {
			return fmt.Sprintf("tampered or corrupt: expected %s bytes, got %s", want, got)
		}
		return fmt.Sprintf("tampered or corrupt: expected %s, got %s", want, got)
	}
	return "tampered or corrupt"
}

var (
	sockets = regexp.MustCompile(`(read|write|dial) (tcp|udp)[46]? [^ ]+: |(GET|HEAD|Get|Head) "?https?://\S+: `)
	server  = regexp.MustCompile(` on (\[[0-9a-fA-F:]+\]|[0-9.]+):\d+`)
)

// withoutAddresses leaves out what differs from one try to the next.
func withoutAddresses(text string) string {
	return strings.TrimSpace(server.ReplaceAllString(sockets.ReplaceAllString(text, ""), ""))
}

// innermost is the text of the first error of a chain.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
