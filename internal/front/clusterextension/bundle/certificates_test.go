// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import "testing"

func TestChooseCertificates(t *testing.T) {
	for _, tc := range []struct {
		reason                 string
		before, set            Certificates
		certManager, openShift bool
		want                   Certificates
	}{
		{reason: "There is neither.", want: NoCertificates},
		{reason: "cert-manager comes first.", certManager: true, openShift: true, want: CertManager},
		{reason: "OpenShift has its own.", openShift: true, want: ServiceCA},
		{reason: "The manager is set to one.", set: ServiceCA, certManager: true, want: ServiceCA},
		{reason: "What an extension has had stays.", before: ServiceCA, set: CertManager, certManager: true, want: ServiceCA},
	} {
		if got := ChooseCertificates(tc.before, tc.set, tc.certManager, tc.openShift); got != tc.want {
			t.Errorf("%s got %q", tc.reason, got)
		}
	}
}
