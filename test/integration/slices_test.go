// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// contents stores what a test makes as a front does.
func contents() *content.Store {
	return &content.Store{Client: admin, Live: admin, Namespace: "strata-system", Now: time.Now}
}

// noise is text that does not compress well, the same for the same seed.
func noise(t *testing.T, seed, size int) string {
	t.Helper()
	data := make([]byte, base64.StdEncoding.DecodedLen(size))
	_, err := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data)
	must(t, err)
	return base64.StdEncoding.EncodeToString(data)
}

func rendered(manifests ...fields) content.Phase {
	phase := content.Phase{Name: "only"}
	for _, manifest := range manifests {
		phase.Objects = append(phase.Objects, content.Object{Manifest: &unstructured.Unstructured{Object: manifest}})
	}
	return phase
}

func configMapFields(namespace, name, value string) fields {
	return fields{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": fields{"namespace": namespace, "name": name}, "data": fields{"value": value},
	}
}

// emptyPackage makes a package that the test owns, without revisions.
func emptyPackage(t *testing.T, spec v1alpha1.PackageSpec) *v1alpha1.Package {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Finalizers: []string{v1alpha1.FinalizerTeardown}}, Spec: spec}
	must(t, admin.Create(t.Context(), pkg))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), pkg)); err != nil {
			t.Errorf("deleting the test's package: %v", err)
		}
	})
	return pkg
}

// publish stores content and makes the package's next revision of it.
func publish(t *testing.T, pkg *v1alpha1.Package, phases ...content.Phase) *v1alpha1.Revision {
	t.Helper()
	pkg = getPackage(t, pkg.Name)
	list := &v1alpha1.RevisionList{}
	must(t, admin.List(t.Context(), list, client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}))
	line := history.Sort(pkg, list.Items)
	packed, err := contents().Pack(t.Context(), phases, nil)
	must(t, err)
	must(t, contents().Keep(t.Context(), pkg, packed, line.Target))
	next := line.Next(pkg, history.Content{Phases: packed.Phases, Digest: packed.Digest, Origin: v1alpha1.Origin{Kind: v1alpha1.OriginCLI}})
	must(t, admin.Create(t.Context(), next))
	return next
}

// eventuallyCurrent waits until a revision is the package's current one. It asks
// for nothing large.
func eventuallyCurrent(t *testing.T, name string, revision int64) {
	t.Helper()
	planetest.Within(t, 3*time.Minute, fmt.Sprintf("revision %d to be the current one", revision), func() (bool, error) {
		status := getPackage(t, name).Status
		isCurrent := status.CurrentRevision == revision && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
		return isCurrent, fmt.Errorf("%s of phases, %s of probes, current %d: %s", status.Phase, status.Probes, status.CurrentRevision, message(status.Conditions, v1alpha1.ConditionProgressing))
	})
}

// stored are the names of the slices, or Secrets, that a package owns.
func stored(t *testing.T, pkg *v1alpha1.Package, kind int) []string {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(content.Kinds()[kind].GroupVersionKind())
	must(t, admin.List(t.Context(), list))
	var names []string
	for i := range list.Items {
		if content.OwnedBy(&list.Items[i], pkg.UID) && strings.HasPrefix(list.Items[i].Name, "sha256-") {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

func slicesOf(t *testing.T, pkg *v1alpha1.Package) []string { t.Helper(); return stored(t, pkg, 0) }

func secretsOf(t *testing.T, pkg *v1alpha1.Package) []string { t.Helper(); return stored(t, pkg, 1) }

// size is how many bytes an object has as the API server stores it.
func size(t *testing.T, object client.Object) int {
	t.Helper()
	data, err := json.Marshal(object)
	must(t, err)
	return len(data)
}

// TestLargeRevisions: a revision of 2,000 objects, and one of 10 MB, roll out, are
// upgraded, rolled back, looked after by a new manager, and deleted.
func TestLargeRevisions(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		phases  int
		objects int
		size    int
		// written is how many slices an upgrade writes that changes one object.
		written int
	}{
		"TwoThousandSmallObjects":    {reason: "they stand inline, and fit etcd together with their inventory", phases: 2, objects: 2000, size: 100},
		"TwoThousandObjectsAtOnce":   {reason: "a phase may have as many; they stand in slices together", phases: 1, objects: 2000, size: 400, written: 1},
		"TenMegabytesOfLargeObjects": {reason: "large objects stand in slices of their own", phases: 1, objects: 40, size: 250 << 10, written: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ns := planetest.Namespace(t, plane)
			render := func(changed string) []content.Phase {
				phases := make([]content.Phase, tc.phases)
				for i := range phases {
					phases[i].Name = fmt.Sprintf("phase-%d", i)
				}
				for n := range tc.objects {
					manifest := configMapFields(ns, fmt.Sprintf("object-%d", n), noise(t, n, tc.size))
					if n == 0 {
						manifest["data"].(fields)["changed"] = changed
					}
					phase := &phases[n*tc.phases/tc.objects]
					phase.Objects = append(phase.Objects, rendered(manifest).Objects...)
				}
				return phases
			}
			largeRevision(t, ns, tc.objects, tc.written, render)
		})
	}
}

func largeRevision(t *testing.T, ns string, objects, written int, render func(changed string) []content.Phase) {
	t.Helper()
	began := time.Now()
	step := func(name string) {
		t.Logf("%-12s %s", name, time.Since(began).Round(100*time.Millisecond))
		began = time.Now()
	}
	pkg := emptyPackage(t, v1alpha1.PackageSpec{})
	publish(t, pkg, render("1")...)
	eventuallyCurrent(t, pkg.Name, 1)
	step("rolled out")
	first := slicesOf(t, pkg)
	revision := getRevision(t, pkg.Name, 1)
	t.Logf("%d slices; the revision has %d bytes, its spec %d", len(first), size(t, revision), size(t, &v1alpha1.Revision{Spec: revision.Spec}))
	if got := count(t, ns, pkg); got != objects {
		t.Errorf("there are %d objects, want %d", got, objects)
	}

	publish(t, pkg, render("2")...)
	eventuallyCurrent(t, pkg.Name, 2)
	step("upgraded")
	second := slicesOf(t, pkg)
	if more := len(second) - len(first); more != written {
		t.Errorf("an upgrade that changes one object has written %d slices, want %d", more, written)
	}
	if got := configMap(t, ns, "object-0").Data["changed"]; got != "2" {
		t.Errorf("the changed object has %q", got)
	}
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)

	since := time.Now()
	requestRollback(t, pkg.Name, v1alpha1.Rollback{ToRevision: 1, RequestedAt: metav1.Now()})
	eventuallyCurrent(t, pkg.Name, 3)
	step("rolled back")
	if got := slicesOf(t, pkg); !slices.Equal(got, second) {
		t.Errorf("the rollback has left %d slices, there were %d", len(got), len(second))
	}
	if n := writes(requests(t, since))["create objectslices"]; n != 0 {
		t.Errorf("the rollback has written %d slices", n)
	}
	if got := configMap(t, ns, "object-0").Data["changed"]; got != "1" {
		t.Errorf("the changed object has %q after the rollback", got)
	}

	must(t, startManager())
	patchAs(t, configMap(t, ns, "object-1"), "tester", fields{"data": fields{"value": "drift"}})
	planetest.Eventually(t, "a new manager to repair drift", func() (bool, error) {
		return configMap(t, ns, "object-1").Data["value"] != "drift", nil
	})
	step("restarted")

	must(t, admin.Delete(t.Context(), pkg))
	planetest.Within(t, 3*time.Minute, "the package to go", func() (bool, error) {
		left := &v1alpha1.Package{}
		return !exists(t, left, "", pkg.Name), errors.New(message(left.Status.Conditions, v1alpha1.ConditionProgressing))
	})
	step("deleted")
	if got := count(t, ns, pkg); got != 0 {
		t.Errorf("%d objects have outlived their package", got)
	}
	planetest.Eventually(t, "the slices to go with their package", func() (bool, error) {
		left := slicesOf(t, pkg)
		return len(left) == 0, fmt.Errorf("%d are left", len(left))
	})
}

// count is how many ConfigMaps of a namespace are the package's.
func count(t *testing.T, ns string, pkg *v1alpha1.Package) int {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	must(t, admin.List(t.Context(), list, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}))
	return len(list.Items)
}

// TestTooLarge: content that etcd does not take is refused before anything is
// written.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	var phases []content.Phase
	for n := range 6000 {
		if n%2000 == 0 {
			phases = append(phases, content.Phase{Name: fmt.Sprintf("phase-%d", n)})
		}
		last := &phases[len(phases)-1]
		last.Objects = append(last.Objects, rendered(configMapFields("x", fmt.Sprintf("object-%d", n), "")).Objects...)
	}
	_, err := contents().Pack(t.Context(), phases, nil)
	if err == nil || !containsAll(err.Error(), "6000 objects", "split it into several packages") {
		t.Errorf("got %v, want what is too large and the remedy", err)
	}
}

// TestLargestRevision: what is let through by its size fits etcd, with everything
// that its status grows to.
func TestLargestRevision(t *testing.T) {
	t.Parallel()
	const objects = 3700
	phases := []content.Phase{{Name: "one"}, {Name: "two"}}
	var inventory []v1alpha1.InventoryEntry
	for n := range objects {
		name := fmt.Sprintf("object-%d", n)
		phase := &phases[n*len(phases)/objects]
		phase.Objects = append(phase.Objects, rendered(configMapFields("namespace", name, noise(t, n, 200))).Objects...)
		inventory = append(inventory, v1alpha1.InventoryEntry{
			ObjectReference: v1alpha1.ObjectReference{Version: "v1", Kind: "ConfigMap", Namespace: "namespace", Name: name},
			UID:             "01234567-89ab-cdef-0123-456789abcdef", Action: "Unchanged", Content: "0123456789abcdef", Fields: "0123456789abcdef-10",
		})
	}
	packed, err := contents().Pack(t.Context(), phases, nil)
	must(t, err)
	more := content.Phase{Name: "more", Objects: phases[1].Objects[:200]}
	if _, err := contents().Pack(t.Context(), append(phases, more), nil); err == nil {
		t.Error("200 objects more would fit, too: this is not the largest revision")
	}
	revision := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: "largest-1"},
		Spec:       v1alpha1.RevisionSpec{Package: "largest", Revision: 1, Phases: packed.Phases, ContentDigest: packed.Digest},
	}
	must(t, admin.Create(t.Context(), revision))
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), revision); err != nil {
			t.Errorf("deleting the revision: %v", err)
		}
	})
	eventuallyRevision(t, "largest", 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPackageMissing)
	before := getRevision(t, "largest", 1)
	after := before.DeepCopy()
	after.Status.Inventory = inventory
	for n := range 16 {
		after.Status.Objects = append(after.Status.Objects, v1alpha1.ObjectStatus{
			ObjectReference: inventory[n].ObjectReference, Phase: "one", Reason: "ApplyError", Message: strings.Repeat("x", 1024), Since: metav1.Now(),
		})
	}
	must(t, admin.Status().Patch(t.Context(), after, client.MergeFrom(before)))
	t.Logf("the revision has %d bytes", size(t, after))
}

// TestLostSlice: a slice that is deleted or altered blocks its revision, which says
// which and what to do, keeps what runs, and goes on when the slice is restored.
func TestLostSlice(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]bool{"Deleted": false, "Altered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := planetest.Namespace(t, plane)
			pkg := emptyPackage(t, v1alpha1.PackageSpec{})
			publish(t, pkg, rendered(configMapFields(ns, "large", noise(t, 1, 20<<10)+ns)))
			eventuallyCurrent(t, pkg.Name, 1)
			good := &v1alpha1.ObjectSlice{}
			must(t, admin.Get(t.Context(), types.NamespacedName{Name: slicesOf(t, pkg)[0]}, good))
			lost := time.Now()
			must(t, admin.Delete(t.Context(), good))
			want := []string{"ObjectSlice " + good.Name, "does not exist", "apply the same content again, which restores it"}
			if alter {
				altered := fresh(good)
				altered.Data = []byte("altered")
				must(t, admin.Create(t.Context(), altered))
				want[1] = "does not contain"
			}
			planetest.Eventually(t, "the loss to be reported", func() (bool, error) {
				text := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionProgressing)
				return containsAll(text, want...), errors.New(text)
			})
			eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonContentUnavailable)
			planetest.Stays(t, 2*time.Second, "what runs stays without the slice", func() (bool, error) { return exists(t, configMapType(), ns, "large"), nil })
			next := nextTry(t, good.Name, lost)
			if alter {
				must(t, admin.Delete(t.Context(), &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: good.Name}}))
			}
			must(t, admin.Create(t.Context(), fresh(good)))
			planetest.Eventually(t, "the restored slice to mend it", func() (bool, error) {
				status := getPackage(t, pkg.Name).Status
				return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady), errors.New(message(status.Conditions, v1alpha1.ConditionProgressing))
			})
			if now := time.Now(); !now.Before(next) {
				t.Errorf("it was mended at %s, as if the manager had not noticed it before the try of %s", now.Format(time.TimeOnly), next.Format(time.TimeOnly))
			}
			planetest.Eventually(t, "the restored slice to be the package's again", func() (bool, error) {
				return slices.Equal(slicesOf(t, pkg), []string{good.Name}), nil
			})
		})
	}
}

// nextTry waits until the manager has left a slice that is lost since a time alone for long,
// and says before when it does not try again by itself: each wait is twice as long as the
// last one, up to a minute.
func nextTry(t *testing.T, slice string, since time.Time) time.Time {
	t.Helper()
	var next time.Time
	planetest.Eventually(t, "the manager to try seldom", func() (bool, error) {
		var tries []time.Duration
		for _, e := range requests(t, since) {
			if e.Name == slice && e.Verb == "get" {
				tries = append(tries, e.Time.Sub(since))
			}
		}
		if len(tries) < 2 {
			return false, fmt.Errorf("it has tried after %s", tries)
		}
		last := tries[len(tries)-1]
		wait := last - tries[len(tries)-2]
		next = since.Add(last + min(2*wait, time.Minute) - time.Second)
		return wait > 6*time.Second && time.Until(next) > 10*time.Second, fmt.Errorf("it has tried after %s", tries)
	})
	return next
}

// fresh is a slice as a backup holds it.
func fresh(slice *v1alpha1.ObjectSlice) *v1alpha1.ObjectSlice {
	return &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: slice.Name}, Data: slice.Data, Objects: slice.Objects, Bytes: slice.Bytes}
}

// TestCollection: what only pruned revisions referred to, and what a writer has left
// behind, goes; what another package shares stays with it.
func TestCollection(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	none := int32(0)
	pkg, other := emptyPackage(t, v1alpha1.PackageSpec{RevisionHistoryLimit: &none}), emptyPackage(t, v1alpha1.PackageSpec{})
	large := func(name string, seed int) fields { return configMapFields(ns, name, noise(t, seed, 20<<10)+ns) }
	publish(t, pkg, rendered(large("kept", 1), large("shared", 2), large("changed", 3)))
	eventuallyCurrent(t, pkg.Name, 1)
	before := slicesOf(t, pkg)
	shared := publish(t, other, rendered(large("shared", 2))).Spec.Phases[0].Objects[0].Slice.Name

	publish(t, pkg, rendered(large("kept", 1), large("changed", 4)))
	eventuallyCurrent(t, pkg.Name, 2)
	packed, err := contents().Pack(t.Context(), []content.Phase{rendered(large("left", 5))}, nil)
	must(t, err)
	must(t, contents().Keep(t.Context(), pkg, packed, nil))
	planetest.Eventually(t, "revision 1 to be pruned", func() (bool, error) {
		return !exists(t, &v1alpha1.Revision{}, "", v1alpha1.RevisionName(pkg.Name, 1)), nil
	})
	var all []string
	planetest.Stays(t, 2*time.Second, "within an hour after they were kept nothing is collected", func() (bool, error) {
		all = slicesOf(t, pkg)
		return len(all) == 5, fmt.Errorf("%d slices, want 5", len(all))
	})
	for _, name := range all {
		age(t, name)
	}
	var left []string
	planetest.Eventually(t, "what no revision refers to to be collected", func() (bool, error) {
		left = slicesOf(t, pkg)
		return len(left) == 2, fmt.Errorf("%d slices are left", len(left))
	})
	used := getRevision(t, pkg.Name, 2)
	for _, reference := range content.References(used.Spec.Phases) {
		if !slices.Contains(left, reference.Name) {
			t.Errorf("%s was collected, and revision 2 refers to it", reference)
		}
	}
	if got := slicesOf(t, other); !slices.Equal(got, []string{shared}) {
		t.Errorf("the other package has %v, want what both shared", got)
	}
	for _, name := range before {
		if name != shared && !slices.Contains(left, name) && exists(t, &v1alpha1.ObjectSlice{}, "", name) {
			t.Errorf("ObjectSlice %s has no owner and stays", name)
		}
	}
	since := time.Now()
	planetest.Eventually(t, "three seconds without a request", func() (bool, error) {
		var err error
		for _, e := range requests(t, since) {
			if e.Resource == "objectslices" && slices.Contains(all, e.Name) || strings.HasPrefix(e.Name, pkg.Name) {
				since, err = time.Now(), fmt.Errorf("at rest: %s %s %s", e.Verb, e.Resource, e.Name)
			}
		}
		return time.Since(since) > 3*time.Second, err
	})
}

// age lets a slice be one that was kept long ago.
func age(t *testing.T, name string) {
	t.Helper()
	slice := &metav1.PartialObjectMetadata{}
	slice.SetGroupVersionKind(content.Kinds()[0].GroupVersionKind())
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: name}, slice))
	before := slice.DeepCopy()
	slice.Annotations = map[string]string{v1alpha1.AnnotationKeptAt: time.Now().Add(-2 * content.Grace).UTC().Format(time.RFC3339)}
	must(t, admin.Patch(t.Context(), slice, client.MergeFrom(before)))
}

// TestSecretManifests: manifests of kind Secret are rolled out, stand in Secrets of
// the manager's namespace only, and go with their package.
func TestSecretManifests(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	canary := "canary-" + ns
	secret := func(value string) fields {
		return fields{
			"apiVersion": "v1", "kind": "Secret", "metadata": fields{"namespace": ns, "name": "login"},
			"stringData": fields{"password": value},
		}
	}
	pkg := emptyPackage(t, v1alpha1.PackageSpec{})
	publish(t, pkg, rendered(configMapFields(ns, "beside", "1"), secret(canary)))
	eventuallyCurrent(t, pkg.Name, 1)
	login := func() string {
		current := &corev1.Secret{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "login"}, current))
		return string(current.Data["password"])
	}
	if got := login(); got != canary {
		t.Errorf("the Secret has %q", got)
	}
	publish(t, pkg, rendered(configMapFields(ns, "beside", "2"), secret(canary)))
	eventuallyCurrent(t, pkg.Name, 2)
	if got := secretsOf(t, pkg); len(got) != 1 {
		t.Errorf("equal Secrets are kept once, there are %d", len(got))
	}
	publish(t, pkg, rendered(configMapFields(ns, "beside", "2"), secret("changed")))
	eventuallyCurrent(t, pkg.Name, 3)
	requestRollback(t, pkg.Name, v1alpha1.Rollback{ToRevision: 2, RequestedAt: metav1.Now()})
	eventuallyCurrent(t, pkg.Name, 4)
	if got := login(); got != canary {
		t.Errorf("after the rollback the Secret has %q", got)
	}
	for _, list := range []client.ObjectList{&v1alpha1.PackageList{}, &v1alpha1.RevisionList{}, &v1alpha1.ObjectSliceList{}, &corev1.EventList{}} {
		must(t, admin.List(t.Context(), list))
		data, err := json.Marshal(list)
		must(t, err)
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
			if strings.Contains(string(data), form) {
				t.Errorf("the value stands in %T", list)
			}
		}
	}
	must(t, admin.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the Secrets to go with their package", func() (bool, error) {
		left := secretsOf(t, pkg)
		return len(left) == 0 && !exists(t, &corev1.Secret{}, ns, "login"), fmt.Errorf("%d are left", len(left))
	})
}

// TestForeignSecret: a revision cannot make the manager hand out what another owner
// keeps in its namespace.
func TestForeignSecret(t *testing.T) {
	t.Parallel()
	name := "sha256-" + strings.Repeat("5", 64)
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "strata-system", Name: name},
		Data:       map[string][]byte{content.SecretKey: []byte("hunter2")},
	}
	must(t, admin.Create(t.Context(), theirs))
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", v1alpha1.Object{Secret: &v1alpha1.SecretReference{Name: name}}))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonContentUnavailable)
	text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing)
	if !containsAll(text, "strata-system/"+name, v1alpha1.SecretTypeManifests) || strings.Contains(text, "hunter2") {
		t.Errorf("the message is %s", text)
	}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	if len(theirs.OwnerReferences) != 0 {
		t.Errorf("another owner's Secret is owned by %v now", theirs.OwnerReferences)
	}
}
