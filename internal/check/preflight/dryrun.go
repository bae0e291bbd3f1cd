// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// builtinGroups are the API groups whose rules this package knows, see
// immutable.go. All other groups are custom resources, or those of an aggregated API server.
var builtinGroups = []string{
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "authentication.k8s.io",
	"authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
	"events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", rbacGroup,
	"scheduling.k8s.io", "storage.k8s.io",
}

// maxTrials is how many changes are tried out. What is beyond, the writes show.
const maxTrials = 128

// remedyRefused is what helps against a refusal of the API server.
const remedyRefused = "correct the manifest; if the field cannot be changed, set onImmutableChange: Replace on the object, or give it another name"

// checkDryRun tries out the changes that only the API server can judge: of custom
// resources, whose definitions may forbid a change by a rule, and of pods. Only
// what exists and is ours is tried out, and only where the rest of the revision
// cannot change the answer.
func (c *Checker) checkDryRun(ctx context.Context, in Input, changes []change, found *findings) error {
	redefined := map[schema.GroupKind]bool{}
	readmitted := false
	for _, change := range changes {
		if isDefinition(change.id.GroupKind) {
			gk, _ := defined(change.object.Manifest)
			redefined[gk] = true
		}
		readmitted = readmitted || changesAdmission(change.id.GroupKind)
	}
	tried := 0
	for _, change := range changes {
		if change.uid == "" || change.object.Replace || redefined[change.id.GroupKind] || !judgedElsewhere(change) || found.about(change.id) {
			continue
		}
		if tried >= maxTrials {
			return nil
		}
		tried++
		err := c.tryOut(ctx, change.request(in))
		if err == nil {
			continue
		}
		if err := judge(in, change, err, readmitted, found); err != nil {
			return err
		}
	}
	return nil
}

// judgedElsewhere says whether only the API server knows what may change.
func judgedElsewhere(change change) bool {
	if probes.ContainsSecrets(change.object.Manifest) {
		return false
	}
	return !slices.Contains(builtinGroups, change.id.Group) || change.id.GroupKind == schema.GroupKind{Kind: "Pod"}
}

// changesAdmission says whether an object of this kind may change what is admitted:
// a program that answers webhooks, or the rules themselves.
func changesAdmission(gk schema.GroupKind) bool {
	return gk.Group == "apps" || gk.Group == "admissionregistration.k8s.io"
}

// judge tells a refusal from a failure. A refusal of a webhook or a policy counts
// only when the revision leaves them as they are.
func judge(in Input, change change, err error, readmitted bool, found *findings) error {
	admission := strings.Contains(err.Error(), "admission webhook") || strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	switch {
	case admission && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)):
		if !readmitted {
			found.add(CheckAdmission, change.id, fmt.Sprintf("%s would be refused: %v", change.id, err), remedyRefused)
		}
	case apierrors.IsInvalid(err):
		found.add(CheckAdmission, change.id, fmt.Sprintf("%s would be refused: %v", change.id, err), remedyRefused)
	case apierrors.IsForbidden(err):
		found.add(CheckPermission, change.id, fmt.Sprintf("%s may not apply %s: %v", in.identity(), change.id, err), grantRemedy(in))
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsBadRequest(err), apierrors.IsInternalError(err), meta.IsNoMatchError(err):
		// It is gone, or a webhook is down or cannot do without effect: what then
		// becomes of the write, the write shows.
	default:
		return fmt.Errorf("trying out %s: %w", change.id, err)
	}
	return nil
}

// request is the object as the engine applies it.
func (c change) request(in Input) *unstructured.Unstructured {
	return Request(in.Package, c.object, c.uid)
}

// Request is an object as the engine applies it for a Package, over the object of a UID;
// without a UID it is to be created. A Package is not needed to find out whether the API
// server would take the object.
func Request(pkg *v1alpha1.Package, object revisions.Object, uid types.UID) *unstructured.Unstructured {
	content := object.Manifest.DeepCopy().Object
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	for _, path := range object.Unmanaged {
		content = without(content, path)
	}
	request := &unstructured.Unstructured{Object: content}
	if uid != "" {
		request.SetUID(uid)
	}
	if pkg == nil {
		return request
	}
	labels := request.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelPackage] = pkg.Name
	request.SetLabels(labels)
	if !object.Retain {
		owner := revisions.Owner{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID}
		request.SetOwnerReferences([]metav1.OwnerReference{owner.Reference()})
	}
	return request
}

// without is content without the fields of a path. A path that cannot be read
// names none.
func without(content map[string]any, path revisions.FieldPath) map[string]any {
	pattern, err := probes.ParsePattern(path.String())
	if err != nil {
		return content
	}
	return pattern.Without(content)
}
