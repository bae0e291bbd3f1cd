// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// sliceOwners are the names of the owners of the slice that holds the ConfigMap a of
// a value, nil when it is gone.
func (l *line) sliceOwners(revision *v1alpha1.Revision) []string {
	l.T.Helper()
	slice := &v1alpha1.ObjectSlice{}
	err := l.API.Get(l.T.Context(), types.NamespacedName{Name: content.References(revision.Spec.Phases)[0].Name}, slice)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.T.Fatal(err)
	}
	names := []string{}
	for _, owner := range slice.OwnerReferences {
		names = append(names, owner.Name)
	}
	return names
}

// pruned is a line whose first revision is pruned, and that revision.
func pruned(t *testing.T) (*line, *v1alpha1.Revision) {
	t.Helper()
	l := newLine(t, v1alpha1.PackageSpec{RevisionHistoryLimit: ptr.To[int32](0)})
	first := l.reviseInSlice(1, "a", "1")
	for number := int64(1); number <= 2; number++ {
		if number == 2 {
			l.reviseInSlice(2, "a", "2")
		}
		for range 3 {
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	want(t, "the first is pruned", "states", []string{"2: Active RolledOut"}, l.states())
	want(t, "what it referred to is the package's", "owners", []string{"web"}, l.sliceOwners(first))
	return l, first
}

func TestWorker_Collects(t *testing.T) {
	tests := map[string]struct {
		reason string
		after  time.Duration
		// change is made before the pass.
		change func(l *line, first *v1alpha1.Revision)
		fails  bool
		want   []string
	}{
		"Unused":  {reason: "what no revision refers to goes", after: 2 * content.Grace},
		"Restart": {reason: "a new process finds it again", after: 2 * content.Grace, change: func(l *line, _ *v1alpha1.Revision) { l.restart() }},
		"Young":   {reason: "a writer may be about to make its revision", after: content.Grace / 2, want: []string{"web"}},
		"Paused": {
			reason: "nothing is taken away while the package is paused", after: 2 * content.Grace, want: []string{"web"},
			change: func(l *line, _ *v1alpha1.Revision) {
				l.change(func(pkg *v1alpha1.Package) { pkg.Spec.Paused = &v1alpha1.Pause{Reason: "wait"} })
			},
		},
		"UnseenRevision": {
			reason: "a revision that the cache does not know refers to it", after: 2 * content.Grace, want: []string{"web"},
			change: func(l *line, first *v1alpha1.Revision) {
				third := l.written(3)
				third.Spec.Phases = first.Spec.Phases
				l.loop.Worker.(*Worker).Live = interceptor.NewClient(l.API, interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
						if revisions, ok := list.(*v1alpha1.RevisionList); ok {
							defer func() { revisions.Items = append(revisions.Items, *third) }()
						}
						return c.List(ctx, list, options...)
					},
				})
			},
		},
		"UnknownRevisions": {
			reason: "what cannot be listed may refer to it", after: 2 * content.Grace, want: []string{"web"}, fails: true,
			change: func(l *line, _ *v1alpha1.Revision) {
				l.loop.Worker.(*Worker).Live = interceptor.NewClient(l.API, interceptor.Funcs{
					List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
						return errors.New("the API server does not answer")
					},
				})
			},
		},
		"OfAnotherPackage": {
			reason: "a revision of another package refers to it, and has not joined yet", after: 2 * content.Grace, want: []string{"web"},
			change: func(l *line, first *v1alpha1.Revision) {
				other := l.written(1)
				other.Name, other.Spec.Package, other.Spec.Phases = "other-1", "other", first.Spec.Phases
				l.Create(other)
			},
		},
		"DeleteRefused": {
			reason: "it is tried again", after: 2 * content.Grace, want: []string{"web"}, fails: true,
			change: func(l *line, _ *v1alpha1.Revision) {
				l.Refuse = func(write string) error {
					if strings.HasPrefix(write, "delete") {
						return errRefused
					}
					return nil
				}
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, first := pruned(t)
			l.advance(tc.after)
			if tc.change != nil {
				tc.change(l, first)
			}
			_, err := l.pass()
			if (err != nil) != tc.fails {
				t.Errorf("%s: error %v", tc.reason, err)
			}
			want(t, tc.reason, "owners", tc.want, l.sliceOwners(first))
			want(t, "what runs is kept", "owners", []string{"web"}, l.sliceOwners(l.revision(2)))
		})
	}
}

// What is waited for is checked when its time has come, and nothing is asked for
// at rest.
func TestWorker_CollectsInTime(t *testing.T) {
	l, first := pruned(t)
	result, err := l.pass()
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > content.Grace {
		t.Fatalf("error %v, again after %s", err, result.RequeueAfter)
	}
	l.advance(result.RequeueAfter)
	if _, err := l.pass(); err != nil {
		t.Fatal(err)
	}
	want(t, "after that time it goes", "owners", []string(nil), l.sliceOwners(first))
	l.loop.Worker.(*Worker).Live = interceptor.NewClient(l.API, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			t.Error("at rest revisions are listed live")
			return nil
		},
	})
	l.since()
	if result, err := l.pass(); err != nil || result.RequeueAfter != 0 {
		t.Errorf("at rest: error %v, again after %s", err, result.RequeueAfter)
	}
	writes, requests := l.since()
	want(t, "nothing is written at rest", "writes", 0, len(writes)+len(requests))
}

// A slice that goes while its revision runs is noticed in the next pass, and so is
// another thing by its name.
func TestWorker_LostSliceWhileRunning(t *testing.T) {
	for _, way := range []string{"Deleted", "Exchanged"} {
		t.Run(way, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{})
			l.reviseInSlice(1, "a", "1")
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			list := &v1alpha1.ObjectSliceList{}
			if err := l.API.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			lost := list.Items[0].DeepCopy()
			if err := l.API.Delete(t.Context(), &list.Items[0]); err != nil {
				t.Fatal(err)
			}
			lost.ObjectMeta = metav1.ObjectMeta{Name: lost.Name}
			if way == "Exchanged" {
				exchanged := lost.DeepCopy()
				exchanged.Data = []byte("x")
				l.Create(exchanged)
			}
			if _, err := l.pass(); err == nil {
				t.Error("the loss was not noticed")
			}
			want(t, "the loss is reported", "conditions", "Ready=False/NotReady Progressing=False/ContentUnavailable Available=Unknown/Unknown", l.conditions())
			want(t, "what runs stays", "objects", []string{"ConfigMap/a=1"}, l.objects())
			if err := l.API.DeleteAllOf(t.Context(), &v1alpha1.ObjectSlice{}); err != nil {
				t.Fatal(err)
			}
			l.Create(lost)
			if err := l.settle(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			want(t, "the slice again mends it", "conditions", readyLine, l.conditions())
			want(t, "what was restored is the package's", "owners", []string{"web"}, l.sliceOwners(l.revision(1)))
		})
	}
}

// Manifests of kind Secret are read from the manager's namespace.
func TestWorker_SecretManifest(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	contents := l.loop.Worker.(*Worker).Contents
	phases := []content.Phase{{Name: "only", Objects: []content.Object{{Manifest: unstructuredOf(secret("login"))}}}}
	packed, err := contents.Pack(t.Context(), phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := contents.Keep(t.Context(), l.pkg(), packed, nil); err != nil {
		t.Fatal(err)
	}
	r := l.written(1)
	r.Spec.Phases, r.Spec.ContentDigest = packed.Phases, packed.Digest
	l.Create(r)
	if err := l.settle(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "it is rolled out", "objects", []string{"Secret/login="}, l.objects())
}
