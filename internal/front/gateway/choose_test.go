// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front/gateway"
)

func TestChooseService(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	named := func(name string, hours int, change ...func(*corev1.Service)) corev1.Service {
		s := corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour))},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
		}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	owned := func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: "gw"}} }
	clusterIP := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.NewTime(noon)) }
	of := func(class string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Labels = map[string]string{gateway.LabelClass: class} }
	}
	class := string(edge().Spec.GatewayClassName)
	cases := map[string]struct {
		reason   string
		services []corev1.Service
		want     []string // the chosen one first, which "-" stands for when there is none
	}{
		"None":         {reason: "there may be none"},
		"Owned":        {reason: "a label is quickly written, an owner is not", services: []corev1.Service{named("a", 0), named("b", 9, owned, clusterIP)}, want: []string{"b", "a"}},
		"Deleting":     {reason: "what goes comes after what stays", services: []corev1.Service{named("a", 0, owned, deleted), named("b", 9, owned)}, want: []string{"b", "a"}},
		"LoadBalancer": {reason: "then the type counts", services: []corev1.Service{named("a", 0, clusterIP), named("b", 9)}, want: []string{"b", "a"}},
		"Class":        {reason: "the class comes first: istiod leaves the Service of the class before as it is", services: []corev1.Service{named("a", 0, owned, of("other")), named("b", 9, owned, clusterIP, of(class))}, want: []string{"b", "a"}},
		"OtherClass":   {reason: "the one of the class before is no answer", services: []corev1.Service{named("a", 0, owned, of("other"))}, want: []string{"-", "a"}},
		"Oldest":       {reason: "then the age, then the name", services: []corev1.Service{named("a", 5), named("c", 1), named("b", 1)}, want: []string{"b", "c", "a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				chosen, others := gateway.ChooseService(edge(), c.services)
				var got []string
				switch {
				case chosen != nil:
					got = append([]string{chosen.Name}, others...)
				case len(others) > 0:
					got = append([]string{"-"}, others...)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				slices.Reverse(c.services)
			}
		})
	}
}
