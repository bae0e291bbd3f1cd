// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// istiodWriter and managerWriter are the field managers of the two.
const (
	istiodWriter  = "pilot-discovery"
	managerWriter = "strata-manager"
)

func get[T client.Object](t *testing.T, object T, namespace, name string) T {
	t.Helper()
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
	return object
}

func getClass(t *testing.T) *gatewayv1.GatewayClass {
	t.Helper()
	return get(t, &gatewayv1.GatewayClass{}, "", gatewayclass.DefaultClassName)
}

func getGateway(t *testing.T, name string) *gatewayv1.Gateway {
	t.Helper()
	return get(t, &gatewayv1.Gateway{}, gatewayclass.Namespace, name)
}

// eventually waits for a state that is given as the difference from it.
func eventually(t *testing.T, what string, difference func() string) {
	t.Helper()
	planetest.Eventually(t, what, func() (bool, error) {
		if text := difference(); text != "" {
			return false, errors.New(text)
		}
		return true, nil
	})
}

// summary is each condition as type, status and reason, sorted, with a mark on those
// that are not of the generation.
func summary(conditions []metav1.Condition, generation int64) []string {
	lines := make([]string, 0, len(conditions))
	for _, c := range conditions {
		line := fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason)
		if c.ObservedGeneration != generation {
			line += fmt.Sprintf(" of generation %d", c.ObservedGeneration)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// classConditions are all that a class has once all is well. One more or less has to
// be looked at: the API takes 8.
var classConditions = []string{
	"Accepted True Accepted",
	"CRDsReady True ManagedByCIO",
	"ControllerInstalled True Installed",
}

// eventuallyClass waits until the class has exactly the conditions it should have.
func eventuallyClass(t *testing.T) {
	t.Helper()
	eventually(t, "the conditions of the class", func() string {
		class := getClass(t)
		return cmp.Diff(classConditions, summary(class.Status.Conditions, class.Generation))
	})
}

// ownOfClass and ownOfGateway are the conditions that the manager writes, whole. Those
// of istiod may come and go while it starts.
func ownOfClass(class *gatewayv1.GatewayClass) []metav1.Condition {
	return own(class.Status.Conditions)
}

func ownOfGateway(gateway *gatewayv1.Gateway) map[string][]metav1.Condition {
	all := map[string][]metav1.Condition{"": own(gateway.Status.Conditions)}
	for _, l := range gateway.Status.Listeners {
		all[string(l.Name)] = own(l.Conditions)
	}
	return all
}

func own(conditions []metav1.Condition) []metav1.Condition {
	var ours []metav1.Condition
	for _, c := range conditions {
		switch c.Type {
		case gatewayclass.ConditionControllerInstalled, gatewayclass.ConditionCRDsReady, ingress.ConditionLoadBalancerReady, ingress.ConditionDNSReady:
			ours = append(ours, c)
		}
	}
	return ours
}

func message(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// writers are the field managers of an object, or of its status.
func writers(object client.Object, subresource string) []string {
	var names []string
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == subresource {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// requests are those of a user since a time that are neither watches nor about leases.
func requests(t *testing.T, user string, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return setup.Requests(t, plane, user, since)
}

// describe counts requests, for a message.
func describe(events []localplane.AuditEvent) string {
	counts := map[string]int{}
	for _, e := range events {
		resource := e.Resource
		if e.Subresource != "" {
			resource += "/" + e.Subresource
		}
		counts[fmt.Sprintf("%s %s %s/%s: %d", e.Verb, resource, e.Namespace, e.Name, e.Code)]++
	}
	lines := make([]string, 0, len(counts))
	for line, count := range counts {
		lines = append(lines, fmt.Sprintf("%3d× %s", count, line))
	}
	slices.Sort(lines)
	return "\n" + strings.Join(lines, "\n")
}
