// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

type snapshot struct {
	view.Snapshot

	// packageRead and revisionsRead are set once each has been listed.
	packageRead, revisionsRead bool
}

// complete is true once the snapshot holds all that the cluster has.
func (s *snapshot) complete() bool { return s.packageRead && s.revisionsRead }

type change struct {
	// apply brings what follows up to date.
	apply func()
	// err ends the watch: it could not begin, or is not allowed.
	err error
	// lost is why the watch is interrupted; it goes on by itself.
	lost error
}

type feed struct {
	newList func() client.ObjectList
	options []client.ListOption
	// set takes over the objects that there are, whenever one has changed.
	set func(objects []runtime.Object)
	// failed takes over why it cannot begin or is not allowed, which ends what follows where
	// it is nil. With retries it is retried.
	failed  func(err error)
	retries bool
}

// follower keeps the newest state of what a command waits for: a package with its revisions,
// and what is watched beside them. Every command that watches does it with one.
type follower struct {
	cluster *cluster
	// note writes a line to stderr.
	note func(format string, args ...any)
	// over ends it; nil is for no limit.
	over <-chan time.Time
	// wake is when the next step is taken although nothing has changed, 0 for never.
	wake time.Duration

	feeds    []feed
	changes  chan change
	snapshot snapshot
	// lost is set while the connection is interrupted.
	lost bool
}

var errOver = errors.New("the time is over")

// follow follows what feeds watch, 0 for any time.
func (c *cluster) follow(note func(format string, args ...any), limit time.Duration, feeds ...feed) *follower {
	f := &follower{cluster: c, note: note, feeds: feeds, changes: make(chan change)}
	if limit > 0 {
		f.over = time.After(limit)
	}
	return f
}

func (c *cluster) followPackage(note func(format string, args ...any), limit time.Duration, name string) *follower {
	f := c.follow(note, limit)
	f.feeds = []feed{f.packageFeed(name), f.revisionFeed(name)}
	return f
}

// until takes a step after each change, and when it is to wake, until a step says that it was
// the last. Nothing is missed when a watch is interrupted, as it begins anew with a list.
func (f *follower) until(ctx context.Context, doing string, step func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, feed := range f.feeds {
		f.start(ctx, feed)
	}
	timer := time.NewTimer(cmp.Or(f.wake, time.Hour))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case <-f.over:
			return errOver
		case ch := <-f.changes:
			if err := f.take(ch); err != nil {
				return err
			}
		case <-timer.C:
		}
		if done, err := step(ctx); done || err != nil {
			return err
		}
		if f.wake > 0 {
			timer.Reset(f.wake)
		}
	}
}

func (f *follower) start(ctx context.Context, feed feed) { go f.cluster.run(ctx, feed, f.changes) }

// take brings the state up to date. An interruption is noted once.
func (f *follower) take(ch change) error {
	switch {
	case ch.err != nil:
		return ch.err
	case ch.lost != nil:
		if !f.lost {
			f.note("Note: the connection to %s is interrupted (%s); trying again.", f.cluster.host, ch.lost)
		}
		f.lost = true
		return nil
	}
	f.lost = false
	ch.apply()
	return nil
}

func (f *follower) packageFeed(name string) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.PackageList{} },
		options: []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)}},
		set: func(objects []runtime.Object) {
			s := &f.snapshot
			s.packageRead, s.Package = true, nil
			for _, p := range of[*v1alpha1.Package](objects) {
				if p.Name == name {
					s.Package = p
				}
			}
		},
	}
}

func (f *follower) revisionFeed(pkg string) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.RevisionList{} },
		options: []client.ListOption{client.MatchingFields{packageField: pkg}},
		set: func(objects []runtime.Object) {
			s := &f.snapshot
			s.revisionsRead, s.Revisions = true, nil
			for _, r := range of[*v1alpha1.Revision](objects) {
				if r.Spec.Package == pkg {
					s.Revisions = append(s.Revisions, *r)
				}
			}
			view.SortRevisions(s.Revisions)
		},
	}
}

func of[T runtime.Object](objects []runtime.Object) []T {
	var all []T
	for _, object := range objects {
		if one, ok := object.(T); ok {
			all = append(all, one)
		}
	}
	return all
}

// How long to wait before a watch that was interrupted, or could not begin, begins anew.
const (
	shortestPause = 100 * time.Millisecond
	retryPause    = time.Second
	longestPause  = 5 * time.Second
)

// run lists and watches until the context ends. client-go's RetryWatcher ends when its version
// has become too old, and its informers, which UntilWithSync is made of, say neither that they
// cannot begin nor that they are interrupted, which is what people want to know while they wait.
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
			if !send(c.failure(f, err)) || !f.retries {
				return
			}
			pause, begun = retryPause, false
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

// failure is what a feed reports that cannot begin, or is not allowed.
func (c *cluster) failure(f feed, err error) change {
	if f.failed != nil {
		return change{apply: func() { f.failed(err) }}
	}
	return change{err: c.explain("watching", err)}
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

// listAndWatch sends the objects that there are, and again after each change, until the watch
// ends.
func (c *cluster) listAndWatch(ctx context.Context, f feed, send func(change) bool) error {
	list := f.newList()
	if err := c.client.List(ctx, list, f.options...); err != nil {
		return fmt.Errorf("listing %s: %w", listed(list), err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("listing %s: %w", listed(list), err)
	}
	if !send(change{apply: func() { f.set(objects) }}) {
		return nil
	}
	options := append(slices.Clone(f.options), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
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
			objects = after(objects, event)
			now := objects
			if !send(change{apply: func() { f.set(now) }}) {
				return nil
			}
		}
	}
}

func after(objects []runtime.Object, event watch.Event) []runtime.Object {
	objects = slices.DeleteFunc(slices.Clone(objects), func(o runtime.Object) bool { return keyOf(o) == keyOf(event.Object) })
	if event.Type == watch.Deleted {
		return objects
	}
	return append(objects, event.Object)
}

func keyOf(o runtime.Object) client.ObjectKey {
	accessor, err := meta.Accessor(o)
	if err != nil {
		return client.ObjectKey{}
	}
	return client.ObjectKey{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
}
