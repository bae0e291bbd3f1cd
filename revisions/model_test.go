// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// TestEngine_Model lets rapid find a schedule of passes, faults and other people's
// acts after which the engine breaks a promise. Each pass is judged by itself, and
// in the end, when no other client interferes any longer, the history must come to rest, leak
// nothing and be taken away. Try more with -rapid.checks=100000.
func TestEngine_Model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModelWorld(t)
		w.revise(t)
		t.Repeat(map[string]func(*rapid.T){
			"revise": w.revise, "rollback": w.rollback, "archive": w.archive, "pauseRevision": w.pauseRevision,
			"pass": w.pass, "passAgain": w.pass, "passLost": w.passLost, "passPaused": w.passPaused,
			"stale": w.stale, "restart": w.restart, "fault": w.fault, "heal": w.heal, "clock": w.clock,
			"create": w.create, "edit": w.edit, "delete": w.delete, "interfere": w.interfere, "status": w.status,
		})
		w.comeToRest(t)
		w.archiveOlder(t)
		w.tearDown(t)
	})
}

// The objects that revisions and others fight over.
var modelIDs = []revisions.ObjectID{
	{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "app", Name: "a"},
	{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "app", Name: "b"},
	{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "app", Name: "c"},
	{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "app", Name: "w"},
}

var colors = []string{"red", "green", "blue"}

// modelWorld is a cluster, the line on it, and what the controller remembers of it.
type modelWorld struct {
	cluster *revisionstest.Cluster
	cache   *revisionstest.Cache
	engine  *revisions.Engine
	owner   revisions.Owner
	line    []*modelRevision
	number  int64
	held    bool
	extras  int
	// ever are the objects that have been ours at some time.
	ever map[types.UID]bool
}

// modelRevision is a revision that is not archived.
type modelRevision struct {
	revisions.Revision

	archiving bool
	manifests []byte
}

// snapshot is the state of a cluster.
type snapshot map[revisions.ObjectID]*unstructured.Unstructured

func newModelWorld(t *rapid.T) *modelWorld {
	w := &modelWorld{
		cluster: revisionstest.New(), ever: map[types.UID]bool{},
		owner: revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: "owner", Label: "strata.run/package"},
	}
	w.restart(t)
	return w
}

func (w *modelWorld) restart(t *rapid.T) {
	w.cache, w.held = revisionstest.NewCache(w.cluster, w.owner.Label), false
	sender := w.cluster.Client("engine")
	var err error
	w.engine, err = revisions.New(revisions.Config{Writer: sender, Live: sender, Cache: w.cache, Mapper: w.cluster.Mapper(), Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
}

// mostRevisions bounds the history. With as many, what would add one archives one instead, so
// that every action of a schedule does something.
const mostRevisions = 4

// revise adds a revision with random content.
func (w *modelWorld) revise(t *rapid.T) {
	if len(w.line) >= mostRevisions {
		w.archive(t)
		return
	}
	ids := rapid.Permutation(modelIDs).Draw(t, "objects")[:rapid.IntRange(1, len(modelIDs)).Draw(t, "count")]
	phases := make([]revisions.Phase, rapid.IntRange(1, 3).Draw(t, "phases"))
	for i := range phases {
		phases[i].Name = "phase" + strconv.Itoa(i)
	}
	for _, id := range ids {
		at := rapid.IntRange(0, len(phases)-1).Draw(t, "phase")
		phases[at].Objects = append(phases[at].Objects, randomObject(t, id))
	}
	w.add(t, phases)
}

func (w *modelWorld) rollback(t *rapid.T) {
	if len(w.line) >= mostRevisions {
		w.archive(t)
		return
	}
	w.add(t, rapid.SampledFrom(w.line).Draw(t, "revision").Phases)
}

func (w *modelWorld) add(t *rapid.T, phases []revisions.Phase) {
	w.number++
	// managedFields tell time in seconds. Of two contents that were applied within one,
	// the later one unknown to the records, the engine cannot tell which is there.
	w.cluster.Advance(time.Second)
	added := &modelRevision{Revision: revisions.Revision{Number: w.number, Phases: phases}.Prepared()}
	added.manifests = encodeManifests(t, added.Revision)
	w.line = append([]*modelRevision{added}, w.line...)
}

func randomObject(t *rapid.T, id revisions.ObjectID) revisions.Object {
	manifest := blankObject(id)
	color := rapid.SampledFrom(colors).Draw(t, "color")
	object := revisions.Object{
		Manifest: manifest,
		// What is retained is replaced only by whom it belongs to for sure.
		Retain: id.Kind == "ConfigMap" && rapid.IntRange(0, 3).Draw(t, "retain") == 0,
		CollisionProtection: rapid.SampledFrom([]revisions.CollisionProtection{
			"", revisions.CollisionPrevent, revisions.CollisionIfNoController, revisions.CollisionNone,
		}).Draw(t, "protection"),
	}
	if id.Kind == "Deployment" {
		manifest.Object["spec"] = map[string]any{"color": color, "selector": rapid.SampledFrom(colors).Draw(t, "selector")}
		object.Replace = true
		object.Probe, object.Serving = readyProbe, readyProbe
		return object
	}
	data := map[string]any{"color": color}
	if rapid.Bool().Draw(t, "sized") {
		data["size"] = "1"
		if rapid.Bool().Draw(t, "unmanaged") {
			field, err := revisions.ParseFieldPath(".data.size")
			if err != nil {
				t.Fatal(err)
			}
			object.Unmanaged = append(object.Unmanaged, field)
		}
	}
	manifest.Object["data"] = data
	return object
}

var readyProbe = probes.Func(func(object *unstructured.Unstructured) probes.Result {
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return probes.Result{Status: probes.True}
	}
	return probes.Result{Status: probes.False, Message: "it is not ready"}
})

func blankObject(id revisions.ObjectID) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(id.WithVersion("v1"))
	object.SetNamespace(id.Namespace)
	object.SetName(id.Name)
	return object
}

func (w *modelWorld) pass(t *rapid.T)       { w.reconcile(t, false, true) }
func (w *modelWorld) passLost(t *rapid.T)   { w.reconcile(t, false, false) }
func (w *modelWorld) passPaused(t *rapid.T) { w.reconcile(t, true, true) }

// reconcile makes a pass and judges it. It returns the requests, and whether the
// target is complete.
func (w *modelWorld) reconcile(t *rapid.T, paused, keep bool) ([]revisionstest.Request, bool) {
	active := w.active()
	in := revisions.Rollout{Owner: w.owner, Target: active[0].Revision, Paused: paused, Now: w.cluster.Now()}
	for _, m := range active[1:] {
		in.Serving = append(in.Serving, m.Revision)
	}
	before := w.snapshot()
	result, err := w.engine.Reconcile(t.Context(), in)
	after, requests := w.snapshot(), w.cluster.Requests("engine")
	t.Logf("pass over %d, %v: %v", in.Target.Number, requests, err)
	wasOurs := maps.Clone(w.ever)
	w.judge(t, before, after)
	w.judgeWrites(t, active, before, after, wasOurs)
	w.judgeDeletes(t, requests, before, func(id revisions.ObjectID, was *unstructured.Unstructured) bool {
		return wantedAs(active, id, func(o revisions.Object) bool { return o.Replace }) &&
			(w.isOurs(id, was) || w.standsForOurs(id, was) && w.mayWrite(active, id, was))
	})
	judgeResult(t, in, result)
	if paused && len(changes(requests)) > 0 {
		t.Fatalf("a paused pass has written: %v", requests)
	}
	if !w.held && !paused && !in.Target.Paused {
		w.judgePhases(t, in.Target, result.Target, before, after)
	}
	if keep {
		for i, r := range append([]revisions.RevisionResult{result.Target}, result.Serving...) {
			active[i].Records = r.Records
		}
		active[0].Succeeded = active[0].Succeeded || err == nil && result.Target.Complete()
	}
	return requests, err == nil && result.Target.Complete()
}

func (w *modelWorld) active() []*modelRevision {
	return slices.DeleteFunc(slices.Clone(w.line), func(m *modelRevision) bool { return m.archiving })
}

// archive makes one pass at taking away what only an older revision contains, of which there
// has to be one first.
func (w *modelWorld) archive(t *rapid.T) {
	if len(w.line) < 2 {
		w.revise(t)
	}
	w.archiveOne(t, rapid.SampledFrom(w.line[1:]).Draw(t, "revision"))
}

func (w *modelWorld) archiveOne(t *rapid.T, m *modelRevision) {
	m.archiving = true
	keep := map[revisions.ObjectID]bool{}
	for _, other := range w.active() {
		for id := range objectsOf(other) {
			keep[id] = true
		}
	}
	w.remove(t, m, revisions.Teardown{Keep: keep})
}

// remove makes one pass at taking a revision away, and judges it.
func (w *modelWorld) remove(t *rapid.T, m *modelRevision, in revisions.Teardown) {
	in.Owner, in.Revision = w.owner, m.Revision
	before := w.snapshot()
	result, err := w.engine.Teardown(t.Context(), in)
	after, requests := w.snapshot(), w.cluster.Requests("engine")
	t.Logf("removal of %d, %v: %v", m.Number, requests, err)
	w.judge(t, before, after)
	objects := objectsOf(m)
	w.judgeDeletes(t, requests, before, func(id revisions.ObjectID, was *unstructured.Unstructured) bool {
		object, contained := objects[id]
		return contained && !object.Retain && !in.Keep[id] && !in.Orphan && w.isOurs(id, was)
	})
	for id, was := range before {
		_, contained := objects[id]
		ours := contained && !in.Keep[id] && (controller(was) == w.owner.UID || controller(was) == "" && was.GetLabels()[w.owner.Label] == w.owner.Name || w.onRecord(id, was))
		if !ours && !same(was, after[id]) {
			t.Fatalf("%s is not the revision's, and was changed", id)
		}
	}
	if result.Complete && err == nil {
		for id := range objects {
			if left := after[id]; left != nil && !in.Keep[id] && controller(left) == w.owner.UID && left.GetDeletionTimestamp() == nil && !objects[id].Retain {
				t.Fatalf("%s is left behind by a removal that is complete", id)
			}
		}
		w.line = slices.DeleteFunc(w.line, func(other *modelRevision) bool { return other == m })
	}
}

func (w *modelWorld) pauseRevision(t *rapid.T) {
	m := rapid.SampledFrom(w.line).Draw(t, "revision")
	m.Paused = !m.Paused
}

func (w *modelWorld) stale(*rapid.T) {
	w.held = !w.held
	w.cache.SetStale(w.held)
}

func (w *modelWorld) heal(*rapid.T) { w.cluster.Heal() }

func (w *modelWorld) clock(t *rapid.T) {
	w.cluster.Advance(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Minute}).Draw(t, "duration"))
}

// fault makes the engine's n-th request from now on fail. 404 is none of the codes:
// it would be a lie about what exists.
func (w *modelWorld) fault(t *rapid.T) {
	w.cluster.Fail(revisionstest.Fault{
		Client: "engine", Verb: rapid.SampledFrom([]string{"", revisionstest.VerbAnyWrite}).Draw(t, "verb"),
		Code:  rapid.SampledFrom([]int32{403, 409, 422, 429, 500, 504}).Draw(t, "code"),
		Skip:  rapid.IntRange(0, 5).Draw(t, "skip"),
		Times: rapid.IntRange(1, 2).Draw(t, "times"),
		After: rapid.Bool().Draw(t, "after"),
	})
}

// create creates an object of another owner.
func (w *modelWorld) create(t *rapid.T) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "object")
	object := blankObject(id)
	object.Object[bodyOf(id)] = map[string]any{"color": "foreign"}
	if label := rapid.SampledFrom([]string{"", w.owner.Name, "other"}).Draw(t, "label"); label != "" {
		object.SetLabels(map[string]string{w.owner.Label: label})
	}
	if rapid.Bool().Draw(t, "controlled") {
		object.SetOwnerReferences(foreignReferences())
	}
	w.say(t, "create", id, w.cluster.Client("user").Create(t.Context(), object))
}

func foreignReferences() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "foreign", Controller: &yes}}
}

// edit changes fields of an object: one that a manifest may set, or one that none
// does, which must stay.
func (w *modelWorld) edit(t *rapid.T) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "object")
	fields := map[string]any{}
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		fields["color"] = rapid.SampledFrom(append([]string{"foreign"}, colors...)).Draw(t, "color")
	case 1:
		fields["color"] = nil
	default:
		w.extras++
		fields["extra"+strconv.Itoa(w.extras)] = "1"
	}
	w.patch(t, id, map[string]any{bodyOf(id): fields})
}

func (w *modelWorld) delete(t *rapid.T) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "object")
	w.say(t, "delete", id, w.cluster.Client("user").Delete(t.Context(), blankObject(id)))
}

// interfere changes the metadata by which the owner of an object is recognized.
func (w *modelWorld) interfere(t *rapid.T) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "object")
	metadata := rapid.SampledFrom([]map[string]any{
		{"ownerReferences": nil},
		{"ownerReferences": foreignReferences()},
		{"labels": map[string]any{w.owner.Label: nil}},
		{"labels": map[string]any{w.owner.Label: "other"}},
		{"labels": map[string]any{w.owner.Label: w.owner.Name}},
		{"managedFields": []any{map[string]any{}}},
		{"finalizers": []any{"example.org/wait"}},
		{"finalizers": nil},
	}).Draw(t, "metadata")
	w.patch(t, id, map[string]any{"metadata": metadata})
}

func (w *modelWorld) status(t *rapid.T) {
	w.cluster.SetStatus(modelIDs[3], map[string]any{"ready": rapid.Bool().Draw(t, "ready")})
}

func (w *modelWorld) patch(t *rapid.T, id revisions.ObjectID, body map[string]any) {
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	w.say(t, "patch "+string(data), id, w.cluster.Client("user").Patch(t.Context(), blankObject(id), client.RawPatch(types.MergePatchType, data)))
}

// say logs what another client has done; it may have been refused.
func (w *modelWorld) say(t *rapid.T, what string, id revisions.ObjectID, err error) {
	w.cluster.Requests("user")
	t.Logf("%s: %s: %v", what, id, err)
}

func (w *modelWorld) snapshot() snapshot {
	all := snapshot{}
	for _, object := range w.cluster.Objects() {
		all[revisions.IDOf(object)] = object
	}
	return all
}

// comeToRest ends all faults and all that other managers do, after which the target must be
// complete within some passes, and then nothing more be asked for.
func (w *modelWorld) comeToRest(t *rapid.T) {
	w.cluster.Heal()
	w.held = false
	w.cache.SetStale(false)
	for _, m := range w.line {
		m.Paused = false
	}
	target := objectsOf(w.active()[0])
	for id, object := range w.snapshot() {
		w.patch(t, id, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		wanted, contained := target[id]
		retained := contained && wanted.Retain && controller(object) == "" && object.GetLabels()[w.owner.Label] == w.owner.Name && revisions.FieldsDigest(object, revisions.DefaultFieldOwner) != ""
		if controller(object) != w.owner.UID && !retained {
			w.say(t, "clear", id, client.IgnoreNotFound(w.cluster.Client("user").Delete(t.Context(), blankObject(id))))
		}
	}
	for range 12 {
		w.cluster.SetStatus(modelIDs[3], map[string]any{"ready": true})
		w.cluster.Advance(20 * time.Minute)
		if requests, complete := w.reconcile(t, false, true); complete && len(requests) == 0 {
			return
		}
	}
	t.Fatalf("the line does not come to rest")
}

// archiveOlder takes all older revisions away. Then everything that the owner
// controls must be the target's, and the line still be at rest.
func (w *modelWorld) archiveOlder(t *rapid.T) {
	for range 20 {
		if len(w.line) == 1 {
			break
		}
		w.archiveOne(t, w.line[len(w.line)-1])
	}
	if len(w.line) > 1 {
		t.Fatalf("revision %d cannot be archived", w.line[len(w.line)-1].Number)
	}
	target := objectsOf(w.line[0])
	for id, object := range w.snapshot() {
		if _, contained := target[id]; !contained && controller(object) == w.owner.UID {
			t.Fatalf("%s leaks: no revision contains it", id)
		}
	}
	if requests, complete := w.reconcile(t, false, true); !complete || len(requests) > 0 {
		t.Fatalf("archiving has disturbed the target: complete %v, %v", complete, requests)
	}
}

// tearDown takes the target away. What is retained and what is orphaned stays.
func (w *modelWorld) tearDown(t *rapid.T) {
	orphan := rapid.Bool().Draw(t, "orphan")
	target := w.line[0]
	objects := objectsOf(target)
	for range 10 {
		if len(w.line) == 0 {
			break
		}
		w.remove(t, target, revisions.Teardown{Orphan: orphan})
	}
	if len(w.line) > 0 {
		t.Fatal("the target cannot be taken away")
	}
	left := w.snapshot()
	for id, object := range objects {
		if stays := orphan || object.Retain; stays != (left[id] != nil) {
			t.Fatalf("%s is there: %v, want %v", id, left[id] != nil, stays)
		}
		if left[id] != nil && controller(left[id]) == w.owner.UID {
			t.Fatalf("%s has kept its owner", id)
		}
	}
}

// objectsOf are the objects of a revision.
func objectsOf(m *modelRevision) map[revisions.ObjectID]revisions.Object {
	all := map[revisions.ObjectID]revisions.Object{}
	for _, phase := range m.Phases {
		for _, object := range phase.Objects {
			all[revisions.IDOf(object.Manifest)] = object
		}
	}
	return all
}

// wantedAs says whether one of the revisions contains an object for which it holds.
func wantedAs(line []*modelRevision, id revisions.ObjectID, holds func(revisions.Object) bool) bool {
	return slices.ContainsFunc(line, func(m *modelRevision) bool {
		object, contained := objectsOf(m)[id]
		return contained && holds(object)
	})
}

// onRecord says whether an object is the very one that some revision has placed.
func (w *modelWorld) onRecord(id revisions.ObjectID, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(w.line, func(m *modelRevision) bool {
		record, known := m.Records[id]
		return known && record.UID == object.GetUID()
	})
}

// controller is the UID of the controller, empty without one.
func controller(object *unstructured.Unstructured) types.UID {
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		return ref.UID
	}
	return ""
}

func bodyOf(id revisions.ObjectID) string {
	if id.Kind == "ConfigMap" {
		return "data"
	}
	return "spec"
}

func same(a, b *unstructured.Unstructured) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(a.Object, b.Object)
}

// changes are the requests that have changed something.
func changes(requests []revisionstest.Request) []revisionstest.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r revisionstest.Request) bool { return r.Effect == "" || r.Effect == "unchanged" })
}

func encodeManifests(t *rapid.T, revision revisions.Revision) []byte {
	var all []any
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			all = append(all, object.Manifest.Object)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// extrasOf are the fields that no manifest sets.
func extrasOf(object *unstructured.Unstructured) []string {
	body, _ := object.Object[bodyOf(revisions.IDOf(object))].(map[string]any)
	var extras []string
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if strings.HasPrefix(name, "extra") {
			extras = append(extras, name)
		}
	}
	return append(extras, object.GetFinalizers()...)
}
