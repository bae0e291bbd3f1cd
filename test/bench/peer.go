// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// measurePeer lets Helm install and upgrade the same objects on the same API
// server. Helm does not wait for them.
func (b *bench) measurePeer(ctx context.Context) error {
	const namespace = "helm"
	if err := b.newNamespace(ctx, namespace); err != nil {
		return err
	}
	kubeconfig := filepath.Join(b.work, "helm.kubeconfig")
	if err := b.WriteKubeconfig(kubeconfig, helmUser, "system:masters"); err != nil {
		return err
	}
	for _, s := range []struct {
		name, verb string
		objects    []manifest
	}{
		{"Helm install", "install", fixture(namespace)},
		{"Helm upgrade", "upgrade", upgraded(fixture(namespace))},
	} {
		b.say("%s", s.name)
		chart := filepath.Join(b.work, s.verb)
		if err := writeChart(chart, s.objects); err != nil {
			return err
		}
		since := time.Now()
		if err := b.runHelm(ctx, kubeconfig, s.verb, line, chart, "--namespace", namespace); err != nil {
			return err
		}
		// The audit log may be behind by a moment.
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if err := b.record(step{name: s.name, figures: map[string]func(counts) int{
			"object writes": writes, "object deletes": deletes, "object requests": objectRequests, "requests": all,
		}}, since, helmUser); err != nil {
			return err
		}
	}
	return nil
}

// objectRequests are all about managed objects.
func objectRequests(c counts) int { return c.Writes + c.Deletes + c.Reads + c.Watches }

func (b *bench) runHelm(ctx context.Context, kubeconfig string, args ...string) error {
	command := exec.CommandContext(ctx, b.helm, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+b.work,
		"HELM_CACHE_HOME="+b.work, "HELM_CONFIG_HOME="+b.work, "HELM_DATA_HOME="+b.work)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("running helm %s: %w: %s", args[0], err, output)
	}
	return nil
}

// writeChart writes a chart whose templates are the objects as they are.
func writeChart(folder string, objects []manifest) error {
	templates := filepath.Join(folder, "templates")
	if err := os.MkdirAll(templates, 0o700); err != nil {
		return fmt.Errorf("writing a chart: %w", err)
	}
	files := map[string]any{filepath.Join(folder, "Chart.yaml"): fields{"apiVersion": "v2", "name": line, "version": "1.0.0"}}
	for _, object := range objects {
		files[filepath.Join(templates, object.name+".yaml")] = object.content
	}
	for name, content := range files {
		text, err := yaml.Marshal(content)
		if err != nil {
			return fmt.Errorf("writing a chart: %w", err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return fmt.Errorf("writing a chart: %w", err)
		}
	}
	return nil
}
