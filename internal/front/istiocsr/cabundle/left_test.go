// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

// promoted is a fixture in which the agent in the namespace left has a CA that is leaving,
// and the one in the namespace csr gets the mesh.
func promoted(t *testing.T, one, two trusttest.Authority) *fixture {
	t.Helper()
	f := newFixture(t)
	f.request.Namespace, f.request.Labels = "left", map[string]string{"app": "istio-csr", "team": "left"}
	f.istiod(one)
	f.keep()
	f.istiod(two)
	f.keep()
	f.keeper.Forget("left")
	f.request.Namespace, f.request.Labels = "csr", map[string]string{"app": "istio-csr"}
	return f
}

// A mesh that gets another agent knows the CAs of the one before, with their end, and the
// copy of an agent that was left running is kept like the other.
func TestLeft(t *testing.T) {
	one, two, three := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil), trusttest.CA(t, "three", nil)
	f := promoted(t, one, two)
	f.request.Left = []string{"left"}
	f.holds("what is leaving there leaves here, too", "", two, one)
	left := f.foundIn("left", Name)
	if got, want := left.Annotations[v1alpha1.AnnotationLeavingCAs], f.copied().Annotations[v1alpha1.AnnotationLeavingCAs]; want == "" || got != want {
		t.Errorf("the CAs of the agent that was left end with %q, the others with %q", got, want)
	}

	f.istiod(three)
	f.holds("the CA changes", "", three, two, one)
	if got := f.foundIn("left", Name); got.Data[Key] != f.copied().Data[Key] || got.Labels["team"] != "left" {
		t.Errorf("the copy of the agent that was left is %v", got)
	}
	f.changeOf(f.foundIn("left", Name), func(c *corev1.ConfigMap) { c.Data[Key] = one.PEM })
	f.keep()
	if got := f.foundIn("left", Name); got.Data[Key] != f.copied().Data[Key] {
		t.Error("it is not set back")
	}
	f.quiet("nothing changes")
	f.restart()
	f.holds("a restart forgets nothing", "", three, two, one)

	f.request.Left = nil
	f.keep()
	f.istiod(one)
	f.keep()
	if f.foundIn("left", Name).Data[Key] == f.copied().Data[Key] {
		t.Error("the copy of an agent that is gone is still kept")
	}
}

// The CAs of an agent that goes with its IstioCSR are in use, too. Its copy goes with it.
func TestBefore(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	f := promoted(t, one, two)
	f.request.Before = []string{"left", "nowhere"}
	f.remove(f.foundIn("left", SpareName))
	f.holds("certificates of it are in use", "", two, one)
	if f.foundIn("left", SpareName) != nil {
		t.Error("what goes was written")
	}
}

// What an agent of another installation reads is not ours to write.
func TestLeft_Foreign(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	f := newFixture(t)
	f.configMap("left", Name, map[string]string{Key: one.PEM + two.PEM})
	f.istiod(one)
	f.request.Left = []string{"left", "none"}
	f.holds("only what signs for the mesh is taken from it", "", one)
	if got := f.foundIn("left", Name); got.Data[Key] != one.PEM+two.PEM || f.foundIn("left", SpareName) != nil || f.foundIn("none", Name) != nil {
		t.Error("it was written")
	}
}

// A CA that the user drops goes without its time, here and where an agent was left.
func TestDropped(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	f := promoted(t, one, two)
	f.request.Left = []string{"left"}
	f.holds("it is leaving", "", two, one)
	f.request.Dropped = []string{trust.CA{Certificate: one.Certificate}.Digest()}
	f.holds("it is dropped", "", two)
	if f.foundIn("left", Name).Data[Key] != two.PEM {
		t.Error("the agent that was left still has it")
	}
	f.request.Dropped = nil
	f.restart()
	f.holds("it does not come back", "", two)
}

// The pods of the agent are touched when what they read changes, and at no other time.
func TestPrompt(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	f := newFixture(t)
	for _, pod := range []struct{ namespace, name, app string }{{"csr", "agent", "cert-manager-istio-csr"}, {"csr", "other", "other"}, {"mesh", "agent", "cert-manager-istio-csr"}} {
		f.put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.namespace, Name: pod.name, Labels: map[string]string{"app": pod.app}}})
	}
	mark := func(namespace, name string) string {
		var pod corev1.Pod
		if err := f.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
			t.Fatal(err)
		}
		return pod.Annotations[v1alpha1.AnnotationCABundle]
	}
	f.istiod(one)
	f.holds("at first", "", one)
	first := mark("csr", "agent")
	f.istiod(two)
	f.holds("the CA changes", "", two, one)
	if second := mark("csr", "agent"); len(first) != 16 || len(second) != 16 || first == second {
		t.Errorf("the pod has %q, and then %q", first, second)
	}
	if mark("csr", "other")+mark("mesh", "agent") != "" {
		t.Error("a pod that reads nothing of it was touched")
	}
	if !strings.Contains(f.copied().Data[Key], two.PEM) {
		t.Error("the copy comes after the pods")
	}
}
