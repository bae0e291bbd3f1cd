// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/version"
)

// serverTimeout bounds how long the cluster is asked: the client's version is
// worth knowing without it.
const serverTimeout = 2 * time.Second

func (a *app) versionCommand() *cobra.Command {
	var o outputFormat
	var clientOnly, remote bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this command, and of the cluster",
		Long: `Show the version of this command and, if one answers, of the cluster and of the
managers that run there. With --remote a cluster has to answer.

Exit codes: 0; with --remote: 6 Strata is not installed there, 7 no cluster
answers.

Rights: none; to see the managers: list deployments.apps in the namespace
strata-system.`,
		Example: `  strata version
  strata version --remote -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			v := view.Version{TypeMeta: view.DocumentType("Version"), Client: version.Get()}
			if clientOnly {
				return a.printVersion(o, v)
			}
			if v.Server = a.serverVersion(ctx); v.Server == nil && remote {
				c, err := a.connect()
				if err != nil {
					return err
				}
				return exitf(CodeUnreachable, "no cluster answers at %s; %s", c.host, remedy)
			} else if v.Server == nil {
				a.note("Note: no cluster answers: its version is not shown.")
			}
			a.addManagers(ctx, v.Server)
			if err := a.printVersion(o, v); err != nil || !remote || v.Server.API != "" {
				return err
			}
			return &ExitError{Code: CodeNotFound}
		}),
	}
	addOutput(cmd, &o, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().BoolVar(&remote, "remote", false, "fail when no cluster answers, or when Strata is not installed there")
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the cluster")
	cmd.MarkFlagsMutuallyExclusive("client", "remote")
	return cmd
}

func (a *app) printVersion(o outputFormat, v view.Version) error {
	return a.print(o, v, func(p *output.Printer) {
		p.Line(output.Span{Text: "Client: " + v.Client.String()})
		if s := v.Server; s != nil {
			p.Line(output.Span{Text: "Server: Kubernetes " + s.Kubernetes + " at " + s.Host + ", " + cmp.Or(s.API, "Strata is not installed")})
			for _, m := range s.Managers {
				p.Line(output.Span{Text: "Manager: " + m.Image + ", " + m.Ready + " ready, Deployment " + m.Namespace + "/" + m.Name})
			}
		}
	})
}

func (a *app) addManagers(ctx context.Context, server *view.ServerVersion) {
	if server == nil || server.API == "" {
		return
	}
	c, err := a.connect()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	list := &appsv1.DeploymentList{}
	if err := c.client.List(ctx, list, client.InNamespace(defaultManagerNamespace)); err != nil {
		a.note("Note: which managers run is not shown: %s", err)
		return
	}
	for i := range list.Items {
		server.Managers = append(server.Managers, managerOf(&list.Items[i]))
	}
	if len(list.Items) == 0 {
		a.note("Note: no manager runs as a Deployment in namespace %s.", defaultManagerNamespace)
	}
}

func managerOf(deployment *appsv1.Deployment) view.ManagerVersion {
	m := view.ManagerVersion{
		Namespace: deployment.Namespace, Name: deployment.Name, Ready: fmt.Sprintf("%d/%d", deployment.Status.ReadyReplicas, ptr.Deref(deployment.Spec.Replicas, 0)),
	}
	if containers := deployment.Spec.Template.Spec.Containers; len(containers) > 0 {
		m.Image = containers[0].Image
	}
	return m
}

// serverVersion is what the cluster runs, nil when it does not answer.
func (a *app) serverVersion(ctx context.Context) *view.ServerVersion {
	cfg, err := a.restConfig()
	if err != nil {
		return nil
	}
	cfg.Timeout = serverTimeout
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	raw, err := d.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil
	}
	var kubernetes apimachineryversion.Info
	if json.Unmarshal(raw, &kubernetes) != nil {
		return nil
	}
	server := &view.ServerVersion{Host: cfg.Host, Kubernetes: kubernetes.GitVersion}
	var group metav1.APIGroup
	raw, err = d.RESTClient().Get().AbsPath("/apis/" + v1alpha1.GroupVersion.Group).Do(ctx).Raw()
	if err == nil && json.Unmarshal(raw, &group) == nil {
		server.API = group.PreferredVersion.GroupVersion
	}
	return server
}
