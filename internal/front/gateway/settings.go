// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

// Settings are those of the manager for the front. The zero value are the defaults.
type Settings struct {
	// Finalizer is put on the DNSRecords of Gateways, for a DNS controller that
	// takes it off after it has taken the record out of its zones. Empty puts that of
	// OpenShift's DNS controller where OpenShift publishes records, and none elsewhere: where
	// no such controller runs, records would never go. [NoFinalizer] puts none.
	Finalizer string
}

// AddFlags implements [front.Settings].
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.Finalizer, "dns-record-finalizer", s.Finalizer,
		"finalizer for the DNSRecords of Gateways; empty for "+DefaultFinalizer+" where OpenShift publishes records, "+NoFinalizer+" for none")
}

// Complete implements [front.Settings].
func (s *Settings) Complete(func(name string) string) error {
	if f := s.Finalizer; f != "" && f != NoFinalizer && (!strings.Contains(f, "/") || len(validation.IsQualifiedName(f)) > 0) {
		return fmt.Errorf("--dns-record-finalizer %q is not a finalizer: it must be a domain, a slash and a name, such as %s", f, DefaultFinalizer)
	}
	return nil
}

// Setup implements [front.Settings].
func (s *Settings) Setup(w front.Wiring) error {
	return front.Setup(w, &gatewayv1.Gateway{}, newFront(newObserver(w, s.Finalizer)))
}
