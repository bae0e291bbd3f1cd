// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// lbHostname is the address of every load balancer that has a name.
const lbHostname = "lb.aws.example.net"

var named = map[string]any{"hostname": lbHostname}

// TestGateway plays istiod, the cloud and the DNS provider around Gateways.
func TestGateway(t *testing.T) {
	must(t, gatewayv1.Install(admin.Scheme()))
	edgeClassFor(t, edgeClass, ourController)
	t.Run("PlainKubernetes", plainKubernetes)
	t.Cleanup(func() { uninstallOpenShift(t) })
	installOpenShift(t)
	t.Run("NotConfigured", notConfigured)
	platform(t, "AWS")
	zones(t, "Z1", "int")
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"LoadBalancer", loadBalancerFlow},
		{"NoLoadBalancer", noLoadBalancer},
		{"TwoServices", twoServices},
		{"DNS", dnsFlow},
		{"Config", configChanges},
		{"Unmanaged", unmanaged},
		{"Shared", sharedHostname},
		{"Listeners", listenerChanges},
		{"Shrink", shrink},
		{"Drift", recordDrift},
		{"TakenOver", takenOver},
		{"Interleaved", interleaved},
		{"Full", fullConditions},
		{"Scope", scope},
		{"ClassChanges", classChanges},
		{"ServiceGone", serviceGone},
		{"GatewayGone", gatewayGone},
		{"FormerGone", formerGone},
		{"CarriedOver", carriedOver},
		{"Finalizer", heldRecord},
		{"KindTakenAway", kindTakenAway},
		{"Quiet", gatewayQuiet},
	} {
		t.Run(test.name, test.run)
	}
}

// published is a Gateway whose hostnames are all published.
func publishedEdge(t *testing.T, name string, texts ...string) *edge {
	t.Helper()
	e := newEdge(t, name, gateway.Namespace, edgeClass, texts...)
	e.istiod()
	e.address(e.service(name+"-lb"), named)
	want := []string{"", provisioned}
	for _, l := range e.get().Spec.Listeners {
		if l.Hostname != nil {
			e.publish(string(*l.Hostname), "Z1=True", ".int=True")
			want = append(want, string(l.Name), published)
		}
	}
	e.eventually(want...)
	return e
}

// plainKubernetes: no kind of OpenShift is served, and the rest works.
func plainKubernetes(t *testing.T) {
	e := newEdge(t, "plain", gateway.Namespace, edgeClass, "a a.cluster.example.com", "any")
	e.eventually("", "False/ServiceNotFound") // a Gateway without entries of listeners
	e.istiod()
	e.eventually("", "False/ServiceNotFound", "a", "False/NoDNSZones")
	e.says("a", "OpenShift cannot manage DNS records on an unknown infrastructure platform")
	e.address(e.service("plain-lb"), named)
	e.eventually("", provisioned, "a", "False/NoDNSZones")
	if exists(t, &v1alpha1.Package{}, "", "gateway-plain") {
		t.Error("a package was made for records that the cluster does not know")
	}
}

// notConfigured: the kinds are there, and the objects are not.
func notConfigured(t *testing.T) {
	e := newEdge(t, "early", gateway.Namespace, edgeClass, "a a.cluster.example.com")
	e.istiod()
	e.address(e.service("early-lb"), named)
	e.eventually("", provisioned, "a", "False/NoDNSZones")
	e.says("a", "the cluster has no dns config")
	platform(t, "BareMetal")
	e.says("a", "on infrastructure platform BareMetal")
	zones(t, "", "")
	e.eventually("", provisioned, "a", "False/NoDNSZones")
	e.says("a", "No DNS zones are defined in the cluster dns config.")
	e.eventuallyRecords("a.cluster.example.com")
	zones(t, "Z1", "")
	e.eventually("", provisioned, "a", "False/NoZones")
}

func loadBalancerFlow(t *testing.T) {
	e := newEdge(t, "lb", gateway.Namespace, edgeClass, "a a.cluster.example.com", "any")
	e.eventually("", "False/ServiceNotFound")
	e.istiod()
	e.eventually("", "False/ServiceNotFound", "a", "False/RecordNotFound")
	e.says("a", "no Service has the label gateway.networking.k8s.io/gateway-name: lb")
	s := e.service("lb-lb")
	e.eventually("", "False/LoadBalancerPending", "a", "False/RecordNotFound")
	e.says("a", "the load balancer of service lb-lb has no address yet")
	e.cloudFails(s, "Error syncing load balancer: quota exceeded") // late: nothing else happens
	e.eventually("", "False/SyncLoadBalancerFailed", "a", "False/RecordNotFound")
	e.says("", "quota exceeded")
	e.address(s, map[string]any{"ip": "192.0.2.1"})
	e.eventually("", provisioned, "a", "False/NoZones")
	e.says("", "The LoadBalancer service is provisioned")
	e.address(s)
	e.eventually("", "False/SyncLoadBalancerFailed", "a", "False/NoZones") // records stay as they are
	if target := targetOf(e.eventuallyRecords("a.cluster.example.com")["a.cluster.example.com"]); target != "A 192.0.2.1" {
		t.Errorf("without an address the record points at %s, want what it pointed at", target)
	}
}

func targetOf(record *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(record.Object, "spec", "recordType")
	targets, _, _ := unstructured.NestedStringSlice(record.Object, "spec", "targets")
	return kind + " " + targets[0]
}

func noLoadBalancer(t *testing.T) {
	e := newEdge(t, "clusterip", gateway.Namespace, edgeClass, "a a.cluster.example.com")
	e.istiod()
	e.service("clusterip-svc", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	e.eventually("", "False/LoadBalancerPending", "a", "False/RecordNotFound")
	e.says("", "is of type ClusterIP")
}

func twoServices(t *testing.T) {
	e := newEdge(t, "two", gateway.Namespace, edgeClass, "a a.cluster.example.com")
	e.istiod()
	stray := e.service("two-a-stray")
	e.address(stray, map[string]any{"ip": "192.0.2.66"})
	e.eventually("", provisioned, "a", "False/NoZones")
	g := e.get()
	own := e.service("two-b-own", func(s *corev1.Service) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: g.Name, UID: g.UID}}
	})
	e.eventually("", "False/LoadBalancerPending", "a", "False/NoZones")
	e.says("", "Service two-b-own is taken; more carry the Gateway's label: two-a-stray.")
	e.address(own, named)
	e.eventually("", provisioned, "a", "False/NoZones")
	planetest.Eventually(t, "the record of the Service that the Gateway owns", func() (bool, error) {
		records, err := e.records()
		if err != nil || len(records) != 1 {
			return false, fmt.Errorf("%d records: %w", len(records), err)
		}
		target := targetOf(records["a.cluster.example.com"])
		return target == "CNAME "+lbHostname, errors.New(target)
	})
}

// dnsFlow: what the provider reports reaches the listener.
func dnsFlow(t *testing.T) {
	const a, b = "a.cluster.example.com", "*.b.cluster.example.com"
	e := newEdge(t, "dns", gateway.Namespace, edgeClass, "a "+a, "b "+b, "any")
	e.istiod()
	e.address(e.service("dns-lb"), named)
	e.eventually("", provisioned, "a", "False/NoZones", "b", "False/NoZones")
	e.publish(a, "Z1=True", ".int=False")
	e.eventually("", provisioned, "a", "False/FailedZones", "b", "False/NoZones")
	e.says("a", "The record failed to provision in some zones: [int] int: ProviderError: Throttling: Rate exceeded.")
	e.publish(a, "Z1=Unknown", ".int=False")
	e.eventually("", provisioned, "a", "False/FailedZones", "b", "False/NoZones")
	e.publish(a, "Z1=Unknown", ".int=True")
	e.eventually("", provisioned, "a", "False/UnknownZones", "b", "False/NoZones")
	e.publish(a, "Z1=True", ".int=True")
	e.eventually("", provisioned, "a", published, "b", "False/NoZones")
	e.says("a", "The record is provisioned in all reported zones.")
	e.publish(b, "Z1=True")
	e.eventually("", provisioned, "a", published, "b", published)
	for _, l := range e.get().Status.Listeners {
		if want := map[bool]int{true: 4, false: 5}[l.Name == "any"]; len(l.Conditions) != want {
			t.Errorf("listener %s has %d conditions, want %d", l.Name, len(l.Conditions), want)
		}
	}
	if count := len(e.get().Status.Conditions); count != 3 {
		t.Errorf("the Gateway has %d conditions, want istiod's two and ours", count)
	}
}

// configChanges: the DNS config and the Infrastructure are watched.
func configChanges(t *testing.T) {
	e := publishedEdge(t, "config", "a a.cluster.example.com")
	e.publish("a.cluster.example.com", "Z1=True", "Z2=False")
	e.eventually("", provisioned, "a", published) // Z2 is none of ours
	zones(t, "Z2", "")
	e.eventually("", provisioned, "a", "False/FailedZones")
	zones(t, "Z3", "")
	e.eventually("", provisioned, "a", published) // no zone of ours is reported, so none has failed
	zones(t, "", "")
	e.eventually("", provisioned, "a", "False/NoDNSZones")
	platform(t, "None")
	e.says("a", "on infrastructure platform None")
	platform(t, "AWS")
	zones(t, "Z1", "int")
	e.eventually("", provisioned, "a", published)
}

func unmanaged(t *testing.T) {
	e := newEdge(t, "unmanaged", gateway.Namespace, edgeClass, "a a.other.org")
	e.istiod()
	e.address(e.service("unmanaged-lb"), named)
	e.eventually("", provisioned, "a", "Unknown/UnmanagedDNS")
	platform(t, "Azure") // which takes any name
	e.eventually("", provisioned, "a", "False/NoZones")
	platform(t, "AWS")
	e.eventually("", provisioned, "a", "Unknown/UnmanagedDNS")
}

func sharedHostname(t *testing.T) {
	const host = "*.stage.cluster.example.com"
	e := newEdge(t, "shared", gateway.Namespace, edgeClass, "http "+host, "https "+host, "other o.cluster.example.com")
	e.istiod()
	e.address(e.service("shared-lb"), named)
	e.eventuallyRecords(host, "o.cluster.example.com")
	e.publish(host, "Z1=False")
	e.publish("o.cluster.example.com", "Z1=True")
	e.eventually("", provisioned, "http", "False/FailedZones", "https", "False/FailedZones", "other", published)
	e.listen("http "+host, "other o.cluster.example.com")
	e.istiod()
	e.eventually("", provisioned, "http", "False/FailedZones", "other", published)
	e.eventuallyRecords(host, "o.cluster.example.com") // one listener still has it
}

// listenerChanges: istiod carries conditions over by position, so that they land on
// other listeners, and are put right.
func listenerChanges(t *testing.T) {
	const a, b, c = "a.cluster.example.com", "b.cluster.example.com", "c.cluster.example.com"
	e := publishedEdge(t, "moves", "a "+a, "b "+b, "any")
	e.publish(b, "Z1=False")
	e.eventually("", provisioned, "a", published, "b", "False/FailedZones")

	e.listen("any", "b "+b, "a "+a) // reordered
	e.istiod()
	e.eventually("", provisioned, "a", published, "b", "False/FailedZones")
	generation := e.get().Generation
	planetest.Eventually(t, "conditions about the new generation", func() (bool, error) {
		g := e.get()
		for _, l := range g.Status.Listeners {
			for _, condition := range l.Conditions {
				if condition.ObservedGeneration != generation {
					return false, fmt.Errorf("%s of listener %s is about generation %d", condition.Type, l.Name, condition.ObservedGeneration)
				}
			}
		}
		return true, nil
	})

	e.listen("c "+c, "any", "b "+b, "a "+a) // inserted
	e.istiod()
	e.eventually("", provisioned, "a", published, "b", "False/FailedZones", "c", "False/NoZones")
	e.publish(c, "Z1=True")

	e.listen("c "+c, "a "+a) // removed
	e.istiod()
	e.eventually("", provisioned, "a", published, "c", published)
	e.eventuallyRecords(a, c)

	e.listen("c "+c, "a") // the hostname removed
	e.istiod()
	e.eventually("", provisioned, "c", published)
	e.eventuallyRecords(c)

	e.listen("c", "a") // the last hostname: the package goes
	e.istiod()
	e.eventually("", provisioned)
	e.eventuallyRecords()
	planetest.Eventually(t, "the package is gone", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: "gateway-moves"}, &v1alpha1.Package{})
		return apierrors.IsNotFound(err), err
	})
}

// shrink: users may drop most hostnames at once.
func shrink(t *testing.T) {
	var texts []string
	hostname := func(i int) string { return fmt.Sprintf("h%d.cluster.example.com", i) }
	for i := range 6 {
		texts = append(texts, fmt.Sprintf("l%d %s", i, hostname(i)))
	}
	e := publishedEdge(t, "shrink", texts...)
	e.listen(texts[0])
	e.eventuallyRecords(hostname(0))
}

// recordDrift: records are the engine's, which repairs and recreates them.
func recordDrift(t *testing.T) {
	const a = "a.cluster.example.com"
	e := publishedEdge(t, "drift", "a "+a)
	record := e.eventuallyRecords(a)[a]
	must(t, admin.Patch(t.Context(), record, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"targets":["elsewhere.example.org"],"recordTTL":5}}`))))
	planetest.Eventually(t, "the record is repaired", func() (bool, error) {
		records, err := e.records()
		if err != nil || records[a] == nil {
			return false, err
		}
		ttl, _, _ := unstructured.NestedInt64(records[a].Object, "spec", "recordTTL")
		return targetOf(records[a]) == "CNAME "+lbHostname && ttl == 30, fmt.Errorf("%s, TTL %d", targetOf(records[a]), ttl)
	})
	must(t, admin.Delete(t.Context(), record))
	e.eventually("", provisioned, "a", "False/NoZones") // a new one, and not published yet
	e.publish(a, "Z1=True")
	e.eventually("", provisioned, "a", published)
}

// takenOver: records of the ingress operator have the same names, and no controller.
func takenOver(t *testing.T) {
	const a = "a.cluster.example.com"
	e := newEdge(t, "taken", gateway.Namespace, edgeClass, "a "+a)
	e.istiod()
	s := e.service("taken-lb")
	before := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"dnsName": a + ".", "targets": []any{"old.example.net"}, "recordType": "CNAME", "recordTTL": int64(30), "dnsManagementPolicy": "Managed",
	}}}
	before.SetGroupVersionKind(gateway.RecordKind)
	before.SetNamespace(gateway.Namespace)
	before.SetName(gateway.RecordName("taken", a))
	before.SetLabels(map[string]string{gateway.LabelGateway: "taken"})
	before.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID}})
	must(t, admin.Create(t.Context(), before))
	e.publish(a, "Z1=True")
	e.eventually("", "False/LoadBalancerPending", "a", published)
	e.address(s, named)
	planetest.Eventually(t, "the record is ours", func() (bool, error) {
		records, err := e.records()
		if err != nil || records[a] == nil {
			return false, err
		}
		return records[a].GetUID() == before.GetUID() && targetOf(records[a]) == "CNAME "+lbHostname && records[a].GetLabels()[v1alpha1.LabelPackage] == "gateway-taken",
			fmt.Errorf("%s, labels %v", targetOf(records[a]), records[a].GetLabels())
	})
	e.eventually("", provisioned, "a", published)
}

func serviceGone(t *testing.T) {
	const a = "a.cluster.example.com"
	e := newEdge(t, "serviceless", gateway.Namespace, edgeClass, "a "+a)
	e.istiod()
	s := e.service("serviceless-lb")
	e.address(s, named)
	e.eventuallyRecords(a)
	must(t, admin.Delete(t.Context(), s))
	e.eventually("", "False/ServiceNotFound", "a", "False/RecordNotFound")
	e.eventuallyRecords()
}

func gatewayGone(t *testing.T) {
	e := publishedEdge(t, "goes", "a a.cluster.example.com")
	must(t, admin.Delete(t.Context(), e.get()))
	e.eventuallyRecords()
	planetest.Eventually(t, "the package is gone", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: "gateway-goes"}, &v1alpha1.Package{})
		return apierrors.IsNotFound(err), err
	})
}

// formerGone: a record of the operator before, which the Gateway still wants and we have not taken
// over yet, goes with the Gateway: its Service is owned by that, and owns the record.
func formerGone(t *testing.T) {
	const a = "former.cluster.example.com"
	e := newEdge(t, "former", gateway.Namespace, edgeClass, "a "+a)
	e.istiod()
	s := e.service("former-lb", func(s *corev1.Service) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: "former", UID: e.get().UID}}
	})
	record := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"dnsName": a + ".", "targets": []any{"old.example.net"}, "recordType": "CNAME", "recordTTL": int64(30), "dnsManagementPolicy": "Managed",
	}}}
	record.SetGroupVersionKind(gateway.RecordKind)
	record.SetNamespace(gateway.Namespace)
	record.SetName(gateway.RecordName("former", a))
	record.SetLabels(map[string]string{gateway.LabelGateway: "former"})
	record.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID}})
	must(t, admin.Create(t.Context(), record))
	e.publish(a, "Z1=True")
	e.eventually("", "False/LoadBalancerPending", "a", published)
	must(t, admin.Delete(t.Context(), e.get()))
	e.eventuallyRecords()
}

// carriedOver: a time that istiod has carried over to a listener of another name is no field of
// ours any more by managedFields, one that stands where we have written it is. A manager that
// starts then tells them apart by that. The Gateway is in a namespace that no manager looks at.
func carriedOver(t *testing.T) {
	g := newGateway(t, planetest.Namespace(t, plane), "carried", "of-no-controller", nil)
	before := g.DeepCopy()
	for i, name := range []gatewayv1.SectionName{"a", "b", "c"} {
		g.Status.Listeners = append(g.Status.Listeners, gatewayv1.ListenerStatus{Name: name, SupportedKinds: []gatewayv1.RouteGroupKind{}, Conditions: []metav1.Condition{{
			Type: "DNSReady", Status: metav1.ConditionTrue, Reason: "NoFailedZones", LastTransitionTime: metav1.NewTime(time.Unix(int64(1000*(i+1)), 0)),
		}}})
	}
	must(t, admin.Status().Patch(t.Context(), g, client.MergeFrom(before), client.FieldOwner(front.Manager)))
	owned := func() string {
		var names []string
		for _, name := range []string{"a", "b", "c"} {
			if front.Owns(front.Manager, g.ManagedFields, "f:status", "f:listeners", fmt.Sprintf(`k:{"name":%q}`, name), "f:conditions", `k:{"type":"DNSReady"}`, "f:lastTransitionTime") {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
	if got := owned(); got != "a b c" {
		t.Errorf("the times of %q are ours, want those of all", got)
	}
	g.Status.Listeners[0].Name, g.Status.Listeners[1].Name = "b", "a"
	must(t, admin.Status().Update(t.Context(), g))
	if got := owned(); got != "c" {
		t.Errorf("the times of %q are ours after istiod has carried them over, want that of c", got)
	}
}

// heldRecord: a DNS controller's finalizer is no drift, and is waited for.
func heldRecord(t *testing.T) {
	const a = "a.cluster.example.com"
	e := publishedEdge(t, "held", "a "+a)
	record := e.eventuallyRecords(a)[a]
	must(t, admin.Patch(t.Context(), record, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/dns"]}}`))))
	publishedEdge(t, "held-sentinel", "a s.cluster.example.com") // time for a mistake
	if got := e.eventuallyRecords(a)[a]; got.GetResourceVersion() != record.GetResourceVersion() {
		t.Errorf("the record was written after the finalizer was put on it: %v", got.Object["metadata"])
	}
	must(t, admin.Delete(t.Context(), e.get()))
	planetest.Eventually(t, "the package names the finalizer", func() (bool, error) {
		pkg := &v1alpha1.Package{}
		err := admin.Get(t.Context(), types.NamespacedName{Name: "gateway-held"}, pkg)
		text := message(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
		return strings.Contains(text, "example.com/dns"), fmt.Errorf("%q: %w", text, err)
	})
	must(t, admin.Patch(t.Context(), record, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	e.eventuallyRecords()
	planetest.Eventually(t, "the package is gone", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: "gateway-held"}, &v1alpha1.Package{})
		return apierrors.IsNotFound(err), err
	})
}

// kindTakenAway: without DNSRecords the rest goes on, and when the kind is back, so are
// they.
func kindTakenAway(t *testing.T) {
	const a = "a.cluster.example.com"
	e := publishedEdge(t, "kindless", "a "+a)
	uninstallKind(t, "dnsrecords.ingress.operator.openshift.io")
	e.eventually("", provisioned, "a", "False/RecordNotFound")
	e.says("a", "the cluster has no kind DNSRecord.ingress.operator.openshift.io")
	if !exists(t, &v1alpha1.Package{}, "", "gateway-kindless") {
		t.Error("the package went with the kind")
	}
	installOpenShift(t)
	e.eventually("", provisioned, "a", "False/NoZones")
	e.publish(a, "Z1=True")
	e.eventually("", provisioned, "a", published)
}

// gatewayQuiet: a Gateway and its class at rest, with the control plane that is rolled out for
// it, cost no request for a minute.
func gatewayQuiet(t *testing.T) {
	e := publishedEdge(t, "quiet", "a a.cluster.example.com", "b b.cluster.example.com", "any")
	eventuallyInstalledOf(t, edgeClass, "istiod 1.29.1 installed")
	comeToRest(t, 8*time.Second) // what was held back is written by then
	before, since := e.get(), time.Now()
	noRequests(t, time.Minute, since)
	if diff := cmp.Diff(before, e.get()); diff != "" {
		t.Errorf("the Gateway was changed at rest:\n%s", diff)
	}
	e.publish("a.cluster.example.com", "Z1=False")
	e.eventually("", provisioned, "a", "False/FailedZones", "b", published)
}
