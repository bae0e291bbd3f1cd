// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// What Istio puts on pods and namespaces, and reads there.
const (
	// AnnotationInjected is on pods that have got a sidecar, and says more about it.
	AnnotationInjected = "sidecar.istio.io/status"
	// LabelRevision names the revision of Istio that gives sidecars to pods, and
	// DefaultRevision is that of a mesh of Kyma.
	LabelRevision   = "istio.io/rev"
	DefaultRevision = "default"

	annotationImage        = "sidecar.istio.io/proxyImage"
	annotationMergeMetrics = "prometheus.istio.io/merge-metrics"
	annotationScrapePath   = "prometheus.io/path"
	annotationScrapePort   = "prometheus.io/port"
	annotationTemplates    = "inject.istio.io/templates"
	labelInject            = "sidecar.istio.io/inject"
	labelInjection         = "istio-injection"

	proxyContainer   = "istio-proxy"
	initContainer    = "istio-init"
	validateCNI      = "istio-validation"
	istioNamespace   = "istio-system"
	injectionEnabled = "enabled"
	ingressGateway   = "istio-ingressgateway"
	egressGateway    = "istio-egressgateway"
)

// annotationsResources override what a proxy asks for, in the order of the fields of
// [Amounts].
var annotationsResources = [...]string{
	"sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory", "sidecar.istio.io/proxyCPULimit", "sidecar.istio.io/proxyMemoryLimit",
}

// Amounts are what a container asks for and may use: CPU in thousandths of a core, memory in
// bytes. 0 stands for nothing.
type Amounts struct {
	CPURequest, MemoryRequest, CPULimit, MemoryLimit int64
}

// Role is what a pod is to the mesh.
type Role int

// The roles of pods, in the order in which their workloads are restarted.
const (
	// RoleGateway is the ingress gateway.
	RoleGateway Role = iota + 1
	// RoleEgress is the egress gateway.
	RoleEgress
	// RoleComponent is the control plane, or the node agent.
	RoleComponent
	// RoleModule is a workload of Kyma.
	RoleModule
	// RoleCustomer is any other workload.
	RoleCustomer
)

// ofMesh says whether the workload is one of the mesh itself.
func (r Role) ofMesh() bool { return r == RoleGateway || r == RoleEgress || r == RoleComponent }

// Pod is what counts of a pod. Everything else of it is not kept.
type Pod struct {
	// Namespace and Name are the pod's, Role what it is to the mesh. The pods of Istio's
	// namespace that are neither gateway nor component have none.
	Namespace, Name string
	UID             types.UID
	Role            Role
	// Created is when it was made, to the second.
	Created time.Time
	// Owner is the controller that replaces it, nil if it has none.
	Owner *metav1.OwnerReference
	// Serving says that it is Ready, and not on its way out.
	Serving bool
	// Excluded says that it is not to be restarted.
	Excluded bool
	// Stuck says that it does not come up for want of its sidecar, such as one whose image
	// cannot be pulled.
	Stuck bool

	// Injected says that it has a sidecar, and Revision whose: empty or default for the one
	// of the mesh.
	Injected bool
	Revision string
	// ProxyOnly says that the proxy is all there is to it, as in gateways of users.
	ProxyOnly bool
	// Inject is its own wish for a sidecar, true, false or empty. WantedRevision is whose.
	Inject, WantedRevision string
	// HostNetwork says that it shares the node's network, and never gets a sidecar.
	HostNetwork bool

	// Image and Amounts are the sidecar's. CustomImage says that the pod has chosen it.
	Image       string
	CustomImage bool
	Amounts     Amounts
	// Own are the amounts that the pod has chosen, if Chosen says so. Unreadable ones leave
	// Amounts out of any comparison, as Istio leaves them out too.
	Own                Amounts
	Chosen, Unreadable bool
	// Init and ValidatesCNI say which init container redirects its traffic, or checks that
	// the node agent has.
	Init, ValidatesCNI bool
	// ScrapePath and ScrapePort are where its metrics are asked for. OwnMetrics says that it
	// wants to stay without those of the sidecar.
	ScrapePath, ScrapePort string
	OwnMetrics             bool
}

// PodOf takes from a pod what counts.
func PodOf(p *corev1.Pod) Pod {
	pod := Pod{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, Role: roleOf(p), Created: p.CreationTimestamp.Time,
		Serving:  p.DeletionTimestamp.IsZero() && isReady(p),
		Excluded: p.Annotations[v1alpha2.AnnotationExcludeFromRestart] == "true",
		Inject:   p.Labels[labelInject], WantedRevision: p.Labels[LabelRevision], HostNetwork: p.Spec.HostNetwork,
		CustomImage: p.Annotations[annotationImage] != "",
		ScrapePath:  p.Annotations[annotationScrapePath], ScrapePort: p.Annotations[annotationScrapePort],
		OwnMetrics: p.Annotations[annotationMergeMetrics] == "false",
		Stuck:      isStuck(p.Status.InitContainerStatuses) || isStuck(p.Status.ContainerStatuses),
	}
	if pod.Inject == "" && p.Annotations[labelInject] == "false" {
		pod.Inject = "false" // as Istio still reads it
	}
	if owner := ownerOf(p.OwnerReferences); owner != nil {
		pod.Owner = owner.DeepCopy() // not the whole pod
	}
	pod.readSidecar(p)
	return pod
}

// readSidecar takes in what the pod shows of its sidecar.
func (p *Pod) readSidecar(from *corev1.Pod) {
	status, injected := from.Annotations[AnnotationInjected]
	p.Injected = injected
	told := struct {
		Revision string `json:"revision"`
	}{}
	if injected && json.Unmarshal([]byte(status), &told) == nil {
		p.Revision = told.Revision
	}
	for i := range from.Spec.InitContainers {
		switch c := &from.Spec.InitContainers[i]; c.Name {
		case initContainer:
			p.Init = true
		case validateCNI:
			p.ValidatesCNI = true
		case proxyContainer:
			p.Image, p.Amounts = c.Image, amountsOf(c.Resources)
		}
	}
	templates := strings.Split(from.Annotations[annotationTemplates], ",")
	p.ProxyOnly = len(from.Spec.Containers) == 1 && from.Spec.Containers[0].Name == proxyContainer || slices.Contains(templates, "gateway")
	for i := range from.Spec.Containers {
		if c := &from.Spec.Containers[i]; c.Name == proxyContainer {
			p.Image, p.Amounts = c.Image, amountsOf(c.Resources)
		}
	}
	p.readOwnAmounts(from.Annotations)
}

// readOwnAmounts takes in the amounts that annotations ask for. One of them does away with
// all that the mesh would give, and a limit alone is the request too.
func (p *Pod) readOwnAmounts(annotations map[string]string) {
	own := [...]*int64{&p.Own.CPURequest, &p.Own.MemoryRequest, &p.Own.CPULimit, &p.Own.MemoryLimit}
	for i, name := range annotationsResources {
		text, set := annotations[name]
		if !set {
			continue
		}
		p.Chosen = true
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			p.Unreadable = true
			continue
		}
		*own[i] = quantity.Value()
		if i%2 == 0 {
			*own[i] = quantity.MilliValue()
		}
	}
	p.Own = p.Own.defaulted()
}

// defaulted is what the API server makes of amounts: a limit without a request is both.
func (a Amounts) defaulted() Amounts {
	if a.CPURequest == 0 {
		a.CPURequest = a.CPULimit
	}
	if a.MemoryRequest == 0 {
		a.MemoryRequest = a.MemoryLimit
	}
	return a
}

func amountsOf(r corev1.ResourceRequirements) Amounts {
	return Amounts{
		CPURequest: r.Requests.Cpu().MilliValue(), MemoryRequest: r.Requests.Memory().Value(),
		CPULimit: r.Limits.Cpu().MilliValue(), MemoryLimit: r.Limits.Memory().Value(),
	}
}

// roleOf is what a pod is to the mesh, 0 for nothing.
func roleOf(p *corev1.Pod) Role {
	if p.Namespace == istioNamespace {
		switch {
		case p.Labels["app"] == ingressGateway:
			return RoleGateway
		case p.Labels["app"] == egressGateway:
			return RoleEgress
		case p.Labels["app"] == "istiod", p.Labels["k8s-app"] == "istio-cni-node":
			return RoleComponent
		}
		return 0
	}
	if p.Namespace == v1alpha2.Namespace || p.Labels[v1alpha2.LabelModule] != "" {
		return RoleModule
	}
	return RoleCustomer
}

// ownerOf is who replaces an object: its controller, else the first of its owners.
func ownerOf(all []metav1.OwnerReference) *metav1.OwnerReference {
	i := slices.IndexFunc(all, func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller })
	switch {
	case i >= 0:
		return &all[i]
	case len(all) > 0:
		return &all[0]
	}
	return nil
}

// isStuck says whether a container that Istio has put into a pod cannot run.
func isStuck(containers []corev1.ContainerStatus) bool {
	return slices.ContainsFunc(containers, func(c corev1.ContainerStatus) bool {
		istios := c.Name == proxyContainer || c.Name == initContainer || c.Name == validateCNI
		return istios && c.State.Waiting != nil && slices.Contains(stuckReasons, c.State.Waiting.Reason)
	})
}

// stuckReasons are why a container waits that does not run by itself.
var stuckReasons = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

func isReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
