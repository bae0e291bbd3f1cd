// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/helmimport"
	"github.com/strata-run/strata/revisions/probes"
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

// jobKind are the objects that run once.
var jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}

// Import reads what is installed of a ClusterExtension, and hands its objects over. It is nil when
// there is nothing to import. A *RefusedError says why it cannot be imported; nothing is changed then.
func (i *Importer) Import(ctx context.Context, ce *olmv1.ClusterExtension, target bundle.Target) (*Import, error) {
	sets, err := i.sets(ctx, ce)
	if err != nil {
		return nil, err
	}
	is, err := i.plan(ctx, ce, target, sets)
	if err != nil || is == nil {
		return nil, err
	}
	for _, phase := range is.Phases {
		for _, object := range phase.Objects {
			if err := i.handOver(ctx, object, ownersOf(ce, sets), nil); err != nil {
				return nil, err
			}
		}
	}
	return is, i.releaseSets(ctx, sets)
}

// plan is what an import makes of what is installed, nil when there is nothing to import. What OLM's
// newer runtime has installed counts before releases, which it has left.
func (i *Importer) plan(ctx context.Context, ce *olmv1.ClusterExtension, target bundle.Target, sets []objectSet) (*Import, error) {
	from, found, err := i.fromSets(ctx, sets)
	if err == nil && len(sets) == 0 {
		from, found, err = i.fromRelease(ctx, ce)
	}
	if err != nil || !found {
		return nil, err
	}
	if from.objects, err = i.withoutGoneJobs(ctx, from.objects); err != nil {
		return nil, err
	}
	scalers, err := i.scalers(ctx, from.objects, target.Namespace)
	if err != nil {
		return nil, err
	}
	is, err := convert(from, ce, target, scalers)
	if err != nil {
		return nil, err
	}
	return is, i.keepPods(ctx, is)
}

// fromRelease is what the release of a ClusterExtension says is installed.
func (i *Importer) fromRelease(ctx context.Context, ce *olmv1.ClusterExtension) (is installation, found bool, err error) {
	release, found, err := i.release(ctx, ce)
	if err != nil || !found {
		return is, false, err
	}
	is, err = release.installed()
	return is, true, err
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

// withoutGoneJobs leaves out Jobs that do not exist any more: they would run again.
func (i *Importer) withoutGoneJobs(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var rest []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() == jobKind {
			found, err := front.Read(ctx, i.Live, object.GetNamespace(), object.GetName(), front.Metadata(object.GroupVersionKind()))
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
		}
		rest = append(rest, object)
	}
	return rest, nil
}

// keepPods leaves what was changed by hand of what pods are made from as it is, until another version
// is installed: to set it back would restart pods.
func (i *Importer) keepPods(ctx context.Context, is *Import) error {
	for p := range is.Phases {
		for o := range is.Phases[p].Objects {
			object := &is.Phases[p].Objects[o]
			fields, err := i.installed().PodFields(ctx, applied(*object))
			if err != nil {
				return err
			}
			if len(fields) == 0 {
				continue
			}
			object.UnmanagedFields = append(object.UnmanagedFields, patterns(fields)...)
			is.Notes = append(is.Notes, fmt.Sprintf("of %s these fields were changed by hand, and are left so until another version is installed: %s", plain.NameOf(object.Manifest), strings.Join(object.UnmanagedFields, ", ")))
		}
	}
	return nil
}

// maxPatterns is how many fields of an object may be left out, and maxPattern how long a path may be.
const maxPatterns, maxPattern = 15, 256

// entryByIndex is an entry of a list that nothing tells apart.
var entryByIndex = regexp.MustCompile(`\[\d+\].*$`)

// patterns leave out fields. An entry of a list that nothing tells apart is left out with its list, and
// with too many fields the whole template.
func patterns(fields []string) []string {
	var all []string
	for _, field := range fields {
		all = append(all, entryByIndex.ReplaceAllString(field, ""))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) <= maxPatterns && !slices.ContainsFunc(all, func(of string) bool { return len(of) > maxPattern }) {
		return all
	}
	return []string{replicas, ".spec.template"}
}

// applied is the manifest of an object as it is applied.
func applied(object content.Object) *unstructured.Unstructured {
	manifest := object.Manifest.Object
	for _, field := range object.UnmanagedFields {
		if pattern, err := probes.ParsePattern(field); err == nil {
			manifest = pattern.Without(manifest)
		}
	}
	return &unstructured.Unstructured{Object: manifest}
}

// installed hands over objects.
func (i *Importer) installed() helmimport.Installed {
	return helmimport.Installed{Client: i.Client, Live: i.Live}
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

// Adopt makes a package the owner of those of its objects that OLM's controller has made for a
// ClusterExtension: a first installation that failed has left them, and there is nothing to import.
func (i *Importer) Adopt(ctx context.Context, ce *olmv1.ClusterExtension, pkg *v1alpha1.Package, phases []content.Phase) error {
	sets, err := i.sets(ctx, ce)
	if err != nil {
		return err
	}
	controls := true
	owner := &metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: pkg.Name, UID: pkg.UID, Controller: &controls, BlockOwnerDeletion: &controls,
	}
	for _, phase := range phases {
		for _, object := range phase.Objects {
			if err := i.handOver(ctx, object, ownersOf(ce, sets), owner); err != nil {
				return err
			}
		}
	}
	return i.releaseSets(ctx, sets)
}

// handOver makes what OLM's controller owns of an object's fields ours, and takes its owner references
// off: with those the object would go with the ClusterExtension, whatever the package says. With an
// owner in their place only an object is handed over that one of the former owners controls.
func (i *Importer) handOver(ctx context.Context, object content.Object, former []types.UID, owner *metav1.OwnerReference) error {
	if owner != nil {
		current := front.Metadata(object.Manifest.GroupVersionKind())
		found, err := front.Read(ctx, i.Live, object.Manifest.GetNamespace(), object.Manifest.GetName(), current)
		if meta.IsNoMatchError(err) || err == nil && (!found || !isOf(current, object.Manifest, former)) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return i.installed().TakeOver(ctx, applied(object), func(references []metav1.OwnerReference) []metav1.OwnerReference {
		rest := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool { return slices.Contains(former, r.UID) })
		if owner != nil && len(rest) < len(references) {
			rest = append(rest, *owner)
		}
		return rest
	})
}

// isOf says whether an object is a ClusterExtension's: by its controller, and by the labels that are
// those of the manifest.
func isOf(current *metav1.PartialObjectMetadata, manifest *unstructured.Unstructured, former []types.UID) bool {
	controller := metav1.GetControllerOf(current)
	return controller != nil && slices.Contains(former, controller.UID) && current.Labels[olmv1.LabelOwnerKind] == manifest.GetLabels()[olmv1.LabelOwnerKind] &&
		current.Labels[olmv1.LabelOwnerName] == manifest.GetLabels()[olmv1.LabelOwnerName]
}
