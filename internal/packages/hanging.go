// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logging "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/pods"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

const (
	// hangsAfter is how long a workload is not ready before its pods are read.
	// Most are ready by then.
	hangsAfter = 5 * time.Second
	// firstRead and lastRead space the further reads of the pods of one workload: each wait is
	// twice as long as the one before.
	firstRead, lastRead = 10 * time.Second, 5 * time.Minute
	// mostReads bounds the workloads whose pods are read in one pass.
	mostReads = 4
	// podsTextLimit bounds what is said of a workload's pods, in bytes.
	podsTextLimit = 512
)

// podsState is what was read of the pods of a workload that is not ready.
type podsState struct {
	// text says why they do not run; empty when nothing was found.
	text string
	// again is when to read them again, and wait how long that is from the read
	// before; 0 before the first one.
	again time.Time
	wait  time.Duration
}

// explain adds to the results of workloads that hang why their pods do not run. A
// workload's own status does not say so.
func (p *pass) explain(ctx context.Context) {
	if p.Pods == nil || p.history.Target == nil {
		return
	}
	survey := podsSurvey{reader: p.Pods, now: p.now.Time, before: p.state.pods, after: map[revisions.ObjectID]podsState{}}
	survey.explain(ctx, p.history.Target, p.rolled.target, p.rolled.result.Target)
	for i, revision := range p.history.Serving {
		survey.explain(ctx, revision, p.rolled.serving[i], p.rolled.result.Serving[i])
	}
	p.state.pods = survey.after
}

// podsSurvey is one pass over the workloads that hang.
type podsSurvey struct {
	reader client.Reader
	now    time.Time
	// before is what the passes before have found, after what is found now.
	before, after map[revisions.ObjectID]podsState
	// asked counts the workloads whose pods were read.
	asked int
}

func (g *podsSurvey) explain(ctx context.Context, revision *v1alpha1.Revision, loaded revisions.Revision, result revisions.RevisionResult) {
	for _, phase := range result.Phases {
		for i := range phase.Objects {
			if object := &phase.Objects[i]; hangs(object) {
				g.explainOne(ctx, revision, loaded, object)
			}
		}
	}
}

func (g *podsSurvey) explainOne(ctx context.Context, revision *v1alpha1.Revision, loaded revisions.Revision, object *revisions.ObjectResult) {
	l, ok := g.before[object.ID]
	if !ok || object.Wrote() {
		l = podsState{again: unreadySince(revision, object, g.now).Add(hangsAfter)}
	}
	if !g.now.Before(l.again) && g.asked < mostReads {
		g.asked++
		l = l.next(readPods(ctx, g.reader, loaded, object), g.now)
	}
	g.after[object.ID] = l
	object.Probe = withPods(object.Probe, l.text)
}

// hangs says whether an object has pods, is in place and is not ready. One whose probe
// holds, and has to for longer, is fine.
func hangs(object *revisions.ObjectResult) bool {
	return pods.IsWorkload(object.ID.GroupKind) && object.InPlace() && object.Record != nil && object.Probe.Status != probes.True && object.Record.ReadySince.IsZero()
}

// unreadySince is since when the status says that an object is not ready; now when it
// does not, or when the object has just been written.
func unreadySince(revision *v1alpha1.Revision, object *revisions.ObjectResult, now time.Time) time.Time {
	for _, entry := range revision.Status.Objects {
		if content.ObjectID(entry.ObjectReference) == object.ID && !object.Wrote() {
			return entry.Since.Time
		}
	}
	return now
}

// next is the state after another read.
func (l podsState) next(text string, now time.Time) podsState {
	wait := min(max(2*l.wait, firstRead), lastRead)
	return podsState{text: text, again: now.Add(wait), wait: wait}
}

// untilPods is how long until the pods of a workload are read again, 0 when none
// are.
func (p *pass) untilPods() time.Duration {
	var after time.Duration
	for l := range maps.Values(p.state.pods) {
		after = soonest(after, max(l.again.Sub(p.now.Time), time.Second))
	}
	return after
}

// readPods says why the pods of a workload do not run; empty when they do, or when
// they cannot be read, as the workload's own words then have to do.
func readPods(ctx context.Context, reader client.Reader, loaded revisions.Revision, object *revisions.ObjectResult) string {
	workload := pods.Workload{Kind: object.ID.GroupKind, Namespace: object.ID.Namespace, Name: object.ID.Name, UID: object.Record.UID}
	for _, phase := range loaded.Phases {
		for _, candidate := range phase.Objects {
			if revisions.IDOf(candidate.Manifest) == object.ID {
				workload.Manifest = candidate.Manifest
			}
		}
	}
	own, err := pods.List(ctx, reader, workload)
	if err != nil {
		logging.FromContext(ctx).V(1).Info("Could not read the pods of a workload that hangs", "workload", object.ID.String(), "error", err.Error())
		return ""
	}
	if len(own) == 0 {
		return "no pod of it exists: its events say why"
	}
	return pods.Text(pods.Failing(own), podsTextLimit)
}

// withPods is the answer of a probe with what was found of the pods.
func withPods(result probes.Result, text string) probes.Result {
	if text == "" {
		return result
	}
	message := result.Message
	message = probes.Cut(message, probes.MaxMessage-len(text)-len("; "), "")
	return probes.NewResult(result.Status, strings.TrimPrefix(message+"; "+text, "; "))
}
