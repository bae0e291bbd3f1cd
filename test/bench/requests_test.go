// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/localplane"
)

// Each request stands in one place, and only one of the manager's.
func TestCount(t *testing.T) {
	complete := func(e localplane.AuditEvent) localplane.AuditEvent {
		e.User, e.Stage, e.Code = managerUser, "ResponseComplete", max(e.Code, 200)
		return e
	}
	for name, tc := range map[string]struct {
		event localplane.AuditEvent
		want  counts
	}{
		"Apply":         {complete(localplane.AuditEvent{Verb: "patch", Resource: "configmaps"}), counts{Writes: 1}},
		"Refused":       {complete(localplane.AuditEvent{Verb: "patch", Resource: "configmaps", Code: 409}), counts{Writes: 1}},
		"Scale":         {complete(localplane.AuditEvent{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale"}), counts{Writes: 1}},
		"Delete":        {complete(localplane.AuditEvent{Verb: "delete", Resource: "services"}), counts{Deletes: 1}},
		"Get":           {complete(localplane.AuditEvent{Verb: "get", Resource: "services"}), counts{Reads: 1}},
		"List":          {complete(localplane.AuditEvent{Verb: "list", Resource: "services"}), counts{Reads: 1}},
		"Status":        {complete(localplane.AuditEvent{Verb: "patch", Group: "strata.run", Resource: "revisions", Subresource: "status"}), counts{Statuses: 1}},
		"Archive":       {complete(localplane.AuditEvent{Verb: "patch", Group: "strata.run", Resource: "revisions"}), counts{Own: 1}},
		"OwnGet":        {complete(localplane.AuditEvent{Verb: "get", Group: "strata.run", Resource: "revisions"}), counts{OwnReads: 1}},
		"FrontsEvents":  {localplane.AuditEvent{User: managerUser, Verb: "watch", Group: "events.k8s.io", Resource: "events", Namespace: "openshift-ingress", Stage: "ResponseStarted", Code: 200}, counts{OwnReads: 1}},
		"FrontsPlace":   {localplane.AuditEvent{User: managerUser, Verb: "watch", Resource: "services", Namespace: "openshift-ingress", Stage: "ResponseStarted", Code: 200}, counts{OwnReads: 1}},
		"FrontsMesh":    {complete(localplane.AuditEvent{Verb: "get", Resource: "namespaces", Name: "istio-system", Namespace: "istio-system"}), counts{OwnReads: 1}},
		"EngineWatch":   {localplane.AuditEvent{User: managerUser, Verb: "watch", Resource: "services", Stage: "ResponseStarted", Code: 200}, counts{Watches: 1}},
		"FrontsKind":    {localplane.AuditEvent{User: managerUser, Verb: "watch", Group: "operator.openshift.io", Resource: "istiocsrs", Stage: "ResponseStarted", Code: 200}, counts{OwnReads: 1}},
		"FrontsWatch":   {localplane.AuditEvent{User: managerUser, Verb: "watch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Stage: "ResponseStarted", Code: 200}, counts{OwnReads: 1}},
		"WatchBegins":   {localplane.AuditEvent{User: managerUser, Verb: "watch", Resource: "services", Stage: "ResponseStarted", Code: 200}, counts{Watches: 1}},
		"WatchEnds":     {complete(localplane.AuditEvent{Verb: "watch", Resource: "services"}), counts{}},
		"WatchRefused":  {complete(localplane.AuditEvent{Verb: "watch", Resource: "services", Code: 403}), counts{Watches: 1}},
		"Storage":       {complete(localplane.AuditEvent{Verb: "create", Resource: "secrets"}), counts{Storage: 1}},
		"Event":         {complete(localplane.AuditEvent{Verb: "create", Group: "events.k8s.io", Resource: "events", Namespace: "default"}), counts{Events: 1}},
		"ElectionEvent": {complete(localplane.AuditEvent{Verb: "create", Resource: "events", Namespace: managerNamespace}), counts{}},
		"Rights":        {complete(localplane.AuditEvent{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}), counts{Checks: 1}},
		"Self":          {complete(localplane.AuditEvent{Verb: "create", Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}), counts{Checks: 1}},
		"Extension":     {complete(localplane.AuditEvent{Verb: "patch", Group: "olm.operatorframework.io", Resource: "clusterextensions", Subresource: "status"}), counts{Statuses: 1}},
		"Discovery":     {complete(localplane.AuditEvent{Verb: "get", RequestURI: "/apis"}), counts{Discovery: 1}},
		"OtherUser":     {localplane.AuditEvent{User: helmUser, Verb: "patch", Resource: "configmaps", Stage: "ResponseComplete"}, counts{}},
	} {
		got := count([]localplane.AuditEvent{tc.event}, managerUser)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: the counts (-want +got):\n%s", name, diff)
		}
		want := 1
		if tc.want == (counts{}) {
			want = 0
		}
		if got.all() != want {
			t.Errorf("%s: %d requests, want %d", name, got.all(), want)
		}
	}
}

func TestDescribe(t *testing.T) {
	since := time.Now()
	text := describe([]localplane.AuditEvent{
		{Verb: "patch", Resource: "configmaps", Time: since}, {Verb: "patch", Resource: "configmaps", Time: since},
		{Verb: "patch", Group: "strata.run", Resource: "packages", Subresource: "status", Name: "web", Code: 200, Time: since.Add(1500 * time.Millisecond)},
		{Verb: "get", RequestURI: "/apis?timeout=32s", Time: since},
	}, since)
	for _, want := range []string{"2   patch configmaps", "1.500s  patch packages/status web 200", "1   get /apis\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the description lacks %q:\n%s", want, text)
		}
	}
}

// The fixture is what the budget says, and upgrade is what its name says.
func TestFixture(t *testing.T) {
	before, after := fixture("ns"), upgraded(fixture("ns"))
	kinds, phases, contents := map[string]bool{}, map[string]bool{}, map[string]any{}
	for _, m := range before {
		kinds[m.kind], phases[m.phase], contents[m.kind+m.name] = true, true, m.content
	}
	if len(before) != 35 || len(contents) != 35 || len(kinds) != 6 || len(phases) != 3 {
		t.Errorf("%d objects, %d of them different, of %d kinds in %d phases, want 35, 35, 6, 3", len(before), len(contents), len(kinds), len(phases))
	}
	changed := 0
	for _, m := range after {
		was, ok := contents[m.kind+m.name]
		if !ok {
			t.Errorf("%s is new", m.name)
		}
		if !cmp.Equal(encoded(t, was), encoded(t, m.content)) {
			changed++
		}
	}
	if len(after) != 34 || changed != 1 {
		t.Errorf("%d objects remain and %d are changed, want 34 and 1", len(after), changed)
	}
	if many := small("ns", "web"); len(many) != 20 {
		t.Errorf("%d objects in a package of the large part, want 20", len(many))
	}
	if built, err := phasesOf(before); err != nil || len(built) != 3 || len(built[0].Objects) != 13 {
		t.Errorf("phasesOf = %d phases, %v", len(built), err)
	}
}

// The large revision fits, and what goes beyond the bounds can be stored.
func TestLargeFixture(t *testing.T) {
	packed, err := content.Pack(largePhases(), nil)
	size := int64(0)
	for i := range packed.Slices {
		size += packed.Slices[i].Bytes
	}
	if err != nil || size < content.MaxBytes*9/10 {
		t.Errorf("the large revision has %d bytes in slices, want nearly %d: %v", size, content.MaxBytes, err)
	}
	if slice, err := bombSlice(0); err != nil || slice.Bytes < bombBytes || len(slice.Data) > 1<<20 {
		t.Errorf("the slice beyond the bounds has %d bytes of %d, want a small one: %v", len(slice.Data), slice.Bytes, err)
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
