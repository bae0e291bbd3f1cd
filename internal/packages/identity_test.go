// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// denied is how an API server says that a right is missing.
const denied = `User "system:serviceaccount:team:web" cannot patch resource "configmaps" in API group "" in the namespace "app"`

var account = &v1alpha1.ServiceAccountReference{Namespace: "team", Name: "web"}

// Every request for an object is made as the package's ServiceAccount.
func TestWorker_Identity(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ServiceAccount: account})
	l.deliver(phase(configMap("a", "1"), configMap("b", "1")))
	l.mustSettle(10 * time.Second)
	l.deliver(phase(configMap("a", "2")))
	l.mustSettle(10 * time.Second)
	l.deletePackage()
	for range 3 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	want(t, "it has come and gone", "objects", nil, l.objects())
	if _, requests := l.since(); len(requests) > 0 {
		t.Errorf("the manager has asked with its own rights: %v", requests)
	}
	if requests := l.cluster.Requests("team:web"); len(requests) < 5 {
		t.Errorf("the ServiceAccount has asked %d times", len(requests))
	}
}

// Missing rights block the objects that they are missing for, are reported, and are
// asked for again.
func TestWorker_IdentityLosesRights(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ServiceAccount: account})
	l.cluster.Fail(revisionstest.Fault{Client: "team:web", Verb: revisionstest.VerbApply, Object: id("ConfigMap/a"), Code: 403, Message: denied})
	l.deliver(phase(configMap("a", "1"), configMap("b", "1")))
	if err := l.settle(10 * time.Second); err == nil {
		t.Fatal("the error was not returned, so no retry would follow")
	}
	want(t, "the reason is reported", "conditions", "Ready=False/NotReady Progressing=False/PermissionDenied Available=False/RollingOut", l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, `cannot patch resource "configmaps"`) || !strings.Contains(message, "spec.serviceAccount") {
		t.Errorf("verb, resource and remedy are not reported: %s", message)
	}
	want(t, "other objects go on", "objects", []string{"ConfigMap/b=1"}, l.objects())
	l.cluster.Heal()
	l.mustSettle(10 * time.Second)
	want(t, "it goes on when the right is granted", "conditions", readyLine, l.conditions())

	l.deletePackage()
	l.cluster.Fail(revisionstest.Fault{Client: "team:web", Verb: revisionstest.VerbDelete, Code: 403, Message: strings.ReplaceAll(denied, "patch", "delete")})
	_, err := l.pass()
	if err == nil || l.isGone() {
		t.Fatalf("error %v, gone %t; want the teardown to be tried again", err, l.isGone())
	}
	want(t, "a teardown that is not allowed says so", "conditions", "Ready=False/TearingDown Progressing=False/PermissionDenied Available=False/TearingDown", l.conditions())
	if message := l.condition(v1alpha1.ConditionProgressing); !strings.Contains(message, `cannot delete resource "configmaps"`) || !strings.Contains(message, "name another one in spec.serviceAccount, or none") {
		t.Errorf("the way out is not reported: %s", message)
	}
	l.change(func(pkg *v1alpha1.Package) { pkg.Spec.ServiceAccount = nil })
	for range 3 {
		_, _ = l.pass()
		l.advance(time.Second)
	}
	if !l.isGone() || len(l.objects()) > 0 {
		t.Errorf("with another identity it goes on: gone %t, objects %v", l.isGone(), l.objects())
	}
}

// An identity that cannot be taken on is reported, and no other identity is used instead.
func TestWorker_NoIdentity(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ServiceAccount: account})
	l.deliver(phase(configMap("a", "1")))
	l.noIdentity = errors.New("no such transport")
	if _, err := l.pass(); err == nil {
		t.Error("the error was not returned, so no retry would follow")
	}
	want(t, "the cause is reported", "Progressing", "False/RolloutError: no such transport", l.condition(v1alpha1.ConditionProgressing))
	want(t, "nothing is written", "objects", nil, l.objects())
	l.deletePackage()
	if _, err := l.pass(); err == nil || l.isGone() {
		t.Errorf("error %v, gone %t; want the teardown to wait", err, l.isGone())
	}
}
