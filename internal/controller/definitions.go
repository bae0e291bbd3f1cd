// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/packages"
	"github.com/strata-run/strata/revisions"
)

// Definitions are the CustomResourceDefinitions without which the manager does nothing.
var Definitions = []string{"packages.strata.run", "revisions.strata.run", "objectslices.strata.run"}

// definitionsEvery is how often the manager looks for definitions that are missing.
const definitionsEvery = 2 * time.Second

// removal finds a definition that is being deleted or gone.
func removal(live client.Reader) packages.Removal {
	return func(ctx context.Context) (string, error) {
		missing, going, err := lookAtDefinitions(ctx, live)
		return strings.Join(append(going, missing...), ", "), err
	}
}

// lookAtDefinitions finds which definitions are missing, and which are being deleted.
func lookAtDefinitions(ctx context.Context, live client.Reader) (missing, going []string, err error) {
	for _, name := range Definitions {
		definition := front.Definition()
		err := live.Get(ctx, types.NamespacedName{Name: name}, definition)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return nil, nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		case definition.DeletionTimestamp != nil:
			going = append(going, name)
		}
	}
	return missing, going, nil
}

// awaitDefinitions waits until the API server serves all of Strata's kinds, and will go on
// serving them. While definitions hang in deletion, it releases what the packages manage,
// which is what these wait for: a manager could not do it, since its caches never sync when
// a definition goes in between.
func awaitDefinitions(ctx context.Context, config *rest.Config, o Options) error {
	live, err := newLive(config)
	if err != nil {
		return err
	}
	logger := log.FromContext(ctx)
	missing, going, err := findDefinitions(ctx, live)
	if err == nil && len(missing)+len(going) == 0 {
		return nil
	}
	defer serveWaiting(logger, o.HealthAddress)()
	for announced := ""; err != nil || len(missing)+len(going) > 0; missing, going, err = findDefinitions(ctx, live) {
		if now := fmt.Sprint(missing, going, err); now != announced {
			announced = now
			logger.Info("Waiting for CustomResourceDefinitions: kubectl apply --server-side -k config/default installs them", "missing", missing, "deleted", going, "error", errorText(err))
		}
		if len(going) > 0 {
			if err := release(ctx, config, o.Namespace, func(*v1alpha1.Package) bool { return true }); err != nil {
				logger.Error(err, "Releasing what packages manage, because Strata is being removed")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(definitionsEvery):
		}
	}
	return nil
}

// findDefinitions finds which definitions are missing and which are being deleted. The
// error says as well that a definition which is there is not served yet.
func findDefinitions(ctx context.Context, live client.Client) (missing, going []string, err error) {
	missing, going, err = lookAtDefinitions(ctx, live)
	if err == nil && len(missing)+len(going) == 0 {
		err = areServed(live)
	}
	return missing, going, err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// areServed says why a kind is not served yet, nil when all are.
func areServed(live client.Client) error {
	for _, kind := range []string{"Package", "Revision", "ObjectSlice"} {
		if _, err := live.RESTMapper().RESTMapping(v1alpha1.GroupVersion.WithKind(kind).GroupKind(), v1alpha1.GroupVersion.Version); err != nil {
			return fmt.Errorf("looking up %s: %w", kind, err)
		}
	}
	return nil
}

// newLive is a client that reads from the API server.
func newLive(config *rest.Config) (client.Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return live, nil
}

// release orphans what the given packages manage, if these are being deleted: the objects stay,
// without owner reference and label, and the packages and their revisions are deleted. It needs
// no running manager, and does the same as one that finds its definitions deleted.
func release(ctx context.Context, config *rest.Config, namespace string, meant func(*v1alpha1.Package) bool) error {
	live, err := newLive(config)
	if err != nil {
		return err
	}
	engine, err := revisions.New(revisions.Config{Writer: live, Live: live, Cache: nothingWatched{}, Mapper: live.RESTMapper()})
	if err != nil {
		return fmt.Errorf("creating the engine: %w", err)
	}
	worker := &packages.Worker{
		Client: live, Live: live, Identities: oneIdentity{packages.Identity{Engine: engine}}, Watches: nothingWatched{}, Now: time.Now,
		Contents: &content.Store{Client: live, Live: live, Namespace: namespace, Now: time.Now},
		Removal:  func(context.Context) (string, error) { return "packages.strata.run", nil },
	}
	work := &loop.Loop[v1alpha1.Package, *v1alpha1.Package]{Client: live, Worker: worker}
	all := &v1alpha1.PackageList{}
	if err := live.List(ctx, all); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("listing packages: %w", err)
	}
	var errs []error
	exists := map[string]bool{}
	for i := range all.Items {
		exists[all.Items[i].Name] = true
		if all.Items[i].DeletionTimestamp.IsZero() || !meant(&all.Items[i]) {
			continue
		}
		_, err := work.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: all.Items[i].Name}})
		errs = append(errs, err)
	}
	// The revisions of packages that are gone wait for nothing but their finalizers.
	left := &v1alpha1.RevisionList{}
	if err := live.List(ctx, left); err != nil && !meta.IsNoMatchError(err) {
		return errors.Join(append(errs, fmt.Errorf("listing revisions: %w", err))...)
	}
	for i := range left.Items {
		if name := left.Items[i].Spec.Package; !exists[name] {
			exists[name] = true
			errs = append(errs, worker.Orphaned(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// oneIdentity acts as itself for every package.
type oneIdentity struct{ identity packages.Identity }

// For implements [packages.Identities].
func (o oneIdentity) For(*v1alpha1.ServiceAccountReference) (packages.Identity, error) {
	return o.identity, nil
}

// nothingWatched knows no state of any object.
type nothingWatched struct{}

// Ensure watches nothing.
func (nothingWatched) Ensure(context.Context, string, []revisions.Kind) error { return nil }

// Get knows no object.
func (nothingWatched) Get(kind schema.GroupVersionKind, _ types.NamespacedName) (*unstructured.Unstructured, error) {
	return nil, fmt.Errorf("the kind %s is not watched", kind)
}

// Observe keeps nothing.
func (nothingWatched) Observe(*unstructured.Unstructured) {}

// Block watches nothing.
func (nothingWatched) Block(string, string, []revisions.Blocker) error { return nil }

// Labelled knows no object.
func (nothingWatched) Labelled(string, func(revisions.ObjectID) bool) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

// Release has nothing to release.
func (nothingWatched) Release(string) {}

// serveWaiting answers probes while the manager waits: it is alive, and not ready.
func serveWaiting(logger logr.Logger, address string) (stop func()) {
	if address == "" || address == "0" {
		return func() {}
	}
	answers := http.NewServeMux()
	answers.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	answers.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "waiting for CustomResourceDefinitions of strata.run", http.StatusServiceUnavailable)
	})
	server := &http.Server{Addr: address, Handler: answers, ReadHeaderTimeout: definitionsEvery}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Serving probes while waiting")
		}
	}()
	return func() { _ = server.Close() }
}
