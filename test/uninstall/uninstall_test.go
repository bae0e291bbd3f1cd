// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/simulate"
	"github.com/strata-run/strata/test/setup"
)

var root = filepath.Join("..", "..")

// cluster is a local Kubernetes with Strata.
type cluster struct {
	*testing.T

	plane *setup.Cluster
	admin client.Client
	// made counts revisions: those of a package that is gone stay until the garbage
	// collector knows their owner's kind again.
	made int64
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := newBareCluster(t)
	c.install()
	return c
}

// newBareCluster is a local Kubernetes without Strata.
func newBareCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t}
	stages, err := simulate.Istiod()
	c.must(err)
	c.plane, err = setup.Start(context.Background(), setup.Options{Plane: localplane.Options{Stages: stages}, Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}, Log: os.Stderr})
	c.must(err)
	c.admin = c.plane.Admin
	t.Cleanup(func() { c.must(c.plane.Stop()) })
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) install() {
	c.Helper()
	c.must(setup.Apply(c.Context(), c.admin, setup.Shipped(root)...))
}

// start runs the manager. A manager that ends by itself ends the process.
func (c *cluster) start() {
	c.Helper()
	options := setup.ManagerOptions()
	options.LeaderElect = true // the commands find the manager by its lease
	c.must(c.plane.StartManager(options))
}

// rollOut makes a package with a ConfigMap and a Service, and waits until it owns them.
func (c *cluster) rollOut() {
	c.Helper()
	c.made++
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	revision := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName("web", c.made)}, Spec: v1alpha1.RevisionSpec{
		Package: "web", Revision: c.made,
		Phases: []v1alpha1.Phase{{Name: "all", CollisionProtection: v1alpha1.CollisionIfNoController, Objects: []v1alpha1.Object{
			manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"default"},"data":{"a":"1"}}`),
			manifest(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},"spec":{"ports":[{"port":80}]}}`),
		}}},
	}}
	planetest.Eventually(c.T, "the definitions take resources", func() (bool, error) {
		err := c.admin.Create(c.Context(), pkg)
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
	planetest.Eventually(c.T, "the definitions take revisions", func() (bool, error) {
		err := c.admin.Create(c.Context(), revision)
		return err == nil || apierrors.IsAlreadyExists(err), err
	})
	planetest.Eventually(c.T, "the package is ready and owns its objects", func() (bool, error) {
		if err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(pkg), pkg); err != nil {
			return false, err
		}
		for _, kind := range kinds {
			object, err := c.object(kind)
			if err != nil || !metav1.IsControlledBy(object, pkg) {
				return false, fmt.Errorf("%s is not owned: %w", kind, err)
			}
		}
		return meta.IsStatusConditionTrue(pkg.Status.Conditions, v1alpha1.ConditionReady), fmt.Errorf("it is %+v", pkg.Status.Conditions)
	})
}

func manifest(text string) v1alpha1.Object {
	return v1alpha1.Object{Object: &runtime.RawExtension{Raw: []byte(text)}}
}

var kinds = []string{"ConfigMap", "Service"}

func (c *cluster) object(kind string) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	err := c.admin.Get(c.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, object)
	return object, err
}

// identities are the UIDs of the objects: an object that was deleted and made again has
// another one.
func (c *cluster) identities() map[string]types.UID {
	c.Helper()
	all := map[string]types.UID{}
	for _, kind := range kinds {
		object, err := c.object(kind)
		c.must(err)
		all[kind] = object.UID
	}
	return all
}

// survived fails unless the objects are those of before, and free.
func (c *cluster) survived(before map[string]types.UID) {
	c.Helper()
	for kind, uid := range before {
		object, err := c.object(kind)
		c.must(err)
		if object.UID != uid || object.DeletionTimestamp != nil {
			c.Errorf("%s was deleted", kind)
		}
		if len(object.OwnerReferences) > 0 || object.Labels[v1alpha1.LabelPackage] != "" {
			c.Errorf("%s is not free: owners %v, labels %v", kind, object.OwnerReferences, object.Labels)
		}
	}
}

func (c *cluster) deleteDefinitions(names ...string) {
	c.Helper()
	for _, name := range names {
		c.must(client.IgnoreNotFound(c.admin.Delete(c.Context(), definition(name))))
	}
}

// holdSlices makes an ObjectSlice that keeps its definition in deletion.
func (c *cluster) holdSlices() {
	c.Helper()
	slice := heldSlice()
	slice.Finalizers = []string{"test.strata.run/hold"}
	c.must(c.admin.Create(c.Context(), slice))
}

// releaseSlices lets that definition go, and waits until it has gone.
func (c *cluster) releaseSlices() error {
	ctx, end := context.WithTimeout(c.Context(), time.Minute)
	defer end()
	const none = `{"metadata":{"finalizers":null}}`
	if err := client.IgnoreNotFound(c.admin.Patch(ctx, heldSlice(), client.RawPatch(types.MergePatchType, []byte(none)))); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := c.admin.Get(ctx, types.NamespacedName{Name: "objectslices.strata.run"}, definition(""))
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// startAndLose runs a manager that meets the definition of ObjectSlices when it starts, and
// loses it before its informer has listed them.
func (c *cluster) startAndLose(lose func() error) {
	c.Helper()
	config, err := c.plane.ConfigFor(setup.Manager, setup.ManagerGroups...)
	c.must(err)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/objectslices") {
				if err := lose(); err != nil {
					return nil, err
				}
			}
			return next.RoundTrip(r)
		})
	})
	c.must(c.plane.RunManager(config, setup.ManagerOptions()))
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func heldSlice() *v1alpha1.ObjectSlice {
	return &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: "sha256-" + strings.Repeat("0", 64)}, Data: []byte("held"), Objects: 1, Bytes: 2}
}

func definition(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("apiextensions.k8s.io/v1")
	object.SetKind("CustomResourceDefinition")
	object.SetName(name)
	return object
}

func (c *cluster) awaitGone(names ...string) {
	c.Helper()
	for _, name := range names {
		planetest.Eventually(c.T, name+" is gone", func() (bool, error) {
			object := definition(name)
			err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(object), object)
			conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
			return apierrors.IsNotFound(err), fmt.Errorf("deleted %v, conditions %v: %w", object.GetDeletionTimestamp(), conditions, err)
		})
	}
}

// Strata's definitions are deleted in every way that is likely, and what packages manage
// survives each. A manager goes on, or waits, and manages again when they are back.
func TestDefinitionsDeleted(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.rollOut()
	before := c.identities()

	c.deleteDefinitions("packages.strata.run")
	c.awaitGone("packages.strata.run")
	c.survived(before)
	c.install()
	c.rollOut()

	c.deleteDefinitions("revisions.strata.run")
	c.awaitGone("revisions.strata.run")
	c.survived(before)
	c.deleteDefinitions(controller.Definitions...)
	c.awaitGone(controller.Definitions...)
	c.survived(before)
	c.must(c.plane.StopManager())
	c.install()
	c.start()
	c.rollOut()

	// As kubectl delete -k does it: the manager goes first or at once, and the definitions
	// hang in deletion. The manager comes back, and the one definition that nothing holds
	// goes in the moment in which the manager's informer lists its kind, if it does.
	c.must(c.plane.StopManager())
	c.holdSlices()
	c.deleteDefinitions(controller.Definitions...)
	lose := sync.OnceValue(c.releaseSlices)
	c.startAndLose(lose)
	c.awaitGone("packages.strata.run", "revisions.strata.run")
	c.survived(before)
	c.must(lose())
	c.awaitGone(controller.Definitions...)
	c.install()
	c.rollOut()

	// The same, and the manager comes back to definitions of which one is gone already.
	c.must(c.plane.StopManager())
	c.deleteDefinitions(controller.Definitions...)
	c.awaitGone("objectslices.strata.run")
	c.start()
	c.awaitGone(controller.Definitions...)
	c.survived(before)
	c.install()
	c.rollOut()
	if after := c.identities(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the objects are %v, want those from before: %v", after, before)
	}
}
