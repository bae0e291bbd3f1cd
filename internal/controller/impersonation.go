// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/internal/packages"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/cache"
)

// mostIdentities bounds how many ServiceAccounts are kept ready. One that is dropped
// is made again when it is needed, which costs no request.
const mostIdentities = 256

// identities makes an identity for each ServiceAccount. They share the watches, what
// is known of kinds, and the connections to the API server.
type identities struct {
	manager  manager.Manager
	watches  *cache.Informers
	listener revisions.Listener
	own      packages.Identity

	lock sync.Mutex
	made map[v1alpha1.ServiceAccountReference]packages.Identity
}

func newIdentities(mgr manager.Manager, watches *cache.Informers, listener revisions.Listener) (*identities, error) {
	i := &identities{manager: mgr, watches: watches, listener: listener, made: map[v1alpha1.ServiceAccountReference]packages.Identity{}}
	var err error
	i.own, err = i.identity(mgr.GetClient(), mgr.GetAPIReader())
	return i, err
}

// For is a ServiceAccount, or the manager. Whether the account exists or may do
// anything shows with its requests.
func (i *identities) For(account *v1alpha1.ServiceAccountReference) (packages.Identity, error) {
	if account == nil {
		return i.own, nil
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	if identity, ok := i.made[*account]; ok {
		return identity, nil
	}
	as, err := impersonating(i.manager, *account)
	if err != nil {
		return packages.Identity{}, err
	}
	identity, err := i.identity(as, as)
	if err != nil {
		return packages.Identity{}, err
	}
	for other := range i.made {
		if len(i.made) < mostIdentities {
			break
		}
		delete(i.made, other)
	}
	i.made[*account] = identity
	return identity, nil
}

// identity makes the engine and the preflight that work with the given clients.
func (i *identities) identity(writer client.Client, live client.Reader) (packages.Identity, error) {
	mapper := i.manager.GetRESTMapper()
	engine, err := revisions.New(revisions.Config{Writer: writer, Live: live, Cache: i.watches, Mapper: mapper, Listener: i.listener, Completed: i.watches.Completed})
	if err != nil {
		return packages.Identity{}, fmt.Errorf("creating the engine: %w", err)
	}
	return packages.Identity{Engine: engine, Checker: &preflight.Checker{Live: live, Writer: writer, Mapper: mapper}}, nil
}

// impersonating is a client that acts as a ServiceAccount. The API server adds the
// groups that every ServiceAccount is in.
func impersonating(mgr manager.Manager, account v1alpha1.ServiceAccountReference) (client.Client, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	as, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating the client of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	return as, nil
}
