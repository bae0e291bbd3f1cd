// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// mostWrites is what a minute with a conflicting manager may cost at most, of objects and of
// statuses each.
const mostWrites = 15

// otherManager writes as the field manager other, in one namespace.
type otherManager struct {
	namespace string
	// owner is the UID of a ConfigMap that takes objects over: an owner that does not
	// exist would have the garbage collector delete them.
	owner types.UID
	n     int
}

func (o *otherManager) configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "a"}}
}

func (o *otherManager) patch(ctx context.Context, content fields) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(admin.Patch(ctx, o.configMap(), client.RawPatch(types.MergePatchType, data), client.FieldOwner("other")))
}

func (o *otherManager) patchStatus(ctx context.Context, status fields) error {
	data, err := json.Marshal(fields{"status": status})
	if err != nil {
		return err
	}
	app := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "app"}}
	return admin.Status().Patch(ctx, app, client.RawPatch(types.MergePatchType, data), client.FieldOwner("other"))
}

// conflict is what a conflicting manager does, what the revision lists of it, and what
// the package says; empty where it says nothing.
type conflict struct {
	reason string
	// inRollout has it happen while the revision is rolled out.
	inRollout bool
	disturb   func(ctx context.Context, o *otherManager) error
	cause     v1alpha1.InterferenceCause
	message   string
}

var conflicts = map[string]conflict{
	"Field": {
		reason: "a field is changed",
		disturb: func(ctx context.Context, o *otherManager) error {
			return o.patch(ctx, fields{"data": fields{"value": "other"}})
		},
		cause: v1alpha1.InterferenceChanged, message: "other keeps changing .data.value of it, and repairs are slowed",
	},
	"Delete": {
		reason: "the object is deleted",
		disturb: func(ctx context.Context, o *otherManager) error {
			return client.IgnoreNotFound(admin.Delete(ctx, o.configMap()))
		},
		cause: v1alpha1.InterferenceDeleted, message: "it is deleted again and again",
	},
	"Adoption": {
		reason: "another controller takes the object over",
		disturb: func(ctx context.Context, o *otherManager) error {
			return o.patch(ctx, fields{"metadata": fields{"ownerReferences": []fields{{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": o.owner, "controller": true}}}})
		},
		cause: v1alpha1.InterferenceTakenOver, message: "has taken it over from this Package",
	},
	"Adoption/InRollout": {
		reason:    "another controller takes the object over and leaves it, in a rollout",
		inRollout: true,
		disturb: func(ctx context.Context, o *otherManager) error {
			var owners []fields
			if o.n++; o.n%2 == 0 {
				owners = []fields{{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": o.owner, "controller": true}}
			}
			return o.patch(ctx, fields{"metadata": fields{"ownerReferences": owners}})
		},
		cause: v1alpha1.InterferenceTakenOver, message: "has taken it over",
	},
	"Label/InRollout": {
		reason:    "the label by which the object is watched is removed, in a rollout",
		inRollout: true,
		disturb: func(ctx context.Context, o *otherManager) error {
			return o.patch(ctx, fields{"metadata": fields{"labels": nil}})
		},
		cause: v1alpha1.InterferenceChanged,
	},
	"Status": {
		reason: "the status of an object changes, and no probe looks at what does",
		disturb: func(ctx context.Context, o *otherManager) error {
			o.n++
			return o.patchStatus(ctx, fields{"collisionCount": o.n})
		},
	},
	"FlappingProbe": {
		reason: "a probe goes back and forth",
		disturb: func(ctx context.Context, o *otherManager) error {
			o.n++
			return o.patchStatus(ctx, fields{"conditions": []fields{{
				"type": "Available", "status": []string{"True", "False"}[o.n%2], "reason": "Other", "message": "",
				"lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
			}}})
		},
	},
}

// TestConflict has seven managers each break an object of a package for a minute, ten times
// a second, all at the same time.
func TestConflict(t *testing.T) {
	t.Parallel()
	namespaces, packages := map[string]string{}, map[string]string{}
	for name, tc := range conflicts {
		ns := planetest.Namespace(t, plane)
		only := phase("one", configMapManifest(t, ns, "a", "1"), deploymentManifest(t, ns, "app", goodImage))
		only.CollisionProtection = v1alpha1.CollisionNone
		phases := []v1alpha1.Phase{only}
		if tc.inRollout {
			phases = append(phases, phase("two", deploymentManifest(t, ns, "bad", badImage)))
		}
		pkg := newPackage(t, v1alpha1.PackageSpec{}, phases...)
		if tc.inRollout {
			// What the rollout itself has to say on its way there is not counted.
			planetest.Eventually(t, "the rollout hangs in its second phase", func() (bool, error) {
				text := message(getRevision(t, pkg.Name, 1).Status.Conditions, v1alpha1.ConditionProgressing)
				return containsAll(text, "Deployment "+ns+"/bad", "ErrImagePull"), errors.New(text)
			})
		} else {
			eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
		}
		namespaces[name], packages[name] = ns, pkg.Name
	}
	since := time.Now()
	var all sync.WaitGroup
	for name, tc := range conflicts {
		all.Go(func() {
			if err := disturb(t.Context(), tc, namespaces[name], packages[name]); err != nil {
				t.Errorf("%s: %s: %v", name, tc.reason, err)
			}
		})
	}
	all.Wait()
	for name, tc := range conflicts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, statuses := costOf(t, namespaces[name], packages[name], since)
			t.Logf("%d writes of objects and %d of statuses in a minute", objects, statuses)
			if objects > mostWrites || statuses > mostWrites {
				t.Errorf("%s: %d writes of objects and %d of statuses in a minute, want no more than %d each", tc.reason, objects, statuses, mostWrites)
			}
		})
	}
}

// disturb breaks an object of a package for a minute, in which the package and its
// revision have to report it: afterwards, they report that it is repaired.
func disturb(ctx context.Context, tc conflict, namespace, pkg string) error {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}}
	if err := admin.Create(ctx, owner); err != nil {
		return err
	}
	other := &otherManager{namespace: namespace, owner: owner.UID}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	unreported := errors.New("not looked at yet")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-ticker.C {
		if err := tc.disturb(ctx, other); err != nil {
			return err
		}
		if unreported != nil {
			unreported = reported(ctx, tc, pkg)
		}
	}
	return unreported
}

// reported says what a package and its first revision do not say of a conflict.
func reported(ctx context.Context, tc conflict, name string) error {
	pkg, revision := &v1alpha1.Package{}, &v1alpha1.Revision{}
	err := errors.Join(admin.Get(ctx, client.ObjectKey{Name: name}, pkg), admin.Get(ctx, client.ObjectKey{Name: v1alpha1.RevisionName(name, 1)}, revision))
	if err != nil {
		return err
	}
	found := revision.Status.Interference
	if tc.cause != "" && !slices.ContainsFunc(found, func(i v1alpha1.Interference) bool { return i.Name == "a" && i.Cause == tc.cause }) {
		return fmt.Errorf("the revision lists %+v", found)
	}
	if ready := message(pkg.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready, tc.message) {
		return fmt.Errorf("the package says %q", ready)
	}
	return nil
}

// costOf counts what the manager has written since then: objects of a namespace, and
// statuses of a package and its revisions.
func costOf(t *testing.T, namespace, pkg string, since time.Time) (objects, statuses int) {
	t.Helper()
	for _, e := range requests(t, since) {
		reads := e.Verb == "get" || e.Verb == "list" || strings.Contains(e.RequestURI, "dryRun=All")
		switch {
		case reads || e.Code >= 300:
		case e.Group == v1alpha1.GroupVersion.Group && e.Subresource == "status" && (e.Name == pkg || strings.HasPrefix(e.Name, pkg+"-")):
			statuses++
		case e.Namespace == namespace:
			objects++
		}
	}
	return objects, statuses
}
