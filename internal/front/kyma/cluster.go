// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// observeCluster reads what the content depends on besides the resource.
func (k *observer) observeCluster(ctx context.Context, istio *v1alpha2.Istio, facts *observed) error {
	c := &facts.Cluster
	if err := k.observeNodes(ctx, istio, c); err != nil {
		return err
	}
	features, _, err := k.configMap(ctx, v1alpha2.Namespace, servicemesh.FeaturesConfigMap, servicemesh.FeaturesKey)
	if err != nil {
		return err
	}
	info, err := k.provisioning(ctx)
	if err != nil {
		return err
	}
	switches, problems := servicemesh.ReadSwitches(features, info, servicemesh.ParseSwitches(istio.Annotations[annotationSwitches]))
	facts.Switches, facts.Warning = switches, strings.Join(problems, "; ")
	c.Features, c.DualStack = switches.InForce()
	if c.ELB, err = k.classicBalancer(ctx); err != nil {
		return err
	}
	if c.VPA, err = front.Read(ctx, k.cache, "", definitionVPA, front.Definition()); err != nil {
		return err
	}
	if c.APIServerPort, err = k.apiServerPort(ctx); err != nil {
		return err
	}
	c.FilterUpdatedAt, err = k.filterUpdatedAt(ctx, istio, *c)
	return err
}

// provisioning is the text that says how many IP stacks the cluster has. Without
// experimental features it changes nothing, and a value that cannot be read causes no
// warning.
func (k *observer) provisioning(ctx context.Context) (string, error) {
	if !k.experimental {
		return "", nil
	}
	info, _, err := k.configMap(ctx, v1alpha2.Namespace, servicemesh.ProvisioningInfo, servicemesh.ProvisioningKey)
	return info, err
}

// filterUpdatedAt is when the EnvoyFilter for the proxy protocol became what it is. That is
// kept on the resource, so that the same filter has the same time in each pass.
func (k *observer) filterUpdatedAt(ctx context.Context, istio *v1alpha2.Istio, c servicemesh.Cluster) (string, error) {
	digest := servicemesh.FilterDigest(c)
	if digest == "" {
		return "", nil
	}
	known, at, _ := strings.Cut(istio.Annotations[annotationFilter], " ")
	if _, err := time.Parse(time.RFC3339, at); err == nil && known == digest {
		return at, nil
	}
	at = k.now().UTC().Format(time.RFC3339)
	changed := istio.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotationFilter, digest+" "+at)
	if err := k.writer.Patch(ctx, changed, client.MergeFromWithOptions(istio, client.MergeFromWithOptimisticLock{})); err != nil {
		return "", fmt.Errorf("noting when the EnvoyFilter for the proxy protocol has changed: %w", err)
	}
	return at, nil
}

// observeNodes reads from the nodes what they show of the cluster.
func (k *observer) observeNodes(ctx context.Context, istio *v1alpha2.Istio, c *servicemesh.Cluster) error {
	if err := k.watchNodes(ctx); err != nil {
		return err
	}
	list := &corev1.NodeList{}
	if err := k.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	nodes := make([]servicemesh.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, nodeOf(&list.Items[i]))
	}
	slices.SortFunc(nodes, func(a, b servicemesh.Node) int { return cmp.Compare(a.Name, b.Name) })
	previous := servicemesh.Size(istio.Annotations[annotationClusterSize])
	c.Size = servicemesh.SizeOf(nodes, previous)
	c.Provider, c.GardenOS = servicemesh.Infrastructure(nodes, istio.Annotations[annotationInfrastructure])
	if k.flips(previous, c.Size) {
		k.recorder.Eventf(istio, nil, corev1.EventTypeNormal, ReasonClusterSizeChanged, "Render",
			"The cluster is of size %s now, and was of size %s: the mesh gets the defaults for that in a new revision", c.Size, previous)
	}
	return nil
}

// flips says whether it is news that the cluster has another size. What is kept of the size
// changes only with the mesh, which a resource that cannot be used delays.
func (k *observer) flips(previous, size servicemesh.Size) bool {
	if previous == "" || previous == size {
		k.flipped = ""
		return false
	}
	before := k.flipped
	k.flipped = size
	return before != size
}

func nodeOf(n *corev1.Node) servicemesh.Node {
	return servicemesh.Node{
		Name: n.Name, CPU: n.Status.Capacity[corev1.ResourceCPU], Memory: n.Status.Capacity[corev1.ResourceMemory],
		Kubelet: n.Status.NodeInfo.KubeletVersion, ProviderID: n.Spec.ProviderID, OSImage: n.Status.NodeInfo.OSImage,
	}
}

// slimNode keeps of a node what a mesh depends on.
func slimNode(object any) (any, error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}}
	slim.Spec.ProviderID = n.Spec.ProviderID
	slim.Status.NodeInfo.KubeletVersion, slim.Status.NodeInfo.OSImage = n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.OSImage
	slim.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: n.Status.Capacity[corev1.ResourceCPU], corev1.ResourceMemory: n.Status.Capacity[corev1.ResourceMemory],
	}
	return slim, nil
}

// watchNodes begins to watch nodes: a cluster without a mesh does not pay for it.
func (k *observer) watchNodes(ctx context.Context) error {
	if k.nodes {
		return nil
	}
	informer, err := k.cache.GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				k.changed()
			}
		},
		UpdateFunc: func(before, after any) {
			a, ok := before.(*corev1.Node)
			b, alsoOK := after.(*corev1.Node)
			if !ok || !alsoOK || !nodeOf(a).Equal(nodeOf(b)) {
				k.changed()
			}
		},
		DeleteFunc: func(any) { k.changed() },
	})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	k.nodes = true
	return nil
}

// forgetNodes ends the watch of nodes.
func (k *observer) forgetNodes(ctx context.Context) error {
	if !k.nodes {
		return nil
	}
	if err := k.cache.RemoveInformer(ctx, &corev1.Node{}); err != nil {
		return fmt.Errorf("ending the watch of nodes: %w", err)
	}
	k.nodes, k.flipped = false, ""
	return nil
}

// configMap is a value of a ConfigMap, and whether that is there.
func (k *observer) configMap(ctx context.Context, namespace, name, key string) (value string, found bool, err error) {
	o := front.Untyped(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	found, err = front.Read(ctx, k.objects, namespace, name, o)
	value, _, _ = unstructured.NestedString(o.Object, "data", key)
	return value, found, err
}

// classicBalancer says whether the ingress gateway keeps a classic load balancer on AWS.
func (k *observer) classicBalancer(ctx context.Context) (bool, error) {
	_, asked, err := k.configMap(ctx, servicemesh.IstioNamespace, servicemesh.DeprecatedELB, "")
	if err != nil || !asked {
		return false, err
	}
	service := front.Metadata(corev1.SchemeGroupVersion.WithKind("Service"))
	if _, err := front.Read(ctx, k.objects, servicemesh.IstioNamespace, servicemesh.IngressGateway, service); err != nil {
		return false, err
	}
	return servicemesh.KeepsELB(service.Annotations), nil
}

// apiServerPort is the port that the API server listens on, 0 when that is not known.
func (k *observer) apiServerPort(ctx context.Context) (int32, error) {
	o := front.Untyped(corev1.SchemeGroupVersion.WithKind("Service"))
	if _, err := front.Read(ctx, k.objects, metav1.NamespaceDefault, "kubernetes", o); err != nil {
		return 0, err
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, item := range ports {
		port, _ := item.(map[string]any)
		target, _ := port["targetPort"].(int64)
		if port["name"] == "https" && target > 0 && target <= 65535 {
			return int32(target), nil
		}
	}
	return 0, nil
}
