// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errForbidden = errors.New("forbidden")

// olmCluster has subscriptions by namespace/name, and install plans by label.
type olmCluster struct {
	client.Reader

	subscriptions, plans map[string]bool
	err                  error
}

func (c *olmCluster) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if c.err != nil {
		return c.err
	}
	if !c.subscriptions[key.String()] {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "subscriptions"}, key.Name)
	}
	return nil
}

func (c *olmCluster) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if c.err != nil {
		return c.err
	}
	asked := &client.ListOptions{}
	for _, o := range options {
		o.ApplyToList(asked)
	}
	for label := range c.plans {
		if found, ok := list.(*metav1.PartialObjectMetadataList); ok && asked.LabelSelector.Matches(labelSet{label: ""}) {
			found.Items = append(found.Items, metav1.PartialObjectMetadata{})
		}
	}
	return nil
}

type labelSet map[string]string

func (s labelSet) Has(key string) bool              { _, ok := s[key]; return ok }
func (s labelSet) Get(key string) string            { return s[key] }
func (s labelSet) Lookup(key string) (string, bool) { value, ok := s[key]; return value, ok }

func TestLiving(t *testing.T) {
	const label = "operators.coreos.com/mesh.v3.team-a"
	mesh := Subscription{Namespace: "team-a", Name: "mesh.v3"}
	crds := []CRD{
		{Name: "a", Labels: map[string]string{LabelOLMManaged: "true", label: ""}},
		{Name: "b", Labels: map[string]string{LabelOLMManaged: "true", "operators.coreos.com/malformed": ""}},
	}
	cases := map[string]struct {
		reason  string
		cluster olmCluster
		absent  bool
		served  error
		want    bool
		err     bool
	}{
		"Subscription":    {reason: "its name may have dots", cluster: olmCluster{subscriptions: map[string]bool{"team-a/mesh.v3": true}}, want: true},
		"InstallPlan":     {reason: "one that carries the label is enough", cluster: olmCluster{plans: map[string]bool{label: true}}, want: true},
		"OtherOnes":       {reason: "those of other managers do not count", cluster: olmCluster{subscriptions: map[string]bool{"v3.team-a/mesh": true}, plans: map[string]bool{label + "b": true}}},
		"Gone":            {reason: "neither"},
		"NoOLM":           {reason: "kinds that are not served are as good as no subscription", cluster: olmCluster{err: errForbidden}, absent: true},
		"JustGone":        {reason: "so are kinds that have just been taken away", cluster: olmCluster{err: apierrors.NewNotFound(schema.GroupResource{}, "")}},
		"NoMatch":         {reason: "so are kinds that the client does not know", cluster: olmCluster{err: &meta.NoKindMatchError{}}},
		"CannotBeRead":    {reason: "what cannot be read is not known", cluster: olmCluster{err: errForbidden}, err: true},
		"DiscoveryFails":  {reason: "nor is what is served", served: errForbidden, err: true},
		"AllAreForbidden": {reason: "a refusal is no answer", cluster: olmCluster{err: apierrors.NewForbidden(schema.GroupResource{}, "", errForbidden)}, err: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := &olmReader{Reader: &tc.cluster, served: func(schema.GroupVersionKind) (bool, error) { return !tc.absent, tc.served }}
			got, err := living(t.Context(), reader, crds)
			if (err != nil) != tc.err {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(map[Subscription]bool{mesh: tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
