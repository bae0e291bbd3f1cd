// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHandOverSpec(t *testing.T) {
	const (
		marks = `"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}`
		args  = `"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:args":{}}}}}}`
	)
	all := func(entries ...metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return entries }
	helms := entry("helm", "Update", "", "{"+marks+","+args+"}")
	status := entry("kube-controller-manager", "Update", "status", `{"f:status":{}}`)
	edit := entry("kubectl-edit", "Update", "", `{"f:spec":{"f:replicas":{}}}`)
	marked := entry("helm", "Update", "", "{"+marks+"}")
	ours := entry("strata", "Apply", "", "{"+args+"}")
	ours.FieldsType = "FieldsV1"
	for name, tc := range map[string]struct {
		reason        string
		current, want []metav1.ManagedFieldsEntry
	}{
		"Helm3":   {"the spec becomes ours, and the marks stay Helm's", all(helms, status), all(marked, status, ours)},
		"Helm4":   {"one that applies", all(entry("helm", "Apply", "", "{"+marks+","+args+"}")), all(entry("helm", "Apply", "", "{"+marks+"}"), ours)},
		"Library": {"a program with Helm inside is known by Helm's mark", all(entry("flux", "Update", "", "{"+marks+","+args+"}")), all(entry("flux", "Update", "", "{"+marks+"}"), ours)},
		"Only":    {"an entry of nothing else goes", all(entry("helm", "Update", "", "{"+args+"}")), all(ours)},
		"Others":  {"what other managers own stays theirs", all(helms, edit), all(marked, edit, ours)},
		"Before": {
			"what is ours stays so", all(entry("strata", "Apply", "", `{"f:spec":{"f:replicas":{}}}`), entry("helm", "Update", "", `{"f:spec":{"f:paused":{}}}`)),
			all(entry("strata", "Apply", "", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`)),
		},
		"Again":   {"nothing is left to be handed over", all(marked, ours), nil},
		"Unowned": {"Helm has no part in it", all(edit, status), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]metav1.ManagedFieldsEntry{}, tc.current...)
			got, changed, err := HandOverSpec(tc.current)
			if err != nil || changed != (tc.want != nil) {
				t.Fatalf("%s: changed is %t (%v)", tc.reason, changed, err)
			}
			if tc.want == nil {
				tc.want = before
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.current); diff != "" {
				t.Errorf("what it was given has changed:\n%s", diff)
			}
		})
	}
	if _, _, err := HandOverSpec(all(entry("helm", "Update", "", "{"))); err == nil {
		t.Error("fields that cannot be read are taken for none")
	}
}
