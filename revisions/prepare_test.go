// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDesired compares what is applied, and the manifest afterwards.
func TestDesired(t *testing.T) {
	reference := content{
		"apiVersion": "strata.run/v1alpha1", "kind": "Package", "name": "istio", "uid": "owner-uid",
		"controller": true, "blockOwnerDeletion": false,
	}
	owned := func(labels content) content {
		labels["strata.run/package"] = "istio"
		return content{"labels": labels, "ownerReferences": []any{reference}}
	}
	cases := map[string]struct {
		reason   string
		manifest *unstructured.Unstructured
		retain   bool
		want     *unstructured.Unstructured
	}{
		"Owned": {
			reason:   "label and controller reference prove whose it is",
			manifest: settings(),
			want:     with(manifest("v1", "ConfigMap", "app", "settings", owned(content{})), "data", content{"color": "blue"}),
		},
		"Retained": {
			reason:   "an owner reference would let the garbage collector delete what is retained",
			manifest: settings(),
			retain:   true,
			want: with(manifest("v1", "ConfigMap", "app", "settings", content{"labels": content{"strata.run/package": "istio"}}),
				"data", content{"color": "blue"}),
		},
		"OwnLabels": {
			reason:   "labels of the manifest stay, and one of ours with another value does not",
			manifest: manifest("v1", "ConfigMap", "app", "settings", content{"labels": content{"app": "web", "strata.run/package": "other"}}),
			want:     manifest("v1", "ConfigMap", "app", "settings", owned(content{"app": "web"})),
		},
		"Aggregated": {
			reason:   "Kubernetes fills in the rules of an aggregated ClusterRole, and takes them back",
			manifest: with(with(manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "", "view", content{}), "aggregationRule", content{"clusterRoleSelectors": []any{}}), "rules", []any{}),
			want:     with(manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "", "view", owned(content{})), "aggregationRule", content{"clusterRoleSelectors": []any{}}),
		},
		"NotAggregated": {
			reason:   "a rule of null is none",
			manifest: with(with(manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "", "view", content{}), "aggregationRule", nil), "rules", []any{}),
			want:     with(with(manifest("rbac.authorization.k8s.io/v1", "ClusterRole", "", "view", owned(content{})), "aggregationRule", nil), "rules", []any{}),
		},
		"NullLabels": {
			reason:   "a null is no label",
			manifest: manifest("v1", "ConfigMap", "app", "settings", content{"labels": nil}),
			want:     manifest("v1", "ConfigMap", "app", "settings", owned(content{})),
		},
		"StatusAndTime": {
			reason:   "status and creationTimestamp are not ours to apply",
			manifest: with(manifest("apps/v1", "Deployment", "app", "web", content{"creationTimestamp": nil}), "status", content{"replicas": int64(1)}),
			want:     manifest("apps/v1", "Deployment", "app", "web", owned(content{})),
		},
		"StringData": {
			reason:   "the API server keeps stringData in data, where it overrides what is there",
			manifest: with(with(manifest("v1", "Secret", "app", "key", nil), "stringData", content{"b": "new"}), "data", content{"a": "YQ==", "b": "b2xk"}),
			want:     with(manifest("v1", "Secret", "app", "key", owned(content{})), "data", content{"a": "YQ==", "b": "bmV3"}),
		},
		"StringDataAlone": {
			reason:   "also beside a null",
			manifest: with(with(manifest("v1", "Secret", "app", "key", nil), "stringData", content{"b": "new"}), "data", nil),
			want:     with(manifest("v1", "Secret", "app", "key", owned(content{})), "data", content{"b": "bmV3"}),
		},
		"StringDataBroken": {
			reason:   "what is not well formed is left to the API server to refuse",
			manifest: with(manifest("v1", "Secret", "app", "key", nil), "stringData", content{"b": int64(1)}),
			want:     with(manifest("v1", "Secret", "app", "key", owned(content{})), "stringData", content{"b": int64(1)}),
		},
		"StringDataElsewhere": {
			reason:   "a custom resource may have a field of that name",
			manifest: with(manifest("example.org/v1", "Secret", "app", "key", nil), "stringData", content{"b": "new"}),
			want:     with(manifest("example.org/v1", "Secret", "app", "key", owned(content{})), "stringData", content{"b": "new"}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.manifest.DeepCopy()
			p := prepare(tc.manifest, nil)
			got := p.desired(testOwner, tc.retain, nil)
			if diff := cmp.Diff(tc.want.Object, got.Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			// The writers set these.
			got.SetUID("uid")
			got.SetResourceVersion("1")
			got.SetOwnerReferences([]metav1.OwnerReference{{Name: "x"}})
			if diff := cmp.Diff(before.Object, tc.manifest.Object); diff != "" {
				t.Errorf("the manifest was changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want.Object, p.desired(testOwner, tc.retain, nil).Object); diff != "" {
				t.Errorf("the next stamp differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPrepared_Content changes one thing at a time, which has to change the digest or not to.
func TestPrepared_Content(t *testing.T) {
	digest := func(manifest *unstructured.Unstructured, owner Owner, retain bool) string {
		p := prepare(manifest, nil)
		if p.err != nil {
			t.Fatalf("prepare() = %v", p.err)
		}
		return p.content(owner, retain, nil)
	}
	big := func(keys ...string) *unstructured.Unstructured {
		data := content{}
		for _, key := range keys {
			data[key] = content{key + "1": "x", key + "2": []any{"y", int64(1)}}
		}
		return with(manifest("example.org/v1", "Thing", "app", "a", nil), "spec", data)
	}
	plain := digest(settings(), testOwner, false)
	renamed, recreated, relabelled := testOwner, testOwner, testOwner
	renamed.Name, recreated.UID, relabelled.Label = "other", "uid-2", "example.org/package"

	if digest(big("a", "b", "c", "d"), testOwner, false) != digest(big("d", "c", "b", "a"), testOwner, false) {
		t.Error("the digest depends on the order in which fields were set")
	}
	if plain != digest(with(settings(), "status", content{"x": "y"}), testOwner, false) {
		t.Error("the digest depends on the status, which is not applied")
	}
	for what, other := range map[string]string{
		"a value":          digest(with(settings(), "data", content{"color": "red"}), testOwner, false),
		"a missing field":  digest(with(settings(), "data", content{}), testOwner, false),
		"the owner's name": digest(settings(), renamed, false),
		"the owner's UID":  digest(settings(), recreated, false),
		"the label":        digest(settings(), relabelled, false),
		"retention":        digest(settings(), testOwner, true),
	} {
		if other == plain {
			t.Errorf("the digest does not depend on %s", what)
		}
	}
	// A retained object carries no UID, so a new owner of the name finds nothing new.
	if digest(settings(), testOwner, true) != digest(settings(), recreated, true) {
		t.Error("the digest of a retained object depends on the owner's UID, which is not applied")
	}
	if p := prepare(with(settings(), "data", content{"x": math.NaN()}), nil); p.err == nil {
		t.Error("a manifest that cannot be encoded has a digest")
	}
}

// TestRevision_Prepared looks at what is shared and what is not.
func TestRevision_Prepared(t *testing.T) {
	revision := Revision{Number: 1, Phases: []Phase{{Name: "run", Objects: []Object{{Manifest: settings()}, {}}}}}
	once := revision.Prepared()
	if revision.Phases[0].Objects[0].prepared != nil {
		t.Error("the revision that was given is changed")
	}
	if once.Phases[0].Objects[0].prepared == nil {
		t.Error("an object was left out")
	}
	if twice := once.Prepared(); twice.Phases[0].Objects[0].prepared != once.Phases[0].Objects[0].prepared {
		t.Error("a prepared revision was prepared again")
	}
	if p := once.Phases[0].Objects[1].prepared; p.err == nil || p.identified() {
		t.Error("an object without a manifest names something")
	}
}
