// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/telemetry"
)

var classKind = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Kind: "GatewayClass"}

// observer reads what Gateways' records and conditions are made from.
type observer struct {
	// cache is read, so that a pass costs no request; live before a record is deleted.
	cache, live client.Reader
	// served says whether a kind may be read.
	served func(schema.GroupVersionKind) bool
	// writer puts the finalizer on DNSRecords, which no revision may contain. Empty for the
	// one that the platform asks for.
	writer    client.Writer
	finalizer string
	// noRoom is for Gateways that have no room for conditions, and noFinalizer for those whose
	// records may stay in their zones.
	noRoom, noFinalizer front.Warning
	// steady are the conditions of before.
	steady steady
}

func newObserver(w front.Wiring, finalizer string) *observer {
	return &observer{
		cache: w.Manager.GetCache(), live: w.Manager.GetAPIReader(), served: w.Kinds.Served, writer: w.Manager.GetClient(), finalizer: finalizer,
		noRoom:      front.Warning{Recorder: w.Recorder, Reason: telemetry.ReasonNoRoomForCondition, Action: "SetCondition"},
		noFinalizer: front.Warning{Recorder: w.Recorder, Reason: telemetry.ReasonNoRecordFinalizer, Action: "SetFinalizer"},
	}
}

// Observe reads the facts about a Gateway.
func (o *observer) Observe(ctx context.Context, group front.Group[*gatewayv1.Gateway]) (Facts, error) {
	if len(group.Resources) == 0 {
		for _, g := range group.Deleting {
			o.steady.forget(client.ObjectKeyFromObject(g))
		}
		return Facts{}, nil
	}
	g, facts := group.Resources[0], Facts{}
	for _, read := range []func(context.Context, *gatewayv1.Gateway, *Facts) error{
		o.readClass, o.readService, o.readEvents, o.readConfig, o.readPlatform, o.readRecords,
	} {
		err := read(ctx, g, &facts)
		if _, failed := errors.AsType[*finalizerError](err); failed {
			return facts, err // all is known that the status needs, and records come last
		}
		if err != nil {
			return Facts{}, err
		}
	}
	if facts.Class == ClassOurs {
		o.noRoom.Record(g, noRoomText(ingress.Full(g)))
		o.noFinalizer.Record(g, o.noFinalizerText(g, &facts))
	}
	return facts, nil
}

func (o *observer) readClass(ctx context.Context, g *gatewayv1.Gateway, facts *Facts) error {
	class := &gatewayv1.GatewayClass{}
	found, err := o.get(ctx, classKind, types.NamespacedName{Name: string(g.Spec.GatewayClassName)}, class)
	switch {
	case err != nil:
		return err
	case !found:
		facts.Class = ClassMissing
	case class.Spec.ControllerName == classController:
		facts.Class = ClassOurs
	default:
		facts.Class = ClassForeign
	}
	return nil
}

func (o *observer) readService(ctx context.Context, g *gatewayv1.Gateway, facts *Facts) error {
	list := &corev1.ServiceList{}
	if err := o.cache.List(ctx, list, client.InNamespace(Namespace), client.MatchingLabels{LabelGateway: g.Name}); err != nil {
		return fmt.Errorf("listing the services of Gateway %s: %w", g.Name, err)
	}
	facts.Service, facts.Others = ChooseService(g, list.Items)
	return nil
}

// readEvents reads the warnings about the Gateway's Service. There are few: the cache
// contains no others, and the API server keeps them for an hour.
func (o *observer) readEvents(ctx context.Context, _ *gatewayv1.Gateway, facts *Facts) error {
	if facts.Service == nil {
		return nil
	}
	list := &corev1.EventList{}
	if err := o.cache.List(ctx, list, client.InNamespace(Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing warnings about services: %w", err)
	}
	facts.Events = slices.DeleteFunc(slices.Clone(list.Items), func(e corev1.Event) bool { return e.InvolvedObject.UID != facts.Service.UID })
	return nil
}

func (o *observer) readConfig(ctx context.Context, _ *gatewayv1.Gateway, facts *Facts) error {
	object := front.Untyped(DNSKind)
	found, err := o.get(ctx, DNSKind, types.NamespacedName{Name: Config}, object)
	if found {
		facts.Config, err = ingress.ReadDNSConfig(object)
	}
	return err
}

func (o *observer) readPlatform(ctx context.Context, _ *gatewayv1.Gateway, facts *Facts) error {
	object := front.Untyped(InfrastructureKind)
	found, err := o.get(ctx, InfrastructureKind, types.NamespacedName{Name: Config}, object)
	if found {
		facts.Platform, err = ingress.ReadPlatform(object)
	}
	return err
}

func (o *observer) readRecords(ctx context.Context, g *gatewayv1.Gateway, facts *Facts) error {
	if facts.RecordsServed = o.served(RecordKind); !facts.RecordsServed {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(RecordKind)
	if err := o.cache.List(ctx, list, client.InNamespace(Namespace), client.MatchingLabels{LabelGateway: g.Name}); err != nil {
		return fmt.Errorf("listing the DNSRecords of Gateway %s: %w", g.Name, err)
	}
	records := make([]ingress.Record, 0, len(list.Items))
	var failed []error
	for i := range list.Items {
		record, err := ingress.ReadRecord(&list.Items[i])
		if err != nil {
			return err
		}
		if facts.Class == ClassOurs && IsStale(g, record, list.Items[i].GetOwnerReferences()) {
			if err := o.prune(ctx, g, &list.Items[i]); err != nil {
				failed = append(failed, err)
			}
			continue
		}
		if err := o.addFinalizer(ctx, g, record, &list.Items[i], o.finalizerFor(facts)); err != nil {
			failed = append(failed, err)
		}
		records = append(records, *record)
	}
	facts.Records = ChooseRecords(g, records)
	if len(failed) > 0 {
		return &finalizerError{errors.Join(failed...)}
	}
	return nil
}

// finalizerError says that records could not get the finalizer. No more records are made
// meanwhile.
type finalizerError struct{ err error }

// Error is that of the cause.
func (e *finalizerError) Error() string { return e.err.Error() }

// Unwrap is the cause.
func (e *finalizerError) Unwrap() error { return e.err }

// noRoomText says where conditions have no room, empty for nowhere.
func noRoomText(full []string) string {
	if len(full) == 0 {
		return ""
	}
	return fmt.Sprintf("%[2]s has %[1]d conditions of other controllers, which is the maximum of a Gateway, so %[3]s or %[4]s cannot be set",
		ingress.MaxConditions, strings.Join(full, ", "), ingress.ConditionLoadBalancerReady, ingress.ConditionDNSReady)
}

// noFinalizerText says that records may stay in their zones, as it is not known who publishes
// them; empty when it is.
func (o *observer) noFinalizerText(g *gatewayv1.Gateway, facts *Facts) string {
	zones := facts.Config != nil && len(facts.Config.Zones) > 0
	if o.finalizer != "" || !zones || !facts.RecordsServed || facts.Platform == "" || ingress.IsPublished(facts.Config, facts.Platform) || len(ingress.Hostnames(g)) == 0 {
		return ""
	}
	return fmt.Sprintf("The DNSRecords carry no finalizer, so a record that is deleted may stay in its zones: the DNS config has zones, and it is not known which controller publishes records on platform %s. "+
		"Start the manager with --dns-record-finalizer and the finalizer of that controller, or with %s", facts.Platform, NoFinalizer)
}

// finalizerFor is the finalizer of records, empty for none: the setting, and without one
// the finalizer of OpenShift's DNS controller where that publishes records. It takes a record
// out of its zones only while the finalizer is there.
func (o *observer) finalizerFor(facts *Facts) string {
	switch {
	case o.finalizer == NoFinalizer:
		return ""
	case o.finalizer == "" && ingress.IsPublished(facts.Config, facts.Platform):
		return DefaultFinalizer
	}
	return o.finalizer
}

// addFinalizer puts the finalizer on a record of the Gateway's package.
func (o *observer) addFinalizer(ctx context.Context, g *gatewayv1.Gateway, record *ingress.Record, object *unstructured.Unstructured, finalizer string) error {
	if finalizer == "" || record.Package != PackageName(g.Name) || object.GetDeletionTimestamp() != nil {
		return nil
	}
	before := object.DeepCopy()
	if !controllerutil.AddFinalizer(object, finalizer) {
		return nil
	}
	err := o.writer.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("putting finalizer %s on DNSRecord %s: %w", finalizer, object.GetName(), err)
	}
	return nil
}

// prune deletes a record that the operator before this one has left for a hostname that the
// Gateway does not have any more, as it stands in the cache. The Gateway is read live first: the
// cache may lack a hostname that has just come back.
func (o *observer) prune(ctx context.Context, g *gatewayv1.Gateway, record *unstructured.Unstructured) error {
	live := &gatewayv1.Gateway{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(g), live); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reading Gateway %s: %w", g.Name, err))
	}
	if live.UID != g.UID || live.Generation != g.Generation {
		return nil // its event brings us back
	}
	uid, version := record.GetUID(), record.GetResourceVersion()
	err := o.writer.Delete(ctx, record, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting DNSRecord %s, for a hostname that Gateway %s does not have: %w", record.GetName(), g.Name, err)
	}
	return nil
}

// get reads an object, and says whether it exists. Of a kind that is not served there
// is none.
func (o *observer) get(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName, object client.Object) (bool, error) {
	if !o.served(kind) {
		return false, nil
	}
	err := o.cache.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind.Kind, key.Name, err)
	}
	return true, nil
}

// ofService are the Gateways that an event about a Service matters to.
func (o *observer) ofService(ctx context.Context, object client.Object) []string {
	warning, ok := object.(*corev1.Event)
	if !ok {
		return nil
	}
	service := &corev1.Service{}
	// A Service that is not there yet brings its Gateway back itself.
	if err := o.cache.Get(ctx, types.NamespacedName{Namespace: warning.InvolvedObject.Namespace, Name: warning.InvolvedObject.Name}, service); err != nil {
		return nil
	}
	return ofLabel(ctx, service)
}
