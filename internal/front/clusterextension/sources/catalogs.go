// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/oci"
)

// Catalogs keeps contents of catalogs current.
type Catalogs struct {
	Store  *catalog.Store
	Queue  *oci.Queue
	Client *oci.Client
	// Servers talks to catalogd. Its transport is that of [oci.NewTransport], with the patience that
	// a server needs that has to unpack a catalog first.
	Servers *http.Client
	// Folders is the folder that catalogs in folders have to be below; empty is none.
	Folders string
	// Took takes in how long looking at a catalog took, with reading it where that was due. Optional.
	Took Took

	mutex sync.Mutex
	// checked is the origin that each catalog was last looked at.
	checked map[string]string
}

// longestAnswer is how long a server may take for a whole catalog.
const longestAnswer = 5 * time.Minute

// CatalogView is what a pass sees of a catalog.
type CatalogView struct {
	catalog.Snapshot

	// Running is whether a job looks at the catalog.
	Running bool
	// Final is whether the failure in Err stays until another image is asked for.
	Final bool
	// Next is when the catalog is to be observed again, if nothing wakes the loop before; the
	// zero time is never.
	Next time.Time
}

// waiter is the name of a catalog among what wakes the loop.
func waiter(name string) string { return "catalog " + name }

// Observe returns what is on disk of a catalog, and has it looked at when that is due.
func (c *Catalogs) Observe(wanted Catalog) CatalogView {
	known := c.Store.Get(wanted.Name)
	view := CatalogView{Snapshot: known, Final: final(known.Err)}
	due, next := wanted.due(known, c.lastChecked(wanted.Name), time.Now())
	view.Next = next
	if !due {
		c.Queue.Forget(waiter(wanted.Name))
		return view
	}
	state := c.Queue.Want(waiter(wanted.Name), "catalog "+wanted.Name+" "+wanted.origin(), wanted.host(), func(ctx context.Context) error {
		return c.look(ctx, &wanted)
	})
	view.Running, view.Next, view.Final = state.Running, state.Next, false
	return view
}

// Took takes in how long a job took. Nil does not.
type Took func(time.Duration)

func (t Took) since(began time.Time) {
	if t != nil {
		t(time.Since(began))
	}
}

func (c *Catalogs) look(ctx context.Context, wanted *Catalog) error {
	defer c.Took.since(time.Now())
	_, err := c.Store.Refresh(ctx, wanted.Name, c.originOf(wanted))
	if err != nil && !final(err) {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.checked == nil {
		c.checked = map[string]string{}
	}
	c.checked[wanted.Name] = wanted.origin()
	return nil
}

func (c *Catalogs) lastChecked(name string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.checked[name]
}

// originOf is where a catalog is read from.
func (c *Catalogs) originOf(wanted *Catalog) catalog.Origin {
	switch {
	case wanted.Folder != "":
		return catalog.Mounted{Root: c.Folders, Path: wanted.Folder}
	case wanted.Base != "":
		return timed{catalog.Server{Client: c.Servers, Base: wanted.Base, Reference: wanted.Reference}}
	}
	return catalog.Image{
		Resolve: func(ctx context.Context) (pinned string, err error) {
			err = wanted.Credentials.with(ctx, func(credentials oci.Credentials) error {
				pinned, err = c.Client.Resolve(ctx, wanted.Image, credentials)
				return err
			})
			return pinned, err
		},
		Unpack: func(ctx context.Context, pinned, folder string) error {
			return wanted.Credentials.with(ctx, func(credentials oci.Credentials) error {
				_, err := c.Client.Pull(ctx, pinned, credentials, folder, oci.Unpack{
					Limits: oci.CatalogLimits, Folder: func(image oci.Image) (string, error) { return configs(wanted.Image, image) },
				})
				return err
			})
		},
	}
}

// timed bounds how long a server may take.
type timed struct{ catalog.Origin }

// Fetch implements [catalog.Origin].
func (t timed) Fetch(ctx context.Context, last catalog.Version, scratch string, read func(catalog.Source) error) (catalog.Version, error) {
	ctx, cancel := context.WithTimeout(ctx, longestAnswer)
	defer cancel()
	return t.Origin.Fetch(ctx, last, scratch, read)
}

// Drop forgets a catalog that is deleted or unavailable, with its content.
func (c *Catalogs) Drop(name string) error {
	c.Queue.Forget(waiter(name))
	c.mutex.Lock()
	delete(c.checked, name)
	c.mutex.Unlock()
	return c.Store.Drop(name)
}
