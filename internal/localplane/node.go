// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"fmt"
	"net/http"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NodeName is the name of the simulated node.
const NodeName = "local-node"

// ensureNode creates the simulated node. In a data folder that was used before
// it also removes the node's lease: KWOK would wait until its predecessor's
// lease has expired.
func ensureNode(ctx context.Context, client kubernetes.Interface) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: NodeName,
		Labels: map[string]string{
			corev1.LabelHostname:   NodeName,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: runtime.GOARCH,
		},
	}}
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the node %s: %w", NodeName, err)
	}
	err = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, NodeName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the lease of the node %s: %w", NodeName, err)
	}
	return nil
}

// readyz asks kube-apiserver whether it has started completely, RBAC included.
func readyz(client kubernetes.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		status := 0
		err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&status).Error()
		return status == http.StatusOK, err
	}
}

// nodeReady says whether the node takes pods: it is Ready and untainted, and a
// KWOK that lives has its lease.
func nodeReady(client kubernetes.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		if _, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, NodeName, metav1.GetOptions{}); err != nil {
			return false, err
		}
		node, err := client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if len(node.Spec.Taints) > 0 {
			return false, fmt.Errorf("node %s still has the taint %s", NodeName, node.Spec.Taints[0].Key)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue, fmt.Errorf("node %s: Ready is %s", NodeName, c.Status)
			}
		}
		return false, fmt.Errorf("node %s has no condition Ready", NodeName)
	}
}

// defaultsExist says whether pods can be created: they need the service account
// that a controller makes.
func defaultsExist(client kubernetes.Interface) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		if _, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{}); err != nil {
			return false, err
		}
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	}
}
