// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/strata-run/strata/internal/controller"
)

// Manager is who the manager is in the audit log. It has the rights of config/rbac.
const Manager = "system:serviceaccount:strata-system:strata-manager"

// ManagerGroups are the groups that the manager is in.
var ManagerGroups = []string{"system:serviceaccounts", "system:serviceaccounts:strata-system"}

// ManagerOptions are a manager's default settings, without the ports that it serves on, as
// tests of several folders may run at once, without the finalizer of OpenShift's DNS
// controller, which no test runs, and without leader election: a manager that cannot renew its
// lease in time, as on a busy machine, ends, and the tests with it.
func ManagerOptions() controller.Options {
	options := controller.DefaultOptions()
	options.MetricsAddress, options.HealthAddress, options.LeaderElect = "0", "0", false
	for _, f := range controller.Fronts {
		if f.Name == "gateway" {
			Flags(&options, "--dns-record-finalizer=none")
		}
	}
	return options
}

// Flags sets flags of a manager, such as --istio-version=1.29.
func Flags(options *controller.Options, flags ...string) {
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	options.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		fmt.Fprintln(os.Stderr, "the tests set a flag that the manager does not have:", err)
		os.Exit(1)
	}
}

// Log says where managers of this process and clients log to: to the first writer that it is
// given. It has to be called before the first client is used, as controller-runtime throws
// everything away for good if there is no logger at the first entry that comes 30 seconds or
// more after the start of the process (pkg/log/log.go, eventuallyFulfillRoot), and that
// entry may be a warning of the API server about what is installed for the tests.
func Log(w io.Writer) {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w))))
}

// runManager runs a manager in this process. What it returns ends the manager, and gives the
// error that it ended with.
func runManager(config *rest.Config, options controller.Options) (stop func() error) {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := controller.Run(ctx, config, options)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}
