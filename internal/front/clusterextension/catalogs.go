// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/oci"
)

// catalogDefinition is the definition of ClusterCatalogs, whose label says that it is ours.
const catalogDefinition = "clustercatalogs.olm.operatorframework.io"

// signals bring back ClusterExtensions and ClusterCatalogs.
type signals struct{ extensions, catalogs front.Signal }

func newSignals() signals { return signals{front.NewSignal(), front.NewSignal()} }

// catalogFacts is what is known of a ClusterCatalog.
type catalogFacts struct {
	// own says that the manager writes its status.
	own  bool
	view sources.CatalogView
}

// newCatalogFront keeps the contents of ClusterCatalogs current. It has no packages, and wakes the
// ClusterExtensions whose bundle may be another one now.
func newCatalogFront(s *supply, rests func() bool) front.Front[*olmv1.ClusterCatalog, catalogFacts] {
	return front.Front[*olmv1.ClusterCatalog, catalogFacts]{
		Name:    "clustercatalog",
		List:    func() client.ObjectList { return &olmv1.ClusterCatalogList{} },
		Selects: func(*olmv1.ClusterCatalog) bool { return true },
		Group:   func(cc *olmv1.ClusterCatalog) string { return cc.Name },
		Rests:   rests,
		Observe: s.observe,
		Gone:    s.drop,
		Leftovers: func(facts catalogFacts) []string {
			if !facts.own {
				return nil // catalogd takes its own off
			}
			return []string{"olm.operatorframework.io/delete-server-cache"}
		},
		Render: func(front.Input[*olmv1.ClusterCatalog, catalogFacts]) ([]content.Package, error) {
			return nil, nil
		},
		Status: func(cc *olmv1.ClusterCatalog, all front.State[catalogFacts]) {
			if all.Facts.own {
				setCatalogStatus(cc, all.Facts.view, all.Now)
			}
		},
		Events: catalogEvents,
		Again: func(facts catalogFacts) time.Duration {
			if facts.view.Next.IsZero() {
				return 0
			}
			return max(time.Until(facts.view.Next), time.Second)
		},
		Changed: predicate.ResourceVersionChangedPredicate{}, // labels, and what catalogd writes, matter
		Watches: []front.Watch{{Object: front.Definition(), Changed: front.Named(catalogDefinition)}},
		Signal:  s.signals.catalogs,
	}
}

// observe has the content of a catalog looked at when that is due.
func (s *supply) observe(ctx context.Context, group front.Group[*olmv1.ClusterCatalog]) (catalogFacts, error) {
	own, err := s.own(ctx)
	if err != nil {
		return catalogFacts{}, err
	}
	if len(group.Resources) == 0 {
		return catalogFacts{own: own}, s.drop(ctx, group.Name)
	}
	cc := group.Resources[0]
	if err := front.Unreadable(cc); err != nil {
		return catalogFacts{}, err
	}
	if err := s.sweep(ctx); err != nil {
		return catalogFacts{}, err
	}
	facts := catalogFacts{own: own}
	if !counts(cc) {
		return facts, s.drop(ctx, cc.Name)
	}
	wanted, err := s.wanted(cc, own)
	if err == nil {
		facts.view = s.catalogs.Observe(wanted)
	} else {
		facts.view.Snapshot = s.catalogs.Store.Get(cc.Name)
		facts.view.Err, facts.view.Final = err, isFinal(err)
	}
	now := edition{exists: true, labels: catalogLabels(cc), priority: cc.Spec.Priority, content: facts.view.Content}
	if facts.view.Err != nil {
		now.trouble = facts.view.Err.Error()
	}
	return facts, s.publish(ctx, cc.Name, now)
}

// counts says whether extensions may be resolved from a catalog.
func counts(cc *olmv1.ClusterCatalog) bool {
	return cc.DeletionTimestamp.IsZero() && cc.Spec.AvailabilityMode != olmv1.AvailabilityModeUnavailable && cc.Spec.Source.Image != nil
}

func isFinal(err error) bool {
	failure, ok := errors.AsType[*oci.Error](err)
	return ok && failure.Final()
}

// catalogLabels are those that selectors look at: the name is one of them, also where catalogd has not set it.
func catalogLabels(cc *olmv1.ClusterCatalog) map[string]string {
	all := maps.Clone(cc.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all[olmv1.LabelCatalogName] = cc.Name
	return all
}

// own says whether the manager reads the images of catalogs, and writes their status. Where another
// program has installed the definition of catalogs, that does both.
func (s *supply) own(ctx context.Context) (bool, error) {
	if s.mode != catalogsAuto {
		return s.mode == catalogsOwn, nil
	}
	definition := front.Definition()
	if err := s.cache.Get(ctx, client.ObjectKey{Name: catalogDefinition}, definition); err != nil {
		return false, fmt.Errorf("reading the definition of ClusterCatalogs: %w", err)
	}
	return definition.Labels[v1alpha1.LabelFront] != "", nil
}

// wanted is where a catalog is read from, or why it is nowhere.
func (s *supply) wanted(cc *olmv1.ClusterCatalog, own bool) (sources.Catalog, error) {
	wanted := sources.Catalog{Name: cc.Name}
	if folder := cc.Annotations[olmv1.AnnotationCatalogFolder]; folder != "" {
		if s.catalogs.Folders == "" {
			return wanted, &oci.Error{Kind: oci.Invalid, Text: fmt.Sprintf("its annotation %s names a folder, and the manager runs without --catalog-folders: set that, or remove the annotation", olmv1.AnnotationCatalogFolder)}
		}
		wanted.Folder = folder
		return wanted, nil
	}
	if !own {
		if cc.Status.URLs == nil || !meta.IsStatusConditionTrue(cc.Status.Conditions, olmv1.TypeServing) {
			return wanted, errors.New("catalogd does not serve it: see its condition Serving")
		}
		wanted.Base = cc.Status.URLs.Base
		if resolved := cc.Status.ResolvedSource; resolved != nil && resolved.Image != nil {
			wanted.Reference = resolved.Image.Ref
		}
		return wanted, nil
	}
	wanted.Image, wanted.Credentials = cc.Spec.Source.Image.Ref, s.secrets.of(nil)
	if minutes := cc.Spec.Source.Image.PollIntervalMinutes; minutes != nil {
		wanted.Poll = time.Duration(*minutes) * time.Minute
	}
	return wanted, nil
}

// drop forgets a catalog that is deleted or unavailable.
func (s *supply) drop(ctx context.Context, name string) error {
	return errors.Join(s.catalogs.Drop(name), s.publish(ctx, name, edition{}))
}

// sweep drops catalogs that were deleted while no manager ran.
func (s *supply) sweep(ctx context.Context) error {
	list := &olmv1.ClusterCatalogList{}
	if err := s.cache.List(ctx, list); err != nil {
		return fmt.Errorf("listing the ClusterCatalogs: %w", err)
	}
	exist := map[string]bool{}
	for i := range list.Items {
		exist[list.Items[i].Name] = true
	}
	var errs []error
	for _, name := range s.catalogs.Store.Names() {
		if !exist[name] {
			errs = append(errs, s.drop(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// edition is what extensions see of a catalog. The zero one is that of a catalog that does not count.
type edition struct {
	exists   bool
	labels   map[string]string
	priority int32
	// content is nil while there is none.
	content *catalog.Content
	// trouble is why the content is not current, empty when it is.
	trouble string
}

// publish wakes the extensions for which a catalog is another one now.
func (s *supply) publish(ctx context.Context, name string, now edition) error {
	s.lock.Lock()
	before := s.editions[name]
	s.editions[name] = now
	if !now.exists {
		delete(s.editions, name)
	}
	s.lock.Unlock()
	if !before.exists && !now.exists {
		return nil
	}
	list := &olmv1.ClusterExtensionList{}
	if err := s.cache.List(ctx, list); err != nil {
		return fmt.Errorf("listing the ClusterExtensions: %w", err)
	}
	for i := range list.Items {
		if ce := &list.Items[i]; concerns(before, now, ce) {
			s.signals.extensions.RaiseFor(ctx, ce)
		}
	}
	return nil
}

// concerns says whether an extension may be answered differently by another edition of a catalog.
func concerns(before, now edition, ce *olmv1.ClusterExtension) bool {
	wants := ce.Spec.Source.Catalog
	if wants == nil {
		return false
	}
	selector, err := selectorOf(wants)
	if err != nil {
		return false // only another selector helps
	}
	was, is := before.exists && selector.Matches(labels.Set(before.labels)), now.exists && selector.Matches(labels.Set(now.labels))
	if !was || !is {
		return was || is
	}
	if before.priority != now.priority || before.trouble != now.trouble || (before.content == nil) != (now.content == nil) {
		return true
	}
	if now.content == nil {
		return false
	}
	old, _ := before.content.Stamp(wants.PackageName)
	current, _ := now.content.Stamp(wants.PackageName)
	return old != current
}

// selectorOf says which catalogs a ClusterExtension is resolved from, by their labels.
func selectorOf(wants *olmv1.CatalogFilter) (labels.Selector, error) {
	if wants.Selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(wants.Selector)
}
