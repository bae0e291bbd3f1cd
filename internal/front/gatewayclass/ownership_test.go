// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

// crdLabels are the labels that the short words of the tables stand for.
var crdLabels = map[string]map[string]string{
	"owned":     {LabelOwned: "true"},
	"empty":     {LabelOwned: ""},
	"olm":       {LabelOLMManaged: "true", "operators.coreos.com/servicemeshoperator.openshift-operators": ""},
	"other":     {LabelOLMManaged: "true", "operators.coreos.com/mesh.v3.team-a": ""},
	"gone":      {LabelOLMManaged: "true", "operators.coreos.com/old.openshift-operators": ""},
	"malformed": {LabelOLMManaged: "true", "operators.coreos.com/nonamespace": "", "operators.coreos.com/.a": "", "operators.coreos.com/b.": ""},
	"bare":      {LabelOLMManaged: "true"},
	"notOLM":    {LabelOLMManaged: "false", "operators.coreos.com/servicemeshoperator.openshift-operators": ""},
	"none":      {"app": "istio"},
	"held":      {v1alpha1.LabelPackage: PackageCRDs},
	"kymas":     {v1alpha1.LabelPackage: "kyma-istio-crds"},
	"both":      {LabelOwned: "yes", LabelOLMManaged: "true", "operators.coreos.com/servicemeshoperator.openshift-operators": ""},
	"bothGone":  {LabelOwned: "yes", LabelOLMManaged: "true", "operators.coreos.com/old.openshift-operators": ""},
}

var (
	ossm = Subscription{Namespace: "openshift-operators", Name: "servicemeshoperator"}
	mesh = Subscription{Namespace: "team-a", Name: "mesh.v3"}
)

func TestOwners(t *testing.T) {
	const (
		byCIO = "Istio CRDs are being managed by cluster-ingress-operator"
		byOLM = "Istio CRDs are managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators'"
		mixed = "Istio CRDs are managed inconsistently: "
	)
	cases := map[string]struct {
		reason string
		// crds are the states of a, b and c; an empty one is missing.
		crds     [3]string
		want     Scenario
		message  string
		takeOver string
		missing  string
	}{
		"Scenario1NoneExist":        {reason: "none exist: they are installed", want: ScenarioNoneExist, message: "CRDs not yet installed", missing: "a b c"},
		"Scenario2Owned":            {reason: "all carry our label: they are replaced", crds: [3]string{"owned", "owned", "owned"}, want: ScenarioManagedByCIO, message: byCIO},
		"OwnedByPresence":           {reason: "the key counts, not the value", crds: [3]string{"empty", "owned", "empty"}, want: ScenarioManagedByCIO, message: byCIO},
		"OwnedSomeMissing":          {reason: "ours with some missing: they are created", crds: [3]string{"owned", "", ""}, want: ScenarioManagedByCIO, message: byCIO, missing: "b c"},
		"Scenario3OLM":              {reason: "the subscription exists: hands off", crds: [3]string{"olm", "olm", "olm"}, want: ScenarioManagedByOLM, message: byOLM},
		"OLMSomeMissing":            {reason: "OLM's with some missing: they are left, and the missing named", crds: [3]string{"olm", "", "olm"}, want: ScenarioManagedByOLM, message: byOLM + "; these do not exist: b", missing: "b"},
		"OLMTwoSubscriptions":       {reason: "each is named", crds: [3]string{"olm", "other", "olm"}, want: ScenarioManagedByOLM, message: "Istio CRDs are managed by OSSM subscriptions 'servicemeshoperator' in namespace 'openshift-operators' and 'mesh.v3' in namespace 'team-a'"},
		"Scenario3SubscriptionGone": {reason: "no operator manages them any more: taken over", crds: [3]string{"gone", "gone", "gone"}, want: ScenarioManagedByCIO, message: byCIO, takeOver: "a b c"},
		"MalformedSubscription":     {reason: "a label that names no subscription is ignored", crds: [3]string{"malformed", "bare", "gone"}, want: ScenarioManagedByCIO, message: byCIO, takeOver: "a b c"},
		"TakeOverHalfDone":          {reason: "a takeover that was interrupted goes on", crds: [3]string{"owned", "gone", ""}, want: ScenarioManagedByCIO, message: byCIO, takeOver: "b", missing: "c"},
		"Scenario4ThirdParty": {reason: "no manager's label: hands off, with both remedies", crds: [3]string{"none", "none", "none"}, want: ScenarioUnknownManagement,
			message: "Istio CRDs are managed by a third party: a, b, c carry neither the label of cluster-ingress-operator nor those of a subscription. " + remedies},
		"NotOLMWithoutItsMark":    {reason: "a subscription's label alone is not OLM's", crds: [3]string{"notOLM", "notOLM", "notOLM"}, want: ScenarioUnknownManagement},
		"ThirdPartySomeMissing":   {reason: "the rest is not mixed in", crds: [3]string{"none", "", ""}, want: ScenarioUnknownManagement, missing: "b c"},
		"Scenario5OursAndNobodys": {reason: "our label and none", crds: [3]string{"owned", "none", "owned"}, want: ScenarioMixedOwnership, message: mixed + "managed by cluster-ingress-operator: a, c; managed by a third party: b. " + remedies},
		"Scenario5OursAndOLM": {reason: "our label and OLM's", crds: [3]string{"owned", "olm", ""}, want: ScenarioMixedOwnership, missing: "c",
			message: mixed + "managed by cluster-ingress-operator: a; managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators': b; these do not exist: c. " + remedies},
		"Scenario5OLMAndNobodys": {reason: "OLM's and none", crds: [3]string{"olm", "none", "other"}, want: ScenarioMixedOwnership,
			message: mixed + "managed by OSSM subscription 'mesh.v3' in namespace 'team-a': c; managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators': a; managed by a third party: b. " + remedies},
		"OLMAndAbandoned":       {reason: "what a subscription has left behind is not the other one's", crds: [3]string{"olm", "gone", "olm"}, want: ScenarioMixedOwnership},
		"UnmanagedAndAbandoned": {reason: "nothing is taken over while some are a third party's", crds: [3]string{"gone", "none", "gone"}, want: ScenarioMixedOwnership},
		"LabelAdded":            {reason: "the user has added our label to all: they are ours, and OLM's labels stay while the subscription does", crds: [3]string{"both", "both", "both"}, want: ScenarioManagedByCIO, message: byCIO},
		"LabelAddedToRest":      {reason: "the user has added our label to OLM's among ours", crds: [3]string{"owned", "both", "owned"}, want: ScenarioManagedByCIO, message: byCIO},
		"OLMTakesOver":          {reason: "OLM has written its CRDs, and one got our label back meanwhile", crds: [3]string{"olm", "both", "olm"}, want: ScenarioManagedByOLM, message: byOLM},
		"SharedAndNobodys": {reason: "a third party's does not tell whose the shared one is", crds: [3]string{"both", "none", "none"}, want: ScenarioMixedOwnership,
			message: mixed + "labelled by cluster-ingress-operator and managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators': a; managed by a third party: b, c. " + remedies},
		"LabelTakenOff":    {reason: "our package holds it, and puts the label back", crds: [3]string{"held", "owned", "owned"}, want: ScenarioManagedByCIO, message: byCIO},
		"OtherPackage":     {reason: "those of another front are not ours", crds: [3]string{"kymas", "kymas", "kymas"}, want: ScenarioUnknownManagement},
		"LabelsLeftOnOurs": {reason: "labels of a subscription that is gone are taken off ours", crds: [3]string{"bothGone", "owned", "owned"}, want: ScenarioManagedByCIO, takeOver: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			existing := []CRD{{Name: "unrelated", Labels: crdLabels["none"]}}
			for i, state := range tc.crds {
				if state != "" {
					existing = append(existing, CRD{Name: "abc"[i : i+1], Labels: crdLabels[state]})
				}
			}
			rand.Shuffle(len(existing), func(i, j int) { existing[i], existing[j] = existing[j], existing[i] })
			got := Owners([]string{"c", "a", "b"}, existing, map[Subscription]bool{ossm: true, mesh: true})
			if got.Scenario != tc.want {
				t.Fatalf("%s: got %s, want %s: %s", tc.reason, got.Scenario, tc.want, got.Message())
			}
			if tc.message != "" && got.Message() != tc.message {
				t.Errorf("%s: message (-want +got):\n%s", tc.reason, cmp.Diff(tc.message, got.Message()))
			}
			if take := strings.Join(got.TakeOver, " "); take != tc.takeOver {
				t.Errorf("%s: to take over: %q, want %q", tc.reason, take, tc.takeOver)
			}
			if missing := strings.Join(got.Missing, " "); missing != tc.missing {
				t.Errorf("%s: missing: %q, want %q", tc.reason, missing, tc.missing)
			}
			wantHandsOff := tc.want == ScenarioManagedByOLM || tc.want == ScenarioUnknownManagement || tc.want == ScenarioMixedOwnership
			if got.HandsOff() != wantHandsOff {
				t.Errorf("%s: hands off is %t", tc.reason, got.HandsOff())
			}
		})
	}
}

// Whatever stands on the CRDs: they are touched only if no other manager's are among
// them, and what is taken over is ours afterwards.
func TestOwners_Properties(t *testing.T) {
	states := []string{"", "owned", "empty", "olm", "other", "gone", "malformed", "bare", "notOLM", "none", "both", "bothGone"}
	living := map[Subscription]bool{ossm: true, mesh: true}
	names := []string{"a", "b", "c"}
	for range 3000 {
		var existing []CRD
		foreign := false
		for _, name := range names {
			state := states[rand.IntN(len(states))]
			if state == "" {
				continue
			}
			foreign = foreign || slices.Contains([]string{"olm", "other", "notOLM", "none"}, state)
			existing = append(existing, CRD{Name: name, Labels: crdLabels[state]})
		}
		o := Owners(names, existing, living)
		if o.HandsOff() != foreign {
			t.Fatalf("hands off is %t for %v", o.HandsOff(), existing)
		}
		if o.Message() == "" || len(o.Missing)+o.Existing != len(names) {
			t.Fatalf("message %q, %d exist, %v are missing", o.Message(), o.Existing, o.Missing)
		}
		if foreign {
			continue
		}
		for i, c := range existing {
			if slices.Contains(o.TakeOver, c.Name) {
				existing[i].Labels = applied(c)
			}
		}
		after := Owners(names, existing, living)
		if len(existing) > 0 && (after.Scenario != ScenarioManagedByCIO || len(after.TakeOver) > 0) {
			t.Fatalf("after the takeover it is %s, and still to be taken over are %v", after.Scenario, after.TakeOver)
		}
	}
}

// applied are the labels of a CRD after its takeover.
func applied(c CRD) map[string]string {
	labels := maps.Clone(c.Labels)
	for key, value := range c.TakeOver() {
		if text, ok := value.(string); ok {
			labels[key] = text
			continue
		}
		delete(labels, key)
	}
	return labels
}

func TestCRD_TakeOver(t *testing.T) {
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   map[string]any
	}{
		"Abandoned":  {reason: "our label takes the place of OLM's", labels: crdLabels["gone"], want: map[string]any{LabelOLMManaged: nil, "operators.coreos.com/old.openshift-operators": nil, LabelOwned: "true"}},
		"KeepsValue": {reason: "a value that the user has given stays", labels: crdLabels["bothGone"], want: map[string]any{LabelOLMManaged: nil, "operators.coreos.com/old.openshift-operators": nil}},
		"Ours":       {reason: "nothing is to be done", labels: crdLabels["owned"]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, CRD{Labels: tc.labels}.TakeOver()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOwners_Version(t *testing.T) {
	cases := map[string]struct {
		reason   string
		versions []string
		labels   string
		want     string
	}{
		"Newest":  {reason: "the newest counts, by number", versions: []string{"1.9.0", "1.31.0", "1.29.1"}, labels: "owned", want: "1.31.0"},
		"Garbage": {reason: "what is no version blocks nothing", versions: []string{"new", "1.28.2", ""}, labels: "owned", want: "1.28.2"},
		"None":    {reason: "nothing is known", versions: []string{"", "", "x"}, labels: "owned"},
		"Foreign": {reason: "those of other managers do not matter", versions: []string{"9.9.9", "", ""}, labels: "none"},
		"TakenOver": {reason: "those that are taken over never go back either", versions: []string{"1.31.0", "", ""},
			labels: "gone", want: "1.31.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var existing []CRD
			for i, version := range tc.versions {
				existing = append(existing, CRD{Name: "abc"[i : i+1], Labels: crdLabels[tc.labels], Annotations: map[string]string{AnnotationAppVersion: version}})
			}
			if got := Owners([]string{"a", "b", "c"}, existing, nil).Version; got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
