// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const (
	byCIO  = "Istio CRDs are being managed by cluster-ingress-operator"
	noCRDs = "the Istio CRDs are left as they are, see the condition CRDsReady"
	// soon is how long a change may take to be noticed: nothing but a watch tells of it, and
	// on a slow machine that takes its time, too.
	soon = time.Minute
)

var subscribed = map[string]string{gatewayclass.LabelOLMManaged: "true", "operators.coreos.com/servicemeshoperator.openshift-operators": ""}

// TestIstioCRDs_ThirdParty walks through scenarios 1, 2, 4 and 5 with a class that
// is there all the time.
func TestIstioCRDs_ThirdParty(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, nil)
	before := generations(t)
	const class = "third-party"
	newClass(t, class, nil)

	accepted := acceptedByIstiod(t, class)

	// Scenario 4: no manager's label. istiod is installed all the same.
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "False/UnknownManagement",
		"managed by a third party", "gateways.networking.istio.io", "remove them", "add the label "+gatewayclass.LabelOwned)
	istiodIsInstalled(t, class, "1.29.1", noCRDs)
	if diff := cmp.Diff(before, generations(t)); diff != "" {
		t.Errorf("CRDs of a third party were changed:\n%s", diff)
	}
	if exists(t, &v1alpha1.Package{}, "", gatewayclass.PackageCRDs) {
		t.Error("there is a package of CRDs that are not ours")
	}

	// Scenario 5: our label on some of them.
	labelled := []string{"gateways.networking.istio.io", "sidecars.networking.istio.io"}
	within(t, soon, "seeing that labels differ", func() {
		labelCRDs(t, map[string]string{gatewayclass.LabelOwned: ""}, func(name string) bool { return slices.Contains(labelled, name) })
		eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "False/MixedOwnership",
			"managed by cluster-ingress-operator: gateways.networking.istio.io, sidecars.networking.istio.io; managed by a third party: authorizationpolicies.security.istio.io")
	})
	if diff := cmp.Diff(before, generations(t)); diff != "" {
		t.Errorf("CRDs with several managers were changed:\n%s", diff)
	}

	// The remedy: our label on all of them, whatever its value. That is scenario 2.
	within(t, soon, "taking over what got our label", func() {
		labelCRDs(t, map[string]string{gatewayclass.LabelOwned: "yes"}, func(name string) bool { return !slices.Contains(labelled, name) })
		eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO", byCIO)
	})
	checkOurs(t, "1.29")
	eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")

	// One of ours is gone: it is created again.
	gone := istioCRDs(t)["sidecars.networking.istio.io"]
	must(t, admin.Delete(t.Context(), &gone))
	planetest.Eventually(t, "the CRD to be there again", func() (bool, error) {
		crd, ok := istioCRDs(t)[gone.Name]
		return ok && crd.UID != gone.UID, nil
	})
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO")

	// A user takes our label off one of them, and it comes back: it is ours to set.
	labelCRDs(t, map[string]string{"-" + gatewayclass.LabelOwned: ""}, func(name string) bool { return name == gone.Name })
	planetest.Eventually(t, "the label to be there again", func() (bool, error) {
		_, owned := istioCRDs(t)[gone.Name].Labels[gatewayclass.LabelOwned]
		return owned, nil
	})
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO")
	if diff := cmp.Diff(accepted, conditionOf(t, class, "Accepted")); diff != "" {
		t.Errorf("istiod's own condition was changed:\n%s", diff)
	}
}

// acceptedByIstiod writes istiod's condition, as istiod does: beside ours.
func acceptedByIstiod(t *testing.T, name string) metav1.Condition {
	t.Helper()
	planetest.Eventually(t, "istiod's condition to be written", func() (bool, error) {
		class := &gatewayv1.GatewayClass{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Name: name}, class))
		meta.SetStatusCondition(&class.Status.Conditions, metav1.Condition{
			Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", Message: "Handled by Istio controller", ObservedGeneration: class.Generation,
		})
		err := admin.Status().Update(t.Context(), class)
		return err == nil, err
	})
	return conditionOf(t, name, "Accepted")
}

// TestIstioCRDs_OLM is scenario 3: a subscription, then only its install plan,
// then neither.
func TestIstioCRDs_OLM(t *testing.T) {
	withGatewayKinds(t)
	installOLM(t)
	must(t, ensureNamespace(t, "openshift-operators"))
	arrangeIstioCRDs(t, subscribed)
	removeCRD(t, "sidecars.networking.istio.io")
	before := generations(t)
	subscription := newObject(t, "operators.coreos.com/v1alpha1", "Subscription", "openshift-operators", "servicemeshoperator", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{gatewayclass.AnnotationOwned: ""})
	})
	plan := newObject(t, "operators.coreos.com/v1alpha1", "InstallPlan", "openshift-operators", "install-x", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"operators.coreos.com/servicemeshoperator.openshift-operators": ""})
	})
	const class = "subscribed"
	newClass(t, class, nil)
	const message = "Istio CRDs are managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators'"
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByOLM", message, "these do not exist: sidecars.networking.istio.io")
	istiodIsInstalled(t, class, "1.29.1", "subscription 'servicemeshoperator' in namespace 'openshift-operators' was made by the operator before")

	must(t, admin.Delete(t.Context(), subscription))
	eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")
	planetest.Stays(t, 2*time.Second, "the install plan speaks for OLM", func() (bool, error) {
		c := conditionOf(t, class, gatewayclass.ConditionCRDsReady)
		return string(c.Status)+"/"+c.Reason == "True/ManagedByOLM" && strings.Contains(c.Message, message), fmt.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
	})
	if diff := cmp.Diff(before, generations(t)); diff != "" {
		t.Errorf("CRDs of OLM were changed:\n%s", diff)
	}

	within(t, soon, "taking over what OLM has left behind", func() {
		must(t, admin.Delete(t.Context(), plan))
		eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO", byCIO)
	})
	checkOurs(t, "1.29")
	if app := istioCRDs(t)["sidecars.networking.istio.io"].Annotations[gatewayclass.AnnotationAppVersion]; app != "1.29.1" {
		t.Errorf("the one that was missing is of %q", app)
	}
}

// Labels that name no subscription, and a cluster without OLM: no operator manages the CRDs.
func TestIstioCRDs_NoOLM(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOLMManaged: "true", "operators.coreos.com/malformed": ""})
	labelCRDs(t, map[string]string{"operators.coreos.com/servicemeshoperator.openshift-operators": ""}, func(name string) bool { return name < "m" })
	const class = "no-olm"
	newClass(t, class, nil)
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO", byCIO)
	checkOurs(t, "1.29")
	istiodIsInstalled(t, class, "1.29.1")
}

// A subscription that comes later writes its CRDs over ours. Whichever manager has them in the
// end, they have one manager, and none puts them back.
func TestIstioCRDs_OLMComesLater(t *testing.T) {
	withGatewayKinds(t)
	installOLM(t)
	must(t, ensureNamespace(t, "openshift-operators"))
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOwned: "true"})
	const class = "before-olm"
	newClass(t, class, nil)
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "True/ManagedByCIO", byCIO)
	newObject(t, "operators.coreos.com/v1alpha1", "Subscription", "openshift-operators", "servicemeshoperator", nil)
	for name := range istioCRDs(t) { // as OLM does: one after the other, and with its own metadata
		planetest.Eventually(t, name+" to be written", func() (bool, error) {
			crd := istioCRDs(t)[name]
			crd.Labels, crd.Annotations = subscribed, nil
			err := admin.Update(t.Context(), &crd)
			return err == nil, err
		})
	}
	comeToRest(t, 8*time.Second) // until then it may be the one or the other
	var owner string
	planetest.Eventually(t, "the CRDs to have one manager", func() (bool, error) {
		c := conditionOf(t, class, gatewayclass.ConditionCRDsReady)
		owner = c.Reason
		return c.Status == "True", nil
	})
	since := time.Now()
	planetest.Stays(t, 3*time.Second, "the CRDs are "+owner, func() (bool, error) {
		c, counts := conditionOf(t, class, gatewayclass.ConditionCRDsReady), writes(requests(t, since))
		return c.Reason == owner && len(counts) == 0, fmt.Errorf("%s: %s; the manager writes:%s", c.Reason, c.Message, describe(counts))
	})
	t.Logf("they are %s", owner)
}
