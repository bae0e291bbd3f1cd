// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// ReadWriter reads and writes objects.
type ReadWriter interface {
	client.Reader
	client.Writer
}

// Target is what a script is played on: [Cluster.Target] is the cluster in memory,
// [Remote.Target] any API server. Every field is required.
type Target struct {
	// Journal has the requests of all clients, and makes them fail.
	Journal *Journal
	// Client makes a client by its name, which is its field manager, too.
	Client func(name string) ReadWriter
	// Mapper knows the kinds that are served.
	Mapper meta.RESTMapper
	// NewCache is an empty cache for an engine that starts.
	NewCache func() (Watcher, error)
	// NewOwner makes the owner of a line. One of before may still be there.
	NewOwner func() (revisions.Owner, error)
	// Collect lets the garbage collector look at the objects of an owner, who is gone.
	Collect func(owner types.UID) error
	// SetStatus sets what a probe looks at, as the controller of an object would.
	SetStatus func(kind schema.GroupVersionKind, id revisions.ObjectID, ready, serving bool) error
	// Serve says how far a kind is served from now on.
	Serve func(kind schema.GroupVersionKind, serving Serving) error
	// Advance lets time pass for the objects.
	Advance func(by time.Duration)
	// Objects are those that the script has to do with, in order.
	Objects func() ([]*unstructured.Unstructured, error)
	// Settle returns when what was done before is known to everybody.
	Settle func() error
}

// Watcher is a cache of which a script decides how stale it is.
type Watcher interface {
	revisions.Cache

	// SetStale keeps events back from now on, or delivers all of them.
	SetStale(stale bool)
	// Changed are the objects that a reader has changed, which none may.
	Changed() []revisions.ObjectID
}

// demoOwner is the owner of the lines of scripts.
func demoOwner(uid types.UID) revisions.Owner {
	return revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: uid, Label: "strata.run/package"}
}

// Target plays scripts on the cluster.
func (c *Cluster) Target() *Target {
	owners := 0
	return &Target{
		Journal:  &c.Journal,
		Client:   func(name string) ReadWriter { return c.Client(name) },
		Mapper:   c.Mapper(),
		NewCache: func() (Watcher, error) { return NewCache(c, demoOwner("").Label), nil },
		NewOwner: func() (revisions.Owner, error) {
			owners++
			return demoOwner(types.UID(fmt.Sprintf("owner-%d", owners))), nil
		},
		Collect: func(owner types.UID) error {
			c.CollectGarbage(owner)
			return nil
		},
		SetStatus: func(_ schema.GroupVersionKind, id revisions.ObjectID, ready, serving bool) error {
			c.SetStatus(id, statusOf(id.GroupKind, ready, serving))
			return nil
		},
		Serve: func(kind schema.GroupVersionKind, serving Serving) error {
			if kind.Version != "" && serving == Served {
				c.kinds.add(kind, true)
			}
			c.Serve(kind.GroupKind(), serving)
			return nil
		},
		Advance: c.Advance,
		Objects: func() ([]*unstructured.Unstructured, error) { return c.Objects(), nil },
		Settle:  func() error { return nil },
	}
}

// statusOf is a status that says whether the object is ready and whether it serves.
func statusOf(kind schema.GroupKind, ready, serving bool) map[string]any {
	if kind != definitionKind {
		return map[string]any{"ready": ready, "serving": serving}
	}
	established := "False"
	if ready {
		established = "True"
	}
	return map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": established}}}
}
