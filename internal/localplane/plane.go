// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Plane is one running local Kubernetes. Its methods may be called from several
// goroutines.
type Plane struct {
	options    Options
	dataDir    string
	temporary  bool // dataDir is ours and goes at Stop
	lock       *fileLock
	ports      Ports
	clusterCA  *authority
	etcdCA     *authority
	admin      *rest.Config
	launcher   *launcher
	done       chan struct{}
	stopResult func() error

	mu         sync.Mutex
	components []*component // in the order of their start
	stopping   bool
	err        error
	extraKwoks int
}

// Config is the configuration of an administrator (group system:masters)
// without a rate limit on the client's side. It is a copy: change it freely.
func (p *Plane) Config() *rest.Config { return rest.CopyConfig(p.admin) }

// ConfigFor is the configuration of the given user and groups, proven by a
// client certificate. Such a user may do what RBAC allows, at first next to
// nothing, so tests see real refusals.
func (p *Plane) ConfigFor(user string, groups ...string) (*rest.Config, error) {
	if user == "" {
		return nil, errors.New("making a configuration: the user has no name")
	}
	pair, err := p.clusterCA.issue(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + address(p.ports.APIServer),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   p.clusterCA.certPEM,
			CertData: pair.cert,
			KeyData:  pair.key,
		},
	}, nil
}

// DataDir is the folder with everything of this plane. The programs' logs
// are in its folder logs.
func (p *Plane) DataDir() string { return p.dataDir }

// Ports are the ports in use.
func (p *Plane) Ports() Ports { return p.ports }

// Kubeconfig is the path of the administrator's kubeconfig in the data folder.
func (p *Plane) Kubeconfig() string { return filepath.Join(p.dataDir, "kubeconfig") }

// AuditLog is the path of the audit log, which ReadAudit reads.
func (p *Plane) AuditLog() string { return filepath.Join(p.dataDir, "audit.log") }

// WriteKubeconfig writes a kubeconfig for the given user and groups, see
// ConfigFor. A file at path is replaced.
func (p *Plane) WriteKubeconfig(path, user string, groups ...string) error {
	config, err := p.ConfigFor(user, groups...)
	if err != nil {
		return err
	}
	return writeKubeconfig(path, user, config)
}

// kubeconfigName is the name of the cluster and the context in kubeconfigs.
const kubeconfigName = "local"

func writeKubeconfig(path, user string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.CurrentContext = kubeconfigName
	file.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: user}
	file.Clusters[kubeconfigName] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
	}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
	}
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("writing the kubeconfig %s: %w", path, err)
	}
	return nil
}

// Simulate plays further KWOK stages from now on, for kinds that did not exist
// when the plane started, such as those of a CRD, which must be established by
// now: a KWOK that does not find a kind exits, and with it breaks the plane. They
// must not concern pods or nodes, which the default stages play.
func (p *Plane) Simulate(stages []byte) error {
	if _, err := readStages(stages); err != nil {
		return fmt.Errorf("stages: %w", err)
	}
	p.mu.Lock()
	p.extraKwoks++
	name := "kwok-" + strconv.Itoa(p.extraKwoks)
	p.mu.Unlock()
	config := filepath.Join(p.dataDir, name+".yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return fmt.Errorf("writing the stages: %w", err)
	}
	// It must manage some node; one that does not exist keeps it off the others.
	args := append(p.kwokArgs(config), "--manage-single-node=none", "--node-lease-duration-seconds=0")
	return p.startComponent(name, "kwok", args)
}

// Done is closed when the plane no longer works: after Stop, or when one of its
// programs has exited unexpectedly.
func (p *Plane) Done() <-chan struct{} { return p.done }

// Err says which program exited unexpectedly, with the end of its log. It is
// nil while the plane runs and after a plain Stop.
func (p *Plane) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// startComponent starts one of the cluster's own programs and watches it.
func (p *Plane) startComponent(name, program string, args []string) error {
	_, err := p.start(Program{Name: name, Path: p.options.Binaries.Path(program), Args: args})
	return err
}

// start starts a program and watches it.
func (p *Plane) start(program Program) (*component, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, fmt.Errorf("starting %s: the local Kubernetes is being stopped", program.Name)
	}
	c, err := startComponent(p.launcher, p.dataDir, program)
	if err != nil {
		return nil, err
	}
	p.components = append(p.components, c)
	go func() {
		<-c.exited
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.stopping && !c.dismissed.Load() && p.err == nil {
			p.err = c.failure()
			close(p.done)
		}
	}()
	return c, nil
}

// stopGrace is how long a program may take to end by itself. After it the
// program is killed, which loses nothing that a test or a demo needs.
const stopGrace = 8 * time.Second

// Stop ends all programs, in the reverse order of their start, and removes the
// data folder unless it was given in the options. It takes some seconds, half a minute
// when programs have to be killed, and may be called again: later calls wait for the first and return its result.
func (p *Plane) Stop() error { return p.stopResult() }

func (p *Plane) stop() error {
	p.mu.Lock()
	p.stopping = true
	components := slices.Clone(p.components)
	if p.err == nil {
		close(p.done)
	}
	p.mu.Unlock()

	// etcd and kube-apiserver, the first two, are what the others need to end
	// well; those end together.
	border := min(2, len(components))
	core, users := components[:border], components[border:]
	userErrs := make([]error, len(users))
	var group sync.WaitGroup
	for i, c := range users {
		group.Go(func() { userErrs[i] = c.stop(stopGrace) })
	}
	group.Wait()
	errs := []error{errors.Join(userErrs...)}
	for _, c := range slices.Backward(core) {
		errs = append(errs, c.stop(stopGrace))
	}
	p.launcher.close()
	p.lock.release()
	if p.temporary {
		if err := os.RemoveAll(p.dataDir); err != nil {
			errs = append(errs, fmt.Errorf("removing the data folder: %w", err))
		}
	}
	return errors.Join(errs...)
}

// wait polls until ready says true. It ends early when a program exits.
func (p *Plane) wait(ctx context.Context, what string, ready func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := errors.New("none")
	for {
		ok, err := ready(ctx)
		if ok {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-p.done:
			if err := p.Err(); err != nil {
				return fmt.Errorf("waiting for %s: %w", what, err)
			}
			return fmt.Errorf("waiting for %s: the local Kubernetes was stopped", what)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w; %s", what, context.Cause(ctx), last, p.whereLogsAre())
		case <-ticker.C:
		}
	}
}

// whereLogsAre ends the message of a failed start.
func (p *Plane) whereLogsAre() string {
	if p.temporary {
		return "its logs go with its temporary data folder; give a data folder to keep them"
	}
	return "see the logs in " + filepath.Join(p.dataDir, "logs")
}

// pollInterval is how often readiness is asked for.
const pollInterval = 50 * time.Millisecond
