// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is one of managedFields, such as helm/Update or kwok/Update/status.
func entry(manager, operation, subresource, owned string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
		FieldsV1: metav1.NewFieldsV1(owned),
	}
}

func TestHandOver(t *testing.T) {
	const marks = `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`
	ours := entry("strata", "Apply", "", `{"f:data":{"f:a":{}}}`)
	stale := entry("strata", "Apply", "", `{"f:data":{"f:old":{}}}`)
	helm3 := entry("helm", "Update", "", `{"f:data":{"f:a":{}}}`)
	helm4 := entry("helm", "Apply", "", `{"f:data":{"f:a":{}}}`)
	flux := entry("helm-controller", "Update", "", marks)
	status := entry("kwok", "Update", "status", `{"f:status":{}}`)
	edit := entry("kubectl-edit", "Update", "", `{"f:data":{"f:b":{}}}`)
	cases := map[string]struct {
		reason  string
		current []metav1.ManagedFieldsEntry
		want    []metav1.ManagedFieldsEntry
	}{
		"Helm3":    {reason: "what Helm 3 has updated becomes ours", current: []metav1.ManagedFieldsEntry{helm3, status}, want: []metav1.ManagedFieldsEntry{status, ours}},
		"Helm4":    {reason: "what Helm 4 has applied becomes ours", current: []metav1.ManagedFieldsEntry{status, helm4}, want: []metav1.ManagedFieldsEntry{status, ours}},
		"Library":  {reason: "a program with Helm inside is known by Helm's annotation", current: []metav1.ManagedFieldsEntry{flux}, want: []metav1.ManagedFieldsEntry{ours}},
		"Others":   {reason: "what other managers own stays theirs", current: []metav1.ManagedFieldsEntry{helm3, edit}, want: []metav1.ManagedFieldsEntry{edit, ours}},
		"Again":    {reason: "what was handed over is not handed over again", current: []metav1.ManagedFieldsEntry{ours, status}},
		"Leftover": {reason: "an entry of ours from before is replaced", current: []metav1.ManagedFieldsEntry{stale, helm3}, want: []metav1.ManagedFieldsEntry{ours}},
		"None":     {reason: "without any entry the first apply would make one without a manager", want: []metav1.ManagedFieldsEntry{ours}},
		"Status":   {reason: "a status that helm has written is no content", current: []metav1.ManagedFieldsEntry{entry("helm", "Update", "status", "{}")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, changed := handOver(tc.current, []metav1.ManagedFieldsEntry{status, ours})
			if changed != (tc.want != nil) {
				t.Fatalf("%s: changed is %t", tc.reason, changed)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTakeOverPatch(t *testing.T) {
	const marked = `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  uid: u
  resourceVersion: "7"
  labels: {app.kubernetes.io/managed-by: Helm, app: a}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop, note: x}
  managedFields: [{manager: strata, operation: Apply}]
`
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	cases := map[string]struct {
		reason   string
		manifest string
		marks    bool
		want     string
	}{
		"Keep":     {reason: "while Helm keeps the release it keeps its marks", manifest: head + "metadata: {name: a}"},
		"Handover": {reason: "Helm's marks go with the release", manifest: head + "metadata: {name: a}", marks: true, want: `{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null},"labels":{"app.kubernetes.io/managed-by":null},"resourceVersion":"7","uid":"u"}}`},
		"Manifest": {reason: "what the chart itself sets is content", manifest: head + "metadata: {name: a, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}", marks: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			current := manifest(t, marked)
			got, err := takeOverPatch(manifest(t, tc.manifest), current, current, tc.marks)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
			if got != nil && !json.Valid(got) {
				t.Errorf("%s is no JSON", got)
			}
		})
	}
}
