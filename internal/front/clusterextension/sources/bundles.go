// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/strata-run/strata/internal/oci"
)

// Bundles gets images of bundles.
type Bundles struct {
	Store  *oci.Store
	Queue  *oci.Queue
	Client *oci.Client
	// Used are the images by digest that stay whatever room there is, besides those that are wanted.
	// Optional.
	Used func(ctx context.Context) ([]string, error)
	// Took takes in how long pulls took. Optional.
	Took Took

	mutex sync.Mutex
	// wanted are the digests of what extensions want.
	wanted map[string]string
	// pinned are the references by digest of tags that were looked up.
	pinned map[tag]string
}

// mostPinned bounds what is remembered; what revisions have recorded is not looked up again.
const mostPinned = 10_000

// tag is a reference in a content of a catalog.
type tag struct{ image, content string }

// Credentials reads those of the pull secrets that count, when an image is asked for. Nil is none. The
// problems say which could not be read.
type Credentials func(ctx context.Context) (found oci.Credentials, problems []string)

// with asks for an image with the credentials, and adds to a failure which of them could not be read.
func (c Credentials) with(ctx context.Context, ask func(oci.Credentials) error) error {
	if c == nil {
		return ask(nil)
	}
	found, problems := c(ctx)
	err := ask(found)
	if err == nil || len(problems) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(problems, "; "))
}

// BundleView is what a pass sees of a bundle.
type BundleView struct {
	// Pinned is the reference by digest, empty before it is known.
	Pinned string
	// Entry is what is on disk, if Ready.
	Entry oci.Entry
	Ready bool
	// Err is why it could not be had last time, and Final whether only another image helps.
	Err   error
	Final bool
	// Next is when it is to be observed again, if nothing wakes the loop before.
	Next time.Time
}

// Observe returns what is on disk of a bundle, and has it pulled when nothing is.
func (b *Bundles) Observe(wanted Bundle) BundleView {
	pinned := b.pin(&wanted)
	b.want(context.Background(), wanted.Who, pinned)
	if entry, found := b.Store.Get(digestOf(pinned)); found {
		b.Queue.Forget(wanted.Who)
		return BundleView{Pinned: pinned, Entry: entry, Ready: true}
	}
	wanted.Pinned = pinned
	state := b.Queue.Want(wanted.Who, wanted.key(), hostOf(wanted.Image), func(ctx context.Context) error { return b.pull(ctx, &wanted) })
	return BundleView{Pinned: pinned, Err: state.Err, Final: final(state.Err), Next: state.Next}
}

// Forget says that an extension wants no bundle any more.
func (b *Bundles) Forget(who string) {
	b.Queue.Forget(who)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.wanted, who)
}

// pin is the reference by digest of a bundle, as far as it is known without a request.
func (b *Bundles) pin(wanted *Bundle) string {
	if wanted.Pinned != "" {
		return wanted.Pinned
	}
	if strings.Contains(wanted.Image, "@") {
		return wanted.Image
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.pinned[tag{wanted.Image, wanted.Content}]
}

func (b *Bundles) pull(ctx context.Context, wanted *Bundle) error {
	defer b.Took.since(time.Now())
	err := wanted.Credentials.with(ctx, func(credentials oci.Credentials) error { return b.get(ctx, wanted, credentials) })
	if err != nil {
		return err
	}
	return b.Collect(ctx)
}

func (b *Bundles) get(ctx context.Context, wanted *Bundle, credentials oci.Credentials) error {
	pinned := wanted.Pinned
	if pinned == "" {
		var err error
		if pinned, err = b.Client.Resolve(ctx, wanted.Image, credentials); err != nil {
			return err
		}
		b.mutex.Lock()
		if b.pinned == nil || len(b.pinned) >= mostPinned {
			b.pinned = map[tag]string{}
		}
		b.pinned[tag{wanted.Image, wanted.Content}] = pinned
		b.mutex.Unlock()
	}
	b.want(ctx, wanted.Who, pinned)
	_, err := b.Store.Add(digestOf(pinned), func(folder string) (oci.Image, error) {
		return b.Client.Pull(ctx, pinned, credentials, folder, oci.Unpack{Limits: oci.BundleLimits})
	})
	return err
}

// want notes which image an extension wants, unless that was cancelled.
func (b *Bundles) want(ctx context.Context, who, pinned string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if ctx.Err() != nil || pinned == "" {
		return
	}
	if b.wanted == nil {
		b.wanted = map[string]string{}
	}
	b.wanted[who] = digestOf(pinned)
}

// Collect deletes images for which there is no room, besides those that extensions want or that are
// in use.
func (b *Bundles) Collect(ctx context.Context) error {
	used := map[string]bool{}
	if b.Used != nil {
		references, err := b.Used(ctx)
		if err != nil {
			return err
		}
		for _, reference := range references {
			used[digestOf(reference)] = true
		}
	}
	b.mutex.Lock()
	for _, digest := range b.wanted {
		used[digest] = true
	}
	b.mutex.Unlock()
	return b.Store.Collect(func(digest string) bool { return used[digest] })
}
