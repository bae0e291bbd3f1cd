// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
)

// What a ClusterExtension needs besides its bundle.
var (
	namespaceKind      = corev1.SchemeGroupVersion.WithKind("Namespace")
	serviceAccountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
)

// comesOrGoes lets through that an object was created or deleted.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}

// missing is what a bundle cannot be installed without and the cluster does not have, empty for nothing.
func (o *observer) missing(ctx context.Context, ce *olmv1.ClusterExtension, phases []content.Phase) (string, error) {
	namespace := front.Metadata(namespaceKind)
	found, err := front.Found(o.cache.Get(ctx, client.ObjectKey{Name: ce.Spec.Namespace}, namespace))
	if err != nil {
		return "", fmt.Errorf("reading namespace %s: %w", ce.Spec.Namespace, err)
	}
	if !found && !brings(phases, ce.Spec.Namespace) {
		return fmt.Sprintf("namespace %s does not exist: create it", ce.Spec.Namespace), nil
	}
	if ce.Spec.ServiceAccount == nil {
		return "", nil
	}
	key := client.ObjectKey{Namespace: ce.Spec.Namespace, Name: ce.Spec.ServiceAccount.Name}
	if found, err = front.Found(o.cache.Get(ctx, key, front.Metadata(serviceAccountKind))); err != nil {
		return "", fmt.Errorf("reading ServiceAccount %s: %w", key, err)
	}
	if !found {
		return fmt.Sprintf("ServiceAccount %s does not exist: create it, or remove spec.serviceAccount to use the manager's rights", key), nil
	}
	return "", nil
}

// brings says whether a bundle has its namespace in it.
func brings(phases []content.Phase, namespace string) bool {
	for _, phase := range phases {
		for _, object := range phase.Objects {
			if object.Manifest.GroupVersionKind() == namespaceKind && object.Manifest.GetName() == namespace {
				return true
			}
		}
	}
	return false
}

// needs are the ClusterExtensions that a namespace or a ServiceAccount matters to.
func (o *observer) needs(ctx context.Context, object client.Object) []string {
	list := &olmv1.ClusterExtensionList{}
	if err := o.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Finding the ClusterExtensions that an event concerns")
		return nil
	}
	var names []string
	for i := range list.Items {
		ce := &list.Items[i]
		isAccount := ce.Spec.ServiceAccount != nil && ce.Spec.ServiceAccount.Name == object.GetName()
		if ce.Spec.Namespace == cmp.Or(object.GetNamespace(), object.GetName()) && (object.GetNamespace() == "" || isAccount) {
			names = append(names, ce.Name)
		}
	}
	return names
}

// ofPackage finds the Package that has an object in the message of a collision: by the object's owner
// reference or, where it is retained, by its label.
var ofPackage = regexp.MustCompile(`controlled by Package (\S+) \(strata\.run/|belongs to Package "([^"]+)"`)

// collidesWith is the Package that the target of a package collides with, and the ClusterExtension
// that it is of; empty when there is none.
func (o *observer) collidesWith(ctx context.Context, group front.Group[*olmv1.ClusterExtension]) (collision, error) {
	for i := range group.Existing {
		doing := meta.FindStatusCondition(group.Existing[i].Status.Conditions, v1alpha1.ConditionProgressing)
		if doing == nil || doing.Reason != v1alpha1.ReasonObjectCollisions {
			continue
		}
		named := ofPackage.FindStringSubmatch(doing.Message)
		if named == nil {
			continue
		}
		other := &v1alpha1.Package{}
		if found, err := front.Found(o.cache.Get(ctx, client.ObjectKey{Name: cmp.Or(named[1], named[2])}, other)); err != nil {
			return collision{}, fmt.Errorf("reading package %s: %w", cmp.Or(named[1], named[2]), err)
		} else if found && other.Labels[v1alpha1.LabelFront] == frontName {
			return collision{pkg: other.Name, extension: other.Annotations[v1alpha1.AnnotationFrontGroup]}, nil
		}
	}
	return collision{}, nil
}

// collision is a Package that has an object which another one wants, and its ClusterExtension.
type collision struct{ pkg, extension string }

// in is a message that names the ClusterExtension, too.
func (c collision) in(message string) string {
	if c.extension == "" {
		return message
	}
	return strings.NewReplacer(
		"controlled by Package "+c.pkg+" (", "controlled by ClusterExtension "+c.extension+", with Package "+c.pkg+" (",
		`belongs to Package "`+c.pkg+`"`, "belongs to ClusterExtension "+c.extension+", with Package "+c.pkg,
	).Replace(message)
}
