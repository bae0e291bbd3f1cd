// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/istio"
)

// CRDs become ours only when the API server says, too, that no other manager has them.
func TestObserver_CRDs(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	crd := func(labels map[string]string) []client.Object {
		return []client.Object{&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: istio.CRDNames()[0], Labels: labels}}}
	}
	own := map[string]string{LabelOwned: ""}
	made := []v1alpha1.Package{{ObjectMeta: metav1.ObjectMeta{Name: PackageCRDs}}}
	cases := map[string]struct {
		reason       string
		cached, live []client.Object
		existing     []v1alpha1.Package
		behind       bool
	}{
		"None":       {reason: "there are none"},
		"Ours":       {reason: "they are ours", cached: crd(own), live: crd(own)},
		"Theirs":     {reason: "they are another owner's, whatever the API server says", cached: crd(nil), live: crd(own)},
		"JustCame":   {reason: "a user has installed them a moment ago", live: crd(nil), behind: true},
		"JustTaken":  {reason: "a user has taken our label off a moment ago", cached: crd(own), live: crd(nil), behind: true},
		"RolledOut":  {reason: "what is ours already takes no request", live: crd(nil), existing: made},
		"JustGone":   {reason: "what is gone has no manager", cached: crd(own)},
		"OurOwnCame": {reason: "what the cache does not have is checked again, whosever it is", live: crd(own), behind: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &observer{
				Cache:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.cached...).Build(),
				Live:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.live...).Build(),
				Served: func(schema.GroupVersionKind) bool { return false },
			}
			class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: ControllerName}}
			facts := observed{Input: Input{DefaultVersion: "1.31", Classes: []gatewayv1.GatewayClass{*class}}}
			err := o.observeCRDs(t.Context(), front.Group[*gatewayv1.GatewayClass]{Resources: []*gatewayv1.GatewayClass{class}, Existing: tc.existing}, &facts)
			if apierrors.IsConflict(err) != tc.behind || err != nil && !tc.behind {
				t.Errorf("%s: got %v, want that the cache is behind: %t", tc.reason, err, tc.behind)
			}
		})
	}
}
