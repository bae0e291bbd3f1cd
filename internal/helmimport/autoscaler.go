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

// Scaled names what an autoscaler scales.
type Scaled struct{ namespace, kind, name string }

// ScaledOf is how an object is named as one that is scaled.
func ScaledOf(object *unstructured.Unstructured) Scaled {
	return Scaled{namespace: object.GetNamespace(), kind: object.GetKind(), name: object.GetName()}
}

// yieldReplicas takes spec.replicas out of what a HorizontalPodAutoscaler scales: to
// set it back to what the release says would stop pods.
func (i *Importer) yieldReplicas(ctx context.Context, objects []Object) error {
	scalers := map[Scaled]string{}
	read := map[string]bool{}
	for n := range objects {
		o := &objects[n]
		if _, found, _ := unstructured.NestedFieldNoCopy(o.Manifest.Object, "spec", "replicas"); !found || o.Phase != plain.PhaseWorkloads {
			continue
		}
		namespace := o.Manifest.GetNamespace()
		if !read[namespace] {
			read[namespace] = true
			if err := ReadScalers(ctx, i.Client, namespace, scalers); err != nil {
				return err
			}
		}
		scaler, ok := scalers[ScaledOf(o.Manifest)]
		if !ok {
			continue
		}
		unstructured.RemoveNestedField(o.Manifest.Object, "spec", "replicas")
		o.Note = "spec.replicas is left to HorizontalPodAutoscaler " + scaler
	}
	return nil
}

// ReadScalers adds the names of the HorizontalPodAutoscalers of a namespace, by what they scale.
func ReadScalers(ctx context.Context, from client.Reader, namespace string, scalers map[Scaled]string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscalerList"})
	if err := from.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing the HorizontalPodAutoscalers of namespace %s: %w", namespace, err)
	}
	for _, item := range list.Items {
		target, _, _ := unstructured.NestedStringMap(item.Object, "spec", "scaleTargetRef")
		scalers[Scaled{namespace: namespace, kind: target["kind"], name: target["name"]}] = item.GetName()
	}
	return nil
}
