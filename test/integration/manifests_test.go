// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

type fields = map[string]any

func phase(name string, objects ...v1alpha1.Object) v1alpha1.Phase {
	return v1alpha1.Phase{Name: name, Objects: objects}
}

func object(t *testing.T, manifest fields) v1alpha1.Object {
	t.Helper()
	raw, err := json.Marshal(manifest)
	must(t, err)
	return v1alpha1.Object{Object: &runtime.RawExtension{Raw: raw}}
}

func configMapManifest(t *testing.T, namespace, name, value string) v1alpha1.Object {
	t.Helper()
	return object(t, fields{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": fields{"namespace": namespace, "name": name}, "data": fields{"value": value},
	})
}

func deploymentManifest(t *testing.T, namespace, name, image string) v1alpha1.Object {
	t.Helper()
	labels := fields{"app": name}
	return object(t, fields{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": fields{"namespace": namespace, "name": name},
		"spec": fields{
			"replicas": 1, "selector": fields{"matchLabels": labels},
			"template": fields{
				"metadata": fields{"labels": labels},
				"spec":     fields{"containers": []any{fields{"name": "main", "image": image}}},
			},
		},
	})
}

func configMapType() *corev1.ConfigMap { return &corev1.ConfigMap{} }
