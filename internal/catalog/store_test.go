// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeOrigin has blobs under a version, or fails.
type fakeOrigin struct {
	version string
	blobs   string
	err     error
	// reads counts how often its blobs were read.
	reads int
}

func (f *fakeOrigin) Fetch(_ context.Context, last Version, _ string, read func(Source) error) (Version, error) {
	now := Version{Reference: f.version}
	if f.err != nil {
		return Version{}, f.err
	}
	if now == last {
		return last, ErrUnchanged
	}
	f.reads++
	return now, read(Stream(strings.NewReader(f.blobs)))
}

func packageBlobOf(name string) string { return `{"schema":"olm.package","name":"` + name + `"}` }

func openStore(t *testing.T, folder string) *Store {
	t.Helper()
	store, err := OpenStore(folder)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// wantPackages compares what a catalog has.
func wantPackages(t *testing.T, store *Store, name string, want ...string) {
	t.Helper()
	snapshot := store.Get(name)
	if snapshot.Content == nil {
		if len(want) > 0 {
			t.Errorf("%s has no content, want %q", name, want)
		}
		return
	}
	if got := snapshot.Content.Packages(); !slices.Equal(got, want) {
		t.Errorf("%s has the packages %q, want %q", name, got, want)
	}
	for _, p := range want {
		if _, err := snapshot.Content.Package(p); err != nil {
			t.Error(err)
		}
	}
}

// TestStore_LastGood keeps content while its origin fails, over a restart, and says since when.
func TestStore_LastGood(t *testing.T) {
	folder := t.TempDir()
	store := openStore(t, folder)
	origin := &fakeOrigin{err: errors.New("not there")}
	if _, err := store.Refresh(t.Context(), "c", origin); !errors.Is(err, origin.err) {
		t.Fatal(err)
	}
	wantPackages(t, store, "c")
	*origin = fakeOrigin{version: "1", blobs: packageBlobOf("a")}
	if changed, err := store.Refresh(t.Context(), "c", origin); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	first := store.Get("c")
	if first.Err != nil || !first.Failing.IsZero() || first.Checked.IsZero() {
		t.Errorf("%+v after it was read", first)
	}

	for _, broken := range []fakeOrigin{{err: errors.New("away")}, {version: "2", blobs: ""}, {version: "2", blobs: "<html>"}} {
		if changed, err := store.Refresh(t.Context(), "c", &broken); err == nil || changed {
			t.Errorf("%+v: %v, %v", broken, changed, err)
		}
	}
	failing := store.Get("c")
	if failing.Err == nil || failing.Failing.IsZero() || !failing.Checked.Equal(first.Checked) || failing.Version != first.Version {
		t.Errorf("%+v while its origin fails", failing)
	}
	wantPackages(t, store, "c", "a")
	if stats := store.Stats(); stats.Catalogs != 1 || stats.Failing != 1 || stats.Bytes == 0 || stats.Succeeded != 1 || stats.Failed != 4 {
		t.Errorf("%+v", stats)
	}

	store = openStore(t, folder)
	wantPackages(t, store, "c", "a")
	if got := store.Get("c"); got.Version != first.Version || got.Content.Digest() != first.Content.Digest() || !got.Read.Equal(first.Read) {
		t.Errorf("%+v after a restart, want %+v", got, first)
	}
	if err := store.Drop("c"); err != nil {
		t.Fatal(err)
	}
	wantPackages(t, store, "c")
	wantPackages(t, openStore(t, folder), "c")
}

// TestStore_Unchanged reads and writes nothing while the version is the same.
func TestStore_Unchanged(t *testing.T) {
	folder := t.TempDir()
	store := openStore(t, folder)
	origin := &fakeOrigin{version: "1", blobs: packageBlobOf("a")}
	if _, err := store.Refresh(t.Context(), "c", origin); err != nil {
		t.Fatal(err)
	}
	before, read := written(t, folder), store.Get("c").Read
	for range 3 {
		if changed, err := store.Refresh(t.Context(), "c", origin); err != nil || changed {
			t.Fatalf("%v, %v", changed, err)
		}
	}
	if origin.reads != 1 || !slices.Equal(before, written(t, folder)) || !store.Get("c").Read.Equal(read) {
		t.Errorf("%d reads; files %v, before %v", origin.reads, written(t, folder), before)
	}
	// Another version with the same content is read, and is no change.
	origin.version = "2"
	if changed, err := store.Refresh(t.Context(), "c", origin); err != nil || changed || store.Get("c").Version.Reference != "2" {
		t.Errorf("%v, %v, %+v", changed, err, store.Get("c"))
	}
}

// written are the files below a folder with their times.
func written(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		files = append(files, path+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestStore_Replaced reads a content on while the next one is there, and deletes the one before that.
func TestStore_Replaced(t *testing.T) {
	folder := t.TempDir()
	store := openStore(t, folder)
	var contents []*Content
	for _, name := range []string{"a", "b", "c"} {
		if changed, err := store.Refresh(t.Context(), "c", &fakeOrigin{version: name, blobs: packageBlobOf(name)}); err != nil || !changed {
			t.Fatalf("%v, %v", changed, err)
		}
		contents = append(contents, store.Get("c").Content)
	}
	if _, err := contents[1].Package("b"); err != nil {
		t.Errorf("the content before this one: %v", err)
	}
	if _, err := contents[0].Package("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the oldest content is still there: %v", err)
	}
	openStore(t, folder)
	if _, err := contents[1].Package("b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old content is still there after a restart: %v", err)
	}
}

// TestStore_NoRoom fails with words that do not change from one try to the next, keeps the content that
// there is, and goes on when there is room again.
func TestStore_NoRoom(t *testing.T) {
	folder := t.TempDir()
	store := openStore(t, folder)
	if _, err := store.Refresh(t.Context(), "c", &fakeOrigin{version: "1", blobs: packageBlobOf("a")}); err != nil {
		t.Fatal(err)
	}
	newer := &fakeOrigin{version: "2", blobs: packageBlobOf("b")}
	next := filepath.Join(store.path("c"), digestOf(t, newer.blobs))
	for name, inTheWay := range map[string]string{"NoFolder": filepath.Join(folder, unfinished), "NotKept": next} {
		t.Run(name, func(t *testing.T) {
			// A user of the system that may do everything is kept from writing by no mode of a folder.
			if err := errors.Join(os.RemoveAll(inTheWay), os.WriteFile(inTheWay, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for range 2 {
				_, err := store.Refresh(t.Context(), "c", newer)
				if err == nil {
					t.Fatal("it is kept")
				}
				texts = append(texts, err.Error())
			}
			if texts[0] != texts[1] {
				t.Errorf("another text at each try: %q", texts)
			}
			wantPackages(t, store, "c", "a")
			wantPackages(t, openStore(t, copyOf(t, store.folder)), "c", "a")
			if err := os.Remove(inTheWay); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := store.Refresh(t.Context(), "c", newer); err != nil {
		t.Fatal(err)
	}
	wantPackages(t, store, "c", "b")
}

func copyOf(t *testing.T, folder string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return to
}

// digestOf is the folder of a content.
func digestOf(t *testing.T, blobs string) string {
	t.Helper()
	content, err := Build(t.Context(), t.TempDir(), Stream(strings.NewReader(blobs)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(content.Digest(), "sha256:")
}

// TestStore_Crash opens a store that a process has left at any point.
func TestStore_Crash(t *testing.T) {
	for name, leave := range map[string]func(folder, catalog string) error{
		"Fetching": func(folder, _ string) error {
			return os.MkdirAll(filepath.Join(folder, unfinished, "1", "built"), 0o700)
		},
		"BeforeState": func(_, catalog string) error { return os.Mkdir(filepath.Join(catalog, "newer"), 0o700) },
		"NoContent":   func(folder, _ string) error { return os.Mkdir(filepath.Join(folder, "other"), 0o700) },
		"HalfAState": func(folder, _ string) error {
			other := filepath.Join(folder, "other")
			return errors.Join(os.Mkdir(other, 0o700), os.WriteFile(filepath.Join(other, stateFile), []byte(`{"name`), 0o600))
		},
		"StateOfOther": func(folder, catalog string) error {
			return os.CopyFS(filepath.Join(folder, "other"), os.DirFS(catalog))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			store := openStore(t, folder)
			if _, err := store.Refresh(t.Context(), "c", &fakeOrigin{version: "1", blobs: packageBlobOf("a")}); err != nil {
				t.Fatal(err)
			}
			before := written(t, folder)
			if err := leave(folder, store.path("c")); err != nil {
				t.Fatal(err)
			}
			wantPackages(t, openStore(t, folder), "c", "a")
			folders, err := filepath.Glob(filepath.Join(folder, "*", "*"))
			if err != nil || len(folders) != 2 || !slices.Equal(before, written(t, folder)) {
				t.Errorf("left are %q, %v", folders, err)
			}
		})
	}
}

// TestStore_Cancelled takes an update that was cancelled for no failure of the origin.
func TestStore_Cancelled(t *testing.T) {
	store := openStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte(packageBlobOf("a")))
		cancel()
		_ = writer.Close()
	}()
	_, err := store.Refresh(ctx, "c", stream{reader})
	if !errors.Is(err, context.Canceled) || store.Get("c").Err != nil || store.Get("c").Content != nil {
		t.Errorf("got %v, %+v", err, store.Get("c"))
	}
}

// slow is an origin that does not look at the context.
type slow struct {
	fakeOrigin

	entered, release chan struct{}
}

func (s *slow) Fetch(ctx context.Context, last Version, scratch string, read func(Source) error) (Version, error) {
	close(s.entered)
	<-s.release
	return s.fakeOrigin.Fetch(ctx, last, scratch, read)
}

// TestStore_CancelledLate keeps what was asked for last, though a refresh that was cancelled ends
// after that began.
func TestStore_CancelledLate(t *testing.T) {
	folder := t.TempDir()
	store := openStore(t, folder)
	late := &slow{fakeOrigin: fakeOrigin{version: "old", blobs: packageBlobOf("old")}, entered: make(chan struct{}), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ends := make(chan error, 2)
	go func() {
		_, err := store.Refresh(ctx, "c", late)
		ends <- err
	}()
	<-late.entered
	cancel()
	next := &slow{fakeOrigin: fakeOrigin{version: "new", blobs: packageBlobOf("new")}, entered: make(chan struct{}), release: make(chan struct{})}
	close(next.release)
	go func() {
		_, err := store.Refresh(t.Context(), "c", next)
		ends <- err
	}()
	close(late.release)
	if first, second := <-ends, <-ends; !errors.Is(first, context.Canceled) || second != nil {
		t.Errorf("got %v, then %v", first, second)
	}
	wantPackages(t, store, "c", "new")
	wantPackages(t, openStore(t, folder), "c", "new")
	if got := openStore(t, folder).Names(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("catalogs %q", got)
	}
}

type stream struct{ io.Reader }

func (s stream) Fetch(_ context.Context, _ Version, _ string, read func(Source) error) (Version, error) {
	return Version{}, read(Stream(s))
}

// TestNextPoll spreads polls over a hundredth of the interval.
func TestNextPoll(t *testing.T) {
	checked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	times := map[time.Time]bool{}
	for _, name := range []string{"a", "b", "c", "d"} {
		next := NextPoll(name, checked, time.Hour)
		if late := next.Sub(checked) - time.Hour; late < 0 || late > 36*time.Second {
			t.Errorf("%s: %s after the interval", name, late)
		}
		if next != NextPoll(name, checked, time.Hour) {
			t.Errorf("%s: another time when asked again", name)
		}
		times[next] = true
	}
	if len(times) < 3 {
		t.Errorf("4 catalogs are polled at %d times", len(times))
	}
}
