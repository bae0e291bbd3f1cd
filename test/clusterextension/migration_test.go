// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// The guide has the table between two lines.
const (
	guidePage  = "../../docs/guides/clusterextension.md"
	tableBegin = "<!-- The table of TestMigration; its flag -update writes it. -->\n"
	tableEnd   = "<!-- End of the table. -->\n"
)

// migrated is a row and what is on the cluster.
type migrated struct {
	migration
	installation

	// before are the objects, and pods their pods, before the import.
	before map[string]*unstructured.Unstructured
	pods   map[types.UID]string
}

// TestMigration: all that OLM's controller has installed becomes revision 1. No object that exists is
// made anew, nothing of it is written but who owns it where the row does not say otherwise, and no pod
// ends. With the front switched off, and on again, nothing is written.
func TestMigration(t *testing.T) {
	if len(migrations) < 30 {
		t.Fatalf("there are %d rows", len(migrations))
	}
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: olmNamespace}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	defineObjectSets(t, "ClusterObjectSet")
	defineObjectSets(t, "ClusterExtensionRevision")
	all := make([]*migrated, len(migrations))
	for n, row := range migrations {
		all[n] = prepare(t, row)
	}
	for _, m := range all {
		m.settle(t)
	}
	secrets := releaseSecrets(t)
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces="+olmNamespace, "--cache-dir="+t.TempDir())
	startWith(t, options)
	t.Cleanup(func() { stopCurrent(t) })
	for _, m := range all {
		planetest.Eventually(t, m.name+" is imported", func() (bool, error) { return m.isImported(t) })
	}
	table := &strings.Builder{}
	fmt.Fprintf(table, "| OLM and users have left | what becomes of it | objects | created | pods | ended |\n|---|---|---|---|---|---|\n")
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			created, ended := m.compare(t)
			fmt.Fprintf(table, "| %s | %s | %d | %d | %d | %d |\n", m.left, m.becomes, len(m.before), created, len(m.pods), ended)
		})
	}
	if diff := cmp.Diff(secrets, releaseSecrets(t)); diff != "" {
		t.Errorf("the Secrets of OLM differ (-before +after):\n%s", diff)
	}
	compareTable(t, table.String())
	rests(t, all, options)
	leaves(t, all)
}

func startWith(t *testing.T, options controller.Options) {
	t.Helper()
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
}

func stopCurrent(t *testing.T) {
	t.Helper()
	if err := cluster.StopManager(); err != nil {
		t.Error(err)
	}
}

// prepare installs a row.
func prepare(t *testing.T, row migration) *migrated {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(row.name)}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	m := &migrated{migration: row, before: map[string]*unstructured.Unstructured{}, pods: map[types.UID]string{}}
	m.ce = &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: row.name}}
	m.ce.Spec.Namespace = namespace.Name
	m.ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "demo"}}
	if err := admin.Create(t.Context(), m.ce); err != nil {
		t.Fatal(err)
	}
	m.labels = map[string]string{
		olmv1.AnnotationPackageName: "demo", olmv1.AnnotationBundleName: "demo.v1.0.0", olmv1.AnnotationBundleVersion: "1.0.0",
		olmv1.AnnotationBundleReference: "registry.example/demo@sha256:1",
	}
	m.objects = m.manifests(t, operator+m.more)
	if row.install != nil {
		row.install(t, &m.installation)
		return m
	}
	m.create(t, m.objects)
	versions := row.versions
	if versions == nil {
		versions = []string{"deployed"}
	}
	for n, status := range versions {
		m.release(t, n+1, status, max(row.parts, 1), m.objects)
	}
	return m
}

// namespaceOf is the namespace of a ClusterExtension of this name.
func namespaceOf(name string) string { return strings.ReplaceAll(name, ".", "-") }

// settle waits until the pods run, changes what the row says, and keeps what there is then.
func (m *migrated) settle(t *testing.T) {
	t.Helper()
	planetest.Eventually(t, "the pods of "+m.name+" run", func() (bool, error) { return m.isAvailable(t) })
	if m.then != nil {
		m.then(t, &m.installation)
		planetest.Eventually(t, "the pods of "+m.name+" run", func() (bool, error) { return m.isAvailable(t) })
	}
	for _, object := range m.objects {
		name := object.GetKind() + " " + object.GetName()
		if current := m.live(t, object); current != nil {
			m.before[name] = current
		}
	}
	maps.Copy(m.pods, m.running(t))
}

// live is an object as it is, nil when it does not exist or is going.
func (m *migrated) live(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(object.GroupVersionKind())
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), current)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return current
}

// isAvailable says whether the controllers have seen what pods are made from, and what is to run does.
// What a failed upgrade left does not start.
func (m *migrated) isAvailable(t *testing.T) (bool, error) {
	t.Helper()
	for _, object := range m.objects {
		kind := object.GetKind()
		if kind != "Deployment" && kind != "StatefulSet" && kind != "DaemonSet" {
			continue
		}
		current := m.live(t, object)
		if current == nil {
			continue
		}
		seen, _, _ := unstructured.NestedInt64(current.Object, "status", "observedGeneration")
		desired, _, _ := unstructured.NestedInt64(current.Object, "spec", "replicas")
		count := "availableReplicas"
		if kind == "DaemonSet" {
			desired, _, _ = unstructured.NestedInt64(current.Object, "status", "desiredNumberScheduled")
			count = "numberAvailable"
		}
		available, _, _ := unstructured.NestedInt64(current.Object, "status", count)
		total, _, _ := unstructured.NestedInt64(current.Object, "status", "replicas")
		if seen != current.GetGeneration() || available < max(desired, 1) || total > desired && m.name != "failed-pods" || total == desired && m.name == "failed-pods" && seen > 1 {
			return false, nil
		}
	}
	return true, nil
}

// running are the pods that run and are not going, by their UIDs.
func (m *migrated) running(t *testing.T) map[types.UID]string {
	t.Helper()
	list := &corev1.PodList{}
	if err := admin.List(t.Context(), list, client.InNamespace(m.ce.Spec.Namespace)); err != nil {
		t.Fatal(err)
	}
	found := map[types.UID]string{}
	for n := range list.Items {
		pod := &list.Items[n]
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
		_, once := pod.Labels["batch.kubernetes.io/job-name"]
		if pod.DeletionTimestamp == nil && ready && !once {
			found[pod.UID] = pod.Name
		}
	}
	return found
}

// isImported says whether revision 1 has what the release had.
func (m *migrated) isImported(t *testing.T) (bool, error) {
	t.Helper()
	if _, err := isTouched(t, m.ce); err != nil {
		return false, err
	}
	revisions := &v1alpha1.RevisionList{}
	if err := admin.List(t.Context(), revisions, client.MatchingLabels{olmv1.LabelOwnerName: m.ce.Name}); err != nil || len(revisions.Items) != 1 {
		return false, err
	}
	revision := &revisions.Items[0]
	if !meta.IsStatusConditionTrue(revision.Status.Conditions, v1alpha1.ConditionSucceeded) {
		return false, fmt.Errorf("revision 1 has not succeeded: %v", revision.Status.Conditions)
	}
	return revision.Spec.Revision == 1 && revision.Annotations[olmv1.AnnotationImported] != "" &&
		m.ce.Status.Install != nil && m.ce.Status.Install.Bundle.Version == "1.0.0" && meta.IsStatusConditionTrue(m.ce.Status.Conditions, olmv1.TypeInstalled), nil
}

// compare checks what the import has done, and counts the objects that it has made and the pods that
// have ended.
func (m *migrated) compare(t *testing.T) (created, ended int) {
	t.Helper()
	for _, object := range m.objects {
		name := object.GetKind() + " " + object.GetName()
		before, after := m.before[name], m.live(t, object)
		switch {
		case before == nil && after == nil:
			if object.GetKind() != "Job" {
				t.Errorf("%s was not created", name)
			}
			continue
		case before == nil:
			created++
			if !slices.Contains(m.missing, name) {
				t.Errorf("%s was created", name)
			}
		case after == nil || after.GetUID() != before.GetUID():
			t.Errorf("%s was deleted or made anew", name)
			continue
		case !slices.Contains(m.changed, name):
			if diff := cmp.Diff(content(before), content(after)); diff != "" {
				t.Errorf("%s was written (-before +after):\n%s", name, diff)
			}
		}
		m.checkOwner(t, after)
	}
	if created != len(m.missing) {
		t.Errorf("%d objects were created, want %v", created, m.missing)
	}
	now := m.running(t)
	for uid, name := range m.pods {
		if _, runs := now[uid]; !runs {
			t.Errorf("pod %s has ended", name)
			ended++
		}
	}
	if m.check != nil {
		m.check(t, &m.installation)
	}
	return created, ended
}

// checkOwner: an object is the package's, and OLM's controller owns nothing of it.
func (m *migrated) checkOwner(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	name := object.GetKind() + " " + object.GetName()
	if object.GetLabels()[v1alpha1.LabelPackage] == "" {
		t.Errorf("%s is of no package", name)
	}
	for _, entry := range object.GetManagedFields() {
		if (entry.Manager == "operator-controller" || entry.Manager == "olm.operatorframework.io") && entry.Subresource == "" {
			t.Errorf("%s has fields that are still those of OLM's controller: %s", name, entry.FieldsV1)
		}
	}
	for _, owner := range object.GetOwnerReferences() {
		if strings.HasPrefix(owner.APIVersion, olmv1.GroupVersion.Group) {
			t.Errorf("%s would go with %s %s", name, owner.Kind, owner.Name)
		}
	}
}

// content is an object without status, and without what says who owns it.
func content(object *unstructured.Unstructured) map[string]any {
	o := object.DeepCopy()
	labels := o.GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, "strata.run/") })
	o.SetLabels(labels)
	annotations := o.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, "strata.run/") || strings.HasPrefix(key, "deployment.kubernetes.io/")
	})
	o.SetAnnotations(annotations)
	o.SetManagedFields(nil)
	o.SetOwnerReferences(nil)
	o.SetResourceVersion("")
	delete(o.Object, "status")
	return o.Object
}

// releaseSecrets are the versions of the Secrets of OLM's controller.
func releaseSecrets(t *testing.T) map[string]string {
	t.Helper()
	list := &corev1.SecretList{}
	if err := admin.List(t.Context(), list, client.InNamespace(olmNamespace)); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for n := range list.Items {
		versions[list.Items[n].Name] = list.Items[n].ResourceVersion
	}
	return versions
}

// compareTable compares the table with that of the guide.
func compareTable(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(guidePage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), tableBegin)
	was, tail, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", guidePage)
	}
	if table = "\n" + table + "\n"; *update {
		if err := os.WriteFile(guidePage, []byte(head+tableBegin+table+tableEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(was, table); diff != "" {
		t.Errorf("the table of %s differs; -update writes it (-guide +measured):\n%s", guidePage, diff)
	}
}

// rests: with the front off, and on again, no object is written.
func rests(t *testing.T, all []*migrated, options controller.Options) {
	t.Helper()
	off := setup.ManagerOptions()
	setup.Flags(&off, "--clusterextensions=off")
	for _, with := range []controller.Options{off, options} {
		stopCurrent(t)
		since, pods := time.Now(), map[types.UID]string{}
		for _, m := range all {
			maps.Copy(pods, m.running(t))
		}
		startWith(t, with)
		planetest.Stays(t, 10*time.Second, "nothing is written when the front is switched", func() (bool, error) {
			return len(setup.ObjectWrites(t, cluster.Plane, since)) == 0, nil
		})
		for _, m := range all {
			maps.DeleteFunc(pods, func(uid types.UID, _ string) bool { _, runs := m.running(t)[uid]; return runs })
		}
		if len(pods) > 0 {
			t.Errorf("these pods have ended: %v", pods)
		}
	}
}

// leaves: ClusterExtensions that are deleted go, whatever finalizers OLM has left, with their objects
// and with OLM's revisions.
func leaves(t *testing.T, all []*migrated) {
	t.Helper()
	for _, m := range all {
		if m.name != "finalizers" && m.name != "object-set" {
			continue
		}
		if err := admin.Delete(t.Context(), m.ce); err != nil {
			t.Fatal(err)
		}
		planetest.Eventually(t, m.name+" is gone", func() (bool, error) {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(m.ce), m.ce)
			gone := apierrors.IsNotFound(err)
			for _, object := range m.objects {
				gone = gone && m.live(t, object) == nil
			}
			sets := &unstructured.UnstructuredList{}
			sets.SetGroupVersionKind(olmv1.GroupVersion.WithKind("ClusterObjectSetList"))
			err = client.IgnoreNotFound(err)
			if err == nil {
				err = admin.List(t.Context(), sets, client.MatchingLabels{olmv1.LabelOwnerName: m.name})
			}
			return gone && len(sets.Items) == 0, err
		})
	}
}

// eventually waits until something can be done.
func eventually(t *testing.T, what string, do func() error) {
	t.Helper()
	planetest.Eventually(t, what, func() (bool, error) { return do() == nil, nil })
}
