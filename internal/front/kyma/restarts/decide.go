// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Outdated is a workload with outdated pods.
type Outdated struct {
	Workload Workload
	// Role is that of its pods.
	Role Role
	// Causes are what its pods are outdated in, each with its [Change].
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

// Compare orders workloads as they are to be restarted: those of the mesh first.
func (o Outdated) Compare(other Outdated) int {
	return cmp.Or(cmp.Compare(o.Role, other.Role), o.Workload.Compare(other.Workload))
}

// Action is what is to be done about a workload.
type Action int

// The actions.
const (
	Finish    Action = iota + 1 // nothing is left to do
	Restart                     // restart it
	Watch                       // watch the rollout of its restart
	Fail                        // it does not come up after its restart
	Postpone                    // its own rollout is not complete
	Skip                        // it is excluded
	NeedsUser                   // a restart does not help
)

// Decision is an action and why.
type Decision struct {
	Action Action
	Reason string
}

// Decide says what is to be done about a workload. Restarted says that the rollout is about a restart
// that the controller has begun and still watches; deadline is how long the rollout of a restart may take.
func Decide(o Outdated, current Current, restarted bool, now time.Time, deadline time.Duration) Decision {
	_, leaves := o.Causes[CauseLeave]
	causes := o.Causes
	if current.Injected {
		causes = maps.Clone(causes)
		delete(causes, CauseLeave)
	}
	fresh, r := current.Record.Fresh(causes), current.Rollout
	switch {
	case !current.Found:
		return Decision{Finish, "it is gone"}
	case current.Excluded || o.Excluded:
		return Decision{Skip, "it is excluded by the annotation " + v1alpha2.AnnotationExcludeFromRestart}
	case !r.Done && (restarted || current.Unfinished()) && r.Blocked != "":
		return Decision{NeedsUser, r.Blocked} // a user has paused the rollout, and knows why
	case !r.Done && (restarted || current.Unfinished()):
		// What a restart has begun, also by a process before this one.
		return underway(current, now, deadline)
	case current.Injected && leaves && o.Gone:
		return Decision{NeedsUser, "the sidecar is a part of its pod template: remove it there"}
	case len(causes) == 0 && !restarted:
		return Decision{Finish, "its pods are up to date"}
	case r.Blocked != "" && len(causes) > 0:
		return Decision{NeedsUser, r.Blocked}
	case !r.Done && !o.Stuck && (!o.Gone || !r.Updated):
		return Decision{Postpone, "its own rollout is not complete: " + r.Progress}
	case r.Empty:
		return Decision{Finish, "it has no pods"}
	case len(fresh) > 0:
		return Decision{Restart, causesText(fresh)}
	case restarted:
		return Decision{Finish, "its pods are replaced"}
	case !o.Newest.Before(current.Record.At):
		return Decision{NeedsUser, fmt.Sprintf("its pods are still outdated after a restart (%s): check what its pod template sets, or exclude it with the annotation %s",
			causesText(slices.Sorted(maps.Keys(causes))), v1alpha2.AnnotationExcludeFromRestart)}
	}
	return Decision{NeedsUser, "pods from before its restart are still there: delete them"}
}

// underway says how the rollout of a restart goes.
func underway(current Current, now time.Time, deadline time.Duration) Decision {
	r := current.Rollout
	switch {
	case current.Next != nil: // it gets on
	case r.Failed != "":
		return Decision{Fail, r.Because(r.Failed)}
	case now.Sub(current.Record.At) > deadline && now.Sub(current.Progressed) > deadline:
		return Decision{Fail, r.Because("its restart did not complete within " + deadline.String())}
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
