// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rig runs cert-manager's own controllers, its admission webhook and its
// CA injector in one process, against the API server of a local Kubernetes. There
// is no imitation in it: cert-manager publishes them as libraries, and publishes
// its programs as modules that no proxy has.
//
// It serves on loopback only, registers its webhook by URL, and ends with SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// settings are what the command line says.
type settings struct {
	// kubeconfig is the path of the configuration that everything runs with.
	kubeconfig string
	// namespace is cert-manager's own. Secrets of ClusterIssuers are looked for there.
	namespace string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var s settings
	// A set of our own: libraries have registered flags in the global one.
	flags := flag.NewFlagSet("cert-manager", flag.ContinueOnError)
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "path of the kubeconfig to run with")
	flags.StringVar(&s.namespace, "namespace", "cert-manager", "cert-manager's own namespace, which has to exist")
	klog.InitFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	log := klog.Background().WithName("cert-manager")
	ctrl.SetLogger(log)
	ctx = logr.NewContext(ctx, log)

	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return together(ctx,
		func(ctx context.Context) error { return runControllers(ctx, s) },
		func(ctx context.Context) error { return runInjector(ctx, config, s) },
		func(ctx context.Context) error { return runWebhook(ctx, config, s) },
	)
}

// together runs parts until one of them ends, and does not wait for the others: the
// process is over then. It returns the error of the one that ended.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	return <-ended
}
