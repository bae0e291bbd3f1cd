// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

// sourceCase is what a cluster has, and the CAs that are copied of it.
type sourceCase struct {
	reason  string
	given   func(f *fixture)
	want    []trusttest.Authority
	problem string
	waiting bool
}

func (tc sourceCase) check(t *testing.T) {
	f := newFixture(t)
	tc.given(f)
	f.holds(tc.reason, tc.problem, tc.want...)
	if state := f.keep(); state.Problem != nil && state.Problem.Waiting != tc.waiting {
		t.Errorf("%s: waiting is %v", tc.reason, state.Problem.Waiting)
	}
}

func TestSources(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	issuer := types.NamespacedName{Namespace: "cert-manager", Name: "ca"}
	for name, tc := range map[string]sourceCase{
		"Certificate": {
			reason: "without anything else the CA is the one beside the istiod certificate",
			given:  func(f *fixture) { f.istiod(one) }, want: []trusttest.Authority{one},
		},
		"Issuer": {
			reason: "the issuer's own Secret comes before it",
			given: func(f *fixture) {
				f.request.IssuerSecret = issuer
				f.secret("cert-manager", "ca", map[string]string{"ca.crt": one.PEM + two.PEM, "tls.crt": one.PEM, "tls.key": "secret"})
				f.istiod(one)
			}, want: []trusttest.Authority{one, two},
		},
		"IssuerByHand": {
			reason: "who makes the Secret by hand may give nothing but the certificate",
			given: func(f *fixture) {
				f.request.IssuerSecret = issuer
				f.secret("cert-manager", "ca", map[string]string{"tls.crt": one.PEM, "tls.key": "secret"})
				f.istiod(one)
			}, want: []trusttest.Authority{one},
		},
		"IssuerMissing": {
			reason: "the issuer's Secret may come later", waiting: true,
			given:   func(f *fixture) { f.request.IssuerSecret = issuer; f.istiod(one) },
			problem: "Secret cert-manager/ca of the issuer: the Secret does not exist",
		},
		"IssuerEmpty": {
			reason: "an issuer of type CA has a certificate",
			given: func(f *fixture) {
				f.request.IssuerSecret = issuer
				f.secret("cert-manager", "ca", nil)
				f.istiod(one)
			}, problem: "contains no certificate in ca.crt or tls.crt",
		},
		"NotIssued": {
			reason: "the istiod certificate may come later", waiting: true,
			given:   func(*fixture) {},
			problem: "Secret mesh/istiod-tls of the istiod certificate: the istiod certificate is not issued yet",
		},
		"NoCA": {
			reason: "some issuers do not tell their CA",
			given: func(f *fixture) {
				f.secret("mesh", "istiod-tls", map[string]string{"tls.crt": one.Issue(t, "istiod", nil).PEM})
			}, problem: "put the CA into a ConfigMap",
		},
	} {
		t.Run(name, tc.check)
	}
}

// TestSources_Chosen: what the user has named comes first, and nothing takes its place.
func TestSources_Chosen(t *testing.T) {
	one, three := trusttest.CA(t, "one", nil), trusttest.CA(t, "three", nil)
	reference := &Reference{Name: "mine", Key: "roots"}
	issuer := types.NamespacedName{Namespace: "cert-manager", Name: "ca"}
	for name, tc := range map[string]sourceCase{
		"Chosen": {
			reason: "what the user chose comes first",
			given: func(f *fixture) {
				f.request.IssuerSecret, f.request.Reference = issuer, reference
				f.secret("cert-manager", "ca", map[string]string{"ca.crt": one.PEM, "tls.crt": one.PEM})
				f.configMap("csr", "mine", map[string]string{"roots": three.PEM + one.PEM})
				f.istiod(one)
			}, want: []trusttest.Authority{three, one},
		},
		"ChosenElsewhere": {
			reason: "in any namespace",
			given: func(f *fixture) {
				f.request.Reference = &Reference{Namespace: "other", Name: "mine", Key: "roots"}
				f.configMap("other", "mine", map[string]string{"roots": one.PEM})
				f.istiod(one)
			}, want: []trusttest.Authority{one},
		},
		"ChosenBinary": {
			reason: "as binary data, too",
			given: func(f *fixture) {
				f.request.Reference = reference
				object := &corev1.ConfigMap{BinaryData: map[string][]byte{"roots": []byte(one.PEM)}}
				object.Namespace, object.Name = "csr", "mine"
				f.put(object)
				f.istiod(one)
			}, want: []trusttest.Authority{one},
		},
		"ChosenMissing": {
			reason:  "there is no falling back on what was not chosen",
			given:   func(f *fixture) { f.request.Reference = reference; f.istiod(one) },
			problem: "ConfigMap csr/mine, key roots: the ConfigMap does not exist; create it, or change spec.istioCSRConfig.certManager.istioCACertificate",
		},
		"ChosenWithoutKey": {
			reason: "the key is part of the choice",
			given: func(f *fixture) {
				f.request.Reference = reference
				f.configMap("csr", "mine", map[string]string{"other": one.PEM})
				f.istiod(one)
			}, problem: "the ConfigMap has no such key",
		},
		"ChosenSpare": {
			reason: "nor is the spare, which has what the copy has",
			given: func(f *fixture) {
				f.request.Reference = &Reference{Namespace: "csr", Name: SpareName, Key: Key}
				f.configMap("csr", SpareName, map[string]string{Key: one.PEM})
				f.istiod(one)
			}, problem: "cannot be its own source",
		},
		"ChosenItself": {
			reason: "a copy is no source of itself",
			given: func(f *fixture) {
				f.request.Reference = &Reference{Name: Name, Key: Key}
				f.istiod(one)
			}, problem: "cannot be its own source",
		},
		"ChosenWithKey": {
			reason: "a private key is copied nowhere",
			given: func(f *fixture) {
				f.request.Reference = reference
				f.configMap("csr", "mine", map[string]string{"roots": one.PEM + one.KeyPEM(t)})
				f.istiod(one)
			}, problem: "block 2: it is a private key",
		},
	} {
		t.Run(name, tc.check)
	}
}

// TestCopy checks the object that is written, and that what it was made of is left alone.
func TestCopy(t *testing.T) {
	one := trusttest.CA(t, "one", nil)
	f := newFixture(t)
	f.request.Reference = &Reference{Name: "mine", Key: "roots"}
	f.configMap("csr", "mine", map[string]string{"roots": "# a name\n" + one.PEM})
	f.istiod(one)
	f.keep()
	copied := f.copied()
	if diff := cmp.Diff(map[string]string{Key: one.PEM}, copied.Data); diff != "" {
		t.Errorf("the data of the copy: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(f.request.Labels, copied.Labels); diff != "" || len(copied.Annotations) > 0 || len(copied.OwnerReferences) > 0 {
		t.Errorf("the metadata of the copy: annotations %v, owners %v, labels: -want +got\n%s", copied.Annotations, copied.OwnerReferences, diff)
	}
}

// TestLabels changes what is asked for, while no object changes.
func TestLabels(t *testing.T) {
	one := trusttest.CA(t, "one", nil)
	f := newFixture(t)
	f.istiod(one)
	for _, labels := range []map[string]string{{"app": "istio-csr", "team": "a"}, {"app": "istio-csr"}, {"app": "istio-csr", "team": "b"}, nil} {
		f.request.Labels = labels
		f.holds("labels follow the request", "", one)
		if diff := cmp.Diff(labels, f.copied().Labels); diff != "" {
			t.Errorf("the labels of the copy: -want +got\n%s", diff)
		}
	}
}

func TestTampering(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	cases := map[string]struct {
		reason string
		change func(*corev1.ConfigMap)
	}{
		"Added":      {reason: "a CA that a user adds is thrown out", change: func(c *corev1.ConfigMap) { c.Data[Key] += two.PEM }},
		"Replaced":   {reason: "so is one that replaces ours", change: func(c *corev1.ConfigMap) { c.Data[Key] = two.PEM }},
		"Emptied":    {reason: "an agent without CAs serves no client", change: func(c *corev1.ConfigMap) { c.Data = nil }},
		"Garbage":    {reason: "nor does one with garbage", change: func(c *corev1.ConfigMap) { c.Data[Key] = "x" }},
		"Label":      {reason: "labels are ours", change: func(c *corev1.ConfigMap) { c.Labels["app"] = "other" }},
		"LabelGone":  {reason: "and come back", change: func(c *corev1.ConfigMap) { c.Labels = nil }},
		"Foreign":    {reason: "what other managers add stays", change: func(c *corev1.ConfigMap) { c.Labels["their"] = "label"; c.Data["their"] = "data" }},
		"Unreadable": {reason: "a record is no secret, and can be spoiled", change: func(c *corev1.ConfigMap) { c.Annotations = map[string]string{v1alpha1.AnnotationLeavingCAs: "x"} }},
		"Immutable":  {reason: "a copy that cannot be changed is made anew", change: func(c *corev1.ConfigMap) { c.Data[Key] = two.PEM; c.Immutable = new(true) }},
	}
	for name, tc := range cases {
		for _, broken := range []bool{false, true} {
			for _, restarted := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					f := newFixture(t)
					f.request.Reference = &Reference{Name: "mine", Key: "roots"}
					f.configMap("csr", "mine", map[string]string{"roots": one.PEM})
					f.istiod(one)
					f.holds("at first", "", one)
					problem := ""
					if broken {
						f.configMap("csr", "mine", map[string]string{"roots": "broken"})
						problem = "it contains no certificate"
						f.holds("a broken source changes nothing", problem, one)
					}
					if restarted {
						f.restart()
					}
					f.change(tc.change)
					f.holds(tc.reason, problem, one)
					if f.copied().Labels["app"] != "istio-csr" {
						t.Errorf("%s: the labels are %v", tc.reason, f.copied().Labels)
					}
				})
			}
		}
	}
	t.Run("Deleted", func(t *testing.T) {
		f := newFixture(t)
		f.istiod(one)
		f.holds("at first", "", one)
		if err := f.api.Delete(t.Context(), f.copied()); err != nil {
			t.Fatal(err)
		}
		f.holds("a copy that is deleted comes back", "", one)
	})
}

func TestRotation(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	for _, restarting := range []bool{false, true} {
		f := newFixture(t)
		step := func(reason string, authorities ...trusttest.Authority) {
			t.Helper()
			if restarting {
				f.restart()
			}
			f.holds(reason, "", authorities...)
		}
		f.request.IssuerSecret = types.NamespacedName{Namespace: "mesh", Name: "ca"}
		f.secret("mesh", "ca", map[string]string{"ca.crt": one.PEM, "tls.crt": one.PEM})
		f.istiod(one)
		step("at first", one)
		f.secret("mesh", "ca", map[string]string{"ca.crt": two.PEM, "tls.crt": two.PEM})
		step("the new CA is served at once, and the old one stays", two, one)
		f.now = f.now.Add(24 * time.Hour)
		step("as long as the istiod certificate leads to it", two, one)
		f.istiod(two)
		step("and while its certificates may be in use", two, one)
		if got := f.copied().Annotations[v1alpha1.AnnotationLeavingCAs]; !strings.HasSuffix(got, "=2026-01-02T13:00:00Z") {
			t.Errorf("the record says %q", got)
		}
		f.now = f.now.Add(time.Hour - time.Second)
		step("until the last second", two, one)
		f.now = f.now.Add(time.Second)
		step("then it goes", two)
		if got := f.copied().Annotations; len(got) > 0 {
			t.Errorf("a record without an agent is left: %v", got)
		}
	}
}

// TestTakeover begins with a copy that another operator has written.
func TestTakeover(t *testing.T) {
	one, two, stranger := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil), trusttest.CA(t, "stranger", nil)
	f := newFixture(t)
	f.configMap("csr", Name, map[string]string{Key: stranger.PEM + one.PEM})
	f.request.Reference = &Reference{Name: "mine", Key: "roots"}
	f.istiod(one)
	f.holds("what is served is not lost while the source is missing, and strangers go", "does not exist", one)
	f.request.IssuerSecret = types.NamespacedName{Namespace: "mesh", Name: "ca"}
	f.secret("mesh", "ca", map[string]string{"ca.crt": two.PEM, "tls.crt": two.PEM})
	f.configMap("csr", "mine", map[string]string{"roots": two.PEM})
	f.holds("a rotation in which the copy is taken over ends well", "", two, one)
}

func TestStaleCache(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	f := newFixture(t)
	f.istiod(one)
	f.absent = true
	f.keep()
	if got := f.copied().Data[Key]; got != one.PEM {
		t.Fatalf("an object that the cache does not know yet is not found: %q", got)
	}
	f.absent = false
	f.quiet("the cache catches up with what was read and written")
	if err := f.api.Delete(t.Context(), f.copied()); err != nil {
		t.Fatal(err)
	}
	f.holds("an absence that the cache had reported before is news", "", one)
	f.istiod(two)
	f.holds("so is any version", "", two, one)
}

func TestConflict(t *testing.T) {
	one := trusttest.CA(t, "one", nil)
	f := newFixture(t)
	f.istiod(one)
	f.refuse = errRefused
	if _, err := f.keeper.Keep(t.Context(), f.request); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "applying ConfigMap csr/"+Name) {
		t.Errorf("the error is %v", err)
	}
	f.refuse = nil
	f.holds("the next pass writes what could not be written", "", one)
	f.change(func(c *corev1.ConfigMap) { c.Data[Key] = "x" })
	f.refuse = errRefused
	if _, err := f.keeper.Keep(t.Context(), f.request); err == nil {
		t.Error("a write that was refused is no error")
	}
	f.refuse = nil
	f.holds("a repair, too", "", one)
}

func TestRemove(t *testing.T) {
	one := trusttest.CA(t, "one", nil)
	f := newFixture(t)
	if err := f.keeper.Remove(t.Context(), "csr"); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	f.configMap("csr", Name, map[string]string{Key: one.PEM})
	if err := f.keeper.Remove(t.Context(), "csr"); err != nil || f.copied() == nil {
		t.Errorf("another owner's copy is removed; error %v", err)
	}
	f.istiod(one)
	f.holds("a copy is taken over", "", one)
	if err := f.keeper.Remove(t.Context(), "csr"); err != nil || f.copied() != nil || f.spare() != nil {
		t.Errorf("the copy or its spare is still there; error %v", err)
	}
}
