// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"maps"
	"sync"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/revisions"
)

// states are what the loop remembers of packages between passes. Nothing of it is needed
// to be right, as everything is found again after a restart; it saves requests.
type states struct {
	lock     sync.Mutex
	packages map[types.UID]packageState
}

// packageState is what is remembered of one package. A pass reads it when it begins and
// replaces it when it ends. Passes over one package never overlap.
type packageState struct {
	// name is the package's.
	name string
	// awaitsKind says that the package waits for a kind that another package or a user
	// installs.
	awaitsKind bool
	// confirmed says that this process has found the package's revisions live as the cache
	// has them.
	confirmed bool
	// checked is what was found before the first write of the target's content.
	checked checked
	// swept are objects that no active revision wants, whose end was asked for and which the
	// watches may not have seen yet.
	swept map[types.UID]bool
	// pods are the reasons why the pods of workloads do not run.
	pods map[revisions.ObjectID]podsState
	// blockers are the resourceVersions of the objects that are in the way.
	blockers map[revisions.ObjectID]string
	// noRollback is why an automatic rollback could not be made, empty when none was tried.
	noRollback string
	// uncollected is how long until something can be collected, 0 for nothing.
	uncollected time.Duration
	// waits counts the passes in a row that waited for what causes no event, conflicts those
	// that ended in nothing but conflicts.
	waits, conflicts int
	// spacing spaces the writes of the package's status.
	spacing spacing
	// revisions are those that are not torn down.
	revisions map[types.UID]*revisionState
}

// revisionState is what is remembered of one revision.
type revisionState struct {
	// loaded is its content, which never changes.
	loaded cachedContent
	// content is what this refers to, and the identity of what was there.
	content identities
	// digest is that of content whose spec.contentDigest is empty.
	digest string
	// records are newer than what the status holds; where it has them there are none.
	records map[revisions.ObjectID]revisions.Record
	// unwritten is a status whose write is deferred for more changes.
	unwritten *v1alpha1.RevisionStatus
	// spacing spaces the writes of the status.
	spacing spacing
	// archivedSince is since when the revision is being torn down.
	archivedSince time.Time
	// gone are the objects that the teardown has proven gone: one that cannot be read must
	// not have all others asked for again.
	gone map[revisions.ObjectID]bool
}

// cachedContent is a loaded content. Unpacked manifests are most of what a package at rest
// would take of the memory. Those that stand in the revision itself are kept until the garbage
// collector comes by, as to unpack them again costs no request; those of slices and
// Secrets are kept for as long as they are wanted.
type cachedContent struct {
	lasting *revisions.Revision
	passing weak.Pointer[revisions.Revision]
}

func cacheContent(revision *v1alpha1.Revision, loaded *revisions.Revision) cachedContent {
	if len(content.References(revision.Spec.Phases)) > 0 {
		return cachedContent{lasting: loaded}
	}
	return cachedContent{passing: weak.Make(loaded)}
}

// get is the content, nil when it has to be loaded again.
func (c cachedContent) get() *revisions.Revision {
	if c.lasting != nil {
		return c.lasting
	}
	return c.passing.Value()
}

// read is a copy of what is remembered of a package.
func (s *states) read(pkg *v1alpha1.Package) packageState {
	s.lock.Lock()
	defer s.lock.Unlock()
	state := s.packages[pkg.UID]
	state.name = pkg.Name
	copied := map[types.UID]*revisionState{}
	for uid, revision := range state.revisions {
		one := *revision
		copied[uid] = &one
	}
	state.revisions = copied
	return state
}

// replace remembers the state of a package.
func (s *states) replace(uid types.UID, state packageState) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.packages == nil {
		s.packages = map[types.UID]packageState{}
	}
	s.packages[uid] = state
}

func (s *states) forget(uid types.UID) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.packages, uid)
}

// forgetNamed forgets every package of a name but that of the UID given, and returns the
// UIDs of those that it has forgotten.
func (s *states) forgetNamed(name string, but types.UID) []types.UID {
	s.lock.Lock()
	defer s.lock.Unlock()
	var forgotten []types.UID
	for uid, state := range s.packages {
		if state.name == name && uid != but {
			forgotten = append(forgotten, uid)
			delete(s.packages, uid)
		}
	}
	return forgotten
}

// awaiting are the names of the packages that wait for a kind.
func (s *states) awaiting() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	var names []string
	for _, state := range s.packages {
		if state.awaitsKind {
			names = append(names, state.name)
		}
	}
	return names
}

// of is what is remembered of a revision.
func (s *packageState) of(revision *v1alpha1.Revision) *revisionState {
	state, found := s.revisions[revision.UID]
	if !found {
		state = &revisionState{}
		s.revisions[revision.UID] = state
	}
	return state
}

// keepOnly forgets what is remembered of revisions that are gone or archived.
func (s *packageState) keepOnly(all []v1alpha1.Revision) {
	standing := map[types.UID]bool{}
	for i := range all {
		standing[all[i].UID] = all[i].Status.ArchivedAt == nil
	}
	maps.DeleteFunc(s.revisions, func(uid types.UID, _ *revisionState) bool { return !standing[uid] })
}

// isArchivedJustNow says whether the teardown of an archived revision may still be
// over before the status has to say that it goes on.
func (s *revisionState) isArchivedJustNow(now time.Time) bool {
	if s.archivedSince.IsZero() {
		s.archivedSince = now
	}
	return now.Sub(s.archivedSince) < progressDelay
}

// removed takes in what a teardown has proven gone.
func (s *revisionState) removed(result revisions.TeardownResult) {
	gone := maps.Clone(s.gone)
	if gone == nil {
		gone = map[revisions.ObjectID]bool{}
	}
	for _, object := range result.Objects {
		if object.State == revisions.RemovalGone {
			gone[object.ID] = true
		}
	}
	s.gone = gone
}

// recordsOf are the newest records of what a revision has put in place.
func (s *packageState) recordsOf(revision *v1alpha1.Revision) map[revisions.ObjectID]revisions.Record {
	if records := s.of(revision).records; records != nil {
		return records
	}
	return content.Records(revision.Status)
}

// hasPlaced says whether a revision has put an object in place.
func (s *packageState) hasPlaced(revision *v1alpha1.Revision) bool {
	return len(revision.Status.Inventory) > 0 || len(s.of(revision).records) > 0
}

// latest is a revision with the status that it is to have, which may not be written yet.
func (s *packageState) latest(revision *v1alpha1.Revision) *v1alpha1.Revision {
	next := s.of(revision).unwritten
	if next == nil {
		return revision
	}
	latest := *revision
	latest.Status = *next
	return &latest
}

// deferWrite keeps a status that is not written yet, and returns the revision with it.
func (s *packageState) deferWrite(revision *v1alpha1.Revision, next v1alpha1.RevisionStatus) *v1alpha1.Revision {
	s.of(revision).unwritten = &next
	return s.latest(revision)
}

// onRecord forgets what the status of a revision contains as well.
func (s *packageState) onRecord(revision *v1alpha1.Revision) {
	state := s.of(revision)
	state.unwritten = nil
	if content.HasRecords(revision.Status, state.records) {
		state.records = nil
	}
}

// silentConflicts is how many conflicts in a row are the usual races. More of them are
// reported like other errors: then something, such as an admission webhook, answers
// every write with one.
const silentConflicts = 5

// isNewConflict says whether an error is a conflict of the kind that the next pass
// does away with.
func (s *packageState) isNewConflict(err error) bool {
	if err == nil || !loop.IsConflict(err) {
		s.conflicts = 0
		return false
	}
	s.conflicts++
	return s.conflicts <= silentConflicts
}
