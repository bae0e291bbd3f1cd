// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"encoding/json"
	"fmt"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
)

// LastApplied is the value of the annotation [v1alpha2.AnnotationLastApplied].
type LastApplied struct {
	v1alpha2.IstioSpec `json:",inline"`

	// IstioTag is the tag of the images that run.
	IstioTag string `json:"IstioTag"`
}

// ParseLastApplied reads the annotation of a resource. Without one the result is the zero
// value; the error says that it is no JSON of that form.
func ParseLastApplied(annotations map[string]string) (LastApplied, error) {
	applied := LastApplied{}
	value := annotations[v1alpha2.AnnotationLastApplied]
	if value == "" {
		return applied, nil
	}
	if err := json.Unmarshal([]byte(value), &applied); err != nil {
		return LastApplied{}, fmt.Errorf("reading annotation %s: %w", v1alpha2.AnnotationLastApplied, err)
	}
	return applied, nil
}

// String is the value for the annotation.
func (l LastApplied) String() string {
	data, err := json.Marshal(l)
	if err != nil {
		return "" // a spec that was read from JSON can be written as such
	}
	return string(data)
}

// Installed is the version of Istio that a rollout of [PackageIstio] has put in place, empty
// while it has not: what may be missing are the objects of [PhaseResources] alone.
func Installed(rollout *v1alpha1.Revision) string {
	if rollout == nil || rollout.Spec.Origin == nil || len(rollout.Status.Phases) == 0 {
		return ""
	}
	for _, phase := range rollout.Status.Phases {
		if phase.Name != PhaseResources && phase.State != v1alpha1.PhaseComplete {
			return ""
		}
	}
	return rollout.Spec.Origin.AppVersion
}
