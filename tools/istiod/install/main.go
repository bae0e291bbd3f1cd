// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Command install installs the mesh of an IstioOperator document with Istio's own installer, as
// Kyma's operator does. Without a kubeconfig it says what the installer would apply.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"istio.io/istio/operator/pkg/install"
	"istio.io/istio/operator/pkg/render"
	"istio.io/istio/operator/pkg/util/clog"
	"istio.io/istio/operator/pkg/util/progress"
	"istio.io/istio/pkg/kube"
)

func main() {
	file := flag.String("f", "", "file with an IstioOperator document")
	kubeconfig := flag.String("kubeconfig", "", "cluster to install into")
	flag.Parse()
	if err := run(*file, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(file, kubeconfig string) error {
	log := clog.NewConsoleLogger(os.Stderr, os.Stderr, nil)
	if kubeconfig == "" {
		manifests, _, err := render.GenerateManifest([]string{file}, nil, false, nil, log)
		if err != nil {
			return fmt.Errorf("rendering %s: %w", file, err)
		}
		for _, set := range manifests {
			for _, m := range set.Manifests {
				fmt.Printf("%s\n---\n", m.Content)
			}
		}
		return nil
	}
	config, err := kube.BuildClientConfig(kubeconfig, "")
	if err != nil {
		return fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	client, err := kube.NewCLIClient(kube.NewClientConfigForRestConfig(config))
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	manifests, values, err := render.GenerateManifest([]string{file}, nil, false, client, log)
	if err != nil {
		return fmt.Errorf("rendering %s: %w", file, err)
	}
	return install.Installer{
		Kube: client, Values: values, WaitTimeout: 150 * time.Second, Logger: log, ProgressLogger: progress.NewLog(),
	}.InstallManifests(manifests)
}
