// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// importRetry is when a release that cannot be imported is looked at again.
const importRetry = time.Minute

// importer is the [migration.Importer], with what a bundle is rendered for.
type importer struct {
	migration.Importer

	supply *supply
}

// Import implements imports.
func (i *importer) Import(ctx context.Context, ce *olmv1.ClusterExtension) (*migration.Import, error) {
	is, err := i.Importer.Import(ctx, ce, bundle.Target{
		Extension: ce.Name, Package: packageName(ce.Name), PackageName: ce.Spec.Source.Catalog.PackageName,
		Namespace: ce.Spec.Namespace, Scope: i.supply.scope,
	})
	if is != nil {
		keepUsedDefinitions(ce, is.Phases)
	}
	return is, err
}

// takeOver decides about a ClusterExtension without revisions, before anything is rendered for it:
// what OLM's own controller has installed becomes revision 1.
func (o *observer) takeOver(ctx context.Context, group front.Group[*olmv1.ClusterExtension], ce *olmv1.ClusterExtension, facts *observed) error {
	if len(facts.revisions) > 0 || o.absences.has(ce) {
		return nil
	}
	pkg := &v1alpha1.Package{}
	found, err := front.Found(o.cache.Get(ctx, client.ObjectKey{Name: packageName(ce.Name)}, pkg))
	if err != nil {
		return fmt.Errorf("reading package %s: %w", packageName(ce.Name), err)
	}
	if found && !slices.ContainsFunc(group.Existing, func(p v1alpha1.Package) bool { return p.UID == pkg.UID }) {
		return nil // its name is taken, so that nothing can be made of it
	}
	facts.imported, err = o.imports.Import(ctx, ce)
	if refused, ok := errors.AsType[*migration.RefusedError](err); ok {
		facts.trouble, facts.next = &trouble{olmv1.ReasonBlocked, refused.Error()}, o.now().Add(importRetry)
		return nil
	}
	if err == nil && facts.imported == nil {
		o.absences.add(ce)
	}
	return err
}

// absences are the ClusterExtensions that OLM's own controller has installed nothing of. It installs
// nothing while it does not lead, so that each is looked for once.
type absences struct {
	lock  sync.Mutex
	known map[string]types.UID
}

func (a *absences) has(ce *olmv1.ClusterExtension) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	uid, known := a.known[ce.Name]
	return known && uid == ce.UID
}

func (a *absences) add(ce *olmv1.ClusterExtension) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.known == nil {
		a.known = map[string]types.UID{}
	}
	a.known[ce.Name] = ce.UID
}

func (a *absences) forget(name string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	delete(a.known, name)
}

// clear is called when OLM's controller has led.
func (a *absences) clear() {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.known = nil
}

// revisionOf is the package with what was imported, as revision 1.
func revisionOf(ce *olmv1.ClusterExtension, pkg content.Package, is *migration.Import) content.Package {
	pkg.Phases, pkg.Labels = is.Phases, revisionLabels(ce.Name)
	pkg.Annotations = revisionAnnotations(is.Package, is.Bundle, is.Image, "")
	pkg.Annotations[olmv1.AnnotationImported] = configDigest(ce)
	pkg.Origin = v1alpha1.Origin{
		Kind: v1alpha1.OriginHelmImport, Reference: "ClusterExtension/" + ce.Name, Generation: ce.Generation,
		AppVersion: is.Bundle.Version, Identity: identity(is.Package, is.Bundle), Images: is.Images,
		Reason: importReason(is),
	}
	return pkg
}

// maxReason is how many bytes the reason of a revision may have.
const maxReason = 1024

// importReason says what was imported, and what of it is left as it was.
func importReason(is *migration.Import) string {
	reason := strings.Join(append([]string{"imported from " + is.Description}, is.Notes...), "; ")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-3], "") + "..."
	}
	return reason
}

// configDigest stands for what besides its bundle decides what a ClusterExtension becomes.
func configDigest(ce *olmv1.ClusterExtension) string {
	var config any
	if ce.Spec.Config != nil && ce.Spec.Config.Inline != nil {
		// The API server lets no other than JSON through.
		if json.Unmarshal(ce.Spec.Config.Inline.Raw, &config) != nil {
			config = string(ce.Spec.Config.Inline.Raw)
		}
	}
	text, err := json.Marshal([]any{ce.Spec.Namespace, config})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// importedOf is the newest revision when it was imported, nil for any other.
func importedOf(revisions []v1alpha1.Revision) *v1alpha1.Revision {
	var newest *v1alpha1.Revision
	for i := range revisions {
		if newest == nil || revisions[i].Spec.Revision > newest.Spec.Revision {
			newest = &revisions[i]
		}
	}
	if newest == nil || newest.Annotations[olmv1.AnnotationImported] == "" {
		return nil
	}
	return newest
}

// standsFor says that what was imported is what is wanted. To render the same bundle would change what
// runs, as another renderer does, and restart pods.
func standsFor(ce *olmv1.ClusterExtension, facts observed) bool {
	revision := importedOf(facts.revisions)
	if revision == nil || ce.Annotations[olmv1.AnnotationRender] != "" || revision.Annotations[olmv1.AnnotationImported] != configDigest(ce) {
		return false
	}
	was := bundleOf(revision.Annotations)
	return was != nil && sameBundle(*was, facts.answer.Choice.Identity) && revision.Annotations[olmv1.AnnotationPackageName] == ce.Spec.Source.Catalog.PackageName
}

// sameBundle compares identities. OLM's controller records no release for many bundles that have one.
func sameBundle(was, now resolve.Identity) bool {
	return was.Name == now.Name && was.Version == now.Version && (was.Release == nil || now.Release == nil || *was.Release == *now.Release)
}

// collided is the package when objects that exist keep its first revision from being installed.
func collided(group front.Group[*olmv1.ClusterExtension]) *v1alpha1.Package {
	i := slices.IndexFunc(group.Existing, func(p v1alpha1.Package) bool { return p.Name == packageName(group.Name) })
	if i < 0 || group.Existing[i].Status.CurrentRevision > 0 {
		return nil
	}
	doing := meta.FindStatusCondition(group.Existing[i].Status.Conditions, v1alpha1.ConditionProgressing)
	if doing == nil || doing.Reason != v1alpha1.ReasonObjectCollisions {
		return nil
	}
	return &group.Existing[i]
}
