// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

const webhookManifest = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w, labels: {a.b/c: x}}
webhooks:
- {name: one.example.org, failurePolicy: Ignore, clientConfig: {caBundle: "", url: u}, sideEffects: None}
- {name: two.example.org, failurePolicy: Ignore, clientConfig: {url: u}}
`

// TestConflictingManagers reads entries as an API server writes them.
func TestConflictingManagers(t *testing.T) {
	const ours = `{manager: strata, operation: Apply, fieldsType: FieldsV1, time: "2026-01-01T00:00:00Z", fieldsV1: {f:webhooks: {'k:{"name":"one.example.org"}': {.: {}, f:name: {}, f:sideEffects: {}}}}}`
	cases := map[string]struct {
		reason string
		live   string
		want   []ConflictingManager
	}{
		"None": {
			reason: "what we alone have was not taken by another",
			live:   `{metadata: {managedFields: [` + ours + `]}}`,
		},
		"Two": {
			reason: "who wrote last comes first, with the fields that differ, reported as a user would write them",
			live: `{metadata: {labels: {a.b/c: other}, managedFields: [` + ours + `,
				{manager: kubectl-edit, operation: Update, fieldsType: FieldsV1, time: "2026-01-01T00:00:01Z", fieldsV1: {f:metadata: {f:labels: {f:a.b/c: {}}}}},
				{manager: pilot-discovery, operation: Update, fieldsType: FieldsV1, time: "2026-01-01T00:00:02Z", fieldsV1: {f:webhooks: {'k:{"name":"one.example.org"}': {f:failurePolicy: {}, f:clientConfig: {f:caBundle: {}}}}}}]},
				webhooks: [{name: one.example.org, failurePolicy: Fail, clientConfig: {caBundle: abc, url: u}}]}`,
			want: []ConflictingManager{
				{Manager: "pilot-discovery", Operation: "Update", Fields: []string{".webhooks[name=one.example.org].clientConfig.caBundle", ".webhooks[name=one.example.org].failurePolicy"}},
				{Manager: "kubectl-edit", Operation: "Update", Fields: []string{`.metadata.labels["a.b/c"]`}},
			},
		},
		"SameValue": {
			reason: "who has set what we want has taken nothing from us",
			live: `{metadata: {managedFields: [` + ours + `,
				{manager: x, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:webhooks: {'k:{"name":"two.example.org"}': {f:failurePolicy: {}}}}}]},
				webhooks: [{name: two.example.org, failurePolicy: Ignore}]}`,
		},
		"OfTheirOwn": {
			reason: "fields that the manifest does not have are theirs alone",
			live: `{metadata: {annotations: {note: x}, managedFields: [` + ours + `,
				{manager: x, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:annotations: {f:note: {}}}}}]}}`,
		},
		"Status": {
			reason: "no manifest sets the status",
			live: `{metadata: {managedFields: [` + ours + `,
				{manager: x, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:labels: {f:a.b/c: {}}}}}]}}`,
		},
		"Garbage": {
			reason: "an entry that cannot be read tells nothing",
			live:   `{metadata: {managedFields: [text, {manager: x, operation: Update, fieldsType: FieldsV1, fieldsV1: {'k:{': {}, f:: 1}}, {manager: y, fieldsType: Other}]}}`,
		},
		"MetadataOnly": {
			reason: "of an object whose body is not known, every field that they have may differ",
			live: `{metadata: {managedFields: [` + ours + `,
				{manager: x, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:webhooks: {'k:{"name":"two.example.org"}': {f:failurePolicy: {}}}}}]}}`,
			want: []ConflictingManager{{Manager: "x", Operation: "Update", Fields: []string{".webhooks[name=two.example.org].failurePolicy"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := parse(t, tc.live)
			if diff := cmp.Diff(tc.want, conflictingManagers(parse(t, webhookManifest), live, DefaultFieldOwner)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			Trim(live, DefaultFieldOwner)
			if diff := cmp.Diff(tc.want, conflictingManagers(parse(t, webhookManifest), live, DefaultFieldOwner)); diff != "" {
				t.Errorf("trimmed: %s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIgnorableFields(t *testing.T) {
	kind := func(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }
	const admission = "admissionregistration.k8s.io"
	bundle, policy := ".webhooks[name=one.example.org].clientConfig.caBundle", ".webhooks[name=one.example.org].failurePolicy"
	restarted := `.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`
	cases := map[string]struct {
		reason  string
		kind    schema.GroupKind
		manager ConflictingManager
		want    []string
	}{
		"Validating": {
			reason: "istiod sets the bundle and the policy of its validating webhook",
			kind:   kind(admission, "ValidatingWebhookConfiguration"), manager: ConflictingManager{Manager: "pilot-discovery", Fields: []string{policy, bundle}},
			want: []string{bundle, policy},
		},
		"Mutating": {
			reason: "the policy of a mutating webhook is of no other manager",
			kind:   kind(admission, "MutatingWebhookConfiguration"), manager: ConflictingManager{Manager: "x", Fields: []string{bundle, policy}},
			want: []string{bundle},
		},
		"Definition": {
			reason: "a conversion webhook has a bundle, too",
			kind:   crdKind, manager: ConflictingManager{Manager: "x", Fields: []string{".spec.conversion.webhook.clientConfig.caBundle"}},
			want: []string{".spec.conversion.webhook.clientConfig.caBundle"},
		},
		"Autoscaler": {
			reason: "a HorizontalPodAutoscaler scales anything",
			kind:   kind("example.org", "Fleet"), manager: ConflictingManager{Manager: "kube-controller-manager", Subresource: "scale", Fields: []string{".spec.replicas"}},
			want: []string{".spec.replicas"},
		},
		"Person": {
			reason: "a person who scales is set back",
			kind:   kind("apps", "Deployment"), manager: ConflictingManager{Manager: "kubectl", Subresource: "scale", Fields: []string{".spec.replicas"}},
		},
		"Edit": {
			reason: "so is who edits the replicas under that name",
			kind:   kind("apps", "Deployment"), manager: ConflictingManager{Manager: "kube-controller-manager", Fields: []string{".spec.replicas"}},
		},
		"Restart": {
			reason: "a restart is not undone",
			kind:   kind("apps", "DaemonSet"), manager: ConflictingManager{Manager: "kubectl-rollout", Fields: []string{restarted, ".spec.template.metadata.annotations.other"}},
			want: []string{restarted},
		},
		"Unreadable": {
			reason: "a field of a port is none of these",
			kind:   kind("", "Service"), manager: ConflictingManager{Manager: "x", Fields: []string{".spec.ports[port=80,protocol=TCP].nodePort"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ignorableFields(tc.kind, []ConflictingManager{tc.manager})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTextOf: what is printed of the fields of another manager can be named as a field of the manifest,
// as unmanaged ones are.
func TestTextOf(t *testing.T) {
	service := `
metadata:
  finalizers: [example.com/hold]
  annotations: {example.com/note: x}
spec:
  ports: [{port: 80, targetPort: 8080}]
`
	fields := `{"f:metadata":{"f:finalizers":{"v:\"example.com/hold\"":{}},"f:annotations":{"f:example.com/note":{}}},` +
		`"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:targetPort":{}}}}}`
	var set fieldpath.Set
	if err := set.FromJSON(strings.NewReader(fields)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`.metadata.annotations["example.com/note"]`, ".metadata.finalizers[=example.com/hold]", ".spec.ports[port=80,protocol=TCP].targetPort",
	}
	var got []string
	for path := range set.Leaves().All() {
		text := textOf(path)
		got = append(got, text)
		field, err := ParseFieldPath(text)
		if err != nil || field.String() != text {
			t.Errorf("ParseFieldPath(%s) = %s, %v", text, field, err)
		}
		content := parse(t, service).Object
		if cmp.Equal(field.pattern.Without(content), content) {
			t.Errorf("%s names nothing in the manifest", text)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
