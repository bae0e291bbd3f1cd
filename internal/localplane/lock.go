// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// errLocked says that another process, or another plane, holds a lock.
var errLocked = errors.New("locked by another process")

// fileLock is an exclusive lock on a file. The system gives it up when the
// process ends, however it ends.
type fileLock struct {
	file *os.File
}

// tryLock takes the lock or returns errLocked.
func tryLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return &fileLock{file: file}, nil
}

// acquireLock waits for the lock. It calls waiting once, before the first wait.
func acquireLock(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	for first := true; ; first = false {
		lock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// release gives the lock up. The file stays: removing it would race with the
// next holder.
func (l *fileLock) release() {
	_ = l.file.Close()
}
