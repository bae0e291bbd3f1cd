// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/openshift/api/config/v1/zz_generated.crd-manifests"          // the definitions of DNS and Infrastructure
	_ "github.com/openshift/api/operatoringress/v1/zz_generated.crd-manifests" // the definition of DNSRecord
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

const edgeClass = "openshift-edge"

// openshiftKinds are the definitions of OpenShift's kinds that fronts look at, and the Go
// packages that hold them.
var openshiftKinds = [][2]string{
	{"github.com/openshift/api/operatoringress/v1/zz_generated.crd-manifests", "*dnsrecords-Default.crd.yaml"},
	{"github.com/openshift/api/config/v1/zz_generated.crd-manifests", "*dnses-Default.crd.yaml"},
	{"github.com/openshift/api/config/v1/zz_generated.crd-manifests", "*infrastructures-Default.crd.yaml"},
	{"github.com/openshift/api/config/v1/zz_generated.crd-manifests", "*proxies.crd.yaml"},
	{"github.com/openshift/api/config/v1/zz_generated.crd-manifests", "*apiservers-Default.crd.yaml"},
}

// installOpenShift installs the kinds of OpenShift that the Gateway front looks at.
func installOpenShift(t *testing.T) {
	t.Helper()
	for _, source := range openshiftKinds {
		dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", source[0]).Output()
		must(t, err)
		must(t, setup.Apply(t.Context(), admin, setup.Files{From: os.DirFS(strings.TrimSpace(string(dir))), Pattern: source[1]}))
	}
}

// uninstallOpenShift takes them away again, with all objects.
func uninstallOpenShift(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"dnsrecords.ingress.operator.openshift.io", "dnses.config.openshift.io", "infrastructures.config.openshift.io",
		"proxies.config.openshift.io", "apiservers.config.openshift.io",
	} {
		uninstallKind(t, name)
	}
}

// uninstallKind takes a kind away, with all objects.
func uninstallKind(t *testing.T, name string) {
	t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName(name)
	must(t, client.IgnoreNotFound(admin.Delete(context.Background(), definition)))
	planetest.Eventually(t, name+" is gone", func() (bool, error) {
		err := admin.Get(context.Background(), client.ObjectKeyFromObject(definition), definition)
		return apierrors.IsNotFound(err), err
	})
}

// configure applies one of OpenShift's cluster-wide objects, and its status.
func configure(t *testing.T, kind schema.GroupVersionKind, spec, status map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kind)
	object.SetName(gateway.Config)
	owner := []client.ApplyOption{client.FieldOwner("openshift"), client.ForceOwnership}
	must(t, admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), owner...))
	if status != nil {
		patchStatus(t, object, map[string]any{"status": status})
	}
}

// zones makes the cluster's DNS config: a public zone with an ID, a private one with a
// name.
func zones(t *testing.T, public, private string) {
	t.Helper()
	spec := map[string]any{"baseDomain": "cluster.example.com"}
	if public != "" {
		spec["publicZone"] = map[string]any{"id": public}
	}
	if private != "" {
		spec["privateZone"] = map[string]any{"tags": map[string]any{"Name": private}}
	}
	configure(t, gateway.DNSKind, spec, nil)
}

func platform(t *testing.T, name string) {
	t.Helper()
	configure(t, gateway.InfrastructureKind, map[string]any{}, map[string]any{
		"platform": name, "platformStatus": map[string]any{"type": name}, "infrastructureTopology": "HighlyAvailable",
		"controlPlaneTopology": "HighlyAvailable", "cpuPartitioning": "None",
	})
}

func patchStatus(t *testing.T, object client.Object, patch map[string]any) {
	t.Helper()
	data, err := json.Marshal(patch)
	must(t, err)
	must(t, admin.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, data)))
}

// edge is a Gateway in a test, with who else has a part in it: istiod, a load balancer
// and a DNS provider are played by its methods.
type edge struct {
	t    *testing.T
	name string
}

// listen is a listener, as NAME HOSTNAME or NAME.
func listen(text string) gatewayv1.Listener {
	name, hostname, _ := strings.Cut(text, " ")
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: gatewayv1.HTTPProtocolType, Port: gatewayv1.PortNumber(80 + len(name)%50)}
	if hostname != "" {
		l.Hostname = new(gatewayv1.Hostname(hostname))
	}
	return l
}

func listeners(texts []string) []gatewayv1.Listener {
	var all []gatewayv1.Listener
	for i, text := range texts {
		l := listen(text)
		l.Port = gatewayv1.PortNumber(8000 + i)
		all = append(all, l)
	}
	return all
}

func newEdge(t *testing.T, name, namespace, class string, texts ...string) *edge {
	t.Helper()
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	g.Spec.GatewayClassName, g.Spec.Listeners = gatewayv1.ObjectName(class), listeners(texts)
	must(t, admin.Create(t.Context(), g))
	t.Cleanup(func() { must(t, client.IgnoreNotFound(admin.Delete(context.Background(), g))) })
	return &edge{t, name}
}

// with is the same for a subtest.
func (e *edge) with(t *testing.T) *edge { return &edge{t, e.name} }

func (e *edge) get() *gatewayv1.Gateway {
	e.t.Helper()
	g := &gatewayv1.Gateway{}
	must(e.t, admin.Get(e.t.Context(), types.NamespacedName{Namespace: gateway.Namespace, Name: e.name}, g))
	return g
}

// update writes a Gateway from what was read of it, as often as it takes: the manager
// writes a label and conditions when it comes to that.
func (e *edge) update(write func(g *gatewayv1.Gateway) error) {
	e.t.Helper()
	planetest.Eventually(e.t, "Gateway "+e.name+" to be written", func() (bool, error) {
		err := write(e.get())
		if !apierrors.IsConflict(err) {
			must(e.t, err)
		}
		return err == nil, err
	})
}

// listen replaces the listeners.
func (e *edge) listen(texts ...string) {
	e.t.Helper()
	e.update(func(g *gatewayv1.Gateway) error {
		g.Spec.Listeners = listeners(texts)
		return admin.Update(e.t.Context(), g)
	})
}

// istiod writes a status as istiod does: with a full update, from what it has read,
// listeners' conditions carried over by position.
func (e *edge) istiod() {
	e.t.Helper()
	e.update(func(g *gatewayv1.Gateway) error {
		before := g.Status.Listeners
		g.Status.Listeners = nil
		for i, l := range g.Spec.Listeners {
			next := gatewayv1.ListenerStatus{Name: l.Name, SupportedKinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}}}
			if i < len(before) {
				next.Conditions = before[i].Conditions
			}
			for _, kind := range []string{"Accepted", "Conflicted", "Programmed", "ResolvedRefs"} {
				meta.SetStatusCondition(&next.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, ObservedGeneration: g.Generation})
			}
			g.Status.Listeners = append(g.Status.Listeners, next)
		}
		for _, kind := range []string{"Accepted", "Programmed"} {
			meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, ObservedGeneration: g.Generation})
		}
		return admin.Status().Update(e.t.Context(), g)
	})
}

// service makes the Gateway's Service, as istiod does.
func (e *edge) service(name string, change ...func(*corev1.Service)) *corev1.Service {
	e.t.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: gateway.Namespace, Name: name, Labels: map[string]string{
			gateway.LabelGateway: e.name, "gateway.istio.io/managed": "openshift.io-gateway-controller-v1",
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	for _, c := range change {
		c(s)
	}
	must(e.t, admin.Create(e.t.Context(), s))
	e.t.Cleanup(func() { must(e.t, client.IgnoreNotFound(admin.Delete(context.Background(), s))) })
	return s
}

func (e *edge) address(s *corev1.Service, addresses ...map[string]any) {
	e.t.Helper()
	patchStatus(e.t, s, map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": addresses}}})
}

// cloudFails tells of a load balancer that could not be made, as the service
// controller does.
func (e *edge) cloudFails(s *corev1.Service, message string) {
	e.t.Helper()
	must(e.t, admin.Create(e.t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: gateway.Namespace, GenerateName: s.Name + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID},
		Reason:         "SyncLoadBalancerFailed", Type: corev1.EventTypeWarning, Message: message,
		Source: corev1.EventSource{Component: "service-controller"}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(), Count: 1,
	}))
}

// records are the Gateway's DNSRecords by hostname.
func (e *edge) records() (map[string]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gateway.RecordKind)
	err := admin.List(e.t.Context(), list, client.InNamespace(gateway.Namespace), client.MatchingLabels{gateway.LabelGateway: e.name})
	records := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "dnsName")
		records[ingress.Hostname(name)] = &list.Items[i]
	}
	return records, err
}

// eventuallyRecords waits until there are records for these hostnames and no others.
func (e *edge) eventuallyRecords(hostnames ...string) map[string]*unstructured.Unstructured {
	e.t.Helper()
	slices.Sort(hostnames)
	var records map[string]*unstructured.Unstructured
	planetest.Eventually(e.t, fmt.Sprintf("records for %v", hostnames), func() (ok bool, err error) {
		records, err = e.records()
		if err != nil {
			return false, err
		}
		got := slices.Sorted(maps.Keys(records))
		return slices.Equal(got, hostnames), fmt.Errorf("they are for %v", got)
	})
	return records
}

// publish plays the DNS provider: what became of a hostname's record, each zone as
// ID=STATUS or .NAME=STATUS, with a message for those that are False.
func (e *edge) publish(hostname string, zones ...string) {
	e.t.Helper()
	var record *unstructured.Unstructured
	planetest.Eventually(e.t, "the record for "+hostname, func() (bool, error) {
		records, err := e.records()
		record = records[hostname]
		return record != nil, err
	})
	entries := []any{}
	for _, text := range zones {
		zone, status, _ := strings.Cut(text, "=")
		described := map[string]any{"id": zone}
		if name, ok := strings.CutPrefix(zone, "."); ok {
			described = map[string]any{"tags": map[string]any{"Name": name}}
		}
		condition := map[string]any{"type": "Published", "status": status, "reason": "ProviderSuccess", "lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z")}
		if status == "False" {
			condition["reason"], condition["message"] = "ProviderError", "Throttling: Rate exceeded"
		}
		entries = append(entries, map[string]any{"dnsZone": described, "conditions": []any{condition}})
	}
	patchStatus(e.t, record, map[string]any{"status": map[string]any{"observedGeneration": record.GetGeneration(), "zones": entries}})
}

// verdicts are our conditions, as STATUS/REASON: that of the Gateway stands under the
// empty name, those of listeners under theirs.
func (e *edge) verdicts() map[string]string {
	e.t.Helper()
	g := e.get()
	found := map[string]string{}
	note := func(name, kind string, conditions []metav1.Condition) {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			found[name] = string(c.Status) + "/" + c.Reason
		}
	}
	note("", ingress.ConditionLoadBalancerReady, g.Status.Conditions)
	note("gateway "+ingress.ConditionDNSReady, ingress.ConditionDNSReady, g.Status.Conditions)
	for _, l := range g.Status.Listeners {
		note(string(l.Name), ingress.ConditionDNSReady, l.Conditions)
	}
	return found
}

const (
	provisioned = "True/LoadBalancerProvisioned"
	published   = "True/NoFailedZones"
)

// eventually waits until these are our conditions, and no others. They come in pairs of
// the listener's name, which is empty for the Gateway, and STATUS/REASON.
func (e *edge) eventually(pairs ...string) {
	e.t.Helper()
	want := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		want[pair[0]] = pair[1]
	}
	planetest.Eventually(e.t, fmt.Sprintf("conditions %v of %s", want, e.name), func() (bool, error) {
		got := e.verdicts()
		return maps.Equal(want, got), errors.New(cmp.Diff(want, got))
	})
}

// says checks the message of a condition.
func (e *edge) says(listener, part string) {
	e.t.Helper()
	planetest.Eventually(e.t, fmt.Sprintf("%q in the message of %q of %s", part, listener, e.name), func() (bool, error) {
		g := e.get()
		text := message(g.Status.Conditions, ingress.ConditionLoadBalancerReady)
		if listener != "" {
			text = ""
			for _, l := range g.Status.Listeners {
				if string(l.Name) == listener {
					text = message(l.Conditions, ingress.ConditionDNSReady)
				}
			}
		}
		return strings.Contains(text, part), errors.New(text)
	})
}

// edgeClassFor makes a GatewayClass, and takes it away when the test is over, with
// everything that only it wanted.
func edgeClassFor(t *testing.T, name, controller string) *gatewayv1.GatewayClass {
	t.Helper()
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)},
	}
	must(t, admin.Create(t.Context(), class))
	t.Cleanup(func() { deleteClass(t, name) })
	return class
}

const ourController = gatewayclass.ControllerName
