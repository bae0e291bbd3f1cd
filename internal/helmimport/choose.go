// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels of the Secrets of a release.
const (
	labelOwner   = "owner"
	labelName    = "name"
	labelVersion = "version"
	ownerHelm    = "helm"
)

// Choice is the version of a release that is imported.
type Choice struct {
	// Release is the newest that is deployed.
	Release Release
	// Later are newer ones, which have failed or are under way, newest first.
	Later []Release
	// Secrets are the names of all Secrets of the release, newest version first.
	Secrets []string
}

// numbered is a Secret of a release and the version that it contains.
type numbered struct {
	name    string
	version int
}

// Choose reads versions of a release from the newest on, until one is deployed. It
// fails with a *NotFoundError when there is no such release, and with a
// *RefusedError when no version of it is deployed.
func (i *Importer) Choose(ctx context.Context, namespace, name string) (Choice, error) {
	return releases{i.Client}.choose(ctx, namespace, name)
}

// releases reads what Helm keeps of releases.
type releases struct{ client.Reader }

func (r releases) choose(ctx context.Context, namespace, name string) (Choice, error) {
	secrets, err := r.secretsOf(ctx, namespace, name)
	if err != nil {
		return Choice{}, err
	}
	var choice Choice
	for _, s := range secrets {
		choice.Secrets = append(choice.Secrets, s.name)
	}
	for _, s := range secrets {
		release, err := r.read(ctx, namespace, name, s)
		if err != nil {
			return Choice{}, err
		}
		switch release.Status {
		case statusDeployed:
			choice.Release = release
			return choice, nil
		case statusUninstalling, statusUninstalled:
			return Choice{}, &RefusedError{Reasons: []string{fmt.Sprintf(
				"Helm release %s is %s: there is nothing to import. If it is to stay, complete or undo that with helm first", release, release.Status)}}
		case statusSuperseded:
			// What came before the one that is deployed says nothing of the present.
		default:
			choice.Later = append(choice.Later, release)
		}
	}
	newest := "none"
	if len(choice.Later) > 0 {
		newest = choice.Later[0].Status
	}
	return Choice{}, &RefusedError{Reasons: []string{fmt.Sprintf(
		"Helm release %s/%s has no version that is deployed (the newest is %s): bring it into order with `helm upgrade` or `helm rollback` first", namespace, name, newest)}}
}

// secretsOf are the Secrets of a release, newest version first. Only metadata are
// read, as a Secret may have a megabyte and a release many of them.
func (r releases) secretsOf(ctx context.Context, namespace, name string) ([]numbered, error) {
	list, err := r.listSecrets(ctx, namespace, client.MatchingLabels{labelOwner: ownerHelm, labelName: name})
	if err != nil {
		return nil, err
	}
	var found []numbered
	for _, item := range list {
		version, err := strconv.Atoi(item.Labels[labelVersion])
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s/%s: its label %s is %q, not the version of a release", namespace, item.Name, labelVersion, item.Labels[labelVersion])
		}
		found = append(found, numbered{name: item.Name, version: version})
	}
	if len(found) == 0 {
		return nil, r.notFound(ctx, namespace, name)
	}
	slices.SortFunc(found, func(a, b numbered) int { return b.version - a.version })
	return found, nil
}

// notFound says that a release is not there, and which are.
func (r releases) notFound(ctx context.Context, namespace, name string) error {
	list, err := r.listSecrets(ctx, namespace, client.MatchingLabels{labelOwner: ownerHelm})
	if err != nil {
		return err
	}
	var exist []string
	for _, item := range list {
		exist = append(exist, item.Labels[labelName])
	}
	slices.Sort(exist)
	return &NotFoundError{Namespace: namespace, Name: name, Exist: slices.Compact(exist)}
}

func (r releases) listSecrets(ctx context.Context, namespace string, selector client.MatchingLabels) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.List(ctx, list, client.InNamespace(namespace), selector); err != nil {
		return nil, fmt.Errorf("listing the Secrets of Helm in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

func (r releases) read(ctx context.Context, namespace, name string, s numbered) (Release, error) {
	secret := &corev1.Secret{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: namespace, Name: s.name}, secret); err != nil {
		return Release{}, fmt.Errorf("reading Secret %s/%s: %w", namespace, s.name, err)
	}
	release, err := decode(secret)
	if err != nil {
		return Release{}, err
	}
	if release.Name != name || release.Version != s.version {
		return Release{}, fmt.Errorf("reading the release in Secret %s/%s: it is %s, and its labels say %s version %d", namespace, s.name, release, name, s.version)
	}
	return release, nil
}
