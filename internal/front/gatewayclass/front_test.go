// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// A cluster that cannot be read says nothing about an istiod that serves.
func TestSetStatus_NotObserved(t *testing.T) {
	plane := func(available metav1.ConditionStatus) *v1alpha1.Package {
		return &v1alpha1.Package{
			ObjectMeta: metav1.ObjectMeta{Name: PackageControlPlane},
			Status: v1alpha1.PackageStatus{CurrentRevision: 1, Version: "1.31.0", Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionAvailable, Status: available, Message: "no pod is ready"},
				{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolledOut},
			}},
		}
	}
	cause := errors.New("listing subscriptions: timeout")
	cases := map[string]struct {
		reason string
		plane  *v1alpha1.Package
		err    error
		want   string
	}{
		"Serves":       {reason: "istiod is what it was", plane: plane(metav1.ConditionTrue), err: cause, want: "True/Installed: istiod 1.31.0 installed (with warning: listing subscriptions: timeout)"},
		"DoesNotServe": {reason: "the cause is what is known", plane: plane(metav1.ConditionFalse), err: cause, want: "False/InstallFailed: listing subscriptions: timeout"},
		"NoPlane":      {reason: "nothing can be installed", err: cause, want: "False/InstallFailed: listing subscriptions: timeout"},
		"NotRendered":  {reason: "what runs is not what is asked for", plane: plane(metav1.ConditionTrue), err: &front.RenderError{Err: errors.New("version 9 is not known")}, want: "False/InstallFailed: version 9 is not known"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class := &gatewayv1.GatewayClass{}
			setStatus(class, front.State[observed]{Facts: observed{Plane: tc.plane}, Err: tc.err})
			c := meta.FindStatusCondition(class.Status.Conditions, ConditionControllerInstalled)
			if got := string(c.Status) + "/" + c.Reason + ": " + c.Message; got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// A class that cannot be served says so, and those beside it say nothing of it.
func TestSetStatus_LongName(t *testing.T) {
	rolledOut := front.Package{Name: PackageControlPlane, Target: &v1alpha1.Revision{}, Package: &v1alpha1.Package{
		Status: v1alpha1.PackageStatus{CurrentRevision: 1, Version: "1.31.0", Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolledOut},
		}},
	}}
	for name, want := range map[string]string{"good": "True/Installed: istiod 1.31.0 installed", strings.Repeat("a", 64): "False/InstallFailed: GatewayClass aaa"} {
		class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		setStatus(class, front.State[observed]{Packages: []front.Package{rolledOut}})
		c := meta.FindStatusCondition(class.Status.Conditions, ConditionControllerInstalled)
		if got := string(c.Status) + "/" + c.Reason + ": " + c.Message; !strings.HasPrefix(got, want) {
			t.Errorf("GatewayClass %s: got %s, want %s", name, got, want)
		}
	}
}

// What one class asks for and cannot have fails that class; those beside it are served, and say
// what keeps a new version from them. A wish that an older class overrules is reported.
func TestSetStatus_FaultOfOneClass(t *testing.T) {
	plane := &v1alpha1.Package{Status: v1alpha1.PackageStatus{CurrentRevision: 1, Version: "1.31.0", Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRolledOut},
	}}}
	class := func(name string, day int, version string) gatewayv1.GatewayClass {
		return gatewayv1.GatewayClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Annotations: map[string]string{AnnotationIstioVersion: version}},
			Spec:       gatewayv1.GatewayClassSpec{ControllerName: ControllerName},
		}
	}
	classes := []gatewayv1.GatewayClass{class("bad", 1, "9.9"), class("young", 2, "1.29"), class("good", 3, "")}
	facts := observed{Input: Input{Classes: classes, DefaultVersion: "1.31"}, Plane: plane}
	_, err := Render(facts.Input)
	for i, want := range [][]string{
		{"False/InstallFailed: ", "9.9"},
		{"True/Installed: istiod 1.31.0 installed (with warning: ", "GatewayClass bad asks for", "1.29 has no effect"},
		{"True/Installed: istiod 1.31.0 installed (with warning: ", "GatewayClass bad asks for"},
	} {
		setStatus(&classes[i], front.State[observed]{Facts: facts, Err: &front.RenderError{Err: err}})
		c := meta.FindStatusCondition(classes[i].Status.Conditions, ConditionControllerInstalled)
		got := string(c.Status) + "/" + c.Reason + ": " + c.Message
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("GatewayClass %s: got %s, want %q", classes[i].Name, got, part)
			}
		}
	}
}

// Gateways that are labelled for a canary that is not there have no istiod, and no other istiod
// says so.
// notes are the events that were recorded.
type notes struct{ recorded []string }

func (n *notes) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	n.recorded = append(n.recorded, reason+": "+fmt.Sprintf(note, args...))
}

// A class that other controllers have filled gets an event, once, as its status cannot say anything.
func TestObserver_NoRoom(t *testing.T) {
	recorder := &notes{}
	o := &observer{NoRoom: front.Warning{Recorder: recorder, Reason: "NoRoomForCondition"}}
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "full", UID: "1"}}
	class.Status.Conditions = append(class.Status.Conditions, metav1.Condition{Type: ConditionCRDsReady})
	for i := range MaxClassConditions - 1 {
		class.Status.Conditions = append(class.Status.Conditions, metav1.Condition{Type: fmt.Sprint("Foreign", i)})
	}
	classes := []*gatewayv1.GatewayClass{class, {ObjectMeta: metav1.ObjectMeta{Name: "empty", UID: "2"}}}
	o.recordRoom(classes)
	o.recordRoom(classes)
	want := "NoRoomForCondition: There are 8 conditions of other controllers, which is the maximum of a GatewayClass, so ControllerInstalled cannot be set"
	if len(recorder.recorded) != 1 || recorder.recorded[0] != want {
		t.Errorf("got %q, want once %q", recorder.recorded, want)
	}
	class.Status.Conditions = class.Status.Conditions[1:]
	o.recordRoom(classes)
	class.Status.Conditions = append(class.Status.Conditions, metav1.Condition{Type: "Another"})
	o.recordRoom(classes)
	if len(recorder.recorded) != 2 || !strings.HasSuffix(recorder.recorded[1], "ControllerInstalled and CRDsReady cannot be set") {
		t.Errorf("a class that is full again got the events %q", recorder.recorded)
	}
}

func TestWarningsOf_LostGateways(t *testing.T) {
	plane, canary := front.Package{Name: PackageControlPlane}, front.Package{Name: PackageCanary}
	cases := map[string]struct {
		reason   string
		gateways []string
		packages []front.Package
		want     string
	}{
		"Lost":     {reason: "the canary went with a class before", gateways: []string{"a/b"}, packages: []front.Package{plane}, want: "set the label istio.io/rev of a/b to openshift-gateway"},
		"Many":     {reason: "a message has an end", gateways: []string{"a/1", "a/2", "a/3", "a/4", "a/5"}, packages: []front.Package{plane}, want: "a/4 and 1 more to"},
		"Served":   {reason: "it is there, or says itself why not", gateways: []string{"a/b"}, packages: []front.Package{plane, canary}},
		"NotKnown": {reason: "nothing was rendered", gateways: []string{"a/b"}},
		"None":     {reason: "no Gateway is labelled for it", packages: []front.Package{plane}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			facts := observed{Input: Input{CanaryGateways: tc.gateways}}
			got := strings.Join(warningsOf(front.State[observed]{Packages: tc.packages, Facts: facts}), "; ")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A canary goes only when the API server says, too, that it serves no Gateway.
func TestObserver_Canary(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	moved := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "shop", Labels: map[string]string{LabelRevision: CanaryRevision}}}
	class := gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: ControllerName}}
	asks := *class.DeepCopy()
	asks.Annotations = map[string]string{AnnotationCanaryVersion: "1.31"}
	cases := map[string]struct {
		reason   string
		class    gatewayv1.GatewayClass
		existing []string
		cached   []client.Object
		want     []string
	}{
		"CacheBehind": {reason: "it was moved a moment ago", class: class, existing: []string{PackageCanary}, want: []string{"team-a/shop"}},
		"Cached":      {reason: "the cache will do to keep it", class: class, existing: []string{PackageCanary}, cached: []client.Object{moved}, want: []string{"team-a/shop"}},
		"Wanted":      {reason: "it is not about to go, which takes no request", class: asks, existing: []string{PackageCanary}},
		"NoCanary":    {reason: "there is none", class: class},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &observer{
				Cache:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.cached...).Build(),
				Live:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(moved.DeepCopy()).Build(),
				Served: func(kind schema.GroupVersionKind) bool { return kind == gatewayKind },
			}
			in := Input{Classes: []gatewayv1.GatewayClass{tc.class}, Existing: tc.existing}
			if err := o.observeCluster(t.Context(), &in); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(in.CanaryGateways, tc.want) {
				t.Errorf("%s: got the Gateways %v, want %v", tc.reason, in.CanaryGateways, tc.want)
			}
		})
	}
}
