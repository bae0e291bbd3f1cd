// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store keeps the last content of each catalog that could be read, over restarts and crashes. One
// process uses a store at a time.
type Store struct {
	folder string

	mutex sync.Mutex
	kept  map[string]*kept
	reads Reads
	// files has a lock for each catalog, under which its files are written: a job that was
	// cancelled may still run when the next one begins.
	files map[string]*sync.Mutex
}

// Snapshot is a catalog as it is known.
type Snapshot struct {
	// Content is nil when the catalog could not be read yet.
	Content *Content
	Version Version
	// Read is when the content was fetched, and Checked when it was last known to be that of the origin.
	Read, Checked time.Time
	// Err is why the content could not be fetched or checked last time, since Failing.
	Err     error
	Failing time.Time
}

// Stats are for metrics.
type Stats struct {
	Reads

	// Catalogs have content, and Failing could not be fetched or checked last time.
	Catalogs, Failing int
	// Bytes are on disk.
	Bytes int64
	// Oldest is when the content was last checked for which that is longest ago.
	Oldest time.Time
}

// Reads count how often a catalog was read, since the start.
type Reads struct {
	Succeeded, Failed, Unchanged int
	// Seconds are those of reads that succeeded.
	Seconds float64
}

// kept is what the store has of a catalog.
type kept struct {
	state   state
	content *Content
	checked time.Time
	err     error
	failing time.Time
}

// state is the file that says which content is that of a catalog.
type state struct {
	Name    string    `json:"name"`
	Folder  string    `json:"folder"`
	Version Version   `json:"version"`
	Read    time.Time `json:"read"`
}

const (
	unfinished = "unfinished"
	stateFile  = "state.json"
)

// OpenStore opens the store in a folder, and deletes what a process has left unfinished there.
func OpenStore(folder string) (*Store, error) {
	s := &Store{folder: folder, kept: map[string]*kept{}, files: map[string]*sync.Mutex{}}
	if err := os.RemoveAll(filepath.Join(folder, unfinished)); err != nil {
		return nil, fmt.Errorf("opening the store of catalogs: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(folder, unfinished), 0o700); err != nil {
		return nil, fmt.Errorf("opening the store of catalogs: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the store of catalogs: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == unfinished {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		found, err := readKept(path)
		if err == nil && s.path(found.state.Name) == path {
			s.kept[found.state.Name] = found
			err = removeOthers(path, found.state.Folder)
		} else {
			err = os.RemoveAll(path)
		}
		if err != nil {
			return nil, fmt.Errorf("opening the store of catalogs: %w", err)
		}
	}
	return s, nil
}

func readKept(path string) (*kept, error) {
	raw, err := os.ReadFile(filepath.Join(path, stateFile))
	if err != nil {
		return nil, err
	}
	found := &kept{}
	if err := json.Unmarshal(raw, &found.state); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(found.state.Folder) {
		return nil, fmt.Errorf("the state names the folder %q", found.state.Folder)
	}
	found.checked = found.state.Read
	found.content, err = Open(filepath.Join(path, found.state.Folder))
	return found, err
}

// path is the folder of a catalog; its name is data and no path.
func (s *Store) path(name string) string {
	return filepath.Join(s.folder, fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
}

// Get is what is known of a catalog.
func (s *Store) Get(name string) Snapshot {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := s.kept[name]
	if found == nil {
		return Snapshot{}
	}
	return Snapshot{
		Content: found.content, Version: found.state.Version, Read: found.state.Read, Checked: found.checked,
		Err: found.err, Failing: found.failing,
	}
}

// Refresh asks the origin of a catalog for its content, and returns whether that is another one. The
// last content stays when the origin fails. It waits for another refresh of the catalog to end.
func (s *Store) Refresh(ctx context.Context, name string, origin Origin) (bool, error) {
	defer s.lock(name)()
	begin := time.Now()
	last := s.Get(name)
	next, err := s.fetch(ctx, name, origin, last)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := time.Now()
	one := s.kept[name]
	if one == nil {
		one = &kept{}
	}
	switch {
	case ctx.Err() != nil: // nothing wants it any more, so it is no failure of the origin
		return false, context.Cause(ctx)
	case errors.Is(err, ErrUnchanged):
		s.reads.Unchanged++
		one.checked, one.err, one.failing = now, nil, time.Time{}
		return false, nil
	case err != nil:
		s.reads.Failed++
		if one.err == nil {
			one.failing = now
		}
		one.err = err
		s.kept[name] = one
		return false, err
	}
	s.reads.Succeeded++
	s.reads.Seconds += now.Sub(begin).Seconds()
	next.checked = now
	s.kept[name] = next
	return last.Content == nil || last.Content.Digest() != next.content.Digest(), nil
}

// fetch writes what an origin has to disk.
func (s *Store) fetch(ctx context.Context, name string, origin Origin, last Snapshot) (*kept, error) {
	// The name is the same at each try, as it stands in messages.
	work := filepath.Join(s.folder, unfinished, filepath.Base(s.path(name)))
	defer os.RemoveAll(work)
	content, version, err := readInto(ctx, work, origin, last.Version)
	if err != nil {
		return nil, err
	}
	if len(content.Packages()) == 0 {
		return nil, fmt.Errorf("the catalog has no packages%s", firstProblem(content))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.keep(name, version, content)
}

// lock keeps others from the files of a catalog, and returns the function that lets them.
func (s *Store) lock(name string) func() {
	s.mutex.Lock()
	files := s.files[name]
	if files == nil {
		files = &sync.Mutex{}
		s.files[name] = files
	}
	s.mutex.Unlock()
	files.Lock()
	return files.Unlock
}

func firstProblem(content *Content) string {
	if problems := content.Problems(); len(problems) > 0 {
		return ": " + problems[0].String()
	}
	return ""
}

// keep renames a content into place, and then makes it that of the catalog. The one before stays on
// disk until the next, as lookups may be under way in it.
func (s *Store) keep(name string, version Version, content *Content) (*kept, error) {
	path := s.path(name)
	next := &kept{content: content, state: state{Name: name, Folder: strings.TrimPrefix(content.Digest(), "sha256:"), Version: version, Read: time.Now()}}
	before := ""
	if last, err := readKept(path); err == nil {
		before = last.state.Folder
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the catalog: %w", err)
	}
	if before != next.state.Folder {
		if err := removeOthers(path, before); err != nil {
			return nil, fmt.Errorf("keeping the catalog: %w", err)
		}
		if err := os.Rename(content.folder, filepath.Join(path, next.state.Folder)); err != nil {
			return nil, fmt.Errorf("keeping the catalog: %w", err)
		}
	}
	content.folder = filepath.Join(path, next.state.Folder)
	if err := s.writeState(path, next.state); err != nil {
		return nil, fmt.Errorf("keeping the catalog: %w", err)
	}
	return next, nil
}

func (s *Store) writeState(path string, to state) error {
	raw, err := json.Marshal(to)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(s.folder, unfinished, filepath.Base(path)+".json"))
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(path, stateFile))
}

// removeOthers deletes contents of a catalog but one.
func removeOthers(path, but string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != but {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
		}
	}
	return err
}

// Drop forgets a catalog that is deleted or unavailable. A refresh of it is to be cancelled before, as
// it waits for that.
func (s *Store) Drop(name string) error {
	defer s.lock(name)()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.kept, name)
	if err := os.RemoveAll(s.path(name)); err != nil {
		return fmt.Errorf("dropping the catalog %s: %w", name, err)
	}
	return nil
}

// Names are the catalogs that the store knows, for those that have gone while no process ran.
func (s *Store) Names() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.kept))
}

// Stats counts.
func (s *Store) Stats() Stats {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	stats := Stats{Reads: s.reads}
	for _, one := range s.kept {
		if one.err != nil {
			stats.Failing++
		}
		if one.content == nil {
			continue
		}
		stats.Catalogs++
		stats.Bytes += one.content.onDisk()
		if stats.Oldest.IsZero() || one.checked.Before(stats.Oldest) {
			stats.Oldest = one.checked
		}
	}
	return stats
}
