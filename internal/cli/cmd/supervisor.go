// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/simulate"
)

const (
	// managerName is the manager's service account.
	managerName = "strata-manager"
	// managerTimeout is how long the manager may take to be ready.
	managerTimeout = time.Minute
)

// session is one run of the supervisor: the process that holds a folder, owns the
// cluster in it and runs the manager.
type session struct {
	app     *app
	dir     localDir
	options upOptions
	state   view.Local
}

func (a *app) supervise(ctx context.Context, dir localDir, o upOptions, binaries localplane.Binaries) error {
	lock, err := dir.hold()
	if errors.Is(err, errHeld) {
		return fmt.Errorf("another local cluster runs in %s", dir)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	// The log is of this run; a process that lost the race for the folder must not truncate it.
	if err := os.Truncate(dir.logFile(), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("beginning the log: %w", err)
	}
	s := &session{app: a, dir: dir, options: o, state: view.Local{
		Phase: view.LocalStarting, PID: os.Getpid(), Log: dir.logFile(),
		Kubeconfig: dir.kubeconfig(), Kubectl: dir.kubectl(), Manager: a.RunManager != nil,
	}}
	if err := dir.link(binaries.Path("kubectl")); err != nil {
		return err
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(a.Err)))
	ctrllog.SetLogger(logger)
	klog.SetLogger(logger)
	err = s.run(logr.NewContext(ctx, logger), binaries)
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())):
		a.note("The local cluster is stopped.")
		return nil
	case err != nil:
		return errors.Join(err, s.enter(view.LocalFailed, err.Error()))
	}
	return nil
}

// enter records a step, for the commands that wait and for the log.
func (s *session) enter(phase view.LocalPhase, message string) error {
	s.state.Phase, s.state.Message = phase, message
	if message != "" && phase != view.LocalFailed {
		s.app.note("%s", message)
	}
	return s.dir.write(s.state)
}

func (s *session) run(ctx context.Context, binaries localplane.Binaries) (err error) {
	if err := s.enter(view.LocalStarting, "Starting Kubernetes."); err != nil {
		return err
	}
	stages, err := simulate.Istiod()
	if err != nil {
		return err
	}
	plane, err := localplane.Start(ctx, localplane.Options{
		Binaries: binaries, DataDir: s.dir.planeDir(), Stages: stages, Progress: s.app.Err,
		Ports: localplane.Ports{APIServer: s.options.port},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := s.prepare(ctx, plane); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	managed, err := s.startManager(ctx, plane)
	if err != nil {
		return err
	}
	now := metav1.Now()
	s.state.ReadyAt = &now
	if err := s.enter(view.LocalReady, ""); err != nil {
		return errors.Join(err, stopManager(cancel, managed))
	}
	select {
	case <-ctx.Done():
	case err = <-managed:
		return fmt.Errorf("the manager has ended: %w", err)
	case <-plane.Done():
		err = fmt.Errorf("running Kubernetes: %w", plane.Err())
	}
	// The manager ends first: it must not see the API server go.
	return errors.Join(err, s.enter(view.LocalStopping, "Stopping."), stopManager(cancel, managed))
}

func (s *session) prepare(ctx context.Context, plane *localplane.Plane) error {
	if err := s.enter(view.LocalStarting, "Installing the CRDs and the manager's rights."); err != nil {
		return err
	}
	gatewayAPI := s.options.gatewayAPI
	if gatewayAPI == noGatewayAPI {
		gatewayAPI = ""
	}
	if err := install(ctx, plane.Config(), s.options.manager.Namespace, gatewayAPI); err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	version, err := d.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking for the cluster's version: %w", err)
	}
	s.state.Kubernetes, s.state.Server = version.GitVersion, plane.Config().Host
	return plane.WriteKubeconfig(s.dir.kubeconfig(), "local-admin", "system:masters")
}

// startManager runs the manager with its own rights and waits until it is ready.
// The channel has its end. Without a manager in this program, nothing ends.
func (s *session) startManager(ctx context.Context, plane *localplane.Plane) (<-chan error, error) {
	ended := make(chan error, 1)
	if s.app.RunManager == nil {
		s.app.note("This program contains no manager; nothing is rolled out.")
		return ended, nil
	}
	if err := s.enter(view.LocalStarting, "Starting the manager."); err != nil {
		return nil, err
	}
	o := s.options.manager
	cfg, err := plane.ConfigFor(accountOf(o.Namespace), "system:serviceaccounts", "system:serviceaccounts:"+o.Namespace, "system:authenticated")
	if err != nil {
		return nil, err
	}
	if o.HealthAddress == "0" {
		if o.HealthAddress, err = freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	go func() { ended <- s.app.RunManager(ctx, cfg, o) }()
	return ended, awaitHealthy(ctx, o.HealthAddress, ended)
}

func stopManager(cancel context.CancelFunc, managed <-chan error) error {
	cancel()
	select {
	case err := <-managed:
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	case <-time.After(managerTimeout):
		return fmt.Errorf("the manager has not ended within %s", managerTimeout)
	}
}

// freeAddress is a loopback address that no process listens on.
func freeAddress(ctx context.Context) (string, error) {
	var listener net.ListenConfig
	l, err := listener.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

func awaitHealthy(ctx context.Context, address string, ended <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, managerTimeout, fmt.Errorf("the manager is not ready after %s", managerTimeout))
	defer cancel()
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	for {
		if isHealthy(ctx, address) {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case err := <-ended:
			return fmt.Errorf("starting the manager: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("starting the manager: %w", context.Cause(ctx))
		}
	}
}

func isHealthy(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
