// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

// What the manager may do for this front: role strata-manager-kyma, which the component
// config/fronts/kyma installs.
//
// Istio resources of Kyma stand in kyma-system. What a mesh depends on, such as nodes, and
// custom resources of Istio that keep it from being deleted, are read with the rights of the
// role strata-manager-operands. So are, for restarts of workloads with an outdated proxy,
// pods, ReplicaSets, workloads and the metadata of namespaces; workloads are patched.
//
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios/status,verbs=patch
// +kubebuilder:rbac:groups=operator.kyma-project.io,resources=istios/finalizers,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
