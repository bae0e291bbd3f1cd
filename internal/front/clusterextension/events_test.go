// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// at is a ClusterExtension with a bundle and conditions, each as "Type=Status/Reason: message".
func at(bundle string, generation int64, conditions ...string) *olmv1.ClusterExtension {
	ce := extension()
	if name, version, ok := strings.Cut(bundle, " "); ok {
		ce.Status.Install = &olmv1.InstallStatus{Bundle: olmv1.BundleMetadata{Name: name, Version: version}}
	}
	for _, text := range conditions {
		kind, rest, _ := strings.Cut(text, "=")
		value, message, _ := strings.Cut(rest, ": ")
		is, reason, _ := strings.Cut(value, "/")
		ce.Status.Conditions = append(ce.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(is), Reason: reason, Message: message, ObservedGeneration: generation})
	}
	return ce
}

func TestChangeEvents(t *testing.T) {
	const (
		unresolved = `Progressing=True/Retrying: no bundles found for package "p"`
		prefix     = `error for resolved bundle "b" with version "1.0.0": `
		reached    = "Progressing=False/Succeeded: Desired state reached"
	)
	for name, tc := range map[string]struct {
		before, after *olmv1.ClusterExtension
		want          []string
	}{
		"Installed":   {at("", 1), at("b 1.0.0", 1, reached), []string{"Normal Installed Installed bundle b 1.0.0"}},
		"Upgraded":    {at("b 1.0.0", 1, reached), at("c 1.1.0", 1, reached), []string{"Normal Upgraded Upgraded from bundle b 1.0.0 to c 1.1.0"}},
		"Same":        {at("b 1.0.0", 1, reached), at("b 1.0.0", 1, reached), nil},
		"RolledBack":  {at("b 1.0.0", 1, reached), at("b 1.0.0", 1, reached+"; a rollback excludes the newest content: x"), []string{"Normal RolledBack Desired state reached; a rollback excludes the newest content: x"}},
		"Unresolved":  {at("", 1), at("", 1, unresolved), []string{`Warning ResolutionFailed no bundles found for package "p"`}},
		"Again":       {at("", 1, unresolved), at("", 1, unresolved+" matching"), nil},
		"NewSpec":     {at("", 1, unresolved), at("", 2, unresolved), []string{`Warning ResolutionFailed no bundles found for package "p"`}},
		"StillPulled": {at("", 1), at("", 1, `Progressing=True/Retrying: error walking catalogs: error getting package "p" from catalog "c": `+beingRead), nil},
		"PullFailed":  {at("", 1), at("", 1, "Progressing=True/Retrying: "+prefix+notPulled+"401"), []string{"Warning PullFailed " + prefix + notPulled + "401"}},
		"Refused":     {at("", 1), at("", 1, "Progressing=False/Blocked: "+prefix+"the bundle is refused: x"), []string{"Warning BundleRefused " + prefix + "the bundle is refused: x"}},
		"Config":      {at("", 1), at("", 1, "Progressing=False/InvalidConfiguration: "+prefix+"invalid ClusterExtension configuration: x"), []string{"Warning BundleRefused " + prefix + "invalid ClusterExtension configuration: x"}},
		"Collision":   {at("", 1), at("", 1, "Progressing=True/Retrying: "+prefix+"revision object collisions: x"), nil},
		"Deprecated":  {at("", 1, "Deprecated=False/NotDeprecated: not deprecated"), at("", 1, "Deprecated=True/Deprecated: use q"), []string{"Warning Deprecated use q"}},
		"OfNewSpec":   {at("", 1, "Deprecated=True/Deprecated: use q"), at("", 2, "Deprecated=True/Deprecated: use q"), nil},
	} {
		var got []string
		for _, e := range changeEvents(tc.before, tc.after) {
			got = append(got, e.Type+" "+e.Reason+" "+e.Note)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
