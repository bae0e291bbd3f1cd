// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// line is a package named web with its loop, on an API server for our kinds and a
// cluster in memory for the managed objects. Every status that the loop writes is
// checked against the contract of conditions.
type line struct {
	*statustest.Server

	cluster *revisionstest.Cluster
	cache   *revisionstest.Cache
	loop    *loop.Loop[v1alpha1.Package, *v1alpha1.Package]

	// lose, when set, may lose the answer to a write of the loop that was done.
	lose func(write string) error
	// stale, when set, is what lists of revisions return.
	stale []v1alpha1.Revision
	// checks are what was asked before a first write, finding what it is answered with.
	checks  []preflight.Input
	finding error
	// takes is how long a check takes.
	takes time.Duration
	// noIdentity, when set, is why no identity can be taken on.
	noIdentity error
	// blockers are the objects of other owners that are watched.
	blockers []revisions.Blocker
	// released are the users whose watches were released.
	released []string
}

// Block implements Watches.
func (l *line) Block(_, _ string, blockers []revisions.Blocker) error {
	l.blockers = blockers
	return nil
}

// Labelled implements Watches.
func (l *line) Labelled(pkg string, except func(revisions.ObjectID) bool) ([]*unstructured.Unstructured, error) {
	return l.cache.Labelled(pkg, except), nil
}

// Release implements Watches.
func (l *line) Release(user string) { l.released = append(l.released, user) }

// Check implements Checker.
func (l *line) Check(_ context.Context, in preflight.Input) error {
	l.checks = append(l.checks, in)
	l.advance(l.takes)
	return l.finding
}

// Unserved implements Checker.
func (l *line) Unserved(ctx context.Context, manifests []*unstructured.Unstructured) (string, error) {
	return (&preflight.Checker{Live: l.cluster.Client("strata")}).Unserved(ctx, manifests)
}

// For implements Identities: a ServiceAccount is a client of its own to the cluster.
func (l *line) For(account *v1alpha1.ServiceAccountReference) (Identity, error) {
	name := "strata"
	if account != nil {
		name = account.Namespace + ":" + account.Name
	}
	if l.noIdentity != nil {
		return Identity{}, l.noIdentity
	}
	engine, err := revisions.New(revisions.Config{
		Writer: l.cluster.Client(name), Live: l.cluster.Client(name), Cache: l.cache, Mapper: l.cluster.Mapper(),
	})
	return Identity{Engine: engine, Checker: l}, err
}

func newLine(t *testing.T, spec v1alpha1.PackageSpec) *line {
	t.Helper()
	server := statustest.NewServer(t, func(builder *fake.ClientBuilder) *fake.ClientBuilder {
		return builder.
			WithIndex(&v1alpha1.Revision{}, indexPackage, revisionIndexes[indexPackage]).
			WithIndex(&v1alpha1.Revision{}, indexContent, revisionIndexes[indexContent]).
			WithIndex(content.Kinds()[0], indexOwner, owners).WithIndex(content.Kinds()[1], indexOwner, owners)
	}, corev1.AddToScheme)
	l := &line{Server: server, cluster: revisionstest.New()}
	l.cache = revisionstest.NewCache(l.cluster, v1alpha1.LabelPackage)
	l.restart()
	l.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{v1alpha1.FinalizerTeardown}}, Spec: spec})
	return l
}

// restart starts the loop anew, with nothing remembered.
func (l *line) restart() {
	l.T.Helper()
	api := interceptor.NewClient(l.API, interceptor.Funcs{
		Create: l.created, Patch: l.patched, Delete: l.deleted, SubResourcePatch: l.statusPatched, List: l.listed,
	})
	contents := &content.Store{Client: api, Live: l.API, Namespace: "strata-system", Now: func() time.Time { return l.Now }}
	live := interceptor.NewClient(l.API, interceptor.Funcs{List: l.listedLive})
	worker := &Worker{Client: api, Live: live, Contents: contents, Identities: l, Watches: l, Now: func() time.Time { return l.Now }}
	l.loop = &loop.Loop[v1alpha1.Package, *v1alpha1.Package]{Client: api, Worker: worker, Missing: worker.Orphaned, Wrote: worker.statusWritten}
}

// done loses the answer to a write, if the test has it so: the write is done on a copy, as
// nothing of the answer comes back.
func (l *line) done(write string, object client.Object, send func(client.Object) error) error {
	if l.lose == nil {
		return send(object)
	}
	lost := l.lose(write)
	if lost == nil {
		return send(object)
	}
	unseen, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return lost
	}
	return errors.Join(send(unseen), lost)
}

func (l *line) created(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	if err := l.Write("create %s", object.GetName()); err != nil {
		return err
	}
	l.Stamp(object)
	return c.Create(ctx, object, options...)
}

func (l *line) patched(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	what := "patch " + object.GetName()
	if revision, ok := object.(*v1alpha1.Revision); ok && revision.Spec.LifecycleState == v1alpha1.LifecycleArchived {
		what = "archive " + object.GetName()
	}
	if err := l.Write("%s", what); err != nil {
		return err
	}
	return l.done(what, object, func(o client.Object) error { return c.Patch(ctx, o, patch, options...) })
}

func (l *line) deleted(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	if err := l.Write("delete %s", object.GetName()); err != nil {
		return err
	}
	asked := (&client.DeleteOptions{}).ApplyOptions(options)
	if _, ok := object.(*v1alpha1.Revision); ok && (asked.Preconditions == nil || asked.Preconditions.UID == nil || *asked.Preconditions.UID != object.GetUID()) {
		l.T.Errorf("revision %s is deleted without its UID, and may be another one by now", object.GetName())
	}
	return c.Delete(ctx, object, options...)
}

func (l *line) statusPatched(ctx context.Context, c client.Client, _ string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	what := "status " + object.GetName() + " "
	switch o := object.(type) {
	case *v1alpha1.Package:
		what += reasonOf(o.Status.Conditions)
	case *v1alpha1.Revision:
		what += reasonOf(o.Status.Conditions)
	}
	if err := l.Write("%s", what); err != nil {
		return err
	}
	if err := l.done(what, object, func(o client.Object) error { return c.Status().Patch(ctx, o, patch, options...) }); err != nil {
		return err
	}
	switch o := object.(type) {
	case *v1alpha1.Package:
		if meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady) != nil {
			statustest.Package(l.T, o)
		}
	case *v1alpha1.Revision:
		statustest.Revision(l.T, o)
	}
	return nil
}

func (l *line) listed(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if revisions, ok := list.(*v1alpha1.RevisionList); ok && l.stale != nil {
		revisions.Items = slices.Clone(l.stale)
		return nil
	}
	return c.List(ctx, list, options...)
}

// listedLive lists the metadata of revisions by their package, which the API server does
// and the fake one cannot.
func (l *line) listedLive(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	metadata, ok := list.(*metav1.PartialObjectMetadataList)
	if !ok {
		return c.List(ctx, list, options...)
	}
	whole := &v1alpha1.RevisionList{}
	err := c.List(ctx, whole, options...)
	for _, revision := range whole.Items {
		metadata.Items = append(metadata.Items, metav1.PartialObjectMetadata{ObjectMeta: revision.ObjectMeta})
	}
	return err
}

// reasonOf is that of the condition Progressing.
func reasonOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionProgressing); c != nil {
		return c.Reason
	}
	return "-"
}

// revise makes revision number of the package, as a front does.
func (l *line) revise(number int64, phases ...[]map[string]any) *v1alpha1.Revision {
	l.T.Helper()
	r := l.written(number, phases...)
	r.Labels = map[string]string{v1alpha1.LabelPackage: "web"}
	r.Finalizers = []string{v1alpha1.FinalizerTeardown}
	r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(l.pkg(), v1alpha1.GroupVersion.WithKind("Package"))}
	l.Create(r)
	return r
}

// written is revision number of the package as a user writes it down. Each phase
// is a list of manifests.
func (l *line) written(number int64, phases ...[]map[string]any) *v1alpha1.Revision {
	l.T.Helper()
	r := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName("web", number)},
		Spec: v1alpha1.RevisionSpec{
			Package: "web", Revision: number, LifecycleState: v1alpha1.LifecycleActive, ContentDigest: "",
			Origin: &v1alpha1.Origin{Kind: v1alpha1.OriginCLI, AppVersion: fmt.Sprintf("1.%d.0", number)},
		},
	}
	for i, manifests := range phases {
		phase := v1alpha1.Phase{Name: fmt.Sprintf("phase-%d", i+1)}
		for _, manifest := range manifests {
			data, err := json.Marshal(manifest)
			if err != nil {
				l.T.Fatal(err)
			}
			phase.Objects = append(phase.Objects, v1alpha1.Object{Object: &runtime.RawExtension{Raw: data}})
		}
		r.Spec.Phases = append(r.Spec.Phases, phase)
	}
	return r
}

func configMap(name, value string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "app"}, "data": map[string]any{"value": value},
	}
}

func deployment(name, image string) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": "app"}, "spec": map[string]any{"image": image},
	}
}

func secret(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "app"}}
}

// phase is a list of manifests.
func phase(manifests ...map[string]any) []map[string]any { return manifests }

// id names an object as kind/name.
func id(text string) revisions.ObjectID {
	kind, name, _ := strings.Cut(text, "/")
	object := revisions.ObjectID{Namespace: "app", Name: name}
	object.Kind = kind
	if kind == "Deployment" {
		object.Group = "apps"
	}
	return object
}

// ready lets a Deployment be rolled out, or not.
func (l *line) ready(name string, ready bool) {
	available := int64(0)
	if ready {
		available = 1
	}
	var generation int64
	for _, object := range l.cluster.Objects() {
		if object.GetName() == name {
			generation = object.GetGeneration()
		}
	}
	l.cluster.SetStatus(id("Deployment/"+name), map[string]any{
		"observedGeneration": generation, "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": available, "readyReplicas": available,
		"conditions": []any{map[string]any{"type": "Available", "status": map[bool]string{true: "True", false: "False"}[ready]}},
	})
}

// pass makes one pass of the loop.
func (l *line) pass() (reconcile.Result, error) {
	l.T.Helper()
	return l.loop.Reconcile(l.T.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "web"}})
}

// settle makes passes as the results and the events of revisions ask for them, and
// moves the clock along, for at most the time given. Errors end it.
func (l *line) settle(limit time.Duration) error {
	l.T.Helper()
	for end := l.Now.Add(limit); !l.Now.After(end); {
		before := len(l.Writes)
		result, err := l.pass()
		switch {
		case err != nil:
			return err
		case result.RequeueAfter > 0 && !l.Now.Add(result.RequeueAfter).After(end):
			l.advance(result.RequeueAfter)
		case slices.ContainsFunc(l.Writes[before:], func(write string) bool { return !strings.HasPrefix(write, "status") }):
		default:
			return nil
		}
	}
	return nil
}

func (l *line) advance(by time.Duration) {
	l.Now = l.Now.Add(by)
	l.cluster.Advance(by)
}

// since are the loop's writes to our kinds, and its requests to the cluster, since
// they were asked for last.
func (l *line) since() (writes, requests []string) {
	writes, l.Writes = l.Writes, nil
	for _, request := range l.cluster.Requests("strata") {
		requests = append(requests, request.String())
	}
	return writes, requests
}

func (l *line) pkg() *v1alpha1.Package {
	l.T.Helper()
	pkg := &v1alpha1.Package{}
	l.Read("web", pkg)
	return pkg
}

func (l *line) revision(number int64) *v1alpha1.Revision {
	l.T.Helper()
	r := &v1alpha1.Revision{}
	l.Read(v1alpha1.RevisionName("web", number), r)
	return r
}

// change changes the package as a user would, and counts its generation.
func (l *line) change(change func(pkg *v1alpha1.Package)) {
	l.T.Helper()
	pkg := l.pkg()
	change(pkg)
	pkg.Generation++
	if err := l.API.Update(l.T.Context(), pkg); err != nil {
		l.T.Fatal(err)
	}
}

// objects are those on the cluster, as kind/name=value; an object that is being
// deleted has an exclamation mark.
func (l *line) objects() []string {
	var all []string
	for _, object := range l.cluster.Objects() {
		value, _, _ := unstructured.NestedString(object.Object, "data", "value")
		if image, found, _ := unstructured.NestedString(object.Object, "spec", "image"); found {
			value = image
		}
		text := object.GetKind() + "/" + object.GetName() + "=" + value
		if object.GetDeletionTimestamp() != nil {
			text += "!"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// states are the revisions, as number: lifecycle and reason of Progressing.
func (l *line) states() []string {
	l.T.Helper()
	list := &v1alpha1.RevisionList{}
	if err := l.API.List(l.T.Context(), list); err != nil {
		l.T.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Revision) int { return int(a.Spec.Revision - b.Spec.Revision) })
	var all []string
	for _, r := range list.Items {
		all = append(all, fmt.Sprintf("%d: %s %s", r.Spec.Revision, r.Spec.LifecycleState, reasonOf(r.Status.Conditions)))
	}
	return all
}

// conditions are the package's, as type=status/reason.
func (l *line) conditions() string {
	l.T.Helper()
	var all []string
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable} {
		if c := meta.FindStatusCondition(l.pkg().Status.Conditions, kind); c != nil {
			all = append(all, fmt.Sprintf("%s=%s/%s", kind, c.Status, c.Reason))
		}
	}
	return strings.Join(all, " ")
}

var errRefused = errors.New("the API server says no")

func unstructuredOf(manifest map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
}
