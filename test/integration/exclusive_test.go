// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// closed are objects whose safety rests on what they do not have.
const closed = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: NS}
spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [], egress: []}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: nothing, namespace: NS}
rules: []
---
apiVersion: v1
kind: Service
metadata: {name: agent, namespace: NS}
spec:
  selector: {app: agent}
  ports: [{name: web, port: 443, targetPort: 6443}]
`

// exclusive sets the exclusive fields of manifests, in their order.
func exclusive(objects []v1alpha1.Object, paths ...[]string) []v1alpha1.Object {
	for i := range paths {
		objects[i].ExclusiveFields = paths[i]
	}
	return objects
}

// change updates an object as a manager.
func change[T client.Object](t *testing.T, object T, ns, name, manager string, do func(T)) {
	t.Helper()
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, object); err != nil {
			return err
		}
		do(object)
		return admin.Update(t.Context(), object, client.FieldOwner(manager))
	}))
}

// eventuallyIs waits until an object is as wanted.
func eventuallyIs[T client.Object](t *testing.T, object T, ns, name, what string, is func(T) bool) {
	t.Helper()
	planetest.Eventually(t, what, func() (bool, error) {
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, object); err != nil {
			return false, err
		}
		return is(object), fmt.Errorf("it is %+v", object)
	})
}

// TestExclusive: what another manager adds where nothing else may be is removed, an entry of
// a list and a list that the manifest has empty alike, and nothing is written at rest.
func TestExclusive(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", exclusive(manifests(t, ns, closed),
		[]string{".spec.ingress", ".spec.egress"}, []string{".rules"}, []string{".spec.ports", ".spec.externalIPs"})...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	change(t, &networkingv1.NetworkPolicy{}, ns, "deny-all", "intruder", func(p *networkingv1.NetworkPolicy) {
		p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
	})
	change(t, &rbacv1.Role{}, ns, "nothing", "intruder", func(r *rbacv1.Role) {
		r.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	})
	change(t, &corev1.Service{}, ns, "agent", "intruder", func(s *corev1.Service) {
		s.Spec.ExternalIPs = []string{"192.0.2.1"}
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "debug", Port: 8080, TargetPort: intstr.FromInt32(8080)})
	})
	eventuallyIs(t, &networkingv1.NetworkPolicy{}, ns, "deny-all", "the rule to be removed", func(p *networkingv1.NetworkPolicy) bool {
		return len(p.Spec.Egress) == 0 && len(p.Spec.PolicyTypes) == 2
	})
	eventuallyIs(t, &rbacv1.Role{}, ns, "nothing", "the right to be removed", func(r *rbacv1.Role) bool { return len(r.Rules) == 0 })
	eventuallyIs(t, &corev1.Service{}, ns, "agent", "port and address to be removed", func(s *corev1.Service) bool {
		return len(s.Spec.ExternalIPs) == 0 && len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Port == 443
	})
	planetest.Eventually(t, "the status to name the manager", func() (bool, error) {
		named := map[string]bool{}
		for _, entry := range getRevision(t, pkg.Name, 1).Status.Interference {
			named[entry.Name+" "+entry.Manager+" "+strings.Join(entry.Fields, " ")] = true
		}
		return named["deny-all intruder .spec.egress"] && named["nothing intruder .rules"] &&
			named["agent intruder .spec.externalIPs .spec.ports[port=8080,protocol=TCP]"], fmt.Errorf("it has %v", named)
	})
	since := time.Now()
	planetest.Eventually(t, "three seconds without a write", func() (bool, error) {
		counts := writesTo(t, ns, since)
		if len(counts) > 0 {
			since = time.Now()
		}
		return time.Since(since) > 3*time.Second, errors.New(describe(counts))
	})
}

// TestServicePort: a changed port or protocol comes back, although the API server refuses to
// have the name of a port twice.
func TestServicePort(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", manifests(t, ns, closed)...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	for name, do := range map[string]func(*corev1.Service){
		"port":     func(s *corev1.Service) { s.Spec.Ports[0].Port = 8443 },
		"protocol": func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP },
	} {
		change(t, &corev1.Service{}, ns, "agent", "kubectl-edit", do)
		eventuallyIs(t, &corev1.Service{}, ns, "agent", "the "+name+" to be repaired", func(s *corev1.Service) bool {
			return len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Port == 443 && s.Spec.Ports[0].Protocol == corev1.ProtocolTCP && s.Spec.Ports[0].Name == "web"
		})
	}
	// What does not stand in the way stays, where the list is not exclusive.
	change(t, &corev1.Service{}, ns, "agent", "mesh", func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 9090})
	})
	planetest.Stays(t, 2*time.Second, "the added port", func() (bool, error) {
		service := &corev1.Service{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "agent"}, service))
		return len(service.Spec.Ports) == 2, fmt.Errorf("the ports are %v", service.Spec.Ports)
	})
}

// TestMadeByHand: a field of an object that kubectl has made goes with the revision that
// drops it, and so does one whose managers were wiped. What no revision had stays.
func TestMadeByHand(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	made := &corev1.Service{}
	made.Namespace, made.Name, made.Labels = ns, "agent", map[string]string{"team": "blue"}
	made.Spec.Ports = []corev1.ServicePort{{Name: "web", Port: 443, TargetPort: intstr.FromInt32(6443)}, {Name: "old", Port: 80}}
	must(t, admin.Create(t.Context(), made, client.FieldOwner("kubectl-create")))
	both := strings.Replace(closed, "6443}]", "6443}, {name: old, port: 80}]", 1)
	adopt := func(objects []v1alpha1.Object) v1alpha1.Phase {
		adopting := phase("one", objects...)
		adopting.CollisionProtection = v1alpha1.CollisionIfNoController
		return adopting
	}
	config := func(data fields) v1alpha1.Object {
		return object(t, fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"namespace": ns, "name": "wiped"}, "data": data})
	}
	pkg := newPackage(t, v1alpha1.PackageSpec{}, adopt(append(manifests(t, ns, both), config(fields{"keep": "1", "drop": "1"}))))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	change(t, &corev1.ConfigMap{}, ns, "wiped", "kubectl-edit", func(c *corev1.ConfigMap) {
		c.ManagedFields = nil
		c.Data["keep"] = "other"
	})
	eventuallyIs(t, &corev1.ConfigMap{}, ns, "wiped", "the value to be repaired", func(c *corev1.ConfigMap) bool { return c.Data["keep"] == "1" })
	newRevision(t, pkg, 2, adopt(append(manifests(t, ns, closed), config(fields{"keep": "1"}))))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	eventuallyIs(t, &corev1.Service{}, ns, "agent", "the old port to go", func(s *corev1.Service) bool {
		return len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Name == "web" && s.Labels["team"] == "blue"
	})
	eventuallyIs(t, &corev1.ConfigMap{}, ns, "wiped", "the dropped key to go", func(c *corev1.ConfigMap) bool { return len(c.Data) == 1 })
}
