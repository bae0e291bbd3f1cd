// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

// snapshot is a package and its revisions as the cluster has them at a moment.
type snapshot struct {
	// pkg is nil while the package does not exist.
	pkg *v1alpha1.Package
	// revisions are in ascending order.
	revisions []v1alpha1.Revision
	// packageRead and revisionsRead are set once each has been listed.
	packageRead, revisionsRead bool
}

// complete is true once the snapshot holds all that the cluster has.
func (s *snapshot) complete() bool { return s.packageRead && s.revisionsRead }

// change is what a watch reports.
type change struct {
	// apply brings the snapshot up to date.
	apply func(*snapshot)
	// err ends the watch: it could not begin, or is not allowed.
	err error
	// lost is why the watch is interrupted; it goes on by itself.
	lost error
}

// feed watches one kind of object for a snapshot.
type feed struct {
	newList func() client.ObjectList
	options []client.ListOption
	// listed takes over a list, changed a single event.
	listed  func(*snapshot, client.ObjectList)
	changed func(*snapshot, watch.EventType, runtime.Object)
	// isOperand is true for kinds that are not ours: that such a kind is not served
	// does not mean that Strata is not installed.
	isOperand bool
}

// follower keeps the newest state of what a command waits for: a package with its
// revisions, and what is watched beside them.
type follower struct {
	cluster *cluster
	// note writes a line to stderr.
	note func(format string, args ...any)
	// changes come from every feed.
	changes  chan change
	snapshot snapshot
	// lost is set while the connection is interrupted.
	lost bool
}

// follow watches what feeds name until the context ends. Every change is sent; nothing is
// missed when a watch is interrupted, as it begins anew with a list.
func (c *cluster) follow(ctx context.Context, note func(format string, args ...any), feeds ...feed) *follower {
	f := &follower{cluster: c, note: note, changes: make(chan change)}
	for _, feed := range feeds {
		go c.run(ctx, feed, f.changes)
	}
	return f
}

// followPackage follows a package and its revisions.
func (c *cluster) followPackage(ctx context.Context, note func(format string, args ...any), name string) *follower {
	return c.follow(ctx, note, packageFeed(name), revisionFeed(name))
}

// take brings the snapshot up to date, and says whether there is news. An interruption is
// noted once.
func (f *follower) take(ch change) (bool, error) {
	switch {
	case ch.err != nil:
		return false, ch.err
	case ch.lost != nil:
		if !f.lost {
			f.note("Note: the connection to %s is interrupted (%s); trying again.", f.cluster.host, ch.lost)
		}
		f.lost = true
		return false, nil
	}
	f.lost = false
	ch.apply(&f.snapshot)
	return true, nil
}

func packageFeed(name string) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.PackageList{} },
		options: []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)}},
		listed: func(s *snapshot, list client.ObjectList) {
			s.packageRead, s.pkg = true, nil
			packages, ok := list.(*v1alpha1.PackageList)
			if !ok {
				return
			}
			for i := range packages.Items {
				if packages.Items[i].Name == name {
					s.pkg = &packages.Items[i]
				}
			}
		},
		changed: func(s *snapshot, event watch.EventType, o runtime.Object) {
			p, ok := o.(*v1alpha1.Package)
			if !ok || p.Name != name {
				return
			}
			s.pkg = p
			if event == watch.Deleted {
				s.pkg = nil
			}
		},
	}
}

func revisionFeed(pkg string) feed {
	isOurs := func(r v1alpha1.Revision) bool { return r.Spec.Package == pkg }
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.RevisionList{} },
		options: []client.ListOption{client.MatchingFields{packageField: pkg}},
		listed: func(s *snapshot, list client.ObjectList) {
			s.revisionsRead = true
			revisions, ok := list.(*v1alpha1.RevisionList)
			if !ok {
				return
			}
			s.revisions = slices.DeleteFunc(revisions.Items, func(r v1alpha1.Revision) bool { return !isOurs(r) })
			view.SortRevisions(s.revisions)
		},
		changed: func(s *snapshot, event watch.EventType, o runtime.Object) {
			r, ok := o.(*v1alpha1.Revision)
			if !ok || !isOurs(*r) {
				return
			}
			s.revisions = slices.DeleteFunc(slices.Clone(s.revisions), func(old v1alpha1.Revision) bool { return old.Name == r.Name })
			if event != watch.Deleted {
				s.revisions = append(s.revisions, *r)
			}
			view.SortRevisions(s.revisions)
		},
	}
}

// How long to wait before a watch that was interrupted begins anew.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// run lists and watches until the context ends. client-go's RetryWatcher ends when its version
// has become too old, and its informers say neither that they cannot begin nor that they are
// interrupted, which is what people want to know while they wait.
func (c *cluster) run(ctx context.Context, f feed, out chan<- change) {
	send := func(ch change) bool {
		select {
		case out <- ch:
			return true
		case <-ctx.Done():
			return false
		}
	}
	pause, begun := shortestPause, false
	for ctx.Err() == nil {
		started := time.Now()
		err := c.listAndWatch(ctx, f, func(ch change) bool {
			begun = true
			return send(ch)
		})
		if time.Since(started) > longestPause {
			pause = shortestPause
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && (!begun || apierrors.IsForbidden(err)):
			if !f.isOperand {
				err = c.explain("watching", err)
			}
			send(change{err: err})
			return
		case err != nil:
			if !send(change{lost: err}) {
				return
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// listed names what a list holds, such as "Deployment objects".
func listed(list client.ObjectList) string {
	kind := list.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		name := fmt.Sprintf("%T", list)
		kind = name[strings.LastIndex(name, ".")+1:]
	}
	return strings.TrimSuffix(kind, "List") + " objects"
}

// listAndWatch sends a list and then each change, until the watch ends.
func (c *cluster) listAndWatch(ctx context.Context, f feed, send func(change) bool) error {
	list := f.newList()
	if err := c.client.List(ctx, list, f.options...); err != nil {
		return fmt.Errorf("listing %s: %w", listed(list), err)
	}
	version := list.GetResourceVersion()
	if !send(change{apply: func(s *snapshot) { f.listed(s, list) }}) {
		return nil
	}
	options := append(slices.Clone(f.options), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	w, err := c.client.Watch(ctx, f.newList(), options...)
	if err != nil {
		return fmt.Errorf("watching %s: %w", listed(list), err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-w.ResultChan():
			switch {
			case !open:
				return nil
			case event.Type == watch.Error:
				err := apierrors.FromObject(event.Object)
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return nil // The version has become too old: the list begins anew.
				}
				return fmt.Errorf("watching %s: %w", listed(list), err)
			case event.Type == watch.Bookmark:
				continue
			}
			if !send(change{apply: func(s *snapshot) { f.changed(s, event.Type, event.Object) }}) {
				return nil
			}
		}
	}
}
