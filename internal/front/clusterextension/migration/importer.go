// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/helmimport"
)

// Importer finds what OLM's controller has installed. Its fields are required.
type Importer struct {
	// Live reads from the API server, and Client writes.
	Live   client.Reader
	Client client.Client
	// Defines says whether the cluster has a definition of this name.
	Defines func(ctx context.Context, name string) bool
	// Namespaces are those in which OLM's controller may keep releases.
	Namespaces []string
}

// secrets is the kind that releases are kept in.
var secrets = corev1.SchemeGroupVersion.WithKind("Secret")

// runtimes are the kinds that a newer runtime of OLM's controller keeps what it has installed in.
var runtimes = map[string]string{"ClusterExtensionRevision": "clusterextensionrevisions", "ClusterObjectSet": "clusterobjectsets"}

// Import reads what is installed of a ClusterExtension, and hands its objects over. It is nil when
// there is nothing to import. A *RefusedError says why it cannot be imported; nothing is changed then.
func (i *Importer) Import(ctx context.Context, ce *olmv1.ClusterExtension, target bundle.Target) (*Import, error) {
	if err := i.managed(ctx, ce); err != nil {
		return nil, err
	}
	release, found, err := i.release(ctx, ce)
	if err != nil || !found {
		return nil, err
	}
	objects, err := objectsOf(release)
	if err != nil {
		return nil, err
	}
	scalers, err := i.scalers(ctx, objects, target.Namespace)
	if err != nil {
		return nil, err
	}
	is, err := convert(release, ce, target, scalers)
	if err != nil {
		return nil, err
	}
	for _, phase := range is.Phases {
		for _, object := range phase.Objects {
			if err := i.handOver(ctx, ce, object, nil); err != nil {
				return nil, err
			}
		}
	}
	return is, nil
}

// managed refuses a ClusterExtension that the newer runtime manages.
func (i *Importer) managed(ctx context.Context, ce *olmv1.ClusterExtension) error {
	for kind, resource := range runtimes {
		if !i.Defines(ctx, resource+"."+olmv1.GroupVersion.Group) {
			continue
		}
		list := front.MetadataList(olmv1.GroupVersion.WithKind(kind))
		if err := i.Live.List(ctx, list); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("listing the objects of kind %s: %w", kind, err)
		}
		for n := range list.Items {
			of := &list.Items[n]
			if of.Labels[olmv1.LabelOwnerName] == ce.Name || of.Labels[olmv1.LabelOwner] == ce.Name ||
				slices.ContainsFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ce.UID }) {
				return &RefusedError{fmt.Sprintf("it is managed by %s %s of OLM's own controller, and objects of that kind cannot be imported: leave the ClusterExtension to that controller", kind, of.Name)}
			}
		}
	}
	return nil
}

// release is the installed version, and whether there is one.
func (i *Importer) release(ctx context.Context, ce *olmv1.ClusterExtension) (is Release, found bool, err error) {
	if len(ce.Name) > validation.LabelValueMaxLength {
		return Release{}, false, nil // no label has the name, so no release does
	}
	for _, namespace := range i.Namespaces {
		list := front.MetadataList(secrets)
		if err := i.Live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"owner": "operator-controller", "type": "index", labelName: ce.Name}); err != nil {
			return Release{}, false, fmt.Errorf("listing the releases of OLM in namespace %s: %w", namespace, err)
		}
		chosen, found, err := choose(list.Items, ce.UID)
		if err != nil {
			return Release{}, false, err
		}
		if found {
			is, err = i.read(ctx, ce.Name, namespace, chosen)
			return is, true, err
		}
	}
	return Release{}, false, nil
}

// read reads the Secrets of a version.
func (i *Importer) read(ctx context.Context, extension, namespace string, chosen version) (Release, error) {
	get := func(name string) (*corev1.Secret, error) {
		secret := &corev1.Secret{}
		err := i.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
		}
		if err != nil {
			return nil, unreadable(namespace+"/"+name, "is missing, which has a part of the release in Secret %s/%s", namespace, chosen.secret)
		}
		return secret, nil
	}
	index, err := get(chosen.secret)
	if err != nil {
		return Release{}, err
	}
	names, err := extraChunks(index)
	if err != nil {
		return Release{}, err
	}
	var chunks []*corev1.Secret
	for _, name := range names {
		chunk, err := get(name)
		if err != nil {
			return Release{}, err
		}
		chunks = append(chunks, chunk)
	}
	return decode(extension, chosen.number, index, chunks)
}

// scalers are the autoscalers in the namespaces of the objects that have replicas.
func (i *Importer) scalers(ctx context.Context, objects []*unstructured.Unstructured, namespace string) (map[helmimport.Scaled]string, error) {
	all := map[helmimport.Scaled]string{}
	read := map[string]bool{}
	for _, object := range objects {
		if _, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "replicas"); !found {
			continue
		}
		of := object.GetNamespace()
		if of == "" {
			of = namespace
		}
		if !read[of] {
			read[of] = true
			if err := helmimport.ReadScalers(ctx, i.Live, of, all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Adopt makes a package the owner of those of its objects that a ClusterExtension owns: a first
// installation that failed has left them, and there is no release to import.
func (i *Importer) Adopt(ctx context.Context, ce *olmv1.ClusterExtension, pkg *v1alpha1.Package, phases []content.Phase) error {
	controls := true
	owner := &metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID, Controller: &controls, BlockOwnerDeletion: &controls,
	}
	for _, phase := range phases {
		for _, object := range phase.Objects {
			if err := i.handOver(ctx, ce, object, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// handOver makes what OLM's controller owns of an object's fields ours, and takes its owner reference
// off: with that the object would go with the ClusterExtension, whatever the package says. With an
// owner in its place only an object is handed over that is the ClusterExtension's.
func (i *Importer) handOver(ctx context.Context, ce *olmv1.ClusterExtension, object content.Object, owner *metav1.OwnerReference) error {
	if owner != nil {
		current := front.Metadata(object.Manifest.GroupVersionKind())
		found, err := front.Read(ctx, i.Live, object.Manifest.GetNamespace(), object.Manifest.GetName(), current)
		if meta.IsNoMatchError(err) || err == nil && (!found || !isOf(current, object.Manifest, ce.UID)) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	manifest := object.Manifest
	if len(object.UnmanagedFields) > 0 {
		manifest = manifest.DeepCopy()
		unstructured.RemoveNestedField(manifest.Object, "spec", "replicas")
	}
	release := helmimport.Installed{Client: i.Client, Live: i.Live}
	return release.TakeOver(ctx, manifest, func(references []metav1.OwnerReference) []metav1.OwnerReference {
		rest := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool { return r.UID == ce.UID })
		if owner != nil && len(rest) < len(references) {
			rest = append(rest, *owner)
		}
		return rest
	})
}

// isOf says whether a ClusterExtension owns an object: by its controller, and by the labels that are
// those of the manifest.
func isOf(current *metav1.PartialObjectMetadata, manifest *unstructured.Unstructured, uid types.UID) bool {
	controller := metav1.GetControllerOf(current)
	return controller != nil && controller.UID == uid && current.Labels[olmv1.LabelOwnerKind] == manifest.GetLabels()[olmv1.LabelOwnerKind] &&
		current.Labels[olmv1.LabelOwnerName] == manifest.GetLabels()[olmv1.LabelOwnerName]
}
