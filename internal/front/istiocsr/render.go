// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// Render gives the package of an agent. It is pure, and never fails: a package that
// cannot be rendered, or that had better not be rolled out now, is blocked with the
// reason, so that what runs stays as it is.
func Render(in Input) content.Package {
	p := content.Package{Name: PackageName(in.IstioCSR.Namespace), Origin: originOf(in)}
	var blocking []string
	for _, problem := range Check(in) {
		if problem.Blocks {
			blocking = append(blocking, problem.Message)
		}
	}
	if p.Blocked = strings.Join(blocking, "\n"); p.Blocked != "" {
		return p
	}
	o := newObjects(in)
	o.foundOrigin(&p.Origin)
	// What a Helm chart or another operator has installed has no controller. It is taken
	// over as it stands, or the mesh would be without an agent meanwhile.
	p.Phases = []content.Phase{
		phase(PhaseAccess, o.networkPolicies(), o.access()),
		phase(PhaseCertificate, []*unstructured.Unstructured{o.certificate()}),
		phase(PhaseAgent, o.services(), []*unstructured.Unstructured{o.deployment()}, o.extras()),
	}
	switch {
	case isDynamic(in.IstioCSR):
		p.Phases = slices.Delete(p.Phases, 1, 2)
	case in.Facts.AgentFirst || o.makesCertificate():
		p.Phases[1], p.Phases[2] = p.Phases[2], p.Phases[1]
	}
	if len(in.Facts.LeftRunning) > 0 {
		retain(p.Phases)
	}
	return p
}

// retain has what the agents of a mesh share stay when the package goes, and not the agent,
// which may be in the same namespace.
func retain(phases []content.Phase) {
	for _, phase := range phases {
		for i := range phase.Objects {
			manifest := phase.Objects[i].Manifest
			if slices.Contains(MeshObjects(), MeshObject{Kind: manifest.GroupVersionKind(), Name: manifest.GetName()}) {
				phase.Objects[i].Deletion = v1alpha1.ObjectRetain
			}
		}
	}
}

func phase(name string, groups ...[]*unstructured.Unstructured) content.Phase {
	p := content.Phase{Name: name, CollisionProtection: v1alpha1.CollisionIfNoController}
	for _, group := range groups {
		for _, manifest := range group {
			p.Objects = append(p.Objects, content.Object{
				Manifest: manifest, OnImmutableChange: onImmutableChange(manifest), ExclusiveFields: exclusiveFields(manifest.GetKind()),
			})
		}
	}
	return p
}

// exclusiveFields are those of a kind in which more than what is asked for would give rights,
// open the agent to the network, or make a CA of istiod's certificate. What else other managers add,
// such as tolerations, annotations and the pull secrets of a ServiceAccount, is theirs.
func exclusiveFields(kind string) []string {
	switch kind {
	case "NetworkPolicy", "Certificate":
		return []string{".spec"}
	case "ServiceAccount":
		return []string{".automountServiceAccountToken"}
	case "ClusterRole":
		return []string{".rules", ".aggregationRule"}
	case "Role":
		return []string{".rules"}
	case "Service":
		return []string{".spec.ports", ".spec.externalIPs", ".spec.selector"}
	case "Deployment":
		const pod = ".spec.template.spec."
		return []string{
			".spec.paused", pod + "containers", pod + "initContainers", pod + "hostNetwork", pod + "hostPID", pod + "hostIPC", pod + "hostAliases",
			pod + "automountServiceAccountToken",
		}
	default:
		return nil
	}
}

// onImmutableChange has bindings created anew for another role: its name is that of the status,
// which other clients write, too, and the API server does not allow to change it in a binding.
func onImmutableChange(manifest *unstructured.Unstructured) v1alpha1.ImmutableChange {
	if strings.HasSuffix(manifest.GetKind(), "RoleBinding") {
		return v1alpha1.ImmutableReplace
	}
	return ""
}

func originOf(in Input) v1alpha1.Origin {
	image := imageOf(in.IstioCSR, in.Image)
	return v1alpha1.Origin{
		Kind:       v1alpha1.OriginFront,
		Reference:  "IstioCSR/" + in.IstioCSR.Namespace + "/" + in.IstioCSR.Name,
		Generation: in.IstioCSR.Generation,
		AppVersion: image.Version,
		Images:     []string{image.Reference},
		Reason:     strings.TrimSpace(fmt.Sprintf("IstioCSR %s/%s asks for istio-csr %s", in.IstioCSR.Namespace, in.IstioCSR.Name, image.Version)),
	}
}

// objects makes the objects of an agent.
type objects struct {
	Input

	labels    map[string]string
	namespace string // the agent's
	mesh      string // that of istiod
	found     takeover
}

func newObjects(in Input) objects {
	o := objects{Input: in, labels: Labels(in.IstioCSR, in.Image), namespace: in.IstioCSR.Namespace, mesh: in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace}
	o.found = o.takeover()
	return o
}

// object is one with our labels. What is not in the agent's namespace says whose it is.
func (o objects) object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	labels := asAny(o.labels)
	if namespace != o.namespace {
		labels[LabelNamespace] = o.namespace
	}
	metadata := map[string]any{"name": name, "labels": labels}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}}
}

// with sets the fields beside metadata.
func with(u *unstructured.Unstructured, field string, value any) *unstructured.Unstructured {
	u.Object[field] = value
	return u
}

func asAny(set map[string]string) map[string]any {
	all := make(map[string]any, len(set)+1)
	for key, value := range set {
		all[key] = value
	}
	return all
}

// selector matches the pods of the agent.
func selector() map[string]any { return map[string]any{"app": AgentName} }
