// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

const (
	// startTimeout bounds a start, which takes about 5 s on an idle machine.
	startTimeout = 3 * time.Minute
	// startAttempts is how often free ports are picked before Start gives up.
	startAttempts = 3
	// tempPrefix begins the name of a temporary data folder.
	tempPrefix = "local-kubernetes-"
)

// Start runs a local Kubernetes and returns when it is ready: the API server
// answers, the node takes pods, and the default namespace has its service
// account. The context bounds the start only; Stop ends the plane.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()
	for attempt := 1; ; attempt++ {
		p, err := newPlane(o)
		if err != nil {
			return nil, fmt.Errorf("starting the local Kubernetes: %w", err)
		}
		err = p.run(ctx)
		if err == nil {
			return p, nil
		}
		lostPort := isAddressInUse(p.Err())
		err = errors.Join(fmt.Errorf("starting the local Kubernetes: %w", err), p.Stop())
		if !lostPort || o.Ports.allFixed() || attempt == startAttempts {
			return nil, err
		}
		fmt.Fprintln(o.Progress, "another process took a port; trying again with others")
	}
}

// isAddressInUse recognises that a program lost its port to another process.
func isAddressInUse(err error) bool {
	return err != nil && strings.Contains(err.Error(), "address already in use")
}

// newPlane prepares everything on disk and picks the ports.
func newPlane(o Options) (_ *Plane, err error) {
	p := &Plane{options: o, done: make(chan struct{})}
	p.stopResult = sync.OnceValue(p.stop)
	if p.dataDir, p.temporary, err = makeDataDir(o.DataDir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && p.temporary {
			err = errors.Join(err, os.RemoveAll(p.dataDir))
		}
	}()
	if p.lock, err = tryLock(filepath.Join(p.dataDir, "lock")); err != nil {
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("data folder %s is in use by another local Kubernetes; stop that one or choose another folder", p.dataDir)
		}
		return nil, err
	}
	if err := p.prepare(); err != nil {
		p.lock.release()
		return nil, err
	}
	p.launcher = newLauncher()
	return p, nil
}

// makeDataDir makes the given folder or a temporary one, readable by the user
// only: it contains keys.
func makeDataDir(given string) (dir string, temporary bool, err error) {
	if given != "" {
		dir, err = filepath.Abs(given)
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
	} else {
		temporary = true
		removeStaleDataDirs()
		dir, err = os.MkdirTemp("", tempPrefix)
	}
	if err != nil {
		return "", temporary, fmt.Errorf("making the data folder: %w", err)
	}
	return dir, temporary, nil
}

// removeStaleDataDirs removes temporary data folders whose plane was killed.
// Each takes 64 MB and more. One that is younger than an hour may belong to a
// plane that has not taken its lock yet.
func removeStaleDataDirs() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		lock, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		lock.release()
	}
}

// prepare fills the data folder and the fields of the plane.
func (p *Plane) prepare() (err error) {
	if p.ports, err = p.options.Ports.pick(); err != nil {
		return err
	}
	for _, dir := range []string{"pki", "logs"} {
		if err := os.MkdirAll(filepath.Join(p.dataDir, dir), 0o700); err != nil {
			return err
		}
	}
	if err := p.preparePKI(); err != nil {
		return err
	}
	if err := p.prepareKubeconfigs(); err != nil {
		return err
	}
	stages, err := joinStages(p.options.Stages)
	if err != nil {
		return err
	}
	policy := p.options.AuditPolicy
	if len(policy) == 0 {
		policy = []byte(defaultAuditPolicy)
	}
	for name, content := range map[string][]byte{"kwok.yaml": stages, "audit-policy.yaml": policy} {
		if err := os.WriteFile(filepath.Join(p.dataDir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// preparePKI makes the certificates. etcd has an authority of its own, so that
// no user of the API server can pass it by.
func (p *Plane) preparePKI() (err error) {
	dir := filepath.Join(p.dataDir, "pki")
	if p.clusterCA, err = openAuthority(dir, "ca"); err != nil {
		return err
	}
	if p.etcdCA, err = openAuthority(dir, "etcd-ca"); err != nil {
		return err
	}
	if _, err := openKey(filepath.Join(dir, "service-accounts.key")); err != nil {
		return err
	}
	apiServer, err := p.clusterCA.issue(pkix.Name{CommonName: "kube-apiserver"}, "127.0.0.1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", firstServiceIP)
	if err != nil {
		return err
	}
	etcd, err := p.etcdCA.issue(pkix.Name{CommonName: "etcd"}, "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	for name, pair := range map[string]keyPair{"kube-apiserver": apiServer, "etcd": etcd} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".crt", pair.cert, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(path+".key", pair.key, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// prepareKubeconfigs gives the administrator and each program an identity.
func (p *Plane) prepareKubeconfigs() (err error) {
	if p.admin, err = p.ConfigFor("local-admin", "system:masters"); err != nil {
		return err
	}
	if err := writeKubeconfig(p.Kubeconfig(), "local-admin", p.admin); err != nil {
		return err
	}
	for file, identity := range map[string][]string{
		"kube-controller-manager": {"system:kube-controller-manager"},
		"kube-scheduler":          {"system:kube-scheduler"},
		// KWOK acts for the kubelet and for whatever the stages simulate.
		"kwok": {"kwok", "system:masters"},
	} {
		if err := p.WriteKubeconfig(p.kubeconfigOf(file), identity[0], identity[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfigOf is the path of a program's own kubeconfig.
func (p *Plane) kubeconfigOf(program string) string {
	return filepath.Join(p.dataDir, program+".kubeconfig")
}

// run starts the programs in order and waits until the cluster is usable.
func (p *Plane) run(ctx context.Context) error {
	started := time.Now()
	fmt.Fprintln(p.options.Progress, "starting etcd and kube-apiserver")
	if err := p.startComponent("etcd", "etcd", p.etcdArgs()); err != nil {
		return err
	}
	if err := p.wait(ctx, "etcd", p.etcdListens); err != nil {
		return err
	}
	if err := p.startComponent("kube-apiserver", "kube-apiserver", p.apiServerArgs()); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	if err := p.wait(ctx, "kube-apiserver", readyz(client)); err != nil {
		return err
	}
	fmt.Fprintln(p.options.Progress, "starting the controllers, the scheduler and the simulated node")
	if err := ensureNode(ctx, client); err != nil {
		return err
	}
	stages, err := readStages(p.options.Stages)
	if err != nil {
		return err
	}
	if err := checkKinds(client.Discovery(), stages); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{name: "kube-controller-manager", args: p.controllerManagerArgs()},
		{name: "kube-scheduler", args: p.schedulerArgs()},
		{name: "kwok", args: append(p.kwokArgs(filepath.Join(p.dataDir, "kwok.yaml")), "--manage-all-nodes=true", "--node-lease-duration-seconds=240")},
	} {
		if err := p.startComponent(c.name, c.name, c.args); err != nil {
			return err
		}
	}
	if err := p.wait(ctx, "the simulated node", nodeReady(client)); err != nil {
		return err
	}
	if err := p.wait(ctx, "the default service account", defaultsExist(client)); err != nil {
		return err
	}
	fmt.Fprintf(p.options.Progress, "ready after %s\n", time.Since(started).Round(100*time.Millisecond))
	return nil
}

// etcdListens says whether etcd takes connections; kube-apiserver would retry
// too, but only once a second.
func (p *Plane) etcdListens(context.Context) (bool, error) {
	conn, err := net.Dial("tcp", address(p.ports.Etcd))
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}
