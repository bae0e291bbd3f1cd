// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/cli/view"
)

type localDir string

// defaultLocalDir is $STRATA_DIR, else strata/local in the user's state folder.
func defaultLocalDir(getenv func(string) string) string {
	if dir := getenv("STRATA_DIR"); dir != "" {
		return dir
	}
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "strata", "local")
}

// openLocalDir is the folder at a path, made absolute. It does not make it.
func openLocalDir(path string) (localDir, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the folder %s: %w", path, err)
	}
	return localDir(dir), nil
}

func (d localDir) path(name string) string { return filepath.Join(string(d), name) }
func (d localDir) lockFile() string        { return d.path("supervisor.lock") }
func (d localDir) stateFile() string       { return d.path("state.json") }
func (d localDir) logFile() string         { return d.path("supervisor.log") }
func (d localDir) kubeconfig() string      { return d.path("kubeconfig") }
func (d localDir) planeDir() string        { return d.path("kubernetes") }
func (d localDir) kubectl() string         { return d.path("kubectl") }
func (d localDir) cacheDir() string        { return d.path("cache") }

// create makes the folder, for the user alone: it holds keys.
func (d localDir) create() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	return nil
}

func (d localDir) link(kubectl string) error {
	if err := os.Remove(d.kubectl()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	if err := os.Symlink(kubectl, d.kubectl()); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}

// errHeld is that a supervisor runs in the folder.
var errHeld = errors.New("a supervisor holds the folder")

// hold takes the folder for this process, until the file is closed or the process
// ends, however it ends. The error is errHeld when another process has it.
func (d localDir) hold() (*os.File, error) {
	for {
		f, err := os.OpenFile(d.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("locking the folder: %w", err)
		}
		if err := lockFile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		// The process that held it before may have removed the file that is locked now.
		opened, err := f.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking the folder: %w", err), f.Close())
		}
		if present, err := os.Stat(d.lockFile()); err == nil && os.SameFile(opened, present) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("locking the folder: %w", err)
		}
	}
}

// holder is the process that holds the folder, 0 when none does: a supervisor, or
// for a moment one that removes the data. The system knows it, so nothing that a
// dead supervisor has left behind can deceive.
func (d localDir) holder() (int, error) {
	f, err := os.OpenFile(d.lockFile(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking at the folder's lock: %w", err)
	}
	pid, err := holderOf(f)
	return pid, errors.Join(err, f.Close())
}

// read is what the supervisor has written last; the zero value when it has
// written nothing.
func (d localDir) read() (view.Local, error) {
	var l view.Local
	text, err := os.ReadFile(d.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return l, fmt.Errorf("reading %s: %w", d.stateFile(), err)
	}
	return l, nil
}

// write replaces the state in one step, so that no reader finds half of it.
func (d localDir) write(l view.Local) error {
	l.TypeMeta = view.DocumentType("Local")
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	next := d.stateFile() + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.Rename(next, d.stateFile()); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// logEnd is the last lines of the log, empty when it cannot be read.
func (d localDir) logEnd(lines int) string {
	text, err := os.ReadFile(d.logFile())
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// clear removes what a local cluster has left in the folder, and the folder when
// nothing else is in it. It says whether there was anything. The error is errHeld
// when a supervisor has started meanwhile.
func (d localDir) clear() (bool, error) {
	lock, err := d.hold()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
	found := false
	for _, path := range []string{d.stateFile(), d.planeDir(), d.cacheDir(), d.kubeconfig(), d.kubectl(), d.logFile(), d.lockFile()} {
		if _, err := os.Stat(path); err == nil && path != d.lockFile() {
			found = true
		}
		if err := os.RemoveAll(path); err != nil {
			return found, fmt.Errorf("removing the data: %w", err)
		}
	}
	// Whatever else is in the folder is not ours, and keeps it.
	_ = os.Remove(string(d))
	return found, nil
}

const pollInterval = 100 * time.Millisecond
