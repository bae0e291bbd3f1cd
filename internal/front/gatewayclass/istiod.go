// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/helmimport"
)

// startOfIstiod is what is known of the last start of istiod. Its Deployment is read
// only when the status of its package has changed, so that the manager does not have to
// watch every Deployment of the cluster.
type startOfIstiod struct {
	// version is the resourceVersion of the package that it was read for.
	version string
	sync    string
}

// observeIstiod looks at what is rolled out: when istiod has started, and whether an
// older operator's Helm release still claims it.
func (o *observer) observeIstiod(ctx context.Context, group front.Group[*gatewayv1.GatewayClass], facts *observed) error {
	plane := find(group.Existing, PackageControlPlane)
	if plane == nil || !isRolledOut(plane) {
		o.retired = false
		return nil
	}
	if err := o.retireRelease(ctx, facts.Input); err != nil {
		return err
	}
	if o.istiod.version != plane.ResourceVersion {
		sync, err := o.readStart(ctx)
		if err != nil {
			return err
		}
		o.istiod = startOfIstiod{version: plane.ResourceVersion, sync: sync}
	}
	facts.Sync = o.istiod.sync
	return nil
}

func find(packages []v1alpha1.Package, name string) *v1alpha1.Package {
	for i := range packages {
		if packages[i].Name == name {
			return &packages[i]
		}
	}
	return nil
}

// isRolledOut says that what runs is what is wanted, and serves.
func isRolledOut(pkg *v1alpha1.Package) bool {
	progressing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
	return pkg.Status.CurrentRevision != 0 && pkg.Status.CurrentRevision == pkg.Status.TargetRevision &&
		progressing != nil && progressing.Reason == v1alpha1.ReasonRolledOut &&
		meta.IsStatusConditionTrue(pkg.Status.Conditions, v1alpha1.ConditionAvailable)
}

// readStart identifies a start of istiod: by the generation of its Deployment, and since
// when that is available.
func (o *observer) readStart(ctx context.Context) (string, error) {
	object := front.Untyped(deploymentKind)
	if found, err := front.Read(ctx, o.Live, Namespace, PackageControlPlane, object); err != nil || !found {
		return "", err
	}
	return startOf(object), nil
}

// startOf is empty while a Deployment is not available in its newest generation.
func startOf(deployment *unstructured.Unstructured) string {
	generation := deployment.GetGeneration()
	observed, _, _ := unstructured.NestedInt64(deployment.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(deployment.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] != "Available" || c["status"] != string(metav1.ConditionTrue) || observed < generation {
			continue
		}
		text, _ := c["lastTransitionTime"].(string)
		if since, err := time.Parse(time.RFC3339, text); err == nil {
			return fmt.Sprintf("%d-%d", generation, since.Unix())
		}
	}
	return ""
}

// retireRelease takes the Helm release of an older operator out of the way, once a
// rollout: its objects are ours by now.
func (o *observer) retireRelease(ctx context.Context, in Input) error {
	if o.retired {
		return nil
	}
	release := helmimport.Installed{Client: o.Client, Live: o.Live, Namespace: Namespace, Name: ReleaseName}
	found, err := release.Exists(ctx)
	if err != nil {
		return err
	}
	if found {
		objects, err := objectsOfControlPlane(in)
		if err != nil {
			return err
		}
		if err := release.Retire(ctx, objects); err != nil {
			return err
		}
	}
	o.retired = true
	return nil
}

func objectsOfControlPlane(in Input) ([]*unstructured.Unstructured, error) {
	packages, err := Render(in)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, p := range packages {
		if p.Name != PackageControlPlane {
			continue
		}
		for _, phase := range p.Phases {
			for _, object := range phase.Objects {
				objects = append(objects, object.Manifest)
			}
		}
	}
	return objects, nil
}
