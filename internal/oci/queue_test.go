// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// jobs runs jobs that end when the test ends them, and remembers who was woken.
type jobs struct {
	queue *Queue
	mutex sync.Mutex
	// end has a channel for each job that runs.
	end   map[string]chan error
	woken []string
}

func newJobs(ctx context.Context) *jobs {
	j := &jobs{end: map[string]chan error{}}
	j.queue = NewQueue(ctx, QueueConfig{Jobs: 4, PerHost: 2, First: 5 * time.Second, Most: time.Minute, Wake: func(who string) {
		j.mutex.Lock()
		defer j.mutex.Unlock()
		j.woken = append(j.woken, who)
	}})
	return j
}

func (j *jobs) want(who, key, host string) State {
	return j.queue.Want(who, key, host, func(ctx context.Context) error {
		j.mutex.Lock()
		end := make(chan error)
		j.end[key] = end
		j.mutex.Unlock()
		defer func() {
			j.mutex.Lock()
			defer j.mutex.Unlock()
			delete(j.end, key)
		}()
		select {
		case err := <-end:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// running are the keys of the jobs that run, once nothing moves any more.
func (j *jobs) running() []string {
	synctest.Wait()
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var keys []string
	for key := range j.end {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (j *jobs) wantRunning(t *testing.T, want ...string) {
	t.Helper()
	if got := j.running(); !slices.Equal(got, want) {
		t.Errorf("%q run, want %q", got, want)
	}
}

// finish ends a job.
func (j *jobs) finish(key string, err error) {
	j.mutex.Lock()
	end := j.end[key]
	j.mutex.Unlock()
	end <- err
	synctest.Wait()
}

// TestQueue_Bounds runs four at once, and two with one host.
func TestQueue_Bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs(t.Context())
		for i := range 4 {
			j.want(fmt.Sprint("slow", i), fmt.Sprint("slow", i), "slow.example")
		}
		for i := range 3 {
			j.want(fmt.Sprint("fast", i), fmt.Sprint("fast", i), fmt.Sprint(i, ".example"))
		}
		j.wantRunning(t, "fast0", "fast1", "slow0", "slow1")
		j.finish("fast1", nil)
		j.wantRunning(t, "fast0", "fast2", "slow0", "slow1")
		j.finish("slow0", nil)
		j.wantRunning(t, "fast0", "fast2", "slow1", "slow2")
		if !slices.Equal(j.woken, []string{"fast1", "slow0"}) {
			t.Errorf("woken %q", j.woken)
		}
		j.queue.Stop()
		j.wantRunning(t)
	})
}

// TestQueue_Wanted runs a job once for all that want it, and cancels one that nothing wants any more.
func TestQueue_Wanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs(t.Context())
		j.want("a", "old", "h")
		j.want("b", "old", "h")
		j.wantRunning(t, "old")
		j.want("a", "new", "h") // a wants another one now
		j.wantRunning(t, "new", "old")
		j.queue.Forget("b")
		j.wantRunning(t, "new")
		j.want("c", "third", "h")
		j.want("d", "fourth", "h") // waits for its turn
		j.queue.Forget("d")
		j.queue.Forget("d")
		j.finish("new", nil)
		j.wantRunning(t, "third")
		if !slices.Equal(j.woken, []string{"a"}) {
			t.Errorf("woken %q", j.woken)
		}
		j.queue.Stop()
	})
}

// TestQueue_Backoff tries what failed again, later each time.
func TestQueue_Backoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJobs(t.Context())
		failure := errors.New("not there")
		for failures, wait := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
			if state := j.want("a", "k", "h"); !state.Running || failures > 0 && !errors.Is(state.Err, failure) {
				t.Fatalf("state %+v after %d failures", state, failures)
			}
			synctest.Wait()
			j.finish("k", failure)
			state := j.want("a", "k", "h")
			if state.Running || !errors.Is(state.Err, failure) || state.Failures != failures+1 || time.Until(state.Next) != wait {
				t.Fatalf("state %+v after %d failures, want to wait for %s", state, failures+1, wait)
			}
			time.Sleep(wait)
		}
		j.want("a", "k", "h")
		synctest.Wait()
		j.finish("k", nil)
		if state := j.want("a", "k", "h"); !state.Running || state.Err != nil || state.Failures != 0 {
			t.Errorf("state %+v after it succeeded", state)
		}
		j.queue.Stop()
	})
}
