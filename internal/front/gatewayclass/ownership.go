// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
)

const (
	// LabelOLMManaged, with the value "true", is what OLM sets on every CRD that it
	// installs. It stays when the subscription goes, so alone it proves nothing.
	LabelOLMManaged = "olm.managed"

	// LabelSubscriptionPrefix begins the keys of the labels with which OLM names the
	// subscription of a CRD: operators.coreos.com/NAME.NAMESPACE.
	LabelSubscriptionPrefix = "operators.coreos.com/"
)

// Scenario says who manages the Istio CRDs. Each is also the reason of the
// condition CRDsReady.
type Scenario string

// The scenarios.
const (
	// ScenarioNoneExist: there is none of them. They are installed.
	ScenarioNoneExist Scenario = "NoneExist"
	// ScenarioManagedByCIO: this front manages them: all that exist carry
	// [LabelOwned], or were left behind by a subscription that is gone. Missing ones
	// are created.
	ScenarioManagedByCIO Scenario = "ManagedByCIO"
	// ScenarioManagedByOLM: those that exist belong to subscriptions that exist, or
	// have an install plan. They are not touched, and missing ones not created.
	ScenarioManagedByOLM Scenario = "ManagedByOLM"
	// ScenarioUnknownManagement: those that exist were installed by an unknown tool
	// or user. They are not touched.
	ScenarioUnknownManagement Scenario = "UnknownManagement"
	// ScenarioMixedOwnership: not all of them have the same manager. None is touched.
	ScenarioMixedOwnership Scenario = "MixedOwnership"
)

// CRD is what is known of an Istio CRD that exists.
type CRD struct {
	// Name is such as gateways.networking.istio.io.
	Name string
	// Labels and Annotations are those of its metadata.
	Labels, Annotations map[string]string
}

// Subscription names a subscription of OLM.
type Subscription struct{ Namespace, Name string }

// String is as the condition names it.
func (s Subscription) String() string {
	return fmt.Sprintf("'%s' in namespace '%s'", s.Name, s.Namespace)
}

// Label is the key of the label with which OLM marks what belongs to it.
func (s Subscription) Label() string { return LabelSubscriptionPrefix + s.Name + "." + s.Namespace }

// Subscriptions are those that a CRD says it belongs to, sorted: none unless OLM
// has installed it. The name ends at the last dot, as it may have dots itself and
// a namespace has none; a label without both is ignored.
func (c CRD) Subscriptions() []Subscription {
	if c.Labels[LabelOLMManaged] != "true" {
		return nil
	}
	var all []Subscription
	for key := range c.Labels {
		text, ok := strings.CutPrefix(key, LabelSubscriptionPrefix)
		dot := strings.LastIndex(text, ".")
		if !ok || dot < 1 || dot == len(text)-1 {
			continue
		}
		all = append(all, Subscription{Name: text[:dot], Namespace: text[dot+1:]})
	}
	slices.SortFunc(all, Subscription.Compare)
	return all
}

// Compare orders subscriptions by namespace and name.
func (s Subscription) Compare(other Subscription) int {
	return cmp.Or(cmp.Compare(s.Namespace, other.Namespace), cmp.Compare(s.Name, other.Name))
}

// manager is who a single CRD belongs to.
type manager int

const (
	// managerOurs: it carries our label, or that of our package.
	managerOurs manager = iota
	// managerAbandoned: OLM has installed it, and the subscription is gone.
	managerAbandoned
	// managerShared: it carries our label, and its subscription exists as well. The
	// other CRDs show whose it is: OLM writes its CRDs once, one after the other, and
	// one of them may have got our label back meanwhile.
	managerShared
	// managerOLM: its subscription exists, and our label is not on it.
	managerOLM
	// managerUnknown: nothing on it says whose it is.
	managerUnknown
)

func managerOf(c CRD, living map[Subscription]bool) manager {
	// what our package contains is ours, too, while the engine has yet to put back our label,
	// or it would depend on who comes first whether that is ever done.
	_, owned := c.Labels[LabelOwned]
	owned = owned || c.Labels[v1alpha1.LabelPackage] == PackageCRDs
	alive := slices.ContainsFunc(c.Subscriptions(), func(s Subscription) bool { return living[s] })
	switch {
	case owned && alive:
		return managerShared
	case owned:
		return managerOurs
	case alive:
		return managerOLM
	case c.Labels[LabelOLMManaged] == "true":
		return managerAbandoned
	default:
		return managerUnknown
	}
}

// Ownership is who manages the Istio CRDs, and what follows from it.
type Ownership struct {
	// Scenario sums up.
	Scenario Scenario
	// Existing is how many of them there are.
	Existing int
	// Missing are the names of those that do not exist, sorted.
	Missing []string
	// Subscriptions are those that manage them, for ScenarioManagedByOLM. Sorted.
	Subscriptions []Subscription
	// TakeOver are those that [CRD.TakeOver] is to be applied to before the package
	// is rolled out: they become ours, and still carry labels of OLM. Sorted.
	TakeOver []string
	// Version is the newest Istio version that one of ours is from, by its
	// annotation [AnnotationAppVersion]. Empty when none tells.
	Version string

	groups map[manager][]string
	plans  map[string][]Subscription
}

// HandsOff says that the CRDs are to be left as they are.
func (o Ownership) HandsOff() bool {
	return o.Scenario != ScenarioNoneExist && o.Scenario != ScenarioManagedByCIO
}

// Owners decides who manages the CRDs of the names given. Existing are those that
// exist, in any order; others than the names given do not count. Living are the
// subscriptions that exist, or have an install plan.
//
// The presence of [LabelOwned] counts, not its value.
func Owners(names []string, existing []CRD, living map[Subscription]bool) Ownership {
	o := Ownership{groups: map[manager][]string{}, plans: map[string][]Subscription{}}
	byName := make(map[string]CRD, len(existing))
	for _, c := range existing {
		byName[c.Name] = c
	}
	subscriptions := map[Subscription]bool{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		c, ok := byName[name]
		if !ok {
			o.Missing = append(o.Missing, name)
			continue
		}
		o.Existing++
		m := managerOf(c, living)
		o.groups[m] = append(o.groups[m], name)
		for _, s := range c.Subscriptions() {
			if living[s] {
				subscriptions[s] = true
				o.plans[name] = append(o.plans[name], s)
			}
		}
	}
	o.decide()
	if o.Scenario == ScenarioManagedByOLM {
		o.Subscriptions = slices.SortedFunc(maps.Keys(subscriptions), Subscription.Compare)
	}
	if o.Scenario == ScenarioManagedByCIO {
		for _, name := range slices.Sorted(slices.Values(names)) {
			o.takeOver(byName[name], living)
		}
	}
	return o
}

// decide sums up the groups.
func (o *Ownership) decide() {
	has := func(m manager) bool { return len(o.groups[m]) > 0 }
	ours := has(managerOurs) || has(managerAbandoned)
	switch {
	case o.Existing == 0:
		o.Scenario = ScenarioNoneExist
	case !has(managerOLM) && !has(managerUnknown):
		o.Scenario = ScenarioManagedByCIO
	case has(managerOLM) && !ours && !has(managerUnknown):
		o.Scenario = ScenarioManagedByOLM
	case has(managerUnknown) && o.Existing == len(o.groups[managerUnknown]):
		o.Scenario = ScenarioUnknownManagement
	default:
		o.Scenario = ScenarioMixedOwnership
	}
}

// takeOver notes what becomes of one of ours. While a subscription exists its
// labels stay, or OLM would put them back.
func (o *Ownership) takeOver(c CRD, living map[Subscription]bool) {
	if m := managerOf(c, living); m != managerShared && c.TakeOver() != nil {
		o.TakeOver = append(o.TakeOver, c.Name)
	}
	o.Version = istio.Newer(o.Version, c.Annotations[AnnotationAppVersion])
}

// TakeOver is the change of the labels of a CRD that becomes ours: our label is
// added and those of OLM are removed, in one step, so that the CRD has a manager's
// label at all times. A nil value removes the key. It is nil when nothing has to
// change.
func (c CRD) TakeOver() map[string]any {
	change := map[string]any{}
	for key := range c.Labels {
		if key == LabelOLMManaged || strings.HasPrefix(key, LabelSubscriptionPrefix) {
			change[key] = nil
		}
	}
	if len(change) == 0 {
		return nil
	}
	if _, owned := c.Labels[LabelOwned]; !owned {
		change[LabelOwned] = "true"
	}
	return change
}

// Message is the text of the condition CRDsReady for the scenario.
func (o Ownership) Message() string {
	switch o.Scenario {
	case ScenarioManagedByCIO:
		return "Istio CRDs are being managed by cluster-ingress-operator"
	case ScenarioManagedByOLM:
		return "Istio CRDs are managed by OSSM " + subscriptionsText(o.Subscriptions) + o.missingText()
	case ScenarioUnknownManagement:
		return "Istio CRDs are managed by a third party: " + strings.Join(o.groups[managerUnknown], ", ") +
			" carry neither the label of cluster-ingress-operator nor those of a subscription" + o.missingText() + ". " + remedies
	case ScenarioMixedOwnership:
		return "Istio CRDs are managed inconsistently: " + o.groupsText() + o.missingText() + ". " + remedies
	case ScenarioNoneExist:
	}
	return "CRDs not yet installed"
}

const remedies = "Either remove them, and every resource of their kinds with them, so that cluster-ingress-operator installs its own version; " +
	"or add the label " + LabelOwned + " to them, so that cluster-ingress-operator takes them over and replaces them with its version"

func subscriptionsText(all []Subscription) string {
	texts := make([]string, 0, len(all))
	for _, s := range all {
		texts = append(texts, s.String())
	}
	if len(texts) > 1 {
		return "subscriptions " + strings.Join(texts, " and ")
	}
	return "subscription " + strings.Join(texts, "")
}

// groupsText lists which CRD is in which state of management.
func (o Ownership) groupsText() string {
	var parts []string
	add := func(who string, names []string) {
		if len(names) > 0 {
			parts = append(parts, who+": "+strings.Join(names, ", "))
		}
	}
	add("managed by cluster-ingress-operator", o.groups[managerOurs])
	bySubscription := map[string][]string{}
	for _, m := range []manager{managerOLM, managerShared} {
		for _, name := range o.groups[m] {
			who := "managed by OSSM " + subscriptionsText(o.plans[name])
			if m == managerShared {
				who = "labelled by cluster-ingress-operator and managed by OSSM " + subscriptionsText(o.plans[name])
			}
			bySubscription[who] = append(bySubscription[who], name)
		}
	}
	for _, who := range slices.Sorted(maps.Keys(bySubscription)) {
		add(who, bySubscription[who])
	}
	add("left behind by a subscription that is gone", o.groups[managerAbandoned])
	add("managed by a third party", o.groups[managerUnknown])
	return strings.Join(parts, "; ")
}

func (o Ownership) missingText() string {
	if len(o.Missing) == 0 {
		return ""
	}
	return "; these do not exist: " + strings.Join(o.Missing, ", ")
}
