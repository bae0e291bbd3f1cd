// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/telemetry"
)

// Front is what one front does with its resources of type P. F are the facts of the
// cluster that it looks at besides them; struct{} when there are none.
//
// Fields are required unless they say that they are optional.
type Front[P client.Object, F any] struct {
	// Name is the front's, a DNS label. It stands on its packages.
	Name string
	// Finalizer keeps a resource until the packages that no resource asks for any
	// more are gone. Optional: without it, packages are deleted after their
	// resource.
	Finalizer string
	// Namespace is the only one whose resources are looked at. Optional: without it, all are.
	Namespace string
	// NeedsFinalizer is pure: whether a resource among those that are to stay needs the finalizer.
	// Optional: without it, each does.
	NeedsFinalizer func(resource P, among []P) bool
	// List is an empty list of the resources.
	List func() client.ObjectList
	// Selects says which resources are the front's.
	Selects func(P) bool
	// Group names the group of a resource. The resources of a group want one list of
	// packages together. Optional: without it, all are one group, of the front's name.
	Group func(P) string

	// Rests says that the front writes nothing for now: its resources are another controller's. A
	// signal brings them back. Optional.
	Rests func() bool

	// Observe reads what rendering and the status depend on. It is the front's only
	// access to the cluster, and it may also write what belongs in no revision, such as
	// a label that has to go. When nothing has changed it costs no request. Optional.
	Observe func(ctx context.Context, group Group[P]) (F, error)
	// Render is pure: the packages that a group wants.
	Render func(in Input[P, F]) ([]content.Package, error)
	// Teardown is pure: how the packages are deleted that a group does not want any more. Optional:
	// without it, they are deleted all at once.
	Teardown func(in Input[P, F]) Teardown
	// Stays is pure: what keeps a resource that is being deleted from going after its
	// packages have gone, nil for nothing. The others go. The pass fails with it and is made
	// again, unless it wraps [ErrNotYet]. Optional.
	Stays func(resource P, facts F) error
	// Leftovers is pure: finalizers of a controller that the front has replaced, which go from a
	// resource that is being deleted, with the front's own. Optional.
	Leftovers func(facts F) []string
	// Gone is called when nothing is left of a group: no resource and no package. It may be called
	// again. Optional.
	Gone func(ctx context.Context, group string) error
	// Annotations is pure: those that a resource has to carry, besides any others.
	// Optional.
	Annotations func(resource P, state State[F]) map[string]string
	// Status is pure: it sets the status of a resource. It is asked for resources that
	// are being deleted, too.
	Status func(resource P, state State[F])
	// Events is pure: what of a change of status is worth an event. Optional.
	Events func(before, after P) []telemetry.Event
	// Conditions is pure: those of a resource that the front has set, for metrics. Optional.
	Conditions func(resource P) []telemetry.ResourceCondition
	// Again is when to look again without an event, 0 for not at all. Optional.
	Again func(facts F) time.Duration

	// LiveStatus makes a status that has to change be computed again from a live read,
	// where other controllers write into the same lists and a patch would replace their entries.
	LiveStatus bool
	// Changed says which updates of a resource matter. Optional: without it, those of
	// its spec and annotations, and its deletion.
	Changed predicate.Predicate
	// Watches are further kinds whose changes matter. Optional.
	Watches []Watch
	// Signal brings back groups for what the front watches itself: that of a resource with a name,
	// and all that have a resource for one without. Optional.
	Signal <-chan event.GenericEvent
}

// ErrNotYet is for what keeps a resource for a while and is no trouble: a signal, or a change of
// what is watched, brings its group back.
var ErrNotYet = errors.New("not yet")

// Group are resources that want one list of packages together, and the packages that
// were made for them.
type Group[P client.Object] struct {
	// Name is the group's.
	Name string
	// Resources are those that are to stay, in the order of the cache.
	Resources []P
	// Deleting are those that are being deleted.
	Deleting []P
	// Existing are the group's packages.
	Existing []v1alpha1.Package
}

// Input is what a front's pure functions work on.
type Input[P client.Object, F any] struct {
	Group[P]

	// Facts are what was observed.
	Facts F
}

// Teardown says how packages are deleted.
type Teardown struct {
	// Blocked says why they do not go for now. Nil lets them go.
	Blocked error
	// Orphans names the packages whose objects stay in place, without owner. Those of the
	// others go.
	Orphans []string
	// Order names packages that go one after the other. The others go at once.
	Order []string
}

// State is where the packages of a group stand after a pass.
type State[F any] struct {
	// Packages are those that are wanted, in the order of rendering. Empty when
	// nothing could be rendered.
	Packages []Package
	// Facts are what was observed.
	Facts F
	// Err is what kept packages from being observed, rendered or published.
	Err error
	// Unwanted are the packages that no resource asks for any more, and Blocked is
	// why they are not deleted.
	Unwanted []v1alpha1.Package
	Blocked  error
	// Now is the time of the pass, in seconds.
	Now metav1.Time
}

// Watch is a kind whose changes bring a front's groups back, as soon as the kind is
// served and as long as it is.
type Watch struct {
	// Object is an empty object of the kind: typed, unstructured, or
	// [metav1.PartialObjectMetadata] with its kind set. What is read of the kind from
	// the cache has to be read the same way.
	Object client.Object
	// Groups are those that an object matters to. Optional: without it, all groups
	// that have a resource.
	Groups func(ctx context.Context, object client.Object) []string
	// Changed says which events matter. Optional.
	Changed predicate.Predicate

	// delay is how long a pass waits after an update, 0 for not at all.
	delay time.Duration
}

// group is the name of a resource's group.
func (f *Front[P, F]) group(resource P) string {
	if f.Group == nil {
		return f.Name
	}
	return f.Group(resource)
}

// groupOf is the group that a package was made for.
func (f *Front[P, F]) groupOf(pkg client.Object) string {
	if f.Group == nil {
		return f.Name
	}
	return pkg.GetAnnotations()[v1alpha1.AnnotationFrontGroup]
}
