// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/version"
)

// Version is the document of `strata version`.
type Version struct {
	metav1.TypeMeta `json:",inline"`

	// Client is this build.
	Client version.Info `json:"client"`
	// Server is the cluster, unset when none answers.
	Server *ServerVersion `json:"server,omitempty"`
}

// ServerVersion is what a cluster runs.
type ServerVersion struct {
	// Host is the API server's address.
	Host string `json:"host"`
	// Kubernetes is its version.
	Kubernetes string `json:"kubernetes"`
	// API is the version of Strata's API that it serves, such as
	// strata.run/v1alpha1; empty when it serves none.
	API string `json:"api,omitempty"`
}

// serverTimeout bounds how long the cluster is asked: the client's version is
// worth knowing without it.
const serverTimeout = 2 * time.Second

func (a *app) versionCommand() *cobra.Command {
	var o outputFlag
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this command and, if one answers, of the cluster",
		Args:  cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			v := Version{TypeMeta: documentType("Version"), Client: version.Get()}
			if !clientOnly {
				v.Server = a.serverVersion(ctx)
			}
			return a.printVersion(o, v)
		}),
	}
	addOutput(cmd, &o, outputJSON, outputYAML)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the cluster")
	return cmd
}

func (a *app) printVersion(o outputFlag, v Version) error {
	p := a.stdout(o.value)
	if o.isDocument() {
		return printDocument(p, o.value, v)
	}
	p.Line(output.Span{Text: "Client: " + v.Client.String()})
	if s := v.Server; s != nil {
		api := s.API
		if api == "" {
			api = "Strata is not installed"
		}
		p.Line(output.Span{Text: "Server: Kubernetes " + s.Kubernetes + " at " + s.Host + ", " + api})
	}
	return p.Err()
}

// serverVersion is what the cluster runs, nil when it does not answer.
func (a *app) serverVersion(ctx context.Context) *ServerVersion {
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
	server := &ServerVersion{Host: cfg.Host, Kubernetes: kubernetes.GitVersion}
	var group metav1.APIGroup
	raw, err = d.RESTClient().Get().AbsPath("/apis/" + v1alpha1.GroupVersion.Group).Do(ctx).Raw()
	if err == nil && json.Unmarshal(raw, &group) == nil {
		server.API = group.PreferredVersion.GroupVersion
	}
	return server
}
