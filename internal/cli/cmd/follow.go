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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
)

type feed struct {
	newList func() client.ObjectList
	options []client.ListOption
	// set takes over the objects that there are, whenever one has changed.
	set func(objects []any)
	// failed takes over why it cannot begin or is not allowed, which is retried. Where it is nil,
	// that ends what follows.
	failed func(err error)
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

	feeds []feed
	// changes bring what is followed up to date; an error of one ends it.
	changes  chan func() error
	read     map[*listing]bool
	snapshot view.Snapshot
	// lost is set while the connection is interrupted.
	lost bool
}

var errOver = errors.New("the time is over")

// follow follows what feeds watch, 0 for any time.
func (c *cluster) follow(note func(format string, args ...any), limit time.Duration, feeds ...feed) *follower {
	f := &follower{cluster: c, note: note, feeds: feeds, changes: make(chan func() error), read: map[*listing]bool{}}
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
		case change := <-f.changes:
			if err := change(); err != nil {
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

// complete is true once all that is followed has been listed.
func (f *follower) complete() bool { return len(f.read) >= len(f.feeds) }

func (f *follower) packageFeed(name string) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.PackageList{} },
		options: []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)}},
		set: func(objects []any) {
			f.snapshot.Package = nil
			for _, p := range of[*v1alpha1.Package](objects) {
				f.snapshot.Package = p
			}
		},
	}
}

func (f *follower) revisionFeed(pkg string) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.RevisionList{} },
		options: []client.ListOption{client.MatchingFields{packageField: pkg}},
		set: func(objects []any) {
			f.snapshot.Revisions = nil
			for _, r := range of[*v1alpha1.Revision](objects) {
				f.snapshot.Revisions = append(f.snapshot.Revisions, *r)
			}
			view.SortRevisions(f.snapshot.Revisions)
		},
	}
}

func of[T any](objects []any) []T {
	var all []T
	for _, object := range objects {
		if one, ok := object.(T); ok {
			all = append(all, one)
		}
	}
	return all
}

// pauses are those before a watch that was interrupted, or could not begin, begins anew: client-go's
// own are for controllers, and grow to a minute.
var pauses = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 5 * time.Second, Steps: 7}

// start lists and watches with client-go's reflector until the context ends.
func (f *follower) start(ctx context.Context, feed feed) {
	l := &listing{follower: f, feed: feed, done: ctx.Done(), Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	source := unstreamed{&cache.ListWatch{ListWithContextFunc: l.list, WatchFuncWithContext: l.watch}}
	go cache.NewReflectorWithOptions(source, nil, l, cache.ReflectorOptions{Backoff: &pauses}).RunWithContext(ctx)
}

// unstreamed lists before it watches, so that what keeps it from beginning is said of the list.
type unstreamed struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }

// listing is where a reflector keeps the objects of a feed. Each change is taken over before the
// next, so that what lasts a moment is seen. Reflectors only log that they cannot begin or are
// interrupted, which is what people want to know while they wait: it is seen at their requests.
type listing struct {
	cache.Store

	follower *follower
	feed     feed
	done     <-chan struct{}
	// begun is set once the objects have been listed.
	begun bool
}

func (l *listing) send(change func() error) {
	select {
	case l.follower.changes <- change:
	case <-l.done:
	}
}

// changed has the objects taken over as they are now.
func (l *listing) changed(err error) error {
	objects := l.List()
	l.send(func() error {
		l.follower.lost, l.follower.read[l] = false, true
		l.feed.set(objects)
		return nil
	})
	return err
}

// Add is for a new object.
func (l *listing) Add(object any) error { return l.changed(l.Store.Add(object)) }

// Update is for an object that has changed.
func (l *listing) Update(object any) error { return l.changed(l.Store.Update(object)) }

// Delete is for an object that is gone.
func (l *listing) Delete(object any) error { return l.changed(l.Store.Delete(object)) }

// Replace is for a list.
func (l *listing) Replace(objects []any, version string) error {
	l.begun = true
	return l.changed(l.Store.Replace(objects, version))
}

func (l *listing) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = "" // Any state that is cached may be older than what the command has written.
	}
	list := l.feed.newList()
	return list, l.failed("listing", l.follower.cluster.client.List(ctx, list, l.options(options)...))
}

func (l *listing) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := l.follower.cluster.client.Watch(ctx, l.feed.newList(), l.options(options)...)
	if err != nil {
		return nil, l.failed("watching", err)
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Error {
			_ = l.failed("watching", apierrors.FromObject(event.Object))
		}
		return event, true
	}), nil
}

func (l *listing) options(raw metav1.ListOptions) []client.ListOption {
	return append(slices.Clone(l.feed.options), &client.ListOptions{Raw: &raw})
}

// failed reports an error of a request, and returns it. That the version has become too old is
// none: the list begins anew.
func (l *listing) failed(doing string, err error) error {
	if err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return err
	}
	said := fmt.Errorf("%s %s: %w", doing, listed(l.feed.newList()), err)
	isInterrupted := l.begun && !apierrors.IsForbidden(err)
	l.begun = isInterrupted
	l.send(func() error {
		switch {
		case isInterrupted:
			l.follower.interrupted(said)
		case l.feed.failed == nil:
			return l.follower.cluster.explain("watching", said)
		default:
			l.feed.failed(said)
		}
		return nil
	})
	return err
}

// interrupted notes an interruption once; the reflector goes on by itself.
func (f *follower) interrupted(err error) {
	if !f.lost {
		f.note("Note: the connection to %s is interrupted (%s); trying again.", f.cluster.host, err)
	}
	f.lost = true
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
