// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// resurrect puts an object in place as a manager does that goes by an older revision. What
// another client makes has no managedFields entry of an apply of ours.
func (l *line) resurrect(manifest map[string]any, as string) {
	l.T.Helper()
	object := unstructuredOf(manifest)
	object.SetLabels(map[string]string{v1alpha1.LabelPackage: "web"})
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(l.pkg(), v1alpha1.GroupVersion.WithKind("Package"))})
	writer := l.cluster.Client(as)
	data, err := object.MarshalJSON()
	if err != nil {
		l.T.Fatal(err)
	}
	if err := writer.Patch(l.T.Context(), object, client.RawPatch("application/apply-patch+yaml", data), client.FieldOwner(as), client.ForceOwnership); err != nil {
		l.T.Fatal(err)
	}
}

// TestWorker_Sweeps: what is ours and in no active revision goes, at the next look. To find
// nothing costs no request.
func TestWorker_Sweeps(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1"), configMap("gone", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2")))
	l.mustSettle(10 * time.Second)
	l.since()
	l.mustSettle(10 * time.Second)
	if _, requests := l.since(); len(requests) > 0 {
		t.Errorf("to find nothing has cost %q", requests)
	}
	l.resurrect(configMap("gone", "1"), revisions.DefaultFieldOwner)
	l.resurrect(configMap("copy", "1"), "kubectl")
	l.mustSettle(10 * time.Second)
	want(t, "what is ours and not wanted goes, what a user has copied stays", "objects", []string{"ConfigMap/a=2", "ConfigMap/copy=1"}, l.objects())
}

// TestWorker_SweepsOnProof: a manager that does not know the newest revision takes nothing
// of it away.
func TestWorker_SweepsOnProof(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	l.stale = []v1alpha1.Revision{*l.revision(1)}
	l.deliver(phase(configMap("a", "1"), configMap("new", "1")))
	l.resurrect(configMap("new", "1"), revisions.DefaultFieldOwner)
	if _, err := l.pass(); err != nil {
		t.Fatalf("revisions that have changed are no error: %v", err)
	}
	want(t, "what a newer revision wants stays", "objects", []string{"ConfigMap/a=1", "ConfigMap/new=1"}, l.objects())
}
