// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Kinds knows which kinds are served, of those that fronts are interested in. It
// watches the metadata of CustomResourceDefinitions, so that a kind that is installed
// later is found without asking for it, and one that is taken away is not read from a
// cache that can know nothing of it.
type Kinds struct {
	mapper meta.RESTMapper
	caches informers
	now    func() time.Time

	lock sync.Mutex
	rows []*kindRow
}

// informers are what is read of the cluster, kind by kind.
type informers interface {
	client.Reader
	RemoveInformer(ctx context.Context, object client.Object) error
}

// kindRow is one interest in one kind.
type kindRow struct {
	kind   schema.GroupVersionKind
	object client.Object
	start  func() error
	// definition is the name of the CustomResourceDefinition while the kind is served,
	// empty while it is not. Of is the one that it was served by last.
	definition, of string
}

// NewKinds adds the watch to a manager.
func NewKinds(mgr manager.Manager) (*Kinds, error) {
	k := &Kinds{mapper: mgr.GetRESTMapper(), caches: mgr.GetCache(), now: time.Now}
	err := builder.ControllerManagedBy(mgr).Named("kinds").For(Definition(), builder.OnlyMetadata).Complete(k)
	if err != nil {
		return nil, fmt.Errorf("watching which kinds are served: %w", err)
	}
	return k, nil
}

// Await calls start whenever a kind begins to be served: before it returns, if that is
// the case already. The object is what start lets the cache read; it is dropped from
// there when the kind is not served any more.
func (k *Kinds) Await(kind schema.GroupVersionKind, object client.Object, start func() error) error {
	row := &kindRow{kind: kind, object: object, start: start}
	k.lock.Lock()
	k.rows = append(k.rows, row)
	k.lock.Unlock()
	return k.check(row)
}

// Served says whether an awaited kind is served. It costs no request.
func (k *Kinds) Served(kind schema.GroupVersionKind) bool { return k.definition(kind) != "" }

// definition is the name of the definition that serves an awaited kind, empty while none
// does.
func (k *Kinds) definition(kind schema.GroupVersionKind) string {
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, row := range k.rows {
		if row.kind == kind {
			return row.definition
		}
	}
	return ""
}

// isRemoved says whether the definition of an awaited kind is gone or being deleted, as the
// API server has it now.
func (k *Kinds) isRemoved(ctx context.Context, kind schema.GroupVersionKind, live client.Reader) (bool, error) {
	name := k.definition(kind)
	definition := Definition()
	switch err := live.Get(ctx, client.ObjectKey{Name: name}, definition); {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	}
	return definition.DeletionTimestamp != nil, nil
}

// serving is how long a new CustomResourceDefinition may take until it is served.
const serving = time.Minute

// Reconcile looks at the kinds of one CustomResourceDefinition.
func (k *Kinds) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	definition := Definition()
	err := k.caches.Get(ctx, request.NamespacedName, definition)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading CustomResourceDefinition %s: %w", request.Name, err)
	}
	if err != nil {
		return reconcile.Result{}, k.forget(ctx, request.Name)
	}
	waiting, err := k.find(request.Name)
	if err == nil && waiting && k.now().Sub(definition.CreationTimestamp.Time) < serving {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}

// forget notes that a kind is not served any more.
func (k *Kinds) forget(ctx context.Context, definition string) error {
	var errs []error
	for _, row := range k.ofGroup(definition) {
		if k.name(row) != definition {
			continue
		}
		k.setName(row, "")
		log.FromContext(ctx).Info("The kind is not served any more", "kind", row.kind.String())
		errs = append(errs, k.caches.RemoveInformer(ctx, row.object))
	}
	return errors.Join(errs...)
}

// find looks for the kinds of a definition's group that are waited for, and says
// whether there are any left.
func (k *Kinds) find(definition string) (waiting bool, err error) {
	var errs []error
	for _, row := range k.ofGroup(definition) {
		if k.mayServe(row, definition) {
			errs = append(errs, k.check(row))
			waiting = waiting || k.name(row) == ""
		}
	}
	return waiting, errors.Join(errs...)
}

// check asks whether a kind is served, and starts what waits for that.
func (k *Kinds) check(row *kindRow) error {
	mapping, err := k.mapper.RESTMapping(row.kind.GroupKind(), row.kind.Version)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking up %s: %w", row.kind, err)
	}
	k.setName(row, mapping.Resource.GroupResource().String())
	if err := row.start(); err != nil {
		k.setName(row, "")
		return err
	}
	return nil
}

// ofGroup are the kinds of the group that a definition's name ends with.
func (k *Kinds) ofGroup(definition string) []*kindRow {
	k.lock.Lock()
	defer k.lock.Unlock()
	var rows []*kindRow
	for _, row := range k.rows {
		if strings.HasSuffix(definition, "."+row.kind.Group) {
			rows = append(rows, row)
		}
	}
	return rows
}

// mayServe says whether a definition may bring a kind that is not served. The mapper
// goes on knowing a kind for a while that has been taken away, so that the definition
// of another one says nothing about it.
func (k *Kinds) mayServe(row *kindRow, definition string) bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	return row.definition == "" && (row.of == "" || row.of == definition)
}

func (k *Kinds) name(row *kindRow) string {
	k.lock.Lock()
	defer k.lock.Unlock()
	return row.definition
}

func (k *Kinds) setName(row *kindRow, definition string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	row.definition = definition
	if definition != "" {
		row.of = definition
	}
}
