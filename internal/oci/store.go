// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Store keeps what was unpacked, by digest. An entry is complete or not there: it is made in a
// folder of its own, which is renamed at the end. One process uses a store at a time.
type Store struct {
	folder string
	limit  int64

	mutex   sync.Mutex
	entries map[string]*stored
}

// Entry is one image in the store.
type Entry struct {
	Image Image
	// Folder has the files. It may go while it is read when the caller of [Store.Collect] says that it is not
	// needed; the image is pulled again then.
	Folder string
	// Size is how many bytes they have.
	Size int64
}

// stored is an entry as its file has it; used is the time of that file.
type stored struct {
	Image Image `json:"image"`
	Size  int64 `json:"size"`

	used time.Time
}

const (
	// unfinished is the folder of entries that are being made.
	unfinished = "unfinished"
	entryFile  = "entry.json"
	filesName  = "files"
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// OpenStore opens the store in a folder, which may have up to limit bytes, and deletes what a
// process has left unfinished there.
func OpenStore(folder string, limit int64) (*Store, error) {
	s := &Store{folder: folder, limit: limit, entries: map[string]*stored{}}
	if err := os.RemoveAll(filepath.Join(folder, unfinished)); err != nil {
		return nil, fmt.Errorf("opening the store of images: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(folder, unfinished), 0o700); err != nil {
		return nil, fmt.Errorf("opening the store of images: %w", err)
	}
	found, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the store of images: %w", err)
	}
	for _, one := range found {
		digest := "sha256:" + one.Name()
		if !digestPattern.MatchString(digest) {
			continue
		}
		if entry, err := readEntry(s.path(digest)); err == nil {
			s.entries[digest] = entry
		} else if err := os.RemoveAll(s.path(digest)); err != nil {
			return nil, fmt.Errorf("deleting a broken entry of the store of images: %w", err)
		}
	}
	return s, nil
}

func readEntry(folder string) (*stored, error) {
	path := filepath.Join(folder, entryFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	entry := &stored{used: info.ModTime()}
	return entry, json.Unmarshal(raw, entry)
}

// path is the folder of a digest, which matches digestPattern.
func (s *Store) path(digest string) string { return filepath.Join(s.folder, digest[len("sha256:"):]) }

// Get is the entry of a digest, if there is one.
func (s *Store) Get(digest string) (Entry, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	entry, found := s.entries[digest]
	if !found {
		return Entry{}, false
	}
	if _, err := os.Stat(s.path(digest)); err != nil { // a user has deleted it
		delete(s.entries, digest)
		return Entry{}, false
	}
	if now := time.Now(); now.Sub(entry.used) > time.Minute {
		entry.used = now
		// An order of collection that is a little off is no reason to fail.
		_ = os.Chtimes(filepath.Join(s.path(digest), entryFile), now, now)
	}
	return Entry{Image: entry.Image, Folder: filepath.Join(s.path(digest), filesName), Size: entry.Size}, true
}

// Add makes the entry of a digest with a function that fills a folder. When that fails, nothing is
// kept.
func (s *Store) Add(digest string, fill func(folder string) (Image, error)) (Entry, error) {
	if !digestPattern.MatchString(digest) {
		return Entry{}, &Error{Kind: Invalid, Text: fmt.Sprintf("the digest %q is not sha256 and 64 hexadecimal digits", digest)}
	}
	if entry, found := s.Get(digest); found {
		return entry, nil
	}
	work, err := s.begin(digest)
	if err != nil {
		return Entry{}, fmt.Errorf("making an entry of the store of images: %w", err)
	}
	defer os.RemoveAll(work)
	files := filepath.Join(work, filesName)
	if err := os.Mkdir(files, 0o700); err != nil {
		return Entry{}, fmt.Errorf("making an entry of the store of images: %w", err)
	}
	entry := &stored{used: time.Now()}
	if entry.Image, err = fill(files); err != nil {
		return Entry{}, err
	}
	if err := s.finish(digest, work, entry); err != nil {
		return Entry{}, fmt.Errorf("making an entry of the store of images: %w", err)
	}
	return Entry{Image: entry.Image, Folder: filepath.Join(s.path(digest), filesName), Size: entry.Size}, nil
}

// begin makes the folder that an entry is made in. Its name is the same at each try, as it stands in
// messages; only pulls of one image at a time have others.
func (s *Store) begin(digest string) (string, error) {
	all := filepath.Join(s.folder, unfinished)
	if err := os.MkdirAll(all, 0o700); err != nil { // as after a user has emptied the folder
		return "", err
	}
	for n := 0; ; n++ {
		work := filepath.Join(all, fmt.Sprintf("%s-%d", filepath.Base(s.path(digest)), n))
		if err := os.Mkdir(work, 0o700); !errors.Is(err, fs.ErrExist) {
			return work, err
		}
	}
}

// finish renames an entry into place, with all that is in it on disk.
func (s *Store) finish(digest, work string, entry *stored) error {
	size, err := syncFiles(filepath.Join(work, filesName))
	if err != nil {
		return err
	}
	entry.Size = size
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, entryFile), raw, 0o600); err != nil {
		return err
	}
	if err := syncFile(filepath.Join(work, entryFile)); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, found := s.entries[digest]; found {
		return nil // another pull of the same digest was faster
	}
	if err := os.Rename(work, s.path(digest)); err != nil {
		return err
	}
	s.entries[digest] = entry
	return nil
}

// syncFiles writes files through to the disk and adds up their sizes.
func syncFiles(folder string) (int64, error) {
	var size int64
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		return syncFile(path)
	})
	return size, err
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Collect deletes entries that are not needed, those that were not used for longest first, until
// the store has no more bytes than it may have.
func (s *Store) Collect(needed func(digest string) bool) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	size := s.size()
	oldest := slices.SortedFunc(maps.Keys(s.entries), func(a, b string) int {
		return cmp.Or(s.entries[a].used.Compare(s.entries[b].used), cmp.Compare(a, b))
	})
	for _, digest := range oldest {
		if size <= s.limit {
			return nil
		}
		if needed(digest) {
			continue
		}
		// Renamed first, so that a crash leaves no half of it.
		away := filepath.Join(s.folder, unfinished, filepath.Base(s.path(digest)))
		if err := os.Rename(s.path(digest), away); err != nil {
			return fmt.Errorf("collecting images that are not needed: %w", err)
		}
		size -= s.entries[digest].Size
		delete(s.entries, digest)
		if err := os.RemoveAll(away); err != nil {
			return fmt.Errorf("collecting images that are not needed: %w", err)
		}
	}
	return nil
}

// Size is how many images there are, and how many bytes they have.
func (s *Store) Size() (images int, bytes int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.entries), s.size()
}

func (s *Store) size() int64 {
	var size int64
	for _, entry := range s.entries {
		size += entry.Size
	}
	return size
}
