// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Binaries are the programs of the local Kubernetes: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kubectl and kwok.
type Binaries struct {
	// Dir is the folder that contains them. It has the layout that
	// KUBEBUILDER_ASSETS expects, so envtest can use it as well.
	Dir string
}

// Path returns the path of a program, for example Path("kubectl").
func (b Binaries) Path(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.Dir, name)
}

// check returns an error that names the first program that is not there.
func (b Binaries) check() error {
	if b.Dir == "" {
		return fmt.Errorf("binaries: no folder is given; call Build first")
	}
	for _, p := range programs {
		if _, err := os.Stat(b.Path(p.name)); err != nil {
			return fmt.Errorf("binaries: looking for %s: %w", p.name, err)
		}
	}
	return nil
}

// program is one program and the package of the Go module that it is built from.
type program struct {
	name       string
	importPath string
}

// programs lists everything that is built, in the order in which it is built.
// Each one is a tool of the module in tools/kubernetes.
var programs = []program{
	{name: "etcd", importPath: "go.etcd.io/etcd/server/v3"},
	{name: "kube-apiserver", importPath: "k8s.io/kubernetes/cmd/kube-apiserver"},
	{name: "kube-controller-manager", importPath: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{name: "kube-scheduler", importPath: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{name: "kubectl", importPath: "k8s.io/kubernetes/cmd/kubectl"},
	{name: "kwok", importPath: "sigs.k8s.io/kwok/cmd/kwok"},
}
