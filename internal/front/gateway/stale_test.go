// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// former is a record as OpenShift's ingress operator has made it for a hostname of Gateway edge.
func former(hostname string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := dnsRecord("x", "")
	o.SetName(RecordName("edge", hostname))
	o.Object["spec"] = map[string]any{"dnsName": hostname + "."}
	o.SetLabels(map[string]string{LabelGateway: "edge"})
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "edge", UID: "1"}})
	if change != nil {
		change(o)
	}
	return o
}

// What OpenShift's ingress operator has left for hostnames that the Gateway does not have any
// more goes, and nothing that could be anything else.
func TestObserver_StaleRecords(t *testing.T) {
	stale := "gone.example.com"
	records := map[string]*unstructured.Unstructured{
		"stale":  former(stale, nil),
		"wanted": former("a.example.com", nil),
		"named":  former("b.example.com", func(o *unstructured.Unstructured) { o.SetName("by-hand") }),
		"free":   former("c.example.com", func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }),
		"packaged": former("d.example.com", func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{LabelGateway: "edge", "strata.run/package": "x"})
		}),
		"owned": former("e.example.com", func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Publisher", Name: "p", UID: "2"}})
		}),
		"others": former("f.example.com", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{LabelGateway: "another"}) }),
	}
	left := func(t *testing.T, class client.Object, behind bool) []string {
		t.Helper()
		g := edgeGateway()
		live := g.DeepCopy()
		if behind {
			live.Generation = 2
		}
		objects := []client.Object{class, live}
		for _, record := range records {
			objects = append(objects, record.DeepCopy())
		}
		o, api, _ := observerOf(t, interceptor.Funcs{Delete: func(ctx context.Context, w client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			given := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
			if given == nil || given.UID == nil || given.ResourceVersion == nil {
				t.Errorf("%s is deleted whatever it is by now", object.GetName())
			}
			return w.Delete(ctx, object)
		}}, objects...)
		observe(t, o, g)
		var names []string
		for name, record := range records {
			if api.Get(t.Context(), client.ObjectKeyFromObject(record), record.DeepCopy()) == nil {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	all := []string{"free", "named", "others", "owned", "packaged", "stale", "wanted"}
	but := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "stale" })
	for name, tc := range map[string]struct {
		class  client.Object
		behind bool
		want   []string
	}{
		"Ours":        {class: class("ours", "openshift.io/gateway-controller/v1"), want: but},
		"CacheBehind": {class: class("ours", "openshift.io/gateway-controller/v1"), behind: true, want: all},
		"Foreign":     {class: class("ours", "example.com/other"), want: all},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, left(t, tc.class, tc.behind)); diff != "" {
				t.Errorf("the records that are left (-want +got):\n%s", diff)
			}
		})
	}
}

// Where zones are configured and it is not known which controller publishes, a Gateway says so.
func TestObserver_NoFinalizer(t *testing.T) {
	for platform, want := range map[string]bool{"AWS": false, "BareMetal": true, "NewCloud": true} {
		for _, finalizer := range []string{"", NoFinalizer, "example.com/dns"} {
			o, _, recorder := observerOf(t, interceptor.Funcs{}, append(published(platform), class("ours", "openshift.io/gateway-controller/v1"))...)
			o.finalizer = finalizer
			for range 2 {
				observe(t, o, edgeGateway())
			}
			if got := len(recorder.recorded) == 1 && strings.Contains(recorder.recorded[0], "--dns-record-finalizer"); got != (want && finalizer == "") || len(recorder.recorded) > 1 {
				t.Errorf("on %s with the setting %q: %q", platform, finalizer, recorder.recorded)
			}
		}
	}
}
