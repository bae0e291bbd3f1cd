// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
)

// noGatewayAPI is the value of --gateway-api-crds that leaves them out.
const noGatewayAPI = "none"

type upOptions struct {
	output     outputFormat
	dir        string
	port       int
	gatewayAPI string
	foreground bool
	manager    controller.Options
}

func (a *app) upCommand() *cobra.Command {
	o := upOptions{manager: controller.DefaultOptions()}
	// No other manager runs in this cluster, and another process may use a local port.
	o.manager.LeaderElect = false
	o.manager.MetricsAddress, o.manager.HealthAddress = "0", "0"
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a real Kubernetes on this machine, with Strata's manager",
		Long: `Start a real Kubernetes on this machine, without containers, with Strata's CRDs
and the Gateway API's, and Strata's manager beside it. The API server, storage
and controllers are real; the node is simulated: pods become ready, and nothing
runs in them. A tag with "does-not-exist" in it makes a pod fail to pull.

Kubernetes is built from source the first time, which takes some minutes and
needs Go. The cluster goes on running until "strata down". When it is up
already, this says so.

Its folder is --dir, else $STRATA_DIR, else strata/local in $XDG_STATE_HOME or
~/.local/state.`,
		Example: `  strata up
  export KUBECONFIG=~/.local/state/strata/local/kubeconfig
  strata get`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.running = true
			return a.up(cmd.Context(), o, cmd.LocalNonPersistentFlags())
		},
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML)
	cmd.Flags().StringVar(&o.dir, "dir", defaultLocalDir(a.Getenv), "folder of the cluster")
	cmd.Flags().IntVar(&o.port, "port", 0, "loopback port of the API server, 0 for a free one")
	cmd.Flags().StringVar(&o.gatewayAPI, "gateway-api-crds", "", "folder with the CRDs of the Gateway API, \"none\" to go without; default: those of the module that this program was built with")
	cmd.Flags().BoolVar(&o.foreground, "foreground", false, "stay in the foreground, and stop the cluster when interrupted")
	o.manager.AddFlags(cmd.Flags())
	return cmd
}

func (a *app) up(ctx context.Context, o upOptions, flags *pflag.FlagSet) error {
	o.manager.Getenv = a.Getenv
	if err := o.manager.Validate(); err != nil {
		return &ExitError{Code: CodeUsage, Err: err}
	}
	dir, err := openLocalDir(o.dir)
	if err != nil {
		return err
	}
	if err := dir.create(); err != nil {
		return err
	}
	// The manager's own default is a folder of the system.
	if cache := flags.Lookup("cache-dir"); cache != nil && !cache.Changed {
		if err := flags.Set(cache.Name, dir.cacheDir()); err != nil {
			return fmt.Errorf("setting --%s: %w", cache.Name, err)
		}
	}
	l, err := a.awaitReady(ctx, dir, nil)
	if err == nil {
		a.note("The local cluster is up already.")
		return a.printLocal(o.output, l)
	}
	if !errors.Is(err, errNobody) {
		return err
	}
	if o.gatewayAPI, err = findGatewayAPI(ctx, o.gatewayAPI); err != nil {
		return err
	}
	// The long part comes first, where it is seen and can be interrupted.
	binaries, err := localplane.Build(ctx, localplane.BuildOptions{Progress: a.Err})
	if err != nil {
		return err
	}
	if o.foreground {
		return a.supervise(ctx, dir, o, binaries)
	}
	child, err := startSupervisor(dir, o, flags)
	if err != nil {
		return err
	}
	if l, err = a.awaitReady(ctx, dir, child); err != nil {
		return err
	}
	return a.printLocal(o.output, l)
}

type supervisor struct {
	process *os.Process
	// ended is closed when it has ended.
	ended chan struct{}
}

// startSupervisor starts this program anew, in the foreground of a session of its
// own, with its output in the log.
func startSupervisor(dir localDir, o upOptions, flags *pflag.FlagSet) (*supervisor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	log, err := os.OpenFile(dir.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	args := []string{"up", "--foreground", "--dir=" + string(dir), "--gateway-api-crds=" + o.gatewayAPI}
	// Visit knows of nothing here: the set was put together after parsing.
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		switch f.Name {
		case "dir", "foreground", "gateway-api-crds", "output":
		default:
			value := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",")
			}
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	// It must outlive this command, so no context ends it. Its folder is that of this command, which
	// paths in flags may be relative to.
	cmd := &exec.Cmd{Path: self, Args: append([]string{self}, args...), Stdout: log, Stderr: log}
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	s := &supervisor{process: cmd.Process, ended: make(chan struct{})}
	go func() {
		// How it went stands in the state and in the log.
		_ = cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

var errNobody = errors.New("no local cluster runs")

// awaitReady waits until the cluster in a folder is ready, and shows each step. The
// child, if this command has started the supervisor, is ended with the context.
// Without one, it waits for the process that holds the folder; the error is
// errNobody when no process holds it any more.
func (a *app) awaitReady(ctx context.Context, dir localDir, child *supervisor) (view.Local, error) {
	announced := ""
	ended := make(<-chan struct{})
	if child != nil {
		ended = child.ended
	}
	for {
		pid, err := dir.holder()
		if err != nil {
			return view.Local{}, err
		}
		if child == nil && pid == 0 {
			return view.Local{}, errNobody
		}
		l, err := dir.read()
		if err != nil {
			return l, err
		}
		// What another supervisor has left behind says nothing about this one.
		if l.PID == pid && l.Phase == view.LocalReady {
			return l, nil
		}
		if l.PID == pid && l.Phase != view.LocalFailed && l.Message != announced {
			announced = l.Message
			a.note("%s", announced)
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return l, errors.Join(ctx.Err(), stopChild(child))
		case <-ended:
			return a.afterChild(ctx, dir)
		}
	}
}

// afterChild is what there is to say when the supervisor has ended before it was
// ready: why, or that another one was faster.
func (a *app) afterChild(ctx context.Context, dir localDir) (view.Local, error) {
	holder, err := dir.holder()
	if err != nil {
		return view.Local{}, err
	}
	if holder != 0 {
		return a.awaitReady(ctx, dir, nil)
	}
	l, err := dir.read()
	if err == nil && l.Phase == view.LocalFailed {
		return l, fmt.Errorf("%s\nThe log is %s", l.Message, dir.logFile())
	}
	return l, fmt.Errorf("the supervisor has ended before the cluster was ready; its log, %s, ends with:\n%s", dir.logFile(), dir.logEnd(10))
}

func stopChild(child *supervisor) error {
	if child == nil {
		return nil
	}
	if err := terminate(child.process.Pid); err != nil {
		return err
	}
	<-child.ended
	return nil
}

func (a *app) printLocal(o outputFormat, l view.Local) error {
	return a.print(cmp.Or(o, outputWide), l, func(p *output.Printer) {
		manager := "with Strata's manager"
		if !l.Manager {
			manager = "without a manager"
		}
		p.Line(output.Span{Text: fmt.Sprintf("Kubernetes %s is up at %s, %s.", l.Kubernetes, l.Server, manager)})
		p.Line()
		for _, row := range [][2]string{
			{"export KUBECONFIG=" + shellQuote(l.Kubeconfig), "use it in this shell"},
			{"strata get", "see what runs"},
			{shellQuote(l.Kubectl) + " get packages,revisions", "kubectl of the same version"},
			{"less " + shellQuote(l.Log), "what the manager did"},
			{"strata down --dir " + shellQuote(filepath.Dir(l.Kubeconfig)), "stop it and remove its data"},
		} {
			p.Line(output.Span{Text: "  # " + row[1], Style: output.Faint})
			p.Line(output.Span{Text: "  " + row[0]})
		}
	})
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./~-]+$`)

func shellQuote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
