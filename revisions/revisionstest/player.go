// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// Options say how a script is played.
type Options struct {
	// Target is what the script is played on. nil means a cluster in memory, a new one.
	Target *Target
	// Concurrency is how many objects the engine takes on at once. 0 means one, in
	// which case the order of the requests is always the same.
	Concurrency int
	// Shuffle, when it is not nil, puts the objects of each phase into another order.
	Shuffle *rand.Rand
}

// engineClient is the name under which the engine sends its requests.
const engineClient = "engine"

// player plays one script. It does for the engine what a controller does: it holds
// the revisions of a line, their records and whether they have succeeded.
type player struct {
	options Options
	target  *Target
	cache   Watcher
	engine  *revisions.Engine
	owner   revisions.Owner
	// now is the time of the passes. It stands still but for the command "clock".
	now time.Time
	// line are the revisions that are not archived, newest first.
	line []*member
	// gone are owners whose objects the garbage collector has not looked at.
	gone []types.UID
}

// member is a revision of the line.
type member struct {
	revisions.Revision

	archiving bool
	// manifests are copies of what the engine must not change.
	manifests []*unstructured.Unstructured
}

// commands are the handlers by the first word of a command.
var commands = map[string]func(p *player, words []string, body []string) (string, error){
	"revision": (*player).revision,
	"pass":     (*player).pass,
	"pause":    (*player).pause,
	"resume":   (*player).resume,
	"archive":  (*player).archive,
	"teardown": (*player).teardown,
	"forget":   (*player).forget,
	"owner":    (*player).newOwner,
	"restart":  (*player).restart,
	"create":   (*player).create,
	"edit":     (*player).edit,
	"apply":    (*player).apply,
	"set":      (*player).set,
	"delete":   (*player).delete,
	"stale":    (*player).stale,
	"fail":     (*player).fail,
	"heal":     (*player).heal,
	"serve":    (*player).serve,
	"collect":  (*player).collect,
	"clock":    (*player).clock,
	"show":     (*player).show,
}

func newPlayer(options Options) (*player, error) {
	p := &player{options: options, target: options.Target, now: epoch}
	if p.target == nil {
		p.target = New().Target()
	}
	if _, err := p.newOwner(nil, nil); err != nil {
		return nil, err
	}
	_, err := p.restart(nil, nil)
	return p, err
}

func (p *player) play(b block) (string, error) {
	words := strings.Fields(b.command)
	handler, known := commands[words[0]]
	if !known {
		return "", fmt.Errorf("there is no such command: use one of %s", strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	}
	if err := p.target.Settle(); err != nil {
		return "", err
	}
	return handler(p, words[1:], b.body)
}

// revision adds a revision to the line: "revision 2", or "revision 3 as 1" for the
// content of another one.
func (p *player) revision(words, body []string) (string, error) {
	number, err := numberOf(words)
	if err != nil {
		return "", err
	}
	added := &member{Revision: revisions.Revision{Number: number}}
	if len(words) == 3 && words[1] == "as" {
		other, err := p.member(words[2:])
		if err != nil {
			return "", err
		}
		added.Phases = slices.Clone(other.Phases)
	} else if added.Phases, err = parsePhases(body); err != nil {
		return "", err
	}
	for i := range added.Phases {
		objects := slices.Clone(added.Phases[i].Objects)
		if p.options.Shuffle != nil {
			p.options.Shuffle.Shuffle(len(objects), func(a, b int) { objects[a], objects[b] = objects[b], objects[a] })
		}
		added.Phases[i].Objects = objects
		for _, object := range objects {
			added.manifests = append(added.manifests, object.Manifest.DeepCopy())
		}
	}
	added.Revision = added.Prepared()
	p.line = append([]*member{added}, p.line...)
	return "", nil
}

// pass makes a pass and keeps what the engine says of it: "pass", "pass paused",
// or "pass lost" for one whose records were not kept.
func (p *player) pass(words, _ []string) (string, error) {
	active := slices.DeleteFunc(slices.Clone(p.line), func(m *member) bool { return m.archiving })
	if len(active) == 0 {
		return "", errors.New("there is no active revision")
	}
	in := revisions.Rollout{Owner: p.owner, Target: active[0].Revision, Paused: slices.Contains(words, "paused"), Now: p.now}
	for _, m := range active[1:] {
		in.Serving = append(in.Serving, m.Revision)
	}
	result, err := p.engine.Reconcile(context.Background(), in)
	text := printResult(in, result, err) + p.printRequests()
	if !slices.Contains(words, "lost") {
		for i, r := range append([]revisions.RevisionResult{result.Target}, result.Serving...) {
			active[i].Records = r.Records
		}
		active[0].Succeeded = active[0].Succeeded || err == nil && result.Target.Complete()
	}
	return text, p.checkPromises()
}

// pause pauses one revision of the line.
func (p *player) pause(words, _ []string) (string, error) { return p.setPaused(words, true) }

// resume ends the pause of a revision.
func (p *player) resume(words, _ []string) (string, error) { return p.setPaused(words, false) }

func (p *player) setPaused(words []string, paused bool) (string, error) {
	m, err := p.member(words)
	if err == nil {
		m.Paused = paused
	}
	return "", err
}

// archive makes one pass at taking away what only a revision contains.
func (p *player) archive(words, _ []string) (string, error) {
	m, err := p.member(words)
	if err != nil {
		return "", err
	}
	m.archiving = true
	keep := map[revisions.ObjectID]bool{}
	for _, other := range p.line {
		for _, phase := range other.Phases {
			for _, object := range phase.Objects {
				if !other.archiving {
					keep[revisions.IDOf(object.Manifest)] = true
				}
			}
		}
	}
	text, done, err := p.remove(m, revisions.Teardown{Keep: keep})
	if done {
		p.line = slices.DeleteFunc(p.line, func(other *member) bool { return other == m })
	}
	return text, err
}

// teardown makes one pass at taking away all revisions, newest first: "teardown",
// or "teardown orphan" to leave the objects.
func (p *player) teardown(words, _ []string) (string, error) {
	var all strings.Builder
	for _, m := range slices.Clone(p.line) {
		text, done, err := p.remove(m, revisions.Teardown{Orphan: slices.Contains(words, "orphan")})
		all.WriteString(text)
		if err != nil || !done {
			return all.String(), err
		}
		p.line = slices.DeleteFunc(p.line, func(other *member) bool { return other == m })
	}
	return all.String(), nil
}

func (p *player) remove(m *member, in revisions.Teardown) (string, bool, error) {
	in.Owner, in.Revision = p.owner, m.Revision
	result, err := p.engine.Teardown(context.Background(), in)
	text := printTeardown(m.Number, result, err) + p.printRequests()
	return text, result.Complete && err == nil, p.checkPromises()
}

// forget loses the records of all revisions, as a crash before they are persisted
// does.
func (p *player) forget([]string, []string) (string, error) {
	for _, m := range p.line {
		m.Records = nil
	}
	return "", nil
}

// newOwner puts a new owner of the same name in place of the one before, whose
// revisions are forgotten.
func (p *player) newOwner([]string, []string) (string, error) {
	if p.owner.UID != "" {
		p.gone = append(p.gone, p.owner.UID)
	}
	p.line = nil
	var err error
	p.owner, err = p.target.NewOwner()
	return "", err
}

// restart starts the engine anew, with an empty cache.
func (p *player) restart([]string, []string) (string, error) {
	client := p.target.Client(engineClient)
	var err error
	if p.cache, err = p.target.NewCache(); err != nil {
		return "", err
	}
	p.engine, err = revisions.New(revisions.Config{
		Writer: client, Live: client, Cache: p.cache, Mapper: p.target.Mapper, Concurrency: max(1, p.options.Concurrency),
	})
	return "", err
}

// checkPromises says which promise to its callers the engine has broken.
func (p *player) checkPromises() error {
	if changed := p.cache.Changed(); len(changed) > 0 {
		return fmt.Errorf("the engine has changed %s in the cache", changed[0])
	}
	for _, m := range p.line {
		i := 0
		for _, phase := range m.Phases {
			for _, object := range phase.Objects {
				if !equal(object.Manifest.Object, m.manifests[i].Object) {
					return fmt.Errorf("the engine has changed the manifest of %s", revisions.IDOf(object.Manifest))
				}
				i++
			}
		}
	}
	return nil
}

func (p *player) member(words []string) (*member, error) {
	number, err := numberOf(words)
	if err != nil {
		return nil, err
	}
	for _, m := range p.line {
		if m.Number == number {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no revision %d", number)
}
