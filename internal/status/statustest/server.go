// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Server is an API server in memory for the kinds that a loop reads and writes. Tests embed it,
// and put an interceptor before it that calls Write for what the loop writes.
type Server struct {
	// T fails when a request of the test does.
	T *testing.T
	// API is for the test.
	API client.WithWatch
	// Now is the time.
	Now time.Time
	// Writes are those of the loop since they were asked for last.
	Writes []string
	// Refuse, when set, may refuse a write of the loop, given as it stands in Writes.
	Refuse func(write string) error

	uids int
}

// NewServer is a Server for the types that are added. Build completes it, with Packages,
// Revisions and their statuses.
func NewServer(t *testing.T, build func(*fake.ClientBuilder) *fake.ClientBuilder, add ...func(*runtime.Scheme) error) *Server {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range append(add, v1alpha1.AddToScheme) {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Package{}, &v1alpha1.Revision{})
	return &Server{T: t, API: build(builder).Build(), Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Write notes a write of the loop, or says why it is refused.
func (s *Server) Write(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s.Refuse != nil {
		if err := s.Refuse(text); err != nil {
			return err
		}
	}
	s.Writes = append(s.Writes, text)
	return nil
}

// Stamp gives an object what an API server gives it.
func (s *Server) Stamp(object client.Object) {
	s.uids++
	object.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	object.SetGeneration(1)
	object.SetCreationTimestamp(metav1.NewTime(s.Now))
}

// Create creates an object as a user does.
func (s *Server) Create(object client.Object) {
	s.T.Helper()
	s.Stamp(object)
	if err := s.API.Create(s.T.Context(), object); err != nil {
		s.T.Fatal(err)
	}
}

// Read reads an object of a name.
func (s *Server) Read(name string, object client.Object) {
	s.T.Helper()
	if err := s.API.Get(s.T.Context(), types.NamespacedName{Name: name}, object); err != nil {
		s.T.Fatal(err)
	}
}
