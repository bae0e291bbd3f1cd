// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/status"
)

// State is what the status of an IstioCSR depends on besides itself.
type State struct {
	// Image is what an agent runs that asks for no other.
	Image Image
	// Facts are those about the IstioCSR that the agent runs for, which they name.
	Facts Facts
	// Packages are those that are wanted, none when they could not be observed.
	Packages []front.Package
	// Deleting are those that are not wanted any more.
	Deleting []v1alpha1.Package
	// Unremoved is why something is still there of an IstioCSR that is being deleted and
	// whose package has gone. Nil when nothing is.
	Unremoved error
	// Err is what kept something from being observed or published.
	Err error
	// Now is the time.
	Now metav1.Time
}

// SetStatus sets the status of an IstioCSR. Ready is True only while the newest spec
// is rolled out and works, and the issuer does. Degraded is True while something has
// to be mended by hand. One for which no agent runs has no Degraded: nothing of its
// own is wrong.
func SetStatus(ic *operatorv1alpha1.IstioCSR, s State) {
	conditions := &ic.Status.Conditions
	switch {
	case !ic.DeletionTimestamp.IsZero():
		if message, ok := deletionMessage(ic, s); ok {
			status.Set(ic.Generation, s.Now, conditions, csrReady(metav1.ConditionFalse, operatorv1alpha1.ReasonProgressing, message))
		}
	case s.Facts.Running == "":
		// Which of them runs could not be found out, so nothing is known that is new.
	case s.Facts.Running != ic.Namespace:
		message := fmt.Sprintf("IstioCSR %s/%s is older, and a cluster has one agent: this one takes its place when it is deleted", s.Facts.Running, operatorv1alpha1.Name)
		ic.Status = operatorv1alpha1.IstioCSRStatus{ConditionalStatus: operatorv1alpha1.ConditionalStatus{Conditions: *conditions}}
		meta.RemoveStatusCondition(&ic.Status.Conditions, operatorv1alpha1.ConditionDegraded)
		status.Set(ic.Generation, s.Now, &ic.Status.Conditions, csrReady(metav1.ConditionFalse, operatorv1alpha1.ReasonFailed, message))
	default:
		agent := agentOf(ic, s.Packages)
		status.Set(ic.Generation, s.Now, conditions, csrRunning(ic, agent, s)...)
		setAgentFields(ic, agent, s.Facts)
	}
}

func csrReady(value metav1.ConditionStatus, reason, message string) metav1.Condition {
	return status.Condition(operatorv1alpha1.ConditionReady, value, reason, message)
}

// deletionMessage says what becomes of the agent of an IstioCSR that is being deleted.
func deletionMessage(ic *operatorv1alpha1.IstioCSR, s State) (string, bool) {
	i := slices.IndexFunc(s.Deleting, func(p v1alpha1.Package) bool { return p.Name == PackageName(ic.Namespace) })
	switch {
	case i < 0 && s.Unremoved != nil:
		return fmt.Sprintf("the IstioCSR is being deleted, and waits: %v; the manager retries", s.Unremoved), true
	case i < 0:
		return "", false
	}
	message := "the IstioCSR is being deleted: the agent keeps running, and its objects are released"
	if RemovesOnDeletion(ic) {
		message = "the IstioCSR is being deleted, and its agent is removed"
		if len(s.Facts.Clients) > 0 {
			message += fmt.Sprintf(", although %s still points at %s", strings.Join(s.Facts.Clients, ", "), Endpoint(ic))
		}
		if len(s.Facts.Unread) > 0 {
			message += "; what else points at it is not known (" + strings.Join(s.Facts.Unread, ", ") + ")"
		}
	}
	progressing := meta.FindStatusCondition(s.Deleting[i].Status.Conditions, v1alpha1.ConditionProgressing)
	if progressing != nil && (progressing.Reason == v1alpha1.ReasonTearingDown || progressing.Reason == v1alpha1.ReasonTeardownStuck) {
		message += ": " + progressing.Message
	}
	return message, true
}

// agentOf is the package of an IstioCSR, nil when nothing is known of it.
func agentOf(ic *operatorv1alpha1.IstioCSR, packages []front.Package) *front.Package {
	name := PackageName(ic.Namespace)
	if i := slices.IndexFunc(packages, func(p front.Package) bool { return p.Name == name }); i >= 0 {
		return &packages[i]
	}
	return nil
}

// csrRunning are the conditions of the IstioCSR that an agent runs for.
func csrRunning(ic *operatorv1alpha1.IstioCSR, agent *front.Package, s State) []metav1.Condition {
	in := Input{IstioCSR: ic, Image: s.Image, Facts: s.Facts}
	var problems []Problem
	if agent != nil {
		problems = Check(in) // else they could be of facts that were not observed
	}
	waiting, failure := csrProblems(problems)
	rollout := rolloutOf(agent)
	switch {
	case failure != "":
		return csrFailed(failure + csrServing(agent))
	case s.Err != nil:
		return csrProgressing(s.Err.Error() + "; the manager retries" + csrServing(agent))
	case waiting != "" && !rollout.done && !rollout.failed && agent.Target != nil:
		return csrProgressing(waiting + "; " + rollout.message + csrServing(agent) + csrTakeover(agent, in))
	case waiting != "" && !rollout.failed:
		return csrProgressing(waiting + csrServing(agent))
	case rollout.failed:
		return csrFailed(rollout.message + csrServing(agent))
	case !rollout.done:
		return csrProgressing(rollout.message + csrServing(agent) + csrTakeover(agent, in))
	case Replicas(ic) == 0:
		// To Kubernetes a Deployment without pods is available.
		return csrFailed("spec.agentConfig.replicas is 0, so that no agent answers at " + Endpoint(ic) + ": set 1 or more")
	}
	message := strings.TrimSpace("istio-csr "+status.VersionOf(agent.Target)) + " answers at " + Endpoint(ic)
	warnings := Warnings(in)
	if why := front.Excluded(*agent); why != "" {
		warnings = append([]string{why}, warnings...)
	}
	if text := status.InterferenceOn(agent.Package); text != "" {
		warnings = append([]string{text}, warnings...)
	}
	if len(warnings) > 0 {
		message += " (with warning: " + strings.Join(warnings, "; ") + ")"
	}
	return []metav1.Condition{
		csrReady(metav1.ConditionTrue, operatorv1alpha1.ReasonReady, message),
		status.Condition(operatorv1alpha1.ConditionDegraded, metav1.ConditionFalse, operatorv1alpha1.ReasonReady, "no user action is needed"),
	}
}

// csrProblems are the messages of what goes by itself and of what does not.
func csrProblems(problems []Problem) (waiting, failure string) {
	var wait, mend []string
	for _, p := range problems {
		if p.Waiting {
			wait = append(wait, p.Message)
		} else {
			mend = append(mend, p.Message)
		}
	}
	return strings.Join(wait, "; "), strings.Join(mend, "; ")
}

func csrFailed(message string) []metav1.Condition {
	return []metav1.Condition{
		csrReady(metav1.ConditionFalse, operatorv1alpha1.ReasonFailed, message),
		status.Condition(operatorv1alpha1.ConditionDegraded, metav1.ConditionTrue, operatorv1alpha1.ReasonFailed, message),
	}
}

func csrProgressing(message string) []metav1.Condition {
	return []metav1.Condition{
		csrReady(metav1.ConditionFalse, operatorv1alpha1.ReasonProgressing, message),
		status.Condition(operatorv1alpha1.ConditionDegraded, metav1.ConditionFalse, operatorv1alpha1.ReasonReady, "no user action is needed"),
	}
}

// csrServing tells when an agent works although the newest state is not what it should be.
func csrServing(agent *front.Package) string {
	if agent == nil || agent.Package == nil || !meta.IsStatusConditionTrue(agent.Package.Status.Conditions, v1alpha1.ConditionAvailable) {
		return ""
	}
	return "; the agent that runs answers meanwhile"
}

// csrTakeover says what becomes of the pods of an agent that another tool has installed.
// It ends a message, as an event has it from there.
func csrTakeover(agent *front.Package, in Input) string {
	if agent == nil || agent.Target == nil || agent.Blocked != "" {
		return ""
	}
	if text := TakeoverText(in); text != "" {
		return "; " + text
	}
	return ""
}

// csrRollout is where the newest content stands.
type csrRollout struct {
	done, failed bool
	message      string
}

// byHand are the reasons of a rollout that goes on only when a user acts.
var byHand = []string{
	v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonPreflightFailed, v1alpha1.ReasonPermissionDenied,
	v1alpha1.ReasonObjectRefused,
}

// refusal is how the API server and its webhooks refuse an object that would be refused
// each time.
var refusal = regexp.MustCompile(`admission webhook "[^"]*" denied the request|\bis invalid: `)

func rolloutOf(agent *front.Package) csrRollout {
	if agent == nil || agent.Package == nil || agent.Target == nil {
		return csrRollout{message: "the agent is about to be installed"}
	}
	state := agent.Package.Status
	if state.TargetRevision != agent.Target.Spec.Revision {
		return csrRollout{message: "revision " + status.Describe(agent.Target) + " is about to be rolled out"}
	}
	doing, ready := meta.FindStatusCondition(state.Conditions, v1alpha1.ConditionProgressing), meta.FindStatusCondition(state.Conditions, v1alpha1.ConditionReady)
	switch {
	case doing == nil || ready == nil:
		return csrRollout{message: "revision " + status.Describe(agent.Target) + " is about to be rolled out"}
	case ready.Status == metav1.ConditionTrue:
		return csrRollout{done: true}
	}
	stuck := slices.Contains(byHand, doing.Reason) || ready.Reason == v1alpha1.ReasonRightsDiffer || doing.Reason == v1alpha1.ReasonRolloutError && refusal.MatchString(doing.Message)
	return csrRollout{failed: stuck, message: ready.Message}
}

// setAgentFields says what the agent is made of, as far as there is one.
func setAgentFields(ic *operatorv1alpha1.IstioCSR, agent *front.Package, facts Facts) {
	if agent == nil {
		return // it could not be observed
	}
	role, binding := ClusterRoleName(ic, facts), ClusterRoleBindingName(ic, facts)
	conditions := ic.Status.Conditions
	if agent.Target == nil {
		// The names of roles that another tool has created are kept: they are taken over.
		ic.Status = operatorv1alpha1.IstioCSRStatus{
			ClusterRole: ic.Status.ClusterRole, ClusterRoleBinding: ic.Status.ClusterRoleBinding, CACertificates: facts.CA.Certificates,
		}
		ic.Status.Conditions = conditions
		return
	}
	ic.Status = operatorv1alpha1.IstioCSRStatus{
		IstioCSRGRPCEndpoint: Endpoint(ic),
		ServiceAccount:       AgentName,
		ClusterRole:          role,
		ClusterRoleBinding:   binding,
		CACertificates:       facts.CA.Certificates,
	}
	ic.Status.Conditions = conditions
	if origin := agent.Target.Spec.Origin; origin != nil && len(origin.Images) > 0 {
		ic.Status.IstioCSRImage = origin.Images[0]
	}
}
