// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Role is what a pod is to the mesh. Workloads are restarted in the order of their roles.
type Role int

// The roles of pods.
const (
	RoleGateway   Role = iota + 1 // the ingress gateway
	RoleEgress                    // the egress gateway
	RoleComponent                 // the control plane, or the node agent
	RoleModule                    // a workload of Kyma
	RoleCustomer                  // any other workload
)

// ofMesh says whether the workload is one of the mesh itself.
func (r Role) ofMesh() bool { return r == RoleGateway || r == RoleEgress || r == RoleComponent }

// Pod is a pod, and what follows from it.
type Pod struct {
	*corev1.Pod

	// Role is what it is to the mesh. The pods of Istio's namespace that are neither gateway nor
	// component have none.
	Role Role
	// Owner is the controller that replaces it, nil if it has none.
	Owner *metav1.OwnerReference
	// Injected says that it has a sidecar, and Revision whose: empty or default for the one
	// of the mesh. Proxy is the sidecar, empty without one.
	Injected bool
	Revision string
	Proxy    corev1.Container
}

// PodOf takes from a pod what counts.
func PodOf(p *corev1.Pod) *Pod {
	pod := &Pod{Pod: p, Role: roleOf(p), Owner: ownerOf(p.OwnerReferences)}
	status := struct {
		Revision string `json:"revision"`
	}{}
	var text string
	if text, pod.Injected = p.Annotations[AnnotationInjected]; pod.Injected && json.Unmarshal([]byte(text), &status) == nil {
		pod.Revision = status.Revision
	}
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		if i := indexOf(containers, proxyContainer); i >= 0 {
			pod.Proxy = containers[i]
		}
	}
	return pod
}

func indexOf(containers []corev1.Container, name string) int {
	return slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
}

func (p *Pod) hasInit(name string) bool { return indexOf(p.Spec.InitContainers, name) >= 0 }

// serving says that it is Ready, and not on its way out.
func (p *Pod) serving() bool {
	return p.DeletionTimestamp.IsZero() && p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// excluded says that it is not to be restarted.
func (p *Pod) excluded() bool { return p.Annotations[v1alpha2.AnnotationExcludeFromRestart] == "true" }

// refuses and asks say what the pod itself wants of sidecars.
func (p *Pod) refuses() bool {
	label := p.Labels[labelInject]
	return label == "false" || label == "" && p.Annotations[labelInject] == "false" // as Istio still reads it
}

func (p *Pod) asks() bool { return p.Labels[labelInject] == "true" }

// hasOwnImage says that the pod has chosen its sidecar.
func (p *Pod) hasOwnImage() bool { return p.Annotations[annotationImage] != "" }

// isProxyOnly says that the proxy is all there is to it, as in gateways of users.
func (p *Pod) isProxyOnly() bool {
	templates := strings.Split(p.Annotations[annotationTemplates], ",")
	return len(p.Spec.Containers) == 1 && p.Spec.Containers[0].Name == proxyContainer || slices.Contains(templates, "gateway")
}

// ownAmounts are those that annotations of the pod ask for, if chosen says so. One of them takes the
// place of all that the mesh would give. Istio leaves out amounts that it cannot read.
func (p *Pod) ownAmounts() (own Amounts, chosen, readable bool) {
	readable = true
	for i, value := range [...]*int64{&own.CPURequest, &own.MemoryRequest, &own.CPULimit, &own.MemoryLimit} {
		text, set := p.Annotations[annotationsResources[i]]
		if !set {
			continue
		}
		chosen = true
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			readable = false
			continue
		}
		if *value = quantity.Value(); i%2 == 0 {
			*value = quantity.MilliValue()
		}
	}
	return own.defaulted(), chosen, readable
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

// stuck says that it does not come up for want of its sidecar, such as one whose image cannot be pulled.
func (p *Pod) stuck() bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		ofIstio := c.Name == proxyContainer || c.Name == initContainer || c.Name == validateCNI
		return ofIstio && c.State.Waiting != nil && slices.Contains(stuckReasons, c.State.Waiting.Reason)
	})
}

// stuckReasons are why a container waits that does not run by itself.
var stuckReasons = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}
