// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Queue runs jobs that take long beside the loops that want them: a few at a time, and fewer that
// talk to one host, so that a slow one does not hold up the others. A job has a key, and runs once
// for all that want it; each of those wants one job at a time.
type Queue struct {
	config QueueConfig
	// begin makes the context of a job, which ends with that of the queue.
	begin func() (context.Context, context.CancelFunc)
	stop  context.CancelFunc
	group sync.WaitGroup

	mutex sync.Mutex
	// wanted is the key of what each wants.
	wanted  map[string]string
	jobs    map[string]*job
	waiting []*job
	running int
	hosts   map[string]int
	stopped bool
}

// QueueConfig says how many jobs run.
type QueueConfig struct {
	// Jobs is how many run at once, and PerHost how many with one host.
	Jobs, PerHost int
	// Wake is called when a job that one wants has ended, with no lock held.
	Wake func(who string)
	// Backoff is how long a job that failed is not tried again: it doubles from First up to Most.
	First, Most time.Duration
}

// State is how far a job is.
type State struct {
	// Running is whether the job waits for its turn or runs.
	Running bool
	// Err is how it ended last time, and Failures how often in a row it did not end well.
	Err      error
	Failures int
	// Next is when it may be tried again.
	Next time.Time
}

// job is something that at least one wants.
type job struct {
	key, host string
	run       func(context.Context) error
	cancel    context.CancelFunc
	state     State
}

// NewQueue makes a queue of which the jobs end with the context.
func NewQueue(ctx context.Context, config QueueConfig) *Queue {
	q := &Queue{config: config, wanted: map[string]string{}, jobs: map[string]*job{}, hosts: map[string]int{}}
	ctx, q.stop = context.WithCancel(ctx)
	q.begin = func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }
	return q
}

// Want starts a job, or tells how far it is. It is tried again after it has failed when it is
// wanted at State.Next or later; what it has made when it succeeded is elsewhere, so that
// who still wants it then wants it done again.
func (q *Queue) Want(who, key, host string, run func(context.Context) error) State {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.wanted[who] != key {
		q.forget(who)
		q.wanted[who] = key
	}
	one := q.jobs[key]
	if one == nil {
		one = &job{key: key, host: host}
		q.jobs[key] = one
	}
	if !one.state.Running && !time.Now().Before(one.state.Next) {
		one.run, one.state.Running = run, true
		q.waiting = append(q.waiting, one)
		q.start()
	}
	return one.state
}

// Forget says that one wants nothing any more. Jobs that nothing wants are cancelled.
func (q *Queue) Forget(who string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.forget(who)
}

func (q *Queue) forget(who string) {
	key, wants := q.wanted[who]
	if !wants {
		return
	}
	delete(q.wanted, who)
	for _, other := range q.wanted {
		if other == key {
			return
		}
	}
	one := q.jobs[key]
	delete(q.jobs, key)
	if one == nil {
		return
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *job) bool { return other == one })
	if one.cancel != nil {
		one.cancel()
	}
}

// Stop cancels all jobs, and waits for their end.
func (q *Queue) Stop() {
	q.mutex.Lock()
	q.stopped = true
	q.mutex.Unlock()
	q.stop()
	q.group.Wait()
}

// start runs what may run, in the order in which it was wanted.
func (q *Queue) start() {
	for i := 0; i < len(q.waiting) && q.running < q.config.Jobs && !q.stopped; {
		one := q.waiting[i]
		if q.hosts[one.host] >= q.config.PerHost {
			i++
			continue
		}
		q.waiting = slices.Delete(q.waiting, i, i+1)
		q.running++
		q.hosts[one.host]++
		ctx, cancel := q.begin()
		one.cancel = cancel
		q.group.Go(func() {
			err := one.run(ctx)
			cancel()
			for _, who := range q.ended(one, err) {
				q.config.Wake(who)
			}
		})
	}
}

// ended frees the place of a job, and returns who wants it.
func (q *Queue) ended(one *job, err error) []string {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.running--
	q.hosts[one.host]--
	if q.hosts[one.host] == 0 {
		delete(q.hosts, one.host)
	}
	q.start()
	if q.jobs[one.key] != one { // it was cancelled
		return nil
	}
	one.cancel = nil
	if err == nil {
		delete(q.jobs, one.key)
	} else {
		failures := one.state.Failures + 1
		wait := min(q.config.First<<min(failures-1, 20), q.config.Most)
		one.state = State{Err: err, Failures: failures, Next: time.Now().Add(wait)}
	}
	var waking []string
	for who, key := range q.wanted {
		if key == one.key {
			waking = append(waking, who)
		}
	}
	slices.Sort(waking)
	return waking
}
