// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/pods"
)

// Entry is a workload with outdated pods.
type Entry struct {
	Workload Workload
	// Role is that of its pods.
	Role Role
	// Causes are what its pods are outdated in, with their epochs.
	Causes map[Cause]string
	// Newest is when the newest of these pods was made.
	Newest time.Time
	// Excluded says that its pods or their namespace are excluded.
	Excluded bool
	// Gone says that the mesh is gone. Pods that do not serve for want of it are restarted,
	// too.
	Gone bool
	// Stuck says that a pod does not come up for want of its outdated sidecar, so that its
	// rollout is complete only after a restart.
	Stuck bool
}

// Live is a workload as it is now.
type Live struct {
	// Found says that there is one.
	Found bool
	// Excluded says that it must not be restarted.
	Excluded bool
	// Record is what it was restarted for.
	Record v1alpha2.RestartRecord
	// Rollout is where its pods stand.
	Rollout pods.Rollout
	// Next is the pod to delete next of a workload that keeps its pods, see
	// [Workload.KeepsPods], and Progressed when the newest of its new pods was made. Nil and zero
	// for others.
	Next       *Pod
	Progressed time.Time
	// Template identifies its pod template. Injected says that the sidecar is a part
	// of it, put there by hand: pods made anew have it, whatever the mesh does.
	Template string
	Injected bool
}

// Unfinished says whether its pods are still being replaced because of our last restart:
// the pod template has not changed since, and they have not come up yet.
func (l *Live) Unfinished() bool {
	return !l.Record.At.IsZero() && l.Record.Template == l.Template && !l.Rollout.Done && !l.Rollout.Completed
}

// Action is what is to be done about a workload.
type Action int

// The actions.
const (
	// Settled: nothing is left to do.
	Settled Action = iota + 1
	// Restart it.
	Restart
	// Watch the rollout of a restart of ours.
	Watch
	// Fail: a restart of ours does not come up.
	Fail
	// Postpone it: something else keeps it from being whole.
	Postpone
	// Skip it, as it is excluded.
	Skip
	// AskPerson: a restart does not help.
	AskPerson
)

// Decision is an action and why.
type Decision struct {
	Action Action
	Reason string
}

// Decide says what is to be done about a workload. Ours says that this process has restarted
// it and still watches that; deadline is how long the rollout of a restart may take.
func Decide(e Entry, live Live, ours bool, now time.Time, deadline time.Duration) Decision {
	_, leaves := e.Causes[CauseLeave]
	causes := e.Causes
	if live.Injected {
		causes = maps.Clone(causes)
		delete(causes, CauseLeave)
	}
	fresh, r := live.Record.Fresh(causes), live.Rollout
	switch {
	case !live.Found:
		return Decision{Settled, "it is gone"}
	case live.Excluded || e.Excluded:
		return Decision{Skip, "it is excluded by the annotation " + v1alpha2.AnnotationExcludeFromRestart}
	case !r.Done && (ours || live.Unfinished()) && r.Blocked != "":
		return Decision{AskPerson, r.Blocked} // a user has paused the rollout, and knows why
	case !r.Done && (ours || live.Unfinished()):
		// What a restart of ours has begun, also of a process before this one.
		return underway(live, now, deadline)
	case live.Injected && leaves && e.Gone:
		return Decision{AskPerson, "the sidecar is a part of its pod template: take it out of there"}
	case len(causes) == 0 && !ours:
		return Decision{Settled, "its pods are as they should be"}
	case r.Blocked != "" && len(causes) > 0:
		return Decision{AskPerson, r.Blocked}
	case !r.Done && !e.Stuck && (!e.Gone || !r.Updated):
		return Decision{Postpone, "its own rollout is not complete: " + r.Progress}
	case r.Empty:
		return Decision{Settled, "it has no pods"}
	case len(fresh) > 0:
		return Decision{Restart, causesText(fresh)}
	case ours:
		return Decision{Settled, "its pods are replaced"}
	case !e.Newest.Before(live.Record.At):
		return Decision{AskPerson, fmt.Sprintf("its pods are still outdated after a restart (%s): look what its pod template sets, or exclude it with the annotation %s",
			causesText(slices.Sorted(maps.Keys(causes))), v1alpha2.AnnotationExcludeFromRestart)}
	}
	return Decision{AskPerson, "pods from before its restart are still there: delete them"}
}

// underway says how the rollout of a restart goes.
func underway(live Live, now time.Time, deadline time.Duration) Decision {
	r := live.Rollout
	switch {
	case live.Next != nil: // it gets on
	case r.Failed != "":
		return Decision{Fail, r.Because(r.Failed)}
	case now.Sub(live.Record.At) > deadline && now.Sub(live.Progressed) > deadline:
		return Decision{Fail, r.Because("it was restarted at " + live.Record.At.UTC().Format(time.RFC3339))}
	}
	return Decision{Watch, r.Progress}
}

func causesText(causes []Cause) string {
	texts := make([]string, 0, len(causes))
	for _, c := range causes {
		texts = append(texts, string(c))
	}
	return strings.Join(texts, ", ")
}
