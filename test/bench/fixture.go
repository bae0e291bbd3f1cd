// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

type fields = map[string]any

// manifest is one object of the fixture, and where it stands.
type manifest struct {
	phase, kind, name string
	content           fields
}

// fixture is 35 objects of six kinds in three phases: what an operand of middle
// size consists of.
func fixture(namespace string) []manifest {
	var all []manifest
	add := func(phase, kind string, number int, content func(name string) fields) {
		for i := range number {
			name := fmt.Sprintf("%s-%d", strings.ToLower(kind), i)
			object := content(name)
			object["kind"] = kind
			object["metadata"] = fields{
				"name": name, "namespace": namespace,
				"labels": fields{"app.kubernetes.io/name": "bench", "app.kubernetes.io/component": name},
			}
			all = append(all, manifest{phase: phase, kind: kind, name: name, content: object})
		}
	}
	add("config", "ServiceAccount", 4, func(string) fields { return fields{"apiVersion": "v1"} })
	add("config", "ConfigMap", 9, configMap)
	add("access", "Role", 6, func(string) fields { return role() })
	add("access", "RoleBinding", 6, roleBinding)
	add("run", "Service", 5, service)
	add("run", "Deployment", 5, deployment)
	return all
}

func configMap(name string) fields {
	return fields{"apiVersion": "v1", "data": fields{"name": name, "settings.yaml": strings.Repeat("key: value # of a file of settings\n", 25)}}
}

func role() fields {
	return fields{"apiVersion": "rbac.authorization.k8s.io/v1", "rules": []any{
		fields{"apiGroups": []any{""}, "resources": []any{"configmaps", "services"}, "verbs": []any{"get", "list", "watch"}},
		fields{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get"}},
	}}
}

func roleBinding(name string) fields {
	return fields{
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"roleRef":    fields{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": strings.Replace(name, "rolebinding", "role", 1)},
		"subjects":   []any{fields{"kind": "ServiceAccount", "name": "serviceaccount-0"}},
	}
}

func service(name string) fields {
	return fields{"apiVersion": "v1", "spec": fields{
		"selector": fields{"app": strings.Replace(name, "service", "deployment", 1)},
		"ports":    []any{fields{"name": "http", "port": 80, "targetPort": 8080}},
	}}
}

func deployment(name string) fields {
	labels := fields{"app": name}
	return fields{"apiVersion": "apps/v1", "spec": fields{
		"replicas": 1, "selector": fields{"matchLabels": labels},
		"template": fields{
			"metadata": fields{"labels": labels},
			"spec": fields{"serviceAccountName": "serviceaccount-0", "containers": []any{fields{
				"name": "main", "image": "registry.example/app:1.0",
				"ports":     []any{fields{"name": "http", "containerPort": 8080}},
				"env":       []any{fields{"name": "LOG_LEVEL", "value": "info"}, fields{"name": "MODE", "value": "cluster"}},
				"resources": fields{"requests": fields{"cpu": "10m", "memory": "32Mi"}},
			}}},
		},
	}}
}

// slowed is the fixture with Deployments that take a while to be available.
func slowed(manifests []manifest) []manifest {
	for _, m := range manifests {
		if spec, ok := m.content["spec"].(fields); ok && m.kind == "Deployment" {
			spec["minReadySeconds"] = slowSeconds
		}
	}
	return manifests
}

// upgraded is the fixture with one object changed, a Deployment that gets another
// image, and one removed.
func upgraded(manifests []manifest) []manifest {
	var all []manifest
	for _, m := range manifests {
		if m.name == "configmap-8" {
			continue
		}
		if m.name == "deployment-0" {
			m.content = withImage(m.content, "registry.example/app:1.1")
		}
		all = append(all, m)
	}
	return all
}

// withImage is a Deployment of the fixture with another image.
func withImage(content fields, image string) fields {
	encoded, err := json.Marshal(content)
	if err != nil {
		return content // maps of strings can be encoded
	}
	changed := fields{}
	if err := json.Unmarshal([]byte(strings.Replace(string(encoded), "registry.example/app:1.0", image, 1)), &changed); err != nil {
		return content
	}
	return changed
}

// phasesOf are manifests as a revision has them.
func phasesOf(manifests []manifest) ([]v1alpha1.Phase, error) {
	var phases []v1alpha1.Phase
	for _, m := range manifests {
		if n := len(phases); n == 0 || phases[n-1].Name != m.phase {
			phases = append(phases, v1alpha1.Phase{Name: m.phase})
		}
		raw, err := json.Marshal(m.content)
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", m.kind, m.name, err)
		}
		phase := &phases[len(phases)-1]
		phase.Objects = append(phase.Objects, v1alpha1.Object{Object: &runtime.RawExtension{Raw: raw}})
	}
	return phases, nil
}

// newNamespace makes the namespace that a package's objects go to.
func (b *bench) newNamespace(ctx context.Context, name string) error {
	if err := b.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// newPackage makes a package as a front makes it.
func (b *bench) newPackage(ctx context.Context, name string) (*v1alpha1.Package, error) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.FinalizerTeardown}}}
	if err := b.Admin.Create(ctx, pkg); err != nil {
		return nil, fmt.Errorf("creating package %s: %w", name, err)
	}
	return pkg, nil
}

// newRevision makes a revision as a front makes it.
func (b *bench) newRevision(ctx context.Context, pkg *v1alpha1.Package, number int64, manifests []manifest) (*v1alpha1.Revision, error) {
	phases, err := phasesOf(manifests)
	if err != nil {
		return nil, err
	}
	revision := revisionOf(pkg, number, phases)
	if err := b.Admin.Create(ctx, revision); err != nil {
		return nil, fmt.Errorf("creating revision %s: %w", revision.Name, err)
	}
	return revision, nil
}

// revisionOf is a revision of a package as a front makes it.
func revisionOf(pkg *v1alpha1.Package, number int64, phases []v1alpha1.Phase) *v1alpha1.Revision {
	return &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.RevisionName(pkg.Name, number), Labels: map[string]string{v1alpha1.LabelPackage: pkg.Name},
			Finalizers:      []string{v1alpha1.FinalizerTeardown},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pkg, v1alpha1.GroupVersion.WithKind("Package"))},
		},
		Spec: v1alpha1.RevisionSpec{Package: pkg.Name, Revision: number, Previous: number - 1, Phases: phases},
	}
}

// get reads an object as the bench's own user.
func (b *bench) get(ctx context.Context, namespace, name string, object client.Object) error {
	if err := b.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return fmt.Errorf("reading %T %s: %w", object, name, err)
	}
	return nil
}
