// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestBadContent: content that cannot be rolled out is refused as a whole, with
// phase, object and remedy.
func TestBadContent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		phases func(t *testing.T, ns string) []v1alpha1.Phase
		want   string
		names  []string
	}{
		"DuplicateObject": {
			reason: "the same object in two phases would be applied twice, with two contents",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", "1")), phase("two", configMapManifest(t, ns, "a", "2"))}
			},
			want: v1alpha1.ReasonInvalidSpec, names: []string{"phase two", "ConfigMap", "/a", "first in phase one"},
		},
		"UnknownKind": {
			reason: "a kind that is not served keeps the rollout from starting",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				widget := object(t, fields{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": fields{"name": "w", "namespace": ns}})
				return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", "1")), phase("two", widget)}
			},
			want: v1alpha1.ReasonRolloutError, names: []string{"phase two", "Widget", "example.com/v1", "CustomResourceDefinition"},
		},
		"ValueOfAnotherType": {
			reason: "what the API server refuses each time takes other content",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				broken := object(t, fields{"apiVersion": "v1", "kind": "Service", "metadata": fields{"name": "s", "namespace": ns}, "spec": fields{"ports": "eighty", "prots": 1, "selektor": "x"}})
				return []v1alpha1.Phase{phase("one", broken)}
			},
			want: v1alpha1.ReasonObjectRefused, names: []string{"phase one", "Service", "spec."},
		},
		"ValueThatIsInvalid": {
			reason: "a rule of the kind is no matter of time either",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				broken := object(t, fields{"apiVersion": "v1", "kind": "Service", "metadata": fields{"name": "s", "namespace": ns}, "spec": fields{"ports": []any{fields{"port": 99999}}}})
				return []v1alpha1.Phase{phase("one", broken)}
			},
			want: v1alpha1.ReasonObjectRefused, names: []string{"phase one", "Service", "99999"},
		},
		"NamespaceMissing": {
			reason: "a namespaced object needs a namespace",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", "1"), object(t, fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": "b"}}))}
			},
			want: v1alpha1.ReasonInvalidSpec, names: []string{"phase one", "ConfigMap b", "metadata.namespace"},
		},
		"SecretInTheOpen": {
			reason: "a Secret must not stand in a revision, where its values can be read",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				secret := object(t, fields{"apiVersion": "v1", "kind": "Secret", "metadata": fields{"name": "s", "namespace": ns}, "stringData": fields{"password": "hunter2"}})
				return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", "1"), secret)}
			},
			want: v1alpha1.ReasonInvalidSpec, names: []string{"phase one", "Secret", "/s"},
		},
		"SliceMissing": {
			reason: "content that is not there cannot be rolled out",
			phases: func(t *testing.T, ns string) []v1alpha1.Phase {
				return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", "1"),
					v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: "sha256-" + strings.Repeat("0", 64)}})}
			},
			want: v1alpha1.ReasonContentUnavailable, names: []string{"phase one", "ObjectSlice sha256-0000", "does not exist"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := planetest.Namespace(t, plane)
			pkg := newPackage(t, v1alpha1.PackageSpec{}, tc.phases(t, ns)...)
			revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, tc.want)
			if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, tc.names...) {
				t.Errorf("%s: the message names not all of %q: %s", tc.reason, tc.names, text)
			}
			if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); strings.Contains(text, "hunter2") {
				t.Errorf("the message tells a Secret's value: %s", text)
			}
			if exists(t, configMapType(), ns, "a") {
				t.Errorf("%s: and part of the revision was applied", tc.reason)
			}
			must(t, admin.Delete(t.Context(), pkg))
			planetest.Eventually(t, "the package with bad content to go", func() (bool, error) {
				return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
			})
		})
	}
}

// TestImmutable: the API server refuses every change of a revision's content.
func TestImmutable(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1")))
	for name, change := range map[string]func(*v1alpha1.Revision){
		"a field of a manifest": func(r *v1alpha1.Revision) {
			r.Spec.Phases[0].Objects[0].Object = &runtime.RawExtension{Raw: configMapManifest(t, ns, "a", "2").Object.Raw}
		},
		"a phase":     func(r *v1alpha1.Revision) { r.Spec.Phases = append(r.Spec.Phases, phase("two")) },
		"the number":  func(r *v1alpha1.Revision) { r.Spec.Revision = 9 },
		"the origin":  func(r *v1alpha1.Revision) { r.Spec.Origin = &v1alpha1.Origin{Kind: v1alpha1.OriginCLI} },
		"the package": func(r *v1alpha1.Revision) { r.Spec.Package = "other" },
	} {
		revision := getRevision(t, pkg.Name, 1)
		before := revision.DeepCopy()
		change(revision)
		if err := admin.Patch(t.Context(), revision, client.MergeFrom(before)); !apierrors.IsInvalid(err) {
			t.Errorf("changing %s of a revision: got %v, want Invalid", name, err)
		}
	}
}

// TestCollision: an object that is another owner's is left byte for byte as it
// is, named with its owner and the remedy, and its siblings are applied.
func TestCollision(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "theirs"}, Data: map[string]string{"value": "theirs"}}
	must(t, admin.Create(t.Context(), theirs))
	pkg := newPackage(t, v1alpha1.PackageSpec{},
		phase("one", configMapManifest(t, ns, "theirs", "ours"), configMapManifest(t, ns, "sibling", "ours")), phase("two", configMapManifest(t, ns, "later", "ours")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonObjectCollisions)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "ConfigMap "+ns+"/theirs", "collisionProtection") {
		t.Errorf("the message names not the object and the remedy: %s", text)
	}
	if after := configMap(t, ns, "theirs"); after.ResourceVersion != theirs.ResourceVersion {
		t.Error("the refused object was written")
	}
	if !exists(t, configMapType(), ns, "sibling") {
		t.Error("a collision has held up its sibling")
	}
	if exists(t, configMapType(), ns, "later") {
		t.Error("the next phase was started")
	}
	must(t, admin.Delete(t.Context(), theirs))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestCRDAndItsObject: a kind that the same revision brings is waited for.
func TestCRDAndItsObject(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	group := ns + ".integration.strata.run" // a definition outlives its package
	definition := object(t, fields{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": fields{"name": "gadgets." + group},
		"spec": fields{
			"group": group, "scope": "Namespaced", "names": fields{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{fields{"name": "v1", "served": true, "storage": true, "schema": fields{"openAPIV3Schema": fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	})
	gadget := object(t, fields{"apiVersion": group + "/v1", "kind": "Gadget", "metadata": fields{"name": "g", "namespace": ns}, "spec": fields{"size": 1}})
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("both", definition, gadget))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if revision.Status.Probes != "2/2" {
		t.Errorf("probes are %s, want 2/2", revision.Status.Probes)
	}
}

// TestNoPackage: a revision whose package does not exist says so, and is rolled
// out when a user makes the package.
func TestNoPackage(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "late-" + ns}}
	newRevision(t, pkg, 1, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPackageMissing)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, pkg.Name, "create it") {
		t.Errorf("the message names not the package and the remedy: %s", text)
	}
	must(t, admin.Create(t.Context(), pkg))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	must(t, admin.Delete(t.Context(), pkg))
}

// TestNoRevision: a package without a revision says so.
func TestNoRevision(t *testing.T) {
	t.Parallel()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	must(t, admin.Create(t.Context(), pkg))
	planetest.Eventually(t, "the package to say that it has no revision", func() (bool, error) {
		text := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionReady)
		return containsAll(text, "no active revision"), errors.New(text)
	})
	must(t, admin.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the package to go", func() (bool, error) {
		return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
	})
}

// TestSliceImmutable: the API server refuses another content under the name of an
// ObjectSlice, and a name that is no digest.
func TestSliceImmutable(t *testing.T) {
	t.Parallel()
	slice := &v1alpha1.ObjectSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "sha256-" + strings.Repeat("1", 64)},
		// What a gzip header looks like: its base64 holds a slash.
		Data: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff, 0xec}, Objects: 1, Bytes: 2,
	}
	must(t, admin.Create(t.Context(), slice))
	same := slice.DeepCopy()
	same.Labels = map[string]string{"example.com/label": "changed"}
	must(t, admin.Patch(t.Context(), same, client.MergeFrom(slice)))
	altered := same.DeepCopy()
	altered.Data[10] = 0
	if err := admin.Patch(t.Context(), altered, client.MergeFrom(same)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "is immutable") {
		t.Errorf("altering a slice: got %v, want Invalid that says that it is immutable", err)
	}
	must(t, admin.Delete(t.Context(), slice))
	named := &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Data: []byte{1}, Objects: 1, Bytes: 2}
	if err := admin.Create(t.Context(), named); !apierrors.IsInvalid(err) {
		t.Errorf("creating a slice named %s: got %v, want Invalid", named.Name, err)
	}
}
