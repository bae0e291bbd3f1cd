// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// defaultDeadline is that of the API. A Package always has one, so that its absence says nothing.
const defaultDeadline = 10 * time.Minute

// keepSettings brings those fields of a package up to date that a front sets.
func (p *Publisher) keepSettings(ctx context.Context, pkg *v1alpha1.Package, settings *content.Settings) (*v1alpha1.Package, error) {
	changed := pkg.DeepCopy()
	SetSettings(changed, settings)
	if equality.Semantic.DeepEqual(pkg, changed) {
		return pkg, nil
	}
	if err := p.Client.Patch(ctx, changed, client.MergeFrom(pkg)); err != nil {
		return pkg, fmt.Errorf("setting fields of package %s: %w", pkg.Name, err)
	}
	return changed, nil
}

// SetSettings brings the fields of a package to what a front sets.
func SetSettings(pkg *v1alpha1.Package, settings *content.Settings) {
	if settings == nil {
		return
	}
	pkg.Spec.ServiceAccount = settings.ServiceAccount
	deadline := settings.ProgressDeadline
	if deadline == 0 {
		deadline = defaultDeadline
	}
	pkg.Spec.ProgressDeadline = &metav1.Duration{Duration: deadline}
	if settings.Approval != "" {
		pkg.Spec.Approval = settings.Approval
	}
	if settings.OnFailure != "" {
		pkg.Spec.OnFailure = settings.OnFailure
	}
	safety := ""
	if settings.AllowUnsafeCRDs {
		safety = v1alpha1.CRDUpgradeSafetyNone
	}
	setAnnotation(pkg, v1alpha1.AnnotationCRDUpgradeSafety, safety)
	setPause(pkg, settings.PauseReason)
}

// setPause pauses a package, or ends the pause that it has set. The annotation tells it from
// a pause of an admin, which stays.
func setPause(pkg *v1alpha1.Package, reason string) {
	before := pkg.Annotations[v1alpha1.AnnotationFrontPause]
	isOurs := before != "" && pkg.Spec.Paused != nil && pkg.Spec.Paused.Reason == before
	switch {
	case reason != "" && (isOurs && reason != before || pkg.Spec.Paused == nil):
		pkg.Spec.Paused = &v1alpha1.Pause{Reason: reason}
	case reason == "" && isOurs:
		pkg.Spec.Paused = nil
	}
	setAnnotation(pkg, v1alpha1.AnnotationFrontPause, reason)
}

// setAnnotation sets an annotation, or takes it away when its value is empty.
func setAnnotation(object client.Object, key, value string) {
	annotations := object.GetAnnotations()
	switch {
	case value == annotations[key]:
		return
	case value == "":
		delete(annotations, key)
	case annotations == nil:
		annotations = map[string]string{key: value}
	default:
		annotations[key] = value
	}
	object.SetAnnotations(annotations)
}

// describe sets the labels and annotations that a front wants of a revision.
func (p *Publisher) describe(ctx context.Context, revision *v1alpha1.Revision, want content.Package) error {
	changed := revision.DeepCopy()
	for key, value := range want.Labels {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, key, value)
	}
	for key, value := range want.Annotations {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	if equality.Semantic.DeepEqual(revision.ObjectMeta, changed.ObjectMeta) {
		return nil
	}
	if err := p.Client.Patch(ctx, changed, client.MergeFrom(revision)); err != nil {
		return fmt.Errorf("setting the metadata of revision %s: %w", revision.Name, err)
	}
	return nil
}
