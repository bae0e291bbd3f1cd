// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Namespace is what counts of a namespace.
type Namespace struct {
	// Inject is what its labels say about sidecars of the mesh.
	Inject Injection
	// Since is when it has joined, zero when that is not known. The metadata has it as the time
	// at which the field manager of the label has last changed anything, see [Arrivals].
	Since time.Time
	// Left is since when pods of it are known that have a sidecar and would get none any more,
	// or now when none were known before: labels that are gone do not tell when they went. Zero
	// leaves such pods alone.
	Left time.Time
	// Excluded says that none of its workloads is to be restarted.
	Excluded bool
}

// Injection is what a namespace says about sidecars.
type Injection int

// What a namespace can say about sidecars.
const (
	InjectOwn   Injection = iota // pods that ask for one get a sidecar
	InjectAll                    // pods get one that do not refuse it
	InjectNone                   // no pod gets a sidecar of any mesh
	InjectOther                  // another revision of Istio decides, or it is not known which
)

// withoutInjection are namespaces that Istio never injects into.
var withoutInjection = []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage", istioNamespace}

// NamespaceOf takes from the metadata of a namespace what counts.
func NamespaceOf(o *metav1.PartialObjectMetadata) Namespace {
	n := Namespace{Inject: injectionOf(o), Excluded: o.Annotations[v1alpha2.AnnotationExcludeFromRestart] == "true"}
	for i := range o.ManagedFields {
		f := &o.ManagedFields[i]
		if f.Time == nil || f.FieldsV1 == nil || !f.Time.After(n.Since) {
			continue
		}
		raw := f.FieldsV1.GetRawBytes()
		if bytes.Contains(raw, []byte(`"f:`+labelInjection+`"`)) || bytes.Contains(raw, []byte(`"f:`+LabelRevision+`"`)) {
			n.Since = f.Time.Time
		}
	}
	return n
}

func injectionOf(o metav1.Object) Injection {
	injection, revision := o.GetLabels()[labelInjection], o.GetLabels()[LabelRevision]
	switch {
	case slices.Contains(withoutInjection, o.GetName()):
		return InjectOther
	case injection == injectionEnabled:
		return InjectAll
	case injection != "":
		return InjectNone
	case revision == DefaultRevision:
		return InjectAll
	case revision != "":
		return InjectOther // a name that may as well stand for this mesh
	}
	return InjectOwn
}

// InjectionChanged says whether a change of a namespace's labels may have changed which of its
// pods get a sidecar, or whether they may be restarted.
func InjectionChanged(before, after metav1.Object) bool {
	changed := func(of func(metav1.Object) map[string]string, key string) bool {
		return of(before)[key] != of(after)[key]
	}
	labels, annotations := metav1.Object.GetLabels, metav1.Object.GetAnnotations
	return changed(labels, labelInjection) || changed(labels, LabelRevision) || changed(annotations, v1alpha2.AnnotationExcludeFromRestart)
}

// Leaves says whether a change of a namespace's labels takes it out of the mesh.
func Leaves(before, after metav1.Object) bool {
	return injectionOf(before) == InjectAll && injectionOf(after) != InjectAll
}
