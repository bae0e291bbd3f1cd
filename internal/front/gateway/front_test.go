// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/history"
)

// notes are the events that were recorded.
type notes struct{ recorded []string }

func (n *notes) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	n.recorded = append(n.recorded, reason+": "+fmt.Sprintf(note, args...))
}

func edgeGateway() *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "edge", UID: "gw"}}
	g.Spec.GatewayClassName = "ours"
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "a", Hostname: new(gatewayv1.Hostname("a.example.com"))}}
	g.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "a"}}
	return g
}

func dnsRecord(name, pkg string) *unstructured.Unstructured {
	o := front.Untyped(RecordKind)
	o.SetNamespace(Namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{LabelGateway: "edge", v1alpha1.LabelPackage: pkg})
	o.Object["spec"] = map[string]any{"dnsName": name + ".example.com."}
	return o
}

// published is a cluster with a DNS zone on a platform.
func published(platform string) []client.Object {
	dns, infrastructure := front.Untyped(DNSKind), front.Untyped(InfrastructureKind)
	for _, o := range []*unstructured.Unstructured{dns, infrastructure} {
		o.SetName(Config)
	}
	dns.Object["spec"] = map[string]any{"baseDomain": "example.com", "publicZone": map[string]any{"id": "Z1"}}
	infrastructure.Object["status"] = map[string]any{"platformStatus": map[string]any{"type": platform}}
	return []client.Object{dns, infrastructure}
}

func observerOf(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*observer, client.Client, *notes) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{gatewayv1.Install, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{DNSKind, InfrastructureKind} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	for _, kind := range []schema.GroupVersionKind{RecordKind, corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Event")} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mapper.Add(classKind, meta.RESTScopeRoot)
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build(), funcs)
	recorder := &notes{}
	return &observer{cache: api, live: api, writer: api, noRoom: front.Warning{Recorder: recorder, Reason: "NoRoom"}, noFinalizer: front.Warning{Recorder: recorder, Reason: "NoFinalizer"}, served: func(schema.GroupVersionKind) bool { return true }}, api, recorder
}

func observe(t *testing.T, o *observer, g *gatewayv1.Gateway) Facts {
	t.Helper()
	facts, err := o.Observe(t.Context(), front.Group[*gatewayv1.Gateway]{Resources: []*gatewayv1.Gateway{g}})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func class(name, controller string) *gatewayv1.GatewayClass {
	return &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)}}
}

func TestObserver_Finalizer(t *testing.T) {
	cases := map[string]struct {
		reason, finalizer string
		objects           []client.Object
		want              []string
	}{
		"None":       {reason: "without the setting no record is held"},
		"Published":  {reason: "where OpenShift publishes records they are held, or they would stay in its zones", objects: published("AWS"), want: []string{DefaultFinalizer}},
		"OnPremises": {reason: "elsewhere nothing takes the finalizer off", objects: published("BareMetal")},
		"Forbidden":  {reason: "the setting may forbid it", finalizer: NoFinalizer, objects: published("AWS")},
		"Configured": {reason: "records of the Gateway's package are held, others are not", finalizer: "example.com/dns", want: []string{"example.com/dns"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			writes := 0
			o, api, _ := observerOf(t, interceptor.Funcs{
				Patch: func(ctx context.Context, w client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					writes++
					return w.Patch(ctx, object, patch, options...)
				},
			}, append(c.objects, class("ours", "openshift.io/gateway-controller/v1"), dnsRecord("own", "gateway-edge"), dnsRecord("alien", ""))...)
			o.finalizer = c.finalizer
			for range 2 {
				observe(t, o, edgeGateway())
			}
			for name, want := range map[string][]string{"own": c.want, "alien": nil} {
				record := dnsRecord(name, "")
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, record.GetFinalizers()); diff != "" {
					t.Errorf("%s: record %s (-want +got):\n%s", c.reason, name, diff)
				}
			}
			if writes != len(c.want) {
				t.Errorf("%d writes in two passes, want %d", writes, len(c.want))
			}
		})
	}
}

// A finalizer that cannot be put on a record is an error, and the Gateway says all the same
// what is known.
func TestObserver_FinalizerRefused(t *testing.T) {
	refused := errors.New("refused")
	o, _, _ := observerOf(t, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refused
		},
	}, class("ours", "openshift.io/gateway-controller/v1"), dnsRecord("a", "gateway-edge"))
	o.finalizer = "example.com/dns"
	g := edgeGateway()
	facts, err := o.Observe(t.Context(), front.Group[*gatewayv1.Gateway]{Resources: []*gatewayv1.Gateway{g}})
	if !errors.Is(err, refused) {
		t.Errorf("got the error %v, want that of the write", err)
	}
	if facts.Records["a.example.com"] == nil {
		t.Errorf("the record is not known: %+v", facts)
	}
	setStatus(g, front.State[Facts]{Facts: facts, Err: err})
	if c := meta.FindStatusCondition(g.Status.Conditions, ingress.ConditionLoadBalancerReady); c == nil || c.Reason != ingress.ReasonServiceNotFound {
		t.Errorf("the Gateway says %v, want that there is no Service", c)
	}
}

func TestObserver_Class(t *testing.T) {
	o, _, _ := observerOf(t, interceptor.Funcs{}, class("ours", "openshift.io/gateway-controller/v1"), class("theirs", "example.com/theirs"))
	for name, want := range map[string]Class{"ours": ClassOurs, "theirs": ClassForeign, "none": ClassMissing} {
		g := edgeGateway()
		g.Spec.GatewayClassName = gatewayv1.ObjectName(name)
		if got := observe(t, o, g); got.Class != want {
			t.Errorf("class %s is %d, want %d", name, got.Class, want)
		}
	}
}

// TestObserver_NothingServed: kinds that are not served are not asked for.
func TestObserver_NothingServed(t *testing.T) {
	o, _, _ := observerOf(t, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			return fmt.Errorf("asked for %T %s", object, key)
		},
	})
	o.served = func(schema.GroupVersionKind) bool { return false }
	facts := observe(t, o, edgeGateway())
	if facts.RecordsServed || facts.Config != nil || facts.Platform != "" || facts.Class != ClassMissing {
		t.Errorf("the facts are %+v, want none", facts)
	}
}

// TestObserver_Unreadable: what cannot be read is not taken for missing, and no
// condition is written.
func TestObserver_Unreadable(t *testing.T) {
	config := front.Untyped(DNSKind)
	config.SetName(Config)
	config.Object["spec"] = map[string]any{"publicZone": "Z1"}
	refused := errors.New("refused")
	cases := map[string]struct {
		reason  string
		funcs   interceptor.Funcs
		objects []client.Object
	}{
		"Refused": {reason: "a read that fails is an error", funcs: interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
		}},
		"Malformed": {reason: "so is an object that is not what it should be", objects: []client.Object{config}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, _, _ := observerOf(t, c.funcs, c.objects...)
			g := edgeGateway()
			facts, err := o.Observe(t.Context(), front.Group[*gatewayv1.Gateway]{Resources: []*gatewayv1.Gateway{g}})
			if err == nil {
				t.Errorf("%s: there is no error", c.reason)
			}
			before := g.DeepCopy()
			setStatus(g, front.State[Facts]{Facts: facts, Err: err})
			if diff := cmp.Diff(before, g); diff != "" {
				t.Errorf("the status was changed:\n%s", diff)
			}
		})
	}
}

func TestObserver_TellsFullOnce(t *testing.T) {
	o, _, recorder := observerOf(t, interceptor.Funcs{}, class("ours", "openshift.io/gateway-controller/v1"))
	g := edgeGateway()
	for i := range 8 {
		g.Status.Listeners[0].Conditions = append(g.Status.Listeners[0].Conditions, metav1.Condition{Type: fmt.Sprint("Foreign", i)})
	}
	for range 3 {
		observe(t, o, g)
	}
	if len(recorder.recorded) != 1 || !strings.Contains(recorder.recorded[0], "listener a has ") {
		t.Errorf("the events are %q, want one", recorder.recorded)
	}
	g.Status.Listeners[0].Conditions = nil
	observe(t, o, g)
	for i := range 8 {
		g.Status.Listeners[0].Conditions = append(g.Status.Listeners[0].Conditions, metav1.Condition{Type: fmt.Sprint("Foreign", i)})
	}
	observe(t, o, g)
	if len(recorder.recorded) != 2 {
		t.Errorf("a Gateway that is full again got the events %q", recorder.recorded)
	}
}

func TestMissingRecords(t *testing.T) {
	facts := Facts{
		Class: ClassOurs, RecordsServed: true, Platform: "AWS", Config: &ingress.DNSConfig{},
		Service: &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: "lb"}}}}},
	}
	pkg := func(reason string) *v1alpha1.Package {
		return &v1alpha1.Package{Status: v1alpha1.PackageStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Reason: reason, Message: "because"}}}}
	}
	cases := map[string]struct {
		reason string
		state  front.State[Facts]
		want   string
	}{
		"Error":    {reason: "what went wrong comes first", state: front.State[Facts]{Facts: facts, Err: errors.New("wrong")}, want: "wrong"},
		"Decision": {reason: "then why none is wanted", state: front.State[Facts]{Facts: Facts{Class: ClassOurs}}, want: "the cluster has no kind DNSRecord.ingress.operator.openshift.io"},
		"Stuck": {reason: "then why the package is not rolled out", want: "package p: because", state: front.State[Facts]{Facts: facts, Packages: []front.Package{
			{Name: "p", Package: pkg(v1alpha1.ReasonObjectCollisions)},
		}}},
		"RolledBack": {reason: "or kept out", want: "a rollback excludes the newest content of package p: change the resource first", state: front.State[Facts]{Facts: facts, Packages: []front.Package{
			{Name: "p", Package: pkg(v1alpha1.ReasonRolledOut), Need: history.NeedRejected},
		}}},
		"RolledOut": {reason: "else it is not known", state: front.State[Facts]{Facts: facts, Packages: []front.Package{
			{Name: "p", Package: pkg(v1alpha1.ReasonRolledOut)}, {Name: "q"},
		}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, missingRecords(edgeGateway(), c.state)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	cases := map[string]struct {
		change func(*gatewayv1.Gateway)
		want   bool
	}{
		"Nothing":    {change: func(*gatewayv1.Gateway) {}},
		"Labels":     {change: func(g *gatewayv1.Gateway) { g.Labels = map[string]string{"a": "b"} }},
		"Generation": {change: func(g *gatewayv1.Gateway) { g.Generation++ }, want: true},
		"Deleting":   {change: func(g *gatewayv1.Gateway) { g.DeletionTimestamp = new(metav1.Now()) }, want: true},
		"Conditions": {change: func(g *gatewayv1.Gateway) {
			g.Status.Listeners[0].Conditions = []metav1.Condition{{Type: ingress.ConditionDNSReady}}
		}, want: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			after := edgeGateway()
			c.change(after)
			if got := changed.Update(event.UpdateEvent{ObjectOld: edgeGateway(), ObjectNew: after}); got != c.want {
				t.Errorf("it matters: %t, want %t", got, c.want)
			}
		})
	}
}

func TestSlim(t *testing.T) {
	for namespace, kept := range map[string]bool{Namespace: true, "app": false} {
		g := edgeGateway()
		g.Namespace = namespace
		slim(g)
		if g.Spec.GatewayClassName != "ours" {
			t.Errorf("a Gateway in %s has lost its class", namespace)
		}
		if (len(g.Spec.Listeners) > 0) != kept || (len(g.Status.Listeners) > 0) != kept {
			t.Errorf("a Gateway in %s has its listeners: %t, want %t", namespace, !kept, kept)
		}
	}
}
