// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
)

// childVariable makes the test's program act as the command line, which `up`
// starts anew as the supervisor.
const childVariable = "STRATA_CLI_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, Config{
		Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, RunManager: standIn,
	})
	stop()
	os.Exit(int(code))
}

// standIn stands in for the manager: it says who it is in the log, is healthy, and
// ends with the context.
func standIn(ctx context.Context, cfg *rest.Config, o controller.Options) error {
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	who, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the manager is %s\n", who.Status.UserInfo.Username)
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.AddFlags(flags)
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	cache := flags.Lookup("cache-dir").Value.String()
	fmt.Fprintf(os.Stderr, "the manager runs in %s, with its cache in %s\n", folder, cache)
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	if flags.Lookup("istio-version").Value.String() == "1.28" {
		return errors.New("the manager does not like 1.28")
	}
	server := &http.Server{Addr: o.HealthAddress, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// local is a terminal with a folder for a local cluster, which is stopped at the
// end of the test.
func local(t *testing.T) (dir localDir, run func(args ...string) result) {
	t.Helper()
	t.Setenv(childVariable, "1")
	dir = localDir(filepath.Join(t.TempDir(), "local"))
	run = func(args ...string) result {
		t.Helper()
		var out, err buffer
		a := newApp(Config{
			Args: append([]string{"strata"}, args...), In: strings.NewReader(""), Out: &out, Err: &err, Getenv: os.Getenv, RunManager: standIn,
		})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		return result{code: a.execute(ctx), out: out.String(), err: err.String()}
	}
	t.Setenv("STRATA_DIR", string(dir))
	t.Cleanup(func() { run("down") })
	return dir, run
}

func TestUpAndDown(t *testing.T) {
	dir, run := local(t)
	run("down").wants(t, CodeOK, "", "No local cluster runs in ")
	run("up").wants(t, CodeOK, "export KUBECONFIG="+dir.kubeconfig(), "Starting Kubernetes.")
	if t.Failed() {
		t.Fatalf("log:\n%s", dir.logEnd(40))
	}
	var l view.Local
	parse(t, run("up", "-o", "json"), &l)
	if holder, err := dir.holder(); err != nil || l.PID != holder || l.Phase != view.LocalReady || !l.Manager {
		t.Errorf("got %+v, held by %d: %v", l, holder, err)
	}
	run("up").wants(t, CodeOK, "with Strata's manager", "The local cluster is up already.")
	if log := dir.logEnd(100); !strings.Contains(log, "the manager is system:serviceaccount:strata-system:strata-manager") {
		t.Errorf("the manager must not be an administrator; log:\n%s", log)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("the manager runs in %s, with its cache in %s", folder, dir.cacheDir()); !strings.Contains(dir.logEnd(100), want) {
		t.Errorf("relative paths are those of the user, and the cache goes with the cluster: the log has no %q", want)
	}
	t.Setenv("KUBECONFIG", dir.kubeconfig())
	run("get").wants(t, CodeOK, "", "No packages found.")
	run("version").wants(t, CodeOK, "Server: Kubernetes "+l.Kubernetes+" at "+l.Server+", strata.run/v1alpha1", "")
	run("apply", "who", "-f", writeManifest(t)).wants(t, CodeOK, "Revision 1 was made", "")
	awaitRefusal(t, func() result { return run("pause", "who", "--reason", "x", "--by", "the-ceo") }, "the request comes from local-admin")
	run("get", "--server", l.Server+"/nowhere").wants(t, CodeNotFound, "", "has no Strata")

	run("down").wants(t, CodeOK, "", "The local cluster is stopped and its data removed.")
	if _, err := os.Stat(string(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	run("get").wants(t, CodeUnreachable, "", "strata up")
}

// writeManifest is a file with one object.
func writeManifest(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: who}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitRefusal repeats a command until the API server refuses it: a policy is in force some
// time after it is there.
func awaitRefusal(t *testing.T, run func() result, words string) {
	t.Helper()
	for over := time.After(2 * time.Minute); ; {
		r := run()
		if r.code != CodeOK && strings.Contains(r.err, words) {
			return
		}
		select {
		case <-time.After(pollInterval):
		case <-over:
			t.Fatalf("got code %d, %s%s, want a refusal: %s", r.code, r.out, r.err, words)
		}
	}
}

// TestNameManager: the policies let through the account that the manager has.
func TestNameManager(t *testing.T) {
	objects, err := shippedObjects("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	policies := 0
	for _, o := range objects {
		if o.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policies++
		text := fmt.Sprint(o.Object["spec"])
		if strings.Contains(text, accountOf(defaultManagerNamespace)) || !strings.Contains(text, accountOf("elsewhere")) {
			t.Errorf("%s does not name the account: %s", o.GetName(), text)
		}
	}
	if policies != 3 {
		t.Errorf("%d policies are installed, want 3", policies)
	}
}

// TestUp_AfterAKill has a supervisor that ended without a chance to clean up: what
// it left behind neither hinders the next one nor makes anybody signal a process
// that is another process's by now.
func TestUp_AfterAKill(t *testing.T) {
	dir, run := local(t)
	if err := dir.create(); err != nil {
		t.Fatal(err)
	}
	if err := dir.write(view.Local{Phase: view.LocalReady, PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	signalled := make(chan os.Signal, 1)
	signal.Notify(signalled, syscall.SIGTERM)
	defer signal.Stop(signalled)
	run("up").wants(t, CodeOK, "export KUBECONFIG=", "Starting Kubernetes.")
	l, err := dir.read()
	if err != nil || l.PID == os.Getpid() {
		t.Fatalf("got process %d, %v", l.PID, err)
	}
	if err := syscall.Kill(l.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		holder, err := dir.holder()
		if err != nil || holder != 0 {
			return false
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.Server, "https://"))
		if err == nil {
			_ = conn.Close()
		}
		// Elsewhere than on Linux, the programs outlive the supervisor.
		return err != nil || runtime.GOOS != "linux"
	}
	for over := time.After(2 * time.Minute); !gone(); {
		select {
		case <-time.After(pollInterval):
		case <-over:
			t.Fatal("the cluster has outlived its supervisor")
		}
	}
	if err := dir.write(view.Local{Phase: view.LocalReady, PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	run("down").wants(t, CodeOK, "", "what one had left behind is removed")
	select {
	case <-signalled:
		t.Error("a process that holds nothing was signalled")
	default:
	}
}

func TestUp_Failures(t *testing.T) {
	t.Run("ManagerEnds", func(t *testing.T) {
		dir, run := local(t)
		run("up", "--istio-version", "1.28").wants(t, CodeFalse, "", "starting the manager: the manager does not like 1.28")
		if holder, err := dir.holder(); holder != 0 || err != nil {
			t.Errorf("process %d still runs the cluster: %v", holder, err)
		}
	})
	t.Run("WrongVersion", func(t *testing.T) {
		_, run := local(t)
		run("up", "--istio-version", "0.1").wants(t, CodeUsage, "", "--istio-version")
	})
	t.Run("WrongCRDs", func(t *testing.T) {
		_, run := local(t)
		run("up", "--gateway-api-crds", t.TempDir()).wants(t, CodeUsage, "", "there are no files like *.yaml")
	})
}

func TestGatewayAPIDir(t *testing.T) {
	dir, err := gatewayAPIDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifestsIn(os.DirFS(dir), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetName() == "gatewayclasses.gateway.networking.k8s.io" {
			return
		}
	}
	t.Errorf("no GatewayClass among the %d objects of %s", len(objects), dir)
}

func TestDefaultLocalDir(t *testing.T) {
	cases := map[string]struct {
		env  map[string]string
		want string
	}{
		"Home":   {env: map[string]string{"HOME": "/home/a"}, want: "/home/a/.local/state/strata/local"},
		"State":  {env: map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "/state"}, want: "/state/strata/local"},
		"Strata": {env: map[string]string{"XDG_STATE_HOME": "/state", "STRATA_DIR": "/mine"}, want: "/mine"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := defaultLocalDir(func(key string) string { return tc.env[key] }); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"/home/a/kubeconfig": "/home/a/kubeconfig", "/a b": "'/a b'", "/it's": `'/it'\''s'`} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q): got %s, want %s", in, got, want)
		}
	}
}
