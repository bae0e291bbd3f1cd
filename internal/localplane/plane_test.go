// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// binaries are built by TestMain.
func binaries(t *testing.T) localplane.Binaries {
	t.Helper()
	b, err := localplane.Build(t.Context(), localplane.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func connect(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServerKnowsItsVersion(t *testing.T) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(binaries(t).Dir), version.GitVersion+"-") || version.Major != "1" || version.Minor == "" {
		t.Errorf("the server says %s (%s.%s) and runs from %s", version.GitVersion, version.Major, version.Minor, binaries(t).Dir)
	}
	out, err := exec.Command(binaries(t).Path("kubectl"), "--kubeconfig", plane.Kubeconfig(), "get", "nodes", "-o", "name").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "node/"+localplane.NodeName {
		t.Errorf("kubectl get nodes: %v: %s", err, out)
	}
}

func TestConfigForIsRefusedByRBAC(t *testing.T) {
	config, err := plane.ConfigFor("jane", "developers")
	if err != nil {
		t.Fatal(err)
	}
	jane := connect(t, config)
	_, err = jane.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"jane"`) {
		t.Errorf("listing secrets as jane: %v, want a refusal that names her", err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := plane.WriteKubeconfig(path, "jane", "system:masters"); err != nil {
		t.Fatal(err)
	}
	fromFile, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, fromFile).CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing secrets as jane of the group system:masters: %v", err)
	}
}

func TestAuditLog(t *testing.T) {
	namespace := planetest.Namespace(t, plane)
	config := plane.Config()
	config.UserAgent = "audit-test"
	config.Impersonate = rest.ImpersonationConfig{UserName: "joe"}
	_, err := connect(t, config).CoreV1().ConfigMaps(namespace).Get(t.Context(), "audited", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Fatalf("getting a config map as joe: %v", err)
	}
	var found []localplane.AuditEvent
	planetest.Eventually(t, "the request in the audit log", func() (bool, error) {
		events, err := localplane.ReadAudit(plane.AuditLog())
		found = nil
		for _, e := range events {
			if e.UserAgent == "audit-test" && e.Namespace == namespace {
				found = append(found, e)
			}
		}
		return len(found) > 0, err
	})
	if age := time.Since(found[0].Time); age < 0 || age > time.Hour {
		t.Errorf("the request was made %s ago", age)
	}
	if took := found[0].Answered.Sub(found[0].Time); took < 0 || took > time.Hour {
		t.Errorf("it was answered within %s", took)
	}
	found[0].Time, found[0].Answered = time.Time{}, time.Time{}
	want := []localplane.AuditEvent{{
		Stage: "ResponseComplete", User: "local-admin", Impersonated: "joe", UserAgent: "audit-test",
		Verb: "get", Resource: "configmaps", Namespace: namespace, Name: "audited", Code: 403,
		RequestURI: "/api/v1/namespaces/" + namespace + "/configmaps/audited",
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("events: -want +got\n%s", diff)
	}
}

func TestTwoPlanesSideBySideAndComeBack(t *testing.T) {
	options := localplane.Options{Binaries: binaries(t), DataDir: t.TempDir()}
	second, err := localplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Stop() })
	create := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "only-in-the-second"}}
	if _, err := connect(t, second.Config()).CoreV1().ConfigMaps("default").Create(t.Context(), create, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), create.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the first plane has the object of the second: %v", err)
	}
	if _, err := localplane.Start(t.Context(), options); err == nil || !strings.Contains(err.Error(), options.DataDir+" is in use") {
		t.Errorf("a third plane in the same folder: %v", err)
	}
	options.Ports.APIServer = second.Ports().APIServer
	if err := second.Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if err := second.Stop(); err != nil || second.Err() != nil {
		t.Errorf("stopping again: %v, Err() = %v", err, second.Err())
	}
	select {
	case <-second.Done():
	default:
		t.Error("Done is open after Stop")
	}

	again, err := localplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Stop() })
	c := connect(t, again.Config())
	if _, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), create.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the object is not there after a restart: %v", err)
	}
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: podSpec("app:1.0")}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "a pod to run after a restart", func() (bool, error) {
		pod, err := c.CoreV1().Pods("default").Get(t.Context(), "pod", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
}

// refusal is a change to good options that makes Start fail.
type refusal struct {
	reason string
	change func(*localplane.Options)
	want   string
}

func checkRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	ready := localplane.Options{Binaries: binaries(t)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := ready
			tc.change(&options)
			p, err := localplane.Start(t.Context(), options)
			if err == nil {
				t.Fatalf("%s: Start succeeded (stopped: %v)", tc.reason, p.Stop())
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: Start() = %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestStartRefusesPorts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	checkRefusals(t, map[string]refusal{
		"PortTaken": {
			reason: "a given port is not replaced by another",
			change: func(o *localplane.Options) { o.Ports.APIServer = taken },
			want:   fmt.Sprintf("port %d for kube-apiserver is taken (in use by another process); choose another or leave it 0", taken),
		},
		"PortTwice": {
			reason: "two programs cannot share a port",
			change: func(o *localplane.Options) { o.Ports.APIServer, o.Ports.Etcd = 6443, 6443 },
			want:   "port 6443 is given to both kube-apiserver and etcd",
		},
		"PortOutOfRange": {
			reason: "there is no such port",
			change: func(o *localplane.Options) { o.Ports.EtcdPeer = 70000 },
			want:   "port 70000 for etcd's peers is not between 0 and 65535",
		},
	})
}

func TestStartRefusesPrograms(t *testing.T) {
	checkRefusals(t, map[string]refusal{
		"NoBinaries": {
			reason: "the binaries were not built",
			change: func(o *localplane.Options) { o.Binaries.Dir = "" },
			want:   "call Build first",
		},
		"BinaryMissing": {
			reason: "a folder without a program names it",
			change: func(o *localplane.Options) { o.Binaries.Dir = t.TempDir() },
			want:   "looking for etcd",
		},
		"AuditPolicy": {
			reason: "kube-apiserver would not start",
			change: func(o *localplane.Options) { o.AuditPolicy = []byte("kind: Other") },
			want:   "audit policy: its kind is not Policy",
		},
		"APIServerArgument": {
			reason: "a program that ends is named, with the end of its log",
			change: func(o *localplane.Options) { o.APIServerArgs = []string{"--no-such-flag"} },
			want:   "kube-apiserver exited (exit status 1); the last lines of its log",
		},
	})
}

func TestStartRefusesStages(t *testing.T) {
	checkRefusals(t, map[string]refusal{
		"StageOfWrongKind": {
			reason: "KWOK would ignore it without a word",
			change: func(o *localplane.Options) { o.Stages = []byte("apiVersion: v1\nkind: Secret\n") },
			want:   "stages: document 1 is v1 Secret, not kwok.x-k8s.io/v1alpha1 Stage",
		},
		"StageWithoutSelector": {
			reason: "KWOK would never play it",
			change: func(o *localplane.Options) {
				o.Stages = []byte("# first\n---\napiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\nspec: {resourceRef: {kind: Service}}\n")
			},
			want: "stages: stage s: spec.selector is missing",
		},
		"StageForUnknownKind": {
			reason: "the kind must exist: KWOK would exit, maybe after everything else is ready",
			change: func(o *localplane.Options) {
				o.Stages = []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\nspec: {resourceRef: {apiGroup: none.example/v1, kind: Nothing}, selector: {}, steps: [{delete: true}]}\n")
			},
			want: "stage s: the API server does not serve Nothing of none.example/v1",
		},
	})
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user changed her mind")
	cancel(why)
	dir := t.TempDir()
	if _, err := localplane.Start(ctx, localplane.Options{Binaries: binaries(t), DataDir: dir}); !errors.Is(err, why) {
		t.Errorf("Start() = %v, want %v", err, why)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestDoneNamesTheProgramThatDied(t *testing.T) {
	dir := t.TempDir()
	p, err := localplane.Start(t.Context(), localplane.Options{Binaries: binaries(t), DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	for pid, command := range processesOf(t, dir) {
		if strings.Contains(command, "kube-scheduler") {
			process, err := os.FindProcess(pid)
			if err == nil {
				err = process.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("Done is open a minute after the scheduler was killed")
	}
	if err := p.Err(); err == nil || !strings.HasPrefix(err.Error(), "kube-scheduler exited (signal: killed)") {
		t.Errorf("Err() = %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestChildrenDieWithTheParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux kills children with their parent")
		return
	}
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+dir)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	children := processesOf(t, dir)
	if killErr := parent.Process.Kill(); killErr != nil {
		t.Fatal(killErr)
	}
	_ = parent.Wait()
	if err != nil || line != "ready\n" {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	if len(children) != 5 {
		t.Errorf("the parent had %d children, want 5: %v", len(children), children)
	}
	planetest.Eventually(t, "the death of all children", func() (bool, error) {
		left := processesOf(t, dir)
		return len(left) == 0, fmt.Errorf("still running: %v", left)
	})
}

// processesOf returns the processes that work in the data folder, by id.
func processesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, link := range links {
		// A process that has just ended, or belongs to another user, has none.
		if target, err := os.Readlink(link); err != nil || target != dir {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		found[pid] = strings.SplitN(string(command), "\x00", 2)[0]
	}
	return found
}
