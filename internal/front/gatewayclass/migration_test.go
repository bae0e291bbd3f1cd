// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMigrationOf(t *testing.T) {
	const (
		byOwner     = `{kind: Istio, metadata: {name: openshift-gateway, ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, name: c, uid: u}]}, spec: {namespace: elsewhere}}`
		byNamespace = `{kind: Istio, metadata: {name: openshift-gateway}, spec: {namespace: openshift-ingress}}`
		users       = `{kind: Istio, metadata: {name: openshift-gateway}, spec: {namespace: mesh}}`
		otherName   = `{kind: Istio, metadata: {name: default}, spec: {namespace: openshift-ingress}}`
		otherOwner  = `{kind: Istio, metadata: {name: openshift-gateway, ownerReferences: [{apiVersion: example.com/v1, kind: GatewayClass, name: c, uid: u}]}}`
		deleted     = `{kind: Istio, metadata: {name: openshift-gateway, deletionTimestamp: "2026-07-01T12:00:00Z", finalizers: [a.io/f]}, spec: {namespace: openshift-ingress}}`
		revision    = `{kind: IstioRevision, metadata: {name: openshift-gateway}, spec: {namespace: openshift-ingress}}`
		going       = `{kind: IstioRevision, metadata: {name: openshift-gateway, deletionTimestamp: "2026-07-01T12:00:10Z", finalizers: [sailoperator.io/sail-operator]}, spec: {namespace: openshift-ingress}}`
		waiting     = "waiting for the Sail operator to remove the OLM-based control plane: "
	)
	cases := map[string]struct {
		reason          string
		istio, revision string
		after           time.Duration
		delete, late    bool
		message         string
		help            string
	}{
		"Nothing":           {reason: "a cluster without the Sail operator"},
		"ByOwner":           {reason: "an owner that is a GatewayClass", istio: byOwner, delete: true, message: waiting + "Istio openshift-gateway to be gone"},
		"ByNamespace":       {reason: "our namespace", istio: byNamespace, revision: revision, delete: true, message: waiting + "Istio openshift-gateway and IstioRevision openshift-gateway to be gone"},
		"Users":             {reason: "a user's mesh of that name is left alone", istio: users},
		"UsersWithRevision": {reason: "and so is what belongs to it", istio: users, revision: revision},
		"OtherName":         {reason: "another mesh in our namespace is not ours", istio: otherName},
		"OtherOwner":        {reason: "a kind of that name in another group", istio: otherOwner},
		"Deleted":           {reason: "it is deleted once, and the finalizer named", istio: deleted, message: waiting + "Istio openshift-gateway (finalizer a.io/f) to be gone"},
		"RevisionLeft":      {reason: "the IstioRevision is what takes time", revision: going, message: waiting + "IstioRevision openshift-gateway (finalizer sailoperator.io/sail-operator) to be gone"},
		"Late": {reason: "after a time it says how to help", revision: going, after: time.Hour, late: true,
			help: `kubectl patch istiorevision.sailoperator.io openshift-gateway --type=merge -p '{"metadata":{"finalizers":null}}'`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := MigrationOf(fromYAML(t, tc.istio), fromYAML(t, tc.revision))
			now := time.Date(2026, 7, 1, 12, 1, 0, 0, time.UTC).Add(tc.after)
			if m.Delete != tc.delete || m.IsLate(now) != tc.late {
				t.Errorf("%s: to be deleted %t, late %t", tc.reason, m.Delete, m.IsLate(now))
			}
			if m.Pending != (tc.message != "" || tc.help != "") {
				t.Errorf("%s: pending is %t", tc.reason, m.Pending)
			}
			if tc.help != "" {
				if !strings.Contains(m.Message(now), tc.help) || m.Message(now) != m.Message(now.Add(time.Hour)) {
					t.Errorf("%s: message %q", tc.reason, m.Message(now))
				}
				return
			}
			if diff := cmp.Diff(tc.message, m.Message(now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	m := MigrationOf(nil, fromYAML(t, going))
	start := m.Since
	if again := m.Again(start.Add(time.Minute)); again <= 4*time.Minute || again > 5*time.Minute {
		t.Errorf("a minute after the deletion it is checked again after %s", again)
	}
	if again := m.Again(start.Add(time.Hour)); again != 0 {
		t.Errorf("when it has been reported, it is checked again after %s", again)
	}
}
