// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// The manager runs Strata's controllers against the cluster that its kubeconfig,
// or the pod that it runs in, gives.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/version"
)

// gcPercent lets the garbage collector come by four times as often as by default: at rest
// the manager allocates next to nothing, so it costs no time, and memory is what a
// cluster with many packages has to pay for. What is known for long and what is garbage
// lie side by side on the heap, so that room for much garbage is never quite given back.
// GOGC in the environment overrides it.
const gcPercent = 25

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "strata-manager:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	options := controller.DefaultOptions()
	verbosity := 0
	cmd := &cobra.Command{
		Use:   "strata-manager",
		Short: "Run Strata's controllers",
		Example: `  # Against the current context, installing Istio 1.29 where a GatewayClass asks for no other
  KUBECONFIG=kubeconfig strata-manager --istio-version 1.29`,
		Args:          cobra.NoArgs,
		Version:       version.Get().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Getenv = os.Getenv
			if err := options.Validate(); err != nil {
				return err
			}
			logger := newLogger(os.Stderr, verbosity)
			ctrl.SetLogger(logger)
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(gcPercent)
			}
			klog.SetLogger(logger)
			logger.Info("Starting the manager", "version", version.Get().String())
			cluster, err := config.GetConfig()
			if err != nil {
				return fmt.Errorf("finding a cluster: %w: set KUBECONFIG, or run in a pod", err)
			}
			return controller.Run(logr.NewContext(cmd.Context(), logger), cluster, options)
		},
	}
	options.AddFlags(cmd.Flags())
	cmd.Flags().IntVarP(&verbosity, "verbosity", "v", verbosity, "how much to log: 0 is changes of state, 1 is their reasons; 5 is the most, as client-go would log the values of Secrets beyond")
	return cmd
}

// mostVerbose is the highest level that is logged: from 8 on client-go logs bodies of
// requests and answers.
const mostVerbose = 5

func newLogger(w io.Writer, verbosity int) logr.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w), textlogger.Verbosity(min(verbosity, mostVerbose))))
}
