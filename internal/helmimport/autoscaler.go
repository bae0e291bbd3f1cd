// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/content/plain"
)

// scaled names what an autoscaler scales.
type scaled struct{ namespace, kind, name string }

// yieldReplicas takes spec.replicas out of what a HorizontalPodAutoscaler scales: to
// set it back to what the release says would stop pods.
func (i *Importer) yieldReplicas(ctx context.Context, objects []Object) error {
	scalers := map[scaled]string{}
	read := map[string]bool{}
	for n := range objects {
		o := &objects[n]
		if _, found, _ := unstructured.NestedFieldNoCopy(o.Manifest.Object, "spec", "replicas"); !found || o.Phase != plain.PhaseWorkloads {
			continue
		}
		namespace := o.Manifest.GetNamespace()
		if !read[namespace] {
			read[namespace] = true
			if err := i.readScalers(ctx, namespace, scalers); err != nil {
				return err
			}
		}
		scaler, ok := scalers[scaled{namespace: namespace, kind: o.Manifest.GetKind(), name: o.Manifest.GetName()}]
		if !ok {
			continue
		}
		unstructured.RemoveNestedField(o.Manifest.Object, "spec", "replicas")
		o.Note = "spec.replicas is left to HorizontalPodAutoscaler " + scaler
	}
	return nil
}

func (i *Importer) readScalers(ctx context.Context, namespace string, scalers map[scaled]string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscalerList"})
	if err := i.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing the HorizontalPodAutoscalers of namespace %s: %w", namespace, err)
	}
	for _, item := range list.Items {
		target, _, _ := unstructured.NestedStringMap(item.Object, "spec", "scaleTargetRef")
		scalers[scaled{namespace: namespace, kind: target["kind"], name: target["name"]}] = item.GetName()
	}
	return nil
}
