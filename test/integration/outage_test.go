// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// connection is the way to the API server, which can be cut.
type connection struct {
	address, server string

	lock     sync.Mutex
	listener net.Listener
	open     []net.Conn
}

// cut ends all connections, and lets none come about.
func (l *connection) cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	_ = l.listener.Close()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// mend lets connections come about.
func (l *connection) mend(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", l.address)
	must(t, err)
	l.lock.Lock()
	l.listener, l.address = listener, listener.Addr().String()
	l.lock.Unlock()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.server)
			if err != nil {
				_ = client.Close()
				continue
			}
			l.lock.Lock()
			l.open = append(l.open, client, server)
			l.lock.Unlock()
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
}

// kubeconfig is one of an administrator by way of the connection.
func (l *connection) kubeconfig(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, plane.WriteKubeconfig(path, name, "system:masters"))
	config, err := clientcmd.LoadFromFile(path)
	must(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + l.address
	}
	must(t, clientcmd.WriteToFile(*config, path))
	return path
}

// outageTime is how long the API server is away: by then client-go sleeps for up to half a
// minute between its tries.
const outageTime = 35 * time.Second

// TestOutage: a rollout that waits for objects when the API server goes away goes on as soon
// as the manager has it back, and not when the next try of what has failed is due.
func TestOutage(t *testing.T) {
	must(t, cluster.StopManager())
	t.Cleanup(func() { must(t, startManager()) })
	server, err := url.Parse(plane.Config().Host)
	must(t, err)
	way := &connection{address: "127.0.0.1:0", server: server.Host}
	way.mend(t)
	t.Cleanup(way.cut)
	startWith(t, "manager-outage", way.kubeconfig(t, "manager-outage"), asSingle+"=yes")
	ns := planetest.Namespace(t, plane)
	// One after the other the informers sleep for longer, each for a time of its own: with
	// several kinds, one of them is asleep for long.
	waits := manifests(t, ns, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: waits, namespace: NS}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: waits, namespace: NS}, spec: {limits: []}}
---
{apiVersion: v1, kind: PodTemplate, metadata: {name: waits, namespace: NS}, template: {spec: {containers: [{name: main, image: none}]}}}
---
{apiVersion: v1, kind: Service, metadata: {name: waits, namespace: NS}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: waits, namespace: NS}}
`)
	kinds := []string{"ConfigMap", "LimitRange", "PodTemplate", "Service", "ServiceAccount"}
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	must(t, admin.Create(t.Context(), pkg))
	t.Cleanup(func() { must(t, client.IgnoreNotFound(admin.Delete(context.Background(), pkg))) })
	revision := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName(ns, 1)}, Spec: v1alpha1.RevisionSpec{Package: ns, Revision: 1, Phases: []v1alpha1.Phase{phase("one", waits...)}}}
	for _, kind := range kinds {
		probe := valueProbe("good")
		probe.Name, probe.Selector.Kind = strings.ToLower(kind), kind
		revision.Spec.Probes = append(revision.Spec.Probes, probe)
	}
	must(t, admin.Create(t.Context(), revision))
	planetest.Eventually(t, "the rollout to begin", func() (bool, error) {
		return len(getRevision(t, ns, 1).Status.Objects) == len(kinds), nil
	})
	way.cut()
	for _, kind := range kinds {
		waiting := &unstructured.Unstructured{}
		waiting.SetAPIVersion("v1")
		waiting.SetKind(kind)
		waiting.SetNamespace(ns)
		waiting.SetName("waits")
		patchAs(t, waiting, "kubectl", fields{"metadata": fields{"annotations": fields{"example.com/state": "good"}}})
	}
	planetest.Stays(t, outageTime, "the rollout waits for the API server", func() (bool, error) {
		return !meta.IsStatusConditionTrue(getRevision(t, ns, 1).Status.Conditions, v1alpha1.ConditionSucceeded), nil
	})
	way.mend(t)
	since := time.Now()
	eventuallyRevision(t, ns, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	took := time.Since(since)
	t.Logf("the rollout was over %s after the API server was back", took)
	if took > 6*time.Second {
		t.Errorf("the rollout was over %s after the API server was back, want seconds", took)
	}
}

// shutdownGrace is how long the pod of the manager has to end, see config/manager.
const shutdownGrace = 15 * time.Second

// TestStoppedBeforeSync: a manager that may not list what it works on, so that its caches never
// sync, ends when the test ends it.
func TestStoppedBeforeSync(t *testing.T) {
	t.Parallel()
	const name = "manager-denied"
	meta := metav1.ObjectMeta{Name: name}
	must(t, admin.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "list", "watch"}},
	}}))
	must(t, admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, plane.WriteKubeconfig(kubeconfig, name))
	since := time.Now()
	manager := startWith(t, name, kubeconfig)
	planetest.Eventually(t, "the manager to list revisions in vain", func() (bool, error) {
		for _, e := range setup.Audit(t, plane) {
			if e.User == name && e.Resource == "revisions" && e.Code == 403 && e.Time.After(since) {
				return true, nil
			}
		}
		return false, nil
	})
	stopped := time.Now()
	manager.signal(t, syscall.SIGTERM)
	select {
	case <-manager.ended:
		t.Logf("the manager has ended after %s", time.Since(stopped))
	case <-time.After(shutdownGrace):
		t.Error("the manager goes on beyond its grace")
		manager.signal(t, syscall.SIGKILL)
	}
}
