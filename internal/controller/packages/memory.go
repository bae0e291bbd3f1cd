// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"maps"
	"sync"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/revisions"
)

// memories is what the loop remembers between passes. Nothing of it is needed to
// be right, as everything is found again after a restart; it saves requests.
type memories struct {
	lock     sync.Mutex
	packages map[types.UID]*memory
	// awaiting are the names of packages that wait for a kind.
	awaiting map[string]bool
}

// memory is about one package. Passes over one package never overlap.
type memory struct {
	// name is the package's.
	name string
	// own are the states of revisions that our own writes have returned.
	own loop.OwnWrites[*v1alpha1.Revision]
	// loaded are the contents of active revisions, which never change.
	loaded map[types.UID]held
	// content is what these refer to, and the identity of what was there.
	content map[types.UID]identities
	// uncollected is how long until something can be collected, 0 for nothing.
	uncollected time.Duration
	// digests are those of contents whose revisions have an empty spec.contentDigest.
	digests map[types.UID]string
	// confirmed says that this process has found the package's revisions live as the cache
	// has them.
	confirmed bool
	// swept are objects that no active revision wants, whose end was asked for and which the
	// watches may not have seen yet.
	swept map[types.UID]bool
	// checked is what was found before the first write of the target's content.
	checked checked
	// records are newer than what the status holds; where it holds them there are none.
	records map[types.UID]map[revisions.ObjectID]revisions.Record
	// firstSeen and wrote space the writes of a status that only reports progress.
	firstSeen map[types.UID]time.Time
	wrote     map[types.UID]time.Time
	// spacings space the statuses of revisions that report no progress, and spacing those
	// of the package.
	spacings map[types.UID]spacing
	spacing  spacing
	// toldPackage is when the status of the package was written last.
	toldPackage time.Time
	// unwritten are statuses of revisions whose write is delayed for more changes.
	unwritten map[types.UID]v1alpha1.RevisionStatus
	// leaving is since when archived revisions are being torn down.
	leaving map[types.UID]time.Time
	// gone are the objects of revisions that are being torn down that were proven gone: one
	// that cannot be read must not have all others asked for again.
	gone map[types.UID]map[revisions.ObjectID]bool
	// looks are what is known of the pods of workloads that hang.
	looks map[revisions.ObjectID]look
	// refused are the resourceVersions of the objects that are in the way.
	refused map[revisions.ObjectID]string
	// stuck is why an automatic rollback could not be made, empty when none was tried.
	stuck string
	// held counts the passes in a row that waited for what causes no event.
	held int
	// conflicts counts the passes in a row that ended in nothing but conflicts.
	conflicts int
}

// held is a loaded content. Unpacked manifests are most of what a package at rest would
// take of the memory. Those that stand in the revision itself are kept until the garbage
// collector comes by, as to unpack them again costs no request; those of slices and
// Secrets are kept for as long as they are wanted.
type held struct {
	lasting *revisions.Revision
	passing weak.Pointer[revisions.Revision]
}

func hold(revision *v1alpha1.Revision, loaded *revisions.Revision) held {
	if len(content.References(revision.Spec.Phases)) > 0 {
		return held{lasting: loaded}
	}
	return held{passing: weak.Make(loaded)}
}

// get is the content, nil when it has to be loaded again.
func (h held) get() *revisions.Revision {
	if h.lasting != nil {
		return h.lasting
	}
	return h.passing.Value()
}

// hasJustBegunToLeave says whether the teardown of an archived revision may still be
// over before the status has to say that it goes on.
func (m *memory) hasJustBegunToLeave(revision *v1alpha1.Revision, now time.Time) bool {
	since, known := m.leaving[revision.UID]
	if !known {
		m.leaving[revision.UID] = now
		return true
	}
	return now.Sub(since) < settle
}

// silentConflicts is how many conflicts in a row are the usual races. More of them are
// reported like other errors: then something, such as an admission webhook, answers
// every write with one.
const silentConflicts = 5

// isNewConflict says whether an error is a conflict of the kind that the next pass
// does away with.
func (m *memory) isNewConflict(err error) bool {
	if err == nil || !loop.IsConflict(err) {
		m.conflicts = 0
		return false
	}
	m.conflicts++
	return m.conflicts <= silentConflicts
}

func (m *memories) of(pkg *v1alpha1.Package) *memory {
	m.lock.Lock()
	defer m.lock.Unlock()
	known, ok := m.packages[pkg.UID]
	if !ok {
		known = &memory{
			loaded: map[types.UID]held{}, records: map[types.UID]map[revisions.ObjectID]revisions.Record{},
			content: map[types.UID]identities{}, digests: map[types.UID]string{}, firstSeen: map[types.UID]time.Time{}, wrote: map[types.UID]time.Time{}, leaving: map[types.UID]time.Time{},
			unwritten: map[types.UID]v1alpha1.RevisionStatus{}, spacings: map[types.UID]spacing{},
			gone: map[types.UID]map[revisions.ObjectID]bool{}, name: pkg.Name,
		}
		if m.packages == nil {
			m.packages = map[types.UID]*memory{}
		}
		m.packages[pkg.UID] = known
	}
	return known
}

// seen takes in that the cache has a state of a revision.
func (m *memories) seen(revision *v1alpha1.Revision) {
	owner := metav1.GetControllerOf(revision)
	if owner == nil {
		return
	}
	m.lock.Lock()
	known := m.packages[owner.UID]
	m.lock.Unlock()
	if known != nil {
		known.own.Newest(revision)
	}
}

// remove takes in what a teardown has proven gone.
func (m *memory) remove(revision types.UID, result revisions.TeardownResult) {
	if m.gone[revision] == nil {
		m.gone[revision] = map[revisions.ObjectID]bool{}
	}
	for _, object := range result.Objects {
		if object.State == revisions.RemovalGone {
			m.gone[revision][object.ID] = true
		}
	}
}

// forgetNamed forgets every package of a name but that of the UID given, and returns the
// UIDs of those that were known.
func (m *memories) forgetNamed(name string, but types.UID) []types.UID {
	m.lock.Lock()
	defer m.lock.Unlock()
	var forgotten []types.UID
	for uid, known := range m.packages {
		if known.name == name && uid != but {
			forgotten = append(forgotten, uid)
			delete(m.packages, uid)
		}
	}
	return forgotten
}

func (m *memories) forget(uid types.UID) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.packages, uid)
}

// forgetOthers drops what is known of revisions that are gone or archived.
func (m *memory) forgetOthers(all []v1alpha1.Revision) {
	exists, standing := map[types.UID]bool{}, map[types.UID]bool{}
	for i := range all {
		exists[all[i].UID] = true
		standing[all[i].UID] = all[i].Status.ArchivedAt == nil
	}
	// The cache may not know yet that a revision is archived: what our write has
	// returned is kept until it does, or the revision would come to life again.
	m.own.ForgetOthers(exists)
	maps.DeleteFunc(m.loaded, func(uid types.UID, _ held) bool { return !standing[uid] })
	maps.DeleteFunc(m.content, func(uid types.UID, _ identities) bool { return !standing[uid] })
	maps.DeleteFunc(m.digests, func(uid types.UID, _ string) bool { return !standing[uid] })
	maps.DeleteFunc(m.records, func(uid types.UID, _ map[revisions.ObjectID]revisions.Record) bool { return !standing[uid] })
	maps.DeleteFunc(m.firstSeen, func(uid types.UID, _ time.Time) bool { return !standing[uid] })
	maps.DeleteFunc(m.leaving, func(uid types.UID, _ time.Time) bool { return !standing[uid] })
	maps.DeleteFunc(m.gone, func(uid types.UID, _ map[revisions.ObjectID]bool) bool { return !standing[uid] })
	maps.DeleteFunc(m.unwritten, func(uid types.UID, _ v1alpha1.RevisionStatus) bool { return !standing[uid] })
	maps.DeleteFunc(m.spacings, func(uid types.UID, _ spacing) bool { return !standing[uid] })
	maps.DeleteFunc(m.wrote, func(uid types.UID, _ time.Time) bool { return !standing[uid] })
}
