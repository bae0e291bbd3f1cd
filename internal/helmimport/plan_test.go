// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
	password = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: password}\nstringData: {a: topsecret}\n"
	job      = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: done}\nspec: {template: {spec: {containers: [{name: a, image: job:1}]}}}\n"
	space    = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n"
)

// TestImporter_Plan: nothing exists yet.
func TestImporter_Plan(t *testing.T) {
	i := cluster(t)
	release := Release{
		Namespace: "shop", Name: "web", Version: 2, Status: statusDeployed, Chart: "web", ChartVersion: "1.2.3", AppVersion: "2.0",
		Manifest: job + settings + password + space,
		Hooks:    []Hook{{Kind: "Job", Name: "migrate", Events: []string{"post-install", "pre-upgrade"}}},
		CRDs:     []File{{Name: "crds/a.yaml", Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.a.b}\n")}},
	}
	plan, err := i.Plan(t.Context(), Choice{Release: release}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := "foundation: Create Namespace extra\nconfig: Create ConfigMap shop/settings\nconfig: Create Secret shop/password"
	if diff := cmp.Diff(want, lines(plan.Objects)); diff != "" {
		t.Errorf("missing objects are created, in phases, but Jobs: -want, +got:\n%s", diff)
	}
	left := []string{
		"File /crds/a.yaml: Helm does not manage it either", "Job /migrate: hook (post-install, pre-upgrade)", "Job shop/done: it is gone, and would run again",
	}
	if diff := cmp.Diff(left, leftLines(plan.Left)); diff != "" {
		t.Errorf("what is left out is reported: -want, +got:\n%s", diff)
	}
	origin := v1alpha1.Origin{
		Kind: v1alpha1.OriginHelmImport, Reference: "HelmRelease/shop/web", Generation: 2, Chart: "web", AppVersion: "2.0",
		Images: []string{}, Reason: "imported from Helm release shop/web version 2 (web 1.2.3)", CreatedBy: "me",
	}
	if diff := cmp.Diff(origin, plan.origin(Settings{CreatedBy: "me"}), cmp.Transformer("empty", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
		t.Errorf("the origin: -want, +got:\n%s", diff)
	}
	phases, err := plan.phases()
	if err != nil {
		t.Fatal(err)
	}
	secret := phases[1].Objects[1].Manifest
	if phases[1].CollisionProtection != v1alpha1.CollisionNone || secret.Object["stringData"] != nil || secret.Object["data"] == nil {
		t.Errorf("the phases are to adopt, with the Secret's data as the API server has it: %v", phases[1])
	}

	t.Run("IncludeCRDs", func(t *testing.T) {
		plan, err := i.Plan(t.Context(), Choice{Release: release}, true)
		if err != nil {
			t.Fatal(err)
		}
		// The cluster in memory does not serve definitions, which a real one does.
		if !strings.Contains(lines(plan.Objects), "foundation: Refuse CustomResourceDefinition as.a.b") {
			t.Errorf("the folder crds/ is not in the plan:\n%s", lines(plan.Objects))
		}
	})
}

func TestImporter_PlanErrors(t *testing.T) {
	cases := map[string]struct {
		reason, manifest string
		want             []string
	}{
		"YAML":   {reason: "a manifest that is damaged", manifest: "a: [", want: []string{"the manifest of shop/web version 2"}},
		"Twice":  {reason: "one object twice would be a fight with oneself", manifest: settings + settings, want: []string{"ConfigMap settings"}},
		"Secret": {reason: "no value is quoted", manifest: strings.ReplaceAll(password, "topsecret", "[topsecret]"), want: []string{"password", "stringData"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := cluster(t).Plan(t.Context(), Choice{Release: Release{Namespace: "shop", Name: "web", Version: 2, Manifest: tc.manifest}}, false)
			wantsAll(t, tc.reason, err, tc.want...)
			if strings.Contains(err.Error(), "topsecret") {
				t.Errorf("error %q quotes a value", err)
			}
		})
	}
}

func TestPlan_Strays(t *testing.T) {
	i := cluster(t)
	stray := manifest(t, strings.ReplaceAll(settings, "settings", "stray"))
	stray.SetNamespace("shop")
	if err := i.Client.Create(t.Context(), stray); err != nil {
		t.Fatal(err)
	}
	plan, err := i.Plan(t.Context(), Choice{
		Release: Release{Namespace: "shop", Name: "web", Version: 2, Manifest: settings},
		Later: []Release{
			{Namespace: "shop", Name: "web", Version: 4, Status: "pending-upgrade", Manifest: "a: ["},
			{Namespace: "shop", Name: "web", Version: 3, Status: "failed", Manifest: settings + strings.ReplaceAll(settings, "settings", "stray") + strings.ReplaceAll(settings, "settings", "never")},
		},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ConfigMap shop/stray: only version 3 has it, which is failed", "Version /shop/web version 4: its manifest cannot be read, and may have left objects behind"}
	if diff := cmp.Diff(want, leftLines(plan.Left)); diff != "" {
		t.Errorf("what a failed upgrade has left behind has no owner: -want, +got:\n%s", diff)
	}
}

func TestPlan_Refusals(t *testing.T) {
	object := func(o Object) *Plan {
		o.Manifest = manifest(t, settings)
		return &Plan{Objects: []Object{o}}
	}
	cases := map[string]struct {
		reason  string
		plan    *Plan
		allowed Permissions
		want    string
	}{
		"Fine":      {reason: "an object is adopted", plan: object(Object{Action: ActionAdopt})},
		"Drift":     {reason: "drift is set back", plan: object(Object{Action: ActionUpdate, Fields: []string{".data"}})},
		"Empty":     {reason: "a release without objects makes no package", plan: &Plan{}, want: "no objects"},
		"Refused":   {reason: "what cannot be imported is not allowed by anything", plan: object(Object{Action: ActionRefuse, Note: "is bad"}), allowed: Permissions{Restarts: true, TakeOver: true}, want: "is bad"},
		"Pods":      {reason: "pods are not restarted by accident", plan: object(Object{Action: ActionUpdate, Pods: true, Fields: []string{".spec.replicas"}}), allowed: Permissions{TakeOver: true}, want: "--allow-restarts"},
		"PodsOn":    {reason: "they may be, on purpose", plan: object(Object{Action: ActionUpdate, Pods: true}), allowed: Permissions{Restarts: true}},
		"Owner":     {reason: "no object is taken by accident", plan: object(Object{Action: ActionAdopt, Owner: "of package b"}), allowed: Permissions{Restarts: true}, want: "--take-over"},
		"OwnerOn":   {reason: "it may be, on purpose", plan: object(Object{Action: ActionAdopt, Owner: "of package b"}), allowed: Permissions{TakeOver: true}},
		"NotSilent": {reason: "taking over does not allow restarts", plan: object(Object{Action: ActionUpdate, Owner: "x", Pods: true}), allowed: Permissions{TakeOver: true}, want: "--allow-restarts"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(tc.plan.Refusals(tc.allowed), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
