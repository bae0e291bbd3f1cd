// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// asManager is the variable that has this binary run a manager in place of tests, with the
// kubeconfig that it names, and asSingle the one that has it do so without an election.
const asManager, asSingle = "STRATA_TEST_MANAGER", "STRATA_TEST_SINGLE"

// runManager runs a manager until its standard input ends, so that none outlives the tests.
func runManager(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctrl.SetupSignalHandler())
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "the tests have ended:", err)
		end()
	}()
	options := managerOptions()
	options.LeaderElect = os.Getenv(asSingle) == ""
	return controller.Run(ctx, config, options)
}

// process is a manager in a process of its own, as a user of its own.
type process struct {
	*exec.Cmd

	name  string
	ended chan struct{}
}

func startProcess(t *testing.T, name string) *process {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, plane.WriteKubeconfig(kubeconfig, name, "system:masters"))
	return startWith(t, name, kubeconfig)
}

// startWith starts a manager with a kubeconfig, and with variables in its environment.
func startWith(t *testing.T, name, kubeconfig string, variables ...string) *process {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	binary, err := os.Executable()
	must(t, err)
	p := &process{Cmd: exec.CommandContext(context.Background(), binary), name: name, ended: make(chan struct{})}
	p.Env = append(append(os.Environ(), asManager+"="+kubeconfig), variables...)
	p.Stdout, p.Stderr = log, log
	stdin, err := p.StdinPipe()
	must(t, err)
	must(t, p.Start())
	go func() {
		defer close(p.ended)
		if err := p.Wait(); err != nil {
			fmt.Fprintln(log, "ended:", err)
		}
	}()
	t.Cleanup(func() {
		p.signal(t, syscall.SIGCONT)
		err := errors.Join(stdin.Close(), log.Close())
		<-p.ended
		if t.Failed() {
			text, readErr := os.ReadFile(log.Name())
			t.Logf("manager %s (%v):\n%.8000s", name, errors.Join(err, readErr), text)
		}
	})
	return p
}

func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("sending %s to manager %s: %v", signal, p.name, err)
	}
}

// leads waits until the lease has been taken by another holder than the one given, and
// returns the new one.
func leads(t *testing.T, before string) (holder string) {
	t.Helper()
	planetest.Eventually(t, "a manager to lead", func() (bool, error) {
		lease := &coordinationv1.Lease{}
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: "strata-system", Name: "strata-manager"}, lease); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		return holder != "" && holder != before, fmt.Errorf("the lease names %q", holder)
	})
	return holder
}

// accepted are the writes of a user that the API server has taken since a time, but for
// events.
func accepted(t *testing.T, user string, since time.Time) []string {
	t.Helper()
	all := setup.Audit(t, plane)
	var found []string
	for _, e := range all {
		isWrite := slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) && e.Group != "authorization.k8s.io" && e.Resource != "events"
		if e.User == user && isWrite && e.Stage == "ResponseComplete" && e.Code < 300 && e.Time.After(since) {
			found = append(found, fmt.Sprintf("%s %s %s/%s (%d)", e.Verb, e.Resource, e.Namespace, e.Name, e.Code))
		}
	}
	return found
}

// TestFrozenLeader: a leader that is frozen among its writes and goes on after its
// successor has rolled out a newer revision writes nothing any more, and ends.
func TestFrozenLeader(t *testing.T) {
	must(t, cluster.StopManager())
	t.Cleanup(func() { must(t, startManager()) })
	ns := planetest.Namespace(t, plane)
	old := startProcess(t, "manager-old")
	first := leads(t, "")
	successor := startProcess(t, "manager-new")

	var before, after []v1alpha1.Object
	for i := range 300 {
		before = append(before, configMapManifest(t, ns, fmt.Sprintf("object-%d", i), "1"))
		if i%3 > 0 {
			after = append(after, configMapManifest(t, ns, fmt.Sprintf("object-%d", i), "2"))
		}
	}
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", before...), phase("two", deploymentManifest(t, ns, "web", "example.org/web:1")))
	planetest.Eventually(t, "the rollout to begin", func() (bool, error) { return exists(t, configMapType(), ns, "object-0"), nil })
	old.signal(t, syscall.SIGSTOP)
	newRevision(t, pkg, 2, phase("one", after...), phase("two", deploymentManifest(t, ns, "web", "example.org/web:2")))
	leads(t, first)
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	goesOn := time.Now()
	old.signal(t, syscall.SIGCONT)
	select {
	case <-old.ended:
	case <-time.After(20 * time.Second):
		t.Error("the manager that was replaced goes on")
	}
	if took := time.Since(goesOn); took > 5*time.Second {
		t.Errorf("the manager that was replaced has ended after %s, want it to end at once", took)
	}
	if found := accepted(t, old.name, goesOn); len(found) > 0 {
		t.Errorf("%d writes of the manager that was replaced were taken, want none: %.2000v", len(found), found)
	}
	if len(accepted(t, successor.name, goesOn.Add(-time.Minute))) == 0 {
		t.Error("the audit log does not show the successor's writes, so it shows nothing")
	}
	wantSecond(t, ns, len(after))
}

// wantSecond wants the objects of the second revision, and no other.
func wantSecond(t *testing.T, ns string, want int) {
	t.Helper()
	if got := deployment(t, ns, "web").Spec.Template.Spec.Containers[0].Image; got != "example.org/web:2" {
		t.Errorf("the Deployment runs %s, want that of revision 2", got)
	}
	left := &corev1.ConfigMapList{}
	must(t, admin.List(t.Context(), left, client.InNamespace(ns), client.HasLabels{v1alpha1.LabelPackage}))
	for i := range left.Items {
		if left.Items[i].Data["value"] != "2" {
			t.Errorf("ConfigMap %s is that of revision 1", left.Items[i].Name)
		}
	}
	if len(left.Items) != want {
		t.Errorf("there are %d ConfigMaps, want the %d of revision 2", len(left.Items), want)
	}
}
