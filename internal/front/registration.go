// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/telemetry"
)

// Registration is all that the manager, the command line and the reference know of a front. Its
// folder exports one, and internal/controller/fronts.go lists it; nothing else names a front.
//
// Fields are required unless they say that they are optional.
type Registration struct {
	// Name is the front's, a DNS label: that of its packages, and of the flag --fronts.
	Name string
	// Kind is the kind of its resources.
	Kind schema.GroupVersionKind
	// Finalizer is what it sets on them. Optional.
	Finalizer string
	// Served are the kinds whose definitions Strata ships for the front, and how they are read. Optional.
	Served []decoding.Kind
	// AddToScheme adds the types of the front.
	AddToScheme func(*runtime.Scheme) error
	// Caches limits what is cached of kinds that every cluster serves, such as a selector or a
	// transformation. Optional.
	Caches func() map[client.Object]cache.ByObject
	// Trim removes from an object of any kind what need not be cached. Optional.
	Trim func(object any)
	// Settings are new settings, with their defaults.
	Settings func() Settings
	// Off says whether settings keep the front from running although --fronts names it. Optional.
	Off func(Settings) bool
	// HandOver hands its resources over to another operator. Optional.
	HandOver *HandOver
	// Extensions answers what the command line asks about catalogs and extensions. Optional.
	Extensions *Extensions

	// Guide is the page about the front in docs/guides, and Rows what its resources say.
	Guide string
	Rows  func() Rows
	// Metrics are those of its own. Optional.
	Metrics []telemetry.Description
	// Constants are the files whose constants the page of conditions lists, and Events those of
	// the page of events. Optional.
	Constants, Events []Source
}

// Settings are the flags of a front.
type Settings interface {
	// AddFlags adds a flag for each setting, with its present value as default.
	AddFlags(flags *pflag.FlagSet)
	// Complete takes from the environment what no flag says, and returns an error about a
	// setting that cannot work, with what would.
	Complete(getenv func(name string) string) error
	// Setup adds the front to a manager. The settings are complete.
	Setup(w Wiring) error
}

// HandOver is how a front hands its resources over to another operator.
type HandOver struct {
	// Annotation on a resource asks for it.
	Annotation string
	// List lists the resources of the front.
	List func(ctx context.Context, reader client.Reader) ([]client.Object, error)
	// Marked says whether a resource has a finalizer or a status of the front.
	Marked func(client.Object) bool
	// Free removes both from a resource that was just read from the API server.
	Free func(ctx context.Context, c client.Client, resource client.Object) error
}

// Source is a file with constants for the reference, and the title of those whose group has none.
type Source struct{ File, Title string }

// Rows are the lines of the reference of what a front says on its resources.
type Rows []Row

// Row is one line of it.
type Row struct {
	// Condition is its type, Status what it is, and Reason why.
	Condition, Status, Reason string
	// When says in which situation, for people who know the front and not its code.
	When string
	// Message is an example, or the beginning of one.
	Message string
	// Remedy says what to do, empty when there is nothing to be done.
	Remedy string
}

// RowOf makes rows of one type of condition.
func RowOf(condition string) func(status, reason, when, message, remedy string) Row {
	return func(status, reason, when, message, remedy string) Row {
		return Row{Condition: condition, Status: status, Reason: reason, When: when, Message: message, Remedy: remedy}
	}
}

// Statuses are those that come with each reason of each type of condition.
func (rows Rows) Statuses() map[string]map[string]metav1.ConditionStatus {
	all := map[string]map[string]metav1.ConditionStatus{}
	for _, r := range rows {
		if all[r.Condition] == nil {
			all[r.Condition] = map[string]metav1.ConditionStatus{}
		}
		all[r.Condition][r.Reason] = metav1.ConditionStatus(r.Status)
	}
	return all
}
