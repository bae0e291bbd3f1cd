// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

const (
	settings   = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: settings}}"
	other      = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: other}}"
	web        = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: app, name: web}}"
	elsewhere  = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: else, name: settings}}"
	reader     = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}"
	definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.org}, spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true}]}}"
	widget     = "{apiVersion: example.org/v1, kind: Widget, metadata: {namespace: app, name: w}, spec: {size: 1}}"
)

const everything = "get create patch delete"

func TestCheckPermissions(t *testing.T) {
	type granted = map[string][]authorizationv1.ResourceRule
	cases := map[string]struct {
		reason  string
		rules   granted
		hidden  []authorizationv1.ResourceRule
		target  []string
		serving []string
		want    []string
	}{
		"Everything": {reason: "all rights are there", rules: granted{"*": {rule(everything, "", "configmaps")}, "app": {rule(everything, "apps", "deployments")}}, target: []string{settings, web}},
		"Nothing": {reason: "every resource is listed with its verbs and objects", target: []string{settings, other, web, elsewhere}, want: []string{
			"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete configmaps in namespace app (settings, other)",
			"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete deployments.apps in namespace app (web)",
			"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete configmaps in namespace else (settings)",
		}},
		"OneVerb":     {reason: "an apply is a patch", rules: granted{"app": {rule("get create delete", "", "configmaps")}}, target: []string{settings}, want: []string{"Permission: system:serviceaccount:app:deployer may not patch configmaps in namespace app (settings)"}},
		"OtherPlace":  {reason: "a right in one namespace is none in another", rules: granted{"app": {rule("*", "*", "*")}}, target: []string{settings, elsewhere}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete configmaps in namespace else (settings)"}},
		"ClusterKind": {reason: "a right in a namespace is none in the cluster", rules: granted{"app": {rule("*", "*", "*")}}, target: []string{"{apiVersion: v1, kind: Namespace, metadata: {name: app}}"}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete namespaces (app)"}},
		"Names":       {reason: "a rule with names is for these alone", rules: granted{"app": {rule(everything, "", "configmaps", "settings")}}, target: []string{settings, other}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete configmaps in namespace app (other)"}},
		"Pruned":      {reason: "what is left out has to be deleted", rules: granted{"app": {rule(everything, "", "configmaps"), rule("get create patch", "apps", "deployments")}}, target: []string{settings, other}, serving: []string{settings, web}, want: []string{"Permission: system:serviceaccount:app:deployer may not delete deployments.apps in namespace app (web)"}},
		"Hidden":      {reason: "a single question finds what the rules do not tell", hidden: []authorizationv1.ResourceRule{rule(everything, "", "configmaps")}, target: []string{settings, other, web}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete deployments.apps in namespace app (web)"}},
		"HiddenName":  {reason: "and by name", hidden: []authorizationv1.ResourceRule{rule(everything, "", "configmaps", "other")}, target: []string{settings, other}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete configmaps in namespace app (settings)"}},
		"Brought":     {reason: "a kind that the revision itself defines needs rights, too", rules: granted{"*": {rule(everything, "apiextensions.k8s.io", "customresourcedefinitions")}}, target: []string{definition, widget}, want: []string{"Permission: system:serviceaccount:app:deployer may not get, create, patch, delete widgets.example.org in namespace app (w)"}},
		"UnknownKind": {reason: "nothing can be granted on it", rules: granted{"app": {rule(everything, "", "configmaps")}}, target: []string{settings, widget}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			checked.who.rules, checked.who.hidden = c.rules, c.hidden
			in := Input{Package: pkg("deployer"), Target: revision(t, 2, c.target...)}
			if c.serving != nil {
				in.Serving = []revisions.Revision{revision(t, 1, c.serving...)}
			}
			if diff := cmp.Diff(c.want, checked.found(t, in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCheckPermissions_Retained needs no right to delete what is never deleted.
func TestCheckPermissions_Retained(t *testing.T) {
	checked := newChecked()
	checked.who.rules = map[string][]authorizationv1.ResourceRule{"app": {rule("get create patch", "", "configmaps")}}
	target := revision(t, 1, settings)
	target.Phases[0].Objects[0].Retain = true
	if got := checked.found(t, Input{Package: pkg("deployer"), Target: target}); got != nil {
		t.Errorf("found %v", got)
	}
}

// TestCheckPermissions_Class is how the caller tells missing rights.
func TestCheckPermissions_Class(t *testing.T) {
	checked := newChecked()
	checked.who.rules = nil
	err := checked.Check(t.Context(), Input{Package: pkg("deployer"), Target: revision(t, 1, settings)})
	var held *Error
	if !asError(err, &held) || !held.PermissionDenied() {
		t.Fatalf("got %v, want missing rights", err)
	}
	if !strings.HasSuffix(err.Error(), ": grant it to system:serviceaccount:app:deployer with a Role or ClusterRole and a binding") {
		t.Errorf("the remedy is missing: %v", err)
	}
}

// TestCheckPermissions_Cost asks once for the manager, once for each content of an
// identity that may do everything, and once more for each namespace of others.
func TestCheckPermissions_Cost(t *testing.T) {
	many := make([]string, 0, 100)
	for i := range 100 {
		many = append(many, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: n%d, name: x}}", i%3))
	}
	for i := range many {
		many[i] = strings.Replace(many[i], "name: x", fmt.Sprintf("name: x%d", i), 1)
	}
	cases := map[string]struct {
		reason        string
		account       string
		rules         map[string][]authorizationv1.ResourceRule
		hide          bool
		rules3, asked int
	}{
		"Manager":     {"a positive answer is remembered", "", map[string][]authorizationv1.ResourceRule{"*": {rule("get list watch create patch delete", "*", "*"), rule("escalate bind", rbacGroup, "roles clusterroles")}}, false, 1, 0},
		"Impersonate": {"another identity is asked for each content", "deployer", map[string][]authorizationv1.ResourceRule{"*": {rule("*", "*", "*")}}, false, 3, 0},
		"Namespaces":  {"one more for each namespace", "deployer", nil, false, 3 * (1 + 3), 0},
		"Bounded":     {"single questions are bounded", "deployer", nil, true, 3 * (1 + 3), 3 * maxQuestions},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			checked.who.rules = c.rules
			if c.hide {
				checked.who.hidden = []authorizationv1.ResourceRule{rule("get", "none", "none")}
			}
			for range 3 {
				checked.found(t, Input{Package: pkg(c.account), Target: revision(t, 1, many...)})
			}
			if checked.who.rulesAsked != c.rules3 || checked.who.accessAsked != c.asked {
				t.Errorf("%s: asked %d and %d times, want %d and %d", c.reason, checked.who.rulesAsked, checked.who.accessAsked, c.rules3, c.asked)
			}
			if got := checked.requests(t); len(got) > 0 {
				t.Errorf("requests about objects: %v", got)
			}
		})
	}
}

// TestCheckPermissions_Grants leaves it to the API server whether a role grants
// more than the identity has.
func TestCheckPermissions_Grants(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int32
		want   []string
		fails  bool
	}{
		"Granted":  {reason: "nothing is refused"},
		"Escalate": {reason: "the API server says what is not held", code: 403, want: []string{"Permission: system:serviceaccount:app:deployer may not apply ClusterRole.rbac.authorization.k8s.io reader: "}},
		"NotThere": {reason: "an earlier phase may make its namespace", code: 404},
		"Broken":   {reason: "what is not known is not safe", code: 503, fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			checked.who.rules = map[string][]authorizationv1.ResourceRule{"*": {rule(everything, rbacGroup, "clusterroles")}}
			if c.code != 0 {
				checked.cluster.Fail(revisionstest.Fault{Client: "identity", Verb: revisionstest.VerbApply, Code: c.code, Message: "not held"})
			}
			err := checked.Check(t.Context(), Input{Package: pkg("deployer"), Target: revision(t, 1, reader)})
			var held *Error
			if c.fails {
				if err == nil || asError(err, &held) {
					t.Fatalf("%s: got %v", c.reason, err)
				}
				return
			}
			got := foundIn(t, err)
			if len(got) != len(c.want) || len(got) > 0 && !strings.HasPrefix(got[0], c.want[0]) {
				t.Errorf("%s: found %v, want %v", c.reason, got, c.want)
			}
			checked.requests(t)
			if objects := checked.cluster.Objects(); len(objects) > 0 {
				t.Errorf("a trial has left %d objects behind", len(objects))
			}
		})
	}
}

// TestCheckPermissions_GrantsNotTried does not try out what may not be written at
// all: that is reported once.
func TestCheckPermissions_GrantsNotTried(t *testing.T) {
	checked := newChecked()
	checked.who.rules = map[string][]authorizationv1.ResourceRule{"*": {rule("get", rbacGroup, "clusterroles")}}
	checked.cluster.Fail(revisionstest.Fault{Client: "identity", Verb: revisionstest.VerbApply, Code: 403, Message: "no"})
	got := checked.found(t, Input{Package: pkg("deployer"), Target: revision(t, 1, reader)})
	want := []string{"Permission: system:serviceaccount:app:deployer may not create, patch, delete clusterroles.rbac.authorization.k8s.io (reader)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if requests := checked.requests(t); len(requests) > 0 {
		t.Errorf("tried out: %v", requests)
	}
}

// TestCheckPermissions_Unknown is an error, not a finding and not a permission.
func TestCheckPermissions_Unknown(t *testing.T) {
	checked := newChecked()
	checked.who.down = true
	var held *Error
	if err := checked.Check(t.Context(), Input{Package: pkg(""), Target: revision(t, 1, settings)}); err == nil || asError(err, &held) {
		t.Errorf("got %v, want an error that is no finding", err)
	}
	checked.who.down = false
	if got := checked.found(t, Input{Package: pkg(""), Target: revision(t, 1, settings)}); got != nil {
		t.Errorf("found %v after the cluster was back", got)
	}
}

func TestDefined(t *testing.T) {
	gk, served := defined(manifest(t, definition))
	if want := (schema.GroupKind{Group: "example.org", Kind: "Widget"}); gk != want || served.name != "widgets" || !served.namespaced {
		t.Errorf("got %v %+v", gk, served)
	}
}
