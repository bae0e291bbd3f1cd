// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// Input is what the content depends on.
type Input struct {
	// Istio is the resource that describes the mesh.
	Istio *v1alpha2.Istio `json:"istio"`
	// Settings are those of the manager.
	Settings Settings `json:"-"`
	// Cluster are facts of the cluster.
	Cluster Cluster `json:"cluster"`
	// Installed is the tag or version of Istio that runs, empty for none.
	Installed string `json:"installed"`
	// CRDVersion is the version of the CRDs in place, by their annotation, empty for none: they
	// are never replaced by older ones.
	CRDVersion string `json:"crdVersion"`
	// ForeignCRDs says that another package has the CRDs. Then they are not rendered.
	ForeignCRDs bool `json:"foreignCRDs"`
}

// Digest is equal for inputs that give equal results, for the settings of one manager. Empty
// when it cannot be computed.
func (in Input) Digest() string {
	istio := &v1alpha2.Istio{Spec: in.Istio.Spec}
	istio.Namespace, istio.Name, istio.Generation = in.Istio.Namespace, in.Istio.Name, in.Istio.Generation
	istio.Annotations = map[string]string{v1alpha2.AnnotationAllowVersion: in.Istio.Annotations[v1alpha2.AnnotationAllowVersion]}
	in.Istio = istio
	data, err := json.Marshal(in)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Render gives the packages that the resource asks for: the CRDs, and everything else. It is
// pure. When the version gate refuses the version of the manager, the packages are blocked: what
// runs stays as it is. The error is a [ValidationError], or says what cannot be merged or
// rendered.
func Render(in Input) ([]content.Package, error) {
	if err := Validate(in.Istio, in.Settings.Experimental); err != nil {
		return nil, err
	}
	operator, err := Merge(in.Istio, in.Settings, in.Cluster)
	if err != nil {
		return nil, fmt.Errorf("merging Istio %s/%s with the defaults: %w", in.Istio.Namespace, in.Istio.Name, err)
	}
	if err := validateAmounts(operator); err != nil {
		return nil, err
	}
	mesh, err := renderIstio(in, operator)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageIstio, err)
	}
	blocked := ""
	if err := Gate(in.Installed, in.Settings.Images.Tag, in.Istio.Annotations[v1alpha2.AnnotationAllowVersion]); err != nil {
		if _, refused := errors.AsType[*GateError](err); !refused {
			return nil, fmt.Errorf("comparing versions of Istio: %w", err)
		}
		blocked = err.Error()
	}
	mesh.Blocked = blocked
	if in.ForeignCRDs {
		return []content.Package{mesh}, nil
	}
	release, ok, err := istio.CRDRelease(in.Settings.Release, in.CRDVersion)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCRDs, err)
	}
	if !ok {
		// What is in place is newer than what is in this binary.
		release = in.Settings.Release
		blocked = cmp.Or(blocked, fmt.Sprintf("the CRDs in place are of Istio %s, and CRDs never go back", in.CRDVersion))
	}
	crds, err := renderCRDs(in, release)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCRDs, err)
	}
	crds.Blocked = blocked
	if blocked == "" {
		mesh.After = []string{PackageCRDs}
	}
	return []content.Package{crds, mesh}, nil
}

// origin is recorded in the revisions.
func (in Input) origin(chart, version string) v1alpha1.Origin {
	reason := fmt.Sprintf("Istio %s for a cluster of size %s on %s", in.Settings.Images.Tag, in.Cluster.Size, in.Cluster.Provider)
	if in.Cluster.Features.DisableCNI {
		reason += ", without the node agent"
	}
	if in.Istio.Spec.CompatibilityMode {
		reason += ", in compatibility mode"
	}
	return v1alpha1.Origin{
		Kind:       v1alpha1.OriginFront,
		Reference:  "Istio/" + in.Istio.Namespace + "/" + in.Istio.Name,
		Generation: in.Istio.Generation,
		Chart:      chart,
		AppVersion: version,
		Reason:     reason,
		// The version gate in reverse.
		RollbackMinors: &oneMinor,
	}
}

// oneMinor is how many minor versions a mesh may go up or back at once.
var oneMinor = int32(1)

// renderCRDs gives the package with the CRDs of a release.
func renderCRDs(in Input, release *istio.Release) (content.Package, error) {
	crds, err := release.CRDs()
	if err != nil {
		return content.Package{}, err
	}
	// CRDs that a user has applied before are adopted as they are.
	phase := content.Phase{Name: PhaseCRDs, CollisionProtection: v1alpha1.CollisionIfNoController}
	for _, crd := range crds {
		if err := mark(crd); err != nil {
			return content.Package{}, err
		}
		put(crd.Object, release.Version(), "metadata", "annotations", AnnotationCRDVersion)
		put(crd.Object, v1alpha1.ResourcePolicyKeep, "metadata", "annotations", v1alpha1.AnnotationResourcePolicy)
		phase.Objects = append(phase.Objects, content.Object{Manifest: crd, Deletion: v1alpha1.ObjectRetain})
	}
	return content.Package{Name: PackageCRDs, Phases: []content.Phase{phase}, Origin: in.origin("base", release.Version())}, nil
}

// renderIstio gives the package with everything that the merged input switches on.
func renderIstio(in Input, operator tree) (content.Package, error) {
	phases := newPhases()
	for _, o := range []*unstructured.Unstructured{namespace(), priorityClass()} {
		phases.add(PhaseNamespace, o)
	}
	input, err := inputConfigMap(operator)
	if err != nil {
		return content.Package{}, err
	}
	phases.add(PhaseConfig, input)
	var rendered []*unstructured.Unstructured
	for _, c := range componentsOf(operator) {
		objects, err := c.render(in.Settings.Release)
		if err != nil {
			return content.Package{}, err
		}
		for _, o := range objects {
			if err := phases.place(o, c.gateway); err != nil {
				return content.Package{}, err
			}
			rendered = append(rendered, o)
		}
	}
	further, err := resources(in, operator)
	if err != nil {
		return content.Package{}, err
	}
	for _, phase := range []string{PhasePolicies, PhaseResources} {
		for _, o := range further[phase] {
			phases.add(phase, o)
		}
	}
	origin := in.origin("istio", strings.TrimPrefix(in.Settings.Images.Tag, "v"))
	origin.Images = istio.Images(rendered)
	return content.Package{Name: PackageIstio, Phases: phases.sorted(), Probes: probes(), Origin: origin}, nil
}

// inputConfigMap shows what the revision was rendered from.
func inputConfigMap(operator tree) (*unstructured.Unstructured, error) {
	text, err := yaml.Marshal(operator)
	if err != nil {
		return nil, fmt.Errorf("encoding the merged input: %w", err)
	}
	o := &unstructured.Unstructured{Object: tree{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": tree{"name": InputConfigMap, "namespace": IstioNamespace},
		"data":     tree{InputKey: string(text)},
	}}
	return o, mark(o)
}

// namespace is the one that Istio runs in.
func namespace() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": tree{
			"name":        IstioNamespace,
			"labels":      tree{labelWarden: "enabled"},
			"annotations": tree{v1alpha2.AnnotationDisclaimer: disclaimer},
		},
	}}
}

// priorityClass is that of everything installed: above what users run, below the system.
func priorityClass() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
		"metadata": tree{
			"name":        PriorityClass,
			"labels":      tree{v1alpha2.LabelModule: v1alpha2.ModuleName},
			"annotations": tree{v1alpha2.AnnotationDisclaimer: disclaimer},
		},
		"value": int64(2100000), "globalDefault": false,
		"description": "For the Istio module of Kyma.",
	}}
}

// phases are those of the package, in their order.
type phases []content.Phase

func newPhases() phases {
	var all phases
	for _, name := range []string{PhaseNamespace, PhaseConfig, PhasePolicies, PhaseControlPlane, PhaseWebhooks, PhaseNodeAgent, PhaseGateways, PhaseResources} {
		// What another installation of the same has left has no controller. It is taken
		// over as it stands, or the mesh would be down meanwhile.
		all = append(all, content.Phase{Name: name, CollisionProtection: v1alpha1.CollisionIfNoController})
	}
	return all
}

func (p phases) add(phase string, o *unstructured.Unstructured) {
	i := slices.IndexFunc(p, func(candidate content.Phase) bool { return candidate.Name == phase })
	p[i].Objects = append(p[i].Objects, content.Object{Manifest: o, UpdatePhase: updatePhase(phase, o)})
}

// updatePhase is when an object that is there already becomes what this revision wants, empty for
// the phase that it stands in. Pods of istiod mount the configuration, and new pods need the node
// agent from the start, so a first installation needs both early. In an upgrade the running istiod
// and its node agent serve until the new istiod has proved itself.
func updatePhase(phase string, o *unstructured.Unstructured) string {
	switch {
	case o.GetKind() == "DaemonSet" && phase == PhaseControlPlane:
		return PhaseNodeAgent
	case o.GetKind() != "ConfigMap" || o.GetName() == InputConfigMap:
		return ""
	case o.GetName() == cniConfigMap:
		return PhaseNodeAgent
	}
	return PhaseWebhooks
}

// place puts an object of a chart into its phase.
func (p phases) place(o *unstructured.Unstructured, ofGateway bool) error {
	phase, err := istio.Place(o, IstioNamespace)
	if ofGateway && phase == PhaseControlPlane {
		phase = PhaseGateways
	}
	if err == nil {
		p.add(phase, o)
	}
	return err
}

// update says whether objects of other phases are brought to new content in a phase.
func (p phases) update(name string) bool {
	return slices.ContainsFunc(p, func(phase content.Phase) bool {
		return slices.ContainsFunc(phase.Objects, func(o content.Object) bool { return o.UpdatePhase == name })
	})
}

// sorted are the phases in which something is done, their objects sorted by kind and name.
func (p phases) sorted() []content.Phase {
	var full []content.Phase
	for _, phase := range p {
		if len(phase.Objects) == 0 && !p.update(phase.Name) {
			continue
		}
		slices.SortStableFunc(phase.Objects, func(a, b content.Object) int {
			x, y := a.Manifest, b.Manifest
			return cmp.Or(istio.Compare(x, y), cmp.Compare(x.GetKind(), y.GetKind()),
				cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
		})
		full = append(full, phase)
	}
	return full
}

// probes replace the default for Services, which waits for the address of a load balancer:
// a cluster without a controller for them still has a working mesh.
func probes() []v1alpha1.Probe {
	return []v1alpha1.Probe{{
		Name:     "service-exists",
		Selector: v1alpha1.ProbeSelector{Kind: "Service"},
		Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{
			FieldValue: &v1alpha1.FieldValueAssertion{Path: ".spec.ports[0].port", Value: v1alpha1.ScalarOf(int64(1)), Operator: v1alpha1.ValueAtLeast},
		})},
	}}
}
