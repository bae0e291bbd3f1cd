// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Options say how a plane runs. Only Binaries must be set.
type Options struct {
	// Binaries are the programs, from Build.
	Binaries Binaries
	// DataDir keeps the plane's data, certificates, logs and kubeconfig. A
	// folder that is given stays at Stop, and a later Start with it brings the
	// same cluster back. Default: a temporary folder, removed at Stop.
	DataDir string
	// Ports are the loopback ports. Default: free ones.
	Ports Ports
	// Stages are further KWOK stages, as YAML documents of the kind Stage in
	// kwok.x-k8s.io/v1alpha1. They are added to the default ones and may
	// simulate any kind that exists when the plane starts; for kinds that are
	// installed later see Plane.Simulate.
	Stages []byte
	// AuditPolicy is the audit policy, as YAML. Default: the metadata of every
	// request, once it is answered.
	AuditPolicy []byte
	// APIServerArgs are appended to the arguments of kube-apiserver.
	APIServerArgs []string
	// Progress gets one line per step of the start. Default: none.
	Progress io.Writer
}

// Validate checks what can be checked before anything runs.
func (o Options) Validate() error {
	if err := o.Binaries.check(); err != nil {
		return err
	}
	if err := o.Ports.validate(); err != nil {
		return err
	}
	if _, err := readStages(o.Stages); err != nil {
		return fmt.Errorf("stages: %w", err)
	}
	var policy map[string]any
	if err := yaml.Unmarshal(o.AuditPolicy, &policy); err != nil {
		return fmt.Errorf("audit policy: %w", err)
	}
	if len(o.AuditPolicy) > 0 && policy["kind"] != "Policy" {
		return errors.New("audit policy: its kind is not Policy (audit.k8s.io/v1)")
	}
	return nil
}

// defaultAuditPolicy records every request once, with what was asked by whom
// and the answer's code, without bodies.
const defaultAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages:
- RequestReceived
rules:
- level: Metadata
`
