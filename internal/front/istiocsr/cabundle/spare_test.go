// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

// tamperings are what a user may do to the copy, for a copy of one CA.
func tamperings(stranger trusttest.Authority) map[string]func(f *fixture) {
	return map[string]func(f *fixture){
		"Nothing":   func(*fixture) {},
		"Added":     func(f *fixture) { f.change(func(c *corev1.ConfigMap) { c.Data[Key] += stranger.PEM }) },
		"Replaced":  func(f *fixture) { f.change(func(c *corev1.ConfigMap) { c.Data[Key] = stranger.PEM }) },
		"Emptied":   func(f *fixture) { f.change(func(c *corev1.ConfigMap) { c.Data = nil }) },
		"Labels":    func(f *fixture) { f.change(func(c *corev1.ConfigMap) { c.Labels = map[string]string{"app": "other"} }) },
		"Immutable": func(f *fixture) { f.change(func(c *corev1.ConfigMap) { c.Data[Key], c.Immutable = "x", new(true) }) },
		"Deleted":   func(f *fixture) { f.remove(f.copied()) },
	}
}

// TestHold: while it is unknown what is wanted the copy stays what it was, whenever it
// was changed and whenever the keeper was started.
func TestHold(t *testing.T) {
	one, stranger := trusttest.CA(t, "one", nil), trusttest.CA(t, "stranger", nil)
	for name, tamper := range tamperings(stranger) {
		for when, restart := range map[string]struct{ before, after bool }{
			"Remembered": {}, "BeforeTheStart": {after: true}, "AfterTheStart": {before: true},
		} {
			t.Run(name+"/"+when, func(t *testing.T) {
				f := newFixture(t)
				f.istiod(one)
				f.holds("at first", "", one)
				// The mesh goes, with all that could tell its CAs.
				f.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "mesh", Name: "istiod-tls"}})
				if restart.before {
					f.restart()
					f.hold()
				}
				tamper(f)
				if restart.after {
					f.restart()
				}
				f.hold()
				if copied := f.copied(); copied == nil || copied.Data[Key] != one.PEM || copied.Labels["app"] != "istio-csr" {
					t.Errorf("the copy is not repaired: %v", copied)
				}
				f.holds("nor does it get lost when it is known again what is wanted", "not issued yet", one)
				f.istiod(one)
				f.holds("in the end the source says it", "", one)
			})
		}
	}
}

// TestHold_Nothing: nothing is made of nothing, nor of what is not ours.
func TestHold_Nothing(t *testing.T) {
	one, stranger := trusttest.CA(t, "one", nil), trusttest.CA(t, "stranger", nil)
	f := newFixture(t)
	f.hold()
	if f.copied() != nil || f.spare() != nil {
		t.Error("what was never asked for is made")
	}
	f.configMap("csr", Name, map[string]string{Key: one.PEM})
	f.configMap("csr", SpareName, map[string]string{Key: stranger.PEM})
	f.hold()
	if f.copied().Data[Key] != one.PEM || len(f.copied().Labels) > 0 {
		t.Errorf("another owner's copy is written to: %v", f.copied())
	}
	f.istiod(one)
	f.holds("it is taken over as soon as there is a source, whatever stands in a spare that is not ours", "", one)
	if got := f.spare().Data[Key]; got != one.PEM {
		t.Errorf("the spare is\n%s\nwant\n%s", got, one.PEM)
	}
}

// TestSpare: it follows the copy, is repaired like it, and a restart with a changed copy
// in the midst of a rotation forgets nothing.
func TestSpare(t *testing.T) {
	one, two, stranger := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil), trusttest.CA(t, "stranger", nil)
	f := newFixture(t)
	f.request.IssuerSecret = types.NamespacedName{Namespace: "mesh", Name: "ca"}
	f.secret("mesh", "ca", map[string]string{"ca.crt": one.PEM, "tls.crt": one.PEM})
	f.istiod(one)
	same := func(reason string, authorities ...trusttest.Authority) {
		t.Helper()
		f.holds(reason, "", authorities...)
		copied, spare := f.copied(), f.spare()
		if diff := cmp.Diff(copied.Data, spare.Data); diff != "" {
			t.Errorf("%s: the spare has other data: -copy +spare\n%s", reason, diff)
		}
		if diff := cmp.Diff(copied.Labels, spare.Labels); diff != "" || copied.Annotations[v1alpha1.AnnotationLeavingCAs] != spare.Annotations[v1alpha1.AnnotationLeavingCAs] {
			t.Errorf("%s: the spare has other metadata: %v and %v; labels: -copy +spare\n%s", reason, copied.Annotations, spare.Annotations, diff)
		}
	}
	same("at first", one)
	f.changeOf(f.spare(), func(c *corev1.ConfigMap) { c.Data[Key] += stranger.PEM })
	same("a spare that is changed", one)
	f.remove(f.spare())
	same("a spare that is deleted", one)

	f.secret("mesh", "ca", map[string]string{"ca.crt": two.PEM, "tls.crt": two.PEM})
	same("a rotation", two, one)
	f.istiod(two)
	same("the certificate has moved", two, one)
	record := f.copied().Annotations[v1alpha1.AnnotationLeavingCAs]
	f.restart()
	f.change(func(c *corev1.ConfigMap) { c.Data[Key] = stranger.PEM; c.Annotations = nil })
	same("the copy is changed while no manager runs, and the old CA is still in use", two, one)
	if got := f.copied().Annotations[v1alpha1.AnnotationLeavingCAs]; got != record {
		t.Errorf("the old CA goes at %s, want %s as before", got, record)
	}
	f.restart()
	f.changeOf(f.spare(), func(c *corev1.ConfigMap) { c.Data[Key] = stranger.PEM })
	same("a spare that is changed says nothing", two, one)
}
