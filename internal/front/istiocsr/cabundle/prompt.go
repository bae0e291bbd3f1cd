// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// agentLabel selects the pods that read the copy.
var agentLabel = client.MatchingLabels{"app": "cert-manager-istio-csr"}

// prompt has the kubelets give a new copy to the pods of a namespace now: they look at the
// volumes of a pod when that changes, and else about once a minute, while the agent refuses
// certificates of a CA that it has not read yet. It is a hint, and its failure is none of
// the copy's.
func (k *Keeper) prompt(ctx context.Context, namespace string, bundle trust.Bundle) {
	log := logr.FromContextOrDiscard(ctx).WithValues("namespace", namespace)
	pods := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if err := k.Live.List(ctx, pods, client.InNamespace(namespace), agentLabel); err != nil {
		log.Error(err, "Listing the pods that read the CAs")
		return
	}
	sum := sha256.Sum256(bundle.PEM())
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{v1alpha1.AnnotationCABundle: hex.EncodeToString(sum[:8])},
	}})
	if err != nil {
		log.Error(err, "Encoding an annotation")
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		pod.SetGroupVersionKind(podKind)
		err := k.Writer.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner))
		if client.IgnoreNotFound(err) != nil {
			log.Error(err, "Prompting a pod to read the CAs", "pod", pod.Name)
		}
	}
	log.Info("Prompted the agent's pods to read the CAs", "pods", len(pods.Items))
}
