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
	"github.com/strata-run/strata/revisions"
)

// mostIdentities bounds how many ServiceAccounts have an engine ready. One that is
// dropped is made again when it is needed, which costs no request.
const mostIdentities = 256

// engines makes an engine for each identity. They share the watches, what is known
// of kinds, and the connections to the API server.
type engines struct {
	manager manager.Manager
	// shared is the configuration of the manager's own engine.
	shared revisions.Config

	lock sync.Mutex
	own  *revisions.Engine
	made map[v1alpha1.ServiceAccountReference]*revisions.Engine
}

func newEngines(mgr manager.Manager, watches revisions.Cache) (*engines, error) {
	e := &engines{manager: mgr, made: map[v1alpha1.ServiceAccountReference]*revisions.Engine{}, shared: revisions.Config{
		Writer: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: watches, Mapper: mgr.GetRESTMapper(),
	}}
	var err error
	if e.own, err = revisions.New(e.shared); err != nil {
		return nil, fmt.Errorf("creating the engine: %w", err)
	}
	return e, nil
}

// For is the engine that writes, and reads live, as a ServiceAccount, or as the
// manager. Whether the account exists or may do anything shows with its requests.
func (e *engines) For(account *v1alpha1.ServiceAccountReference) (*revisions.Engine, error) {
	if account == nil {
		return e.own, nil
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	if engine, ok := e.made[*account]; ok {
		return engine, nil
	}
	as, err := impersonating(e.manager, *account)
	if err != nil {
		return nil, err
	}
	config := e.shared
	config.Writer, config.Live = as, as
	engine, err := revisions.New(config)
	if err != nil {
		return nil, fmt.Errorf("creating the engine of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	for other := range e.made {
		if len(e.made) < mostIdentities {
			break
		}
		delete(e.made, other)
	}
	e.made[*account] = engine
	return engine, nil
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
