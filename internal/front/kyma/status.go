// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/status"
)

// State is what the status of an Istio resource depends on besides itself.
type State struct {
	// Oldest is the name of the resource that describes the mesh, empty when there is none.
	Oldest string
	// Version is the tag of Istio in the manager.
	Version string
	// Size is that of the cluster.
	Size servicemesh.Size
	// Warning is about an input that cannot be read and what counts instead, empty for none.
	Warning string
	// Packages are those that are wanted, Deleting those that are not any more, and Blocked
	// is what keeps these from going.
	Packages []front.Package
	Deleting []v1alpha1.Package
	Blocked  error
	// Err is what kept something from being observed, rendered or published. Unrendered says
	// that it is what the resource asks for.
	Err        error
	Unrendered bool
	// Restarts are those of workloads. Awaited says that pods were not compared with the mesh since it
	// has changed last.
	Restarts restarts.State
	Awaited  bool
	// Filters are EnvoyFilters of users that configure the ingress gateway, such as
	// istio-system/a. FiltersErr is why they could not be looked for.
	Filters    []string
	FiltersErr error
	// Now is the time.
	Now metav1.Time
}

// verdict is a state, and what the condition Ready says of it.
type verdict struct {
	state   v1alpha2.State
	value   metav1.ConditionStatus
	reason  string
	message string
}

// SetStatus sets the status of an Istio resource. Ready is True only while the newest spec is
// rolled out and works; the description is what keeps the state from being Ready.
func SetStatus(istio *v1alpha2.Istio, s State) {
	var conditions []metav1.Condition
	if istio.Status.Conditions != nil {
		conditions = slices.Clone(*istio.Status.Conditions)
	}
	v := kymaVerdict(istio, s)
	set := func(c metav1.Condition) { status.Set(istio.Generation, s.Now, &conditions, c) }
	set(status.Condition(v1alpha2.ConditionReady, v.value, v.reason, v.message))
	if istio.Name == s.Oldest && istio.DeletionTimestamp.IsZero() {
		if c, known := kymaRestarts(s.Restarts); known {
			set(c)
		}
		set(kymaFilters(s))
	} else {
		meta.RemoveStatusCondition(&conditions, v1alpha2.ConditionProxySidecarRestartSucceeded)
		meta.RemoveStatusCondition(&conditions, v1alpha2.ConditionIngressTargetingUserResourceFound)
	}
	istio.Status.State = v.state
	istio.Status.Conditions = &conditions
	istio.Status.Description = ""
	if v.state != v1alpha2.StateReady {
		istio.Status.Description = status.Bounded(v.message)
	}
}

// kymaVerdict decides in order: the first state that applies is the one that is reported.
func kymaVerdict(istio *v1alpha2.Istio, s State) verdict {
	no := metav1.ConditionFalse
	switch {
	case !istio.DeletionTimestamp.IsZero():
		return deletionVerdict(istio, s)
	case s.Oldest == "":
		return verdict{v1alpha2.StateWarning, no, v1alpha2.ReasonOldestCRNotFound, "cannot determine which Istio resource describes the mesh"}
	case istio.Name != s.Oldest:
		return verdict{v1alpha2.StateError, no, v1alpha2.ReasonOlderCRExists,
			fmt.Sprintf("Istio resource %s is older and describes the mesh: this one takes its place when that is deleted", s.Oldest)}
	case s.Err != nil:
		return kymaError(s)
	}
	for i := range s.Packages {
		if v, done := kymaPackage(&s.Packages[i]); !done {
			return v
		}
	}
	return kymaRunning(istio, s)
}

// kymaError says what cannot be done.
func kymaError(s State) verdict {
	v := verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonReconcileFailed, s.Err.Error()}
	if s.Unrendered {
		v.reason = v1alpha2.ReasonIstioCustomResourceMisconfigured
		v.message += "; what was rolled out before stays as it is"
	}
	if invalid, ok := errors.AsType[*servicemesh.ValidationError](s.Err); ok {
		v.reason = v1alpha2.ReasonValidationFailed
		if invalid.Warn {
			v.state = v1alpha2.StateWarning
		}
		if invalid.Off {
			// Nothing is wrong with the resource: whether the mesh is ready is not looked at.
			v.value, v.reason = metav1.ConditionUnknown, v1alpha2.ReasonReconcileUnknown
		}
	}
	return v
}

// deletionVerdict says how far the deletion of a resource is.
func deletionVerdict(istio *v1alpha2.Istio, s State) verdict {
	switch {
	case s.Oldest != "":
		return verdict{v1alpha2.StateDeleting, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallNotNeeded, fmt.Sprintf("Istio resource %s describes the mesh, which stays", s.Oldest)}
	case s.Blocked != nil:
		return verdict{v1alpha2.StateWarning, metav1.ConditionFalse, v1alpha2.ReasonIstioCustomResourcesDangling, "Istio is not removed: " + s.Blocked.Error()}
	case s.Err != nil:
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallUninstallFailed, s.Err.Error()}
	case len(s.Deleting) == 0 && !slices.Contains(istio.Finalizers, v1alpha2.Finalizer):
		return verdict{v1alpha2.StateDeleting, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallNotNeeded, "nothing is installed for it"}
	case len(s.Deleting) == 0 && s.Restarts.Pending > 0:
		return verdict{v1alpha2.StateDeleting, metav1.ConditionFalse, v1alpha2.ReasonIstioUninstallSucceeded,
			fmt.Sprintf("Istio is gone, and %s still to be restarted to remove its sidecars", workloadsAre(s.Restarts.Pending))}
	case len(s.Deleting) == 0:
		return verdict{v1alpha2.StateDeleting, metav1.ConditionFalse, v1alpha2.ReasonIstioUninstallSucceeded, "nothing of Istio is left to remove"}
	}
	pkg := &s.Deleting[0]
	for i := range s.Deleting {
		if s.Deleting[i].Name == servicemesh.PackageIstio {
			pkg = &s.Deleting[i]
		}
	}
	message := "Istio is being removed"
	progressing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
	if progressing != nil && progressing.Reason == v1alpha1.ReasonTeardownStuck {
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallUninstallFailed, message + ", and is stuck: " + progressing.Message}
	}
	if progressing != nil && progressing.Reason == v1alpha1.ReasonTearingDown {
		message += ": " + progressing.Message
	}
	return verdict{v1alpha2.StateDeleting, metav1.ConditionUnknown, v1alpha2.ReasonReconcileUnknown, message}
}

// kymaStuck are the reasons of Progressing that say that a rollout does not go on by itself,
// or not soon.
var kymaStuck = []string{
	v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonRolloutError, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonContentUnavailable,
	v1alpha1.ReasonProgressDeadlineExceeded, v1alpha1.ReasonPreflightFailed, v1alpha1.ReasonPermissionDenied, v1alpha1.ReasonObjectRefused,
}

// kymaPackage says where a package stands, and whether it is where it should be.
func kymaPackage(p *front.Package) (v verdict, done bool) {
	processing := func(format string, args ...any) (verdict, bool) {
		return verdict{v1alpha2.StateProcessing, metav1.ConditionUnknown, v1alpha2.ReasonReconcileUnknown, fmt.Sprintf(format, args...)}, false
	}
	if p.Blocked != "" {
		if p.Name != servicemesh.PackageIstio {
			return verdict{}, true // what is in place is newer, and serves
		}
		return verdict{v1alpha2.StateWarning, metav1.ConditionFalse, v1alpha2.ReasonIstioVersionUpdateNotAllowed, "Istio version update is not allowed: " + p.Blocked}, false
	}
	if p.Package == nil || p.Target == nil {
		return processing("package %s is about to be installed", p.Name)
	}
	current := p.Package.Status
	doing, ready := meta.FindStatusCondition(current.Conditions, v1alpha1.ConditionProgressing), meta.FindStatusCondition(current.Conditions, v1alpha1.ConditionReady)
	switch {
	case p.Waiting != "":
		return processing("package %s waits for package %s", p.Name, p.Waiting)
	case current.TargetRevision != p.Target.Spec.Revision || doing == nil || ready == nil:
		return processing("revision %d of package %s is about to be rolled out", p.Target.Spec.Revision, p.Name)
	case ready.Status == metav1.ConditionTrue && front.Excluded(*p) != "":
		return verdict{v1alpha2.StateWarning, metav1.ConditionFalse, v1alpha2.ReasonReconcileFailed, front.Excluded(*p)}, false
	case status.InterferenceOn(p.Package) != "":
		return verdict{v1alpha2.StateWarning, metav1.ConditionFalse, v1alpha2.ReasonReconcileFailed, fmt.Sprintf("package %s: %s", p.Name, ready.Message)}, false
	case ready.Status == metav1.ConditionTrue:
		return verdict{}, true
	case slices.Contains(kymaStuck, doing.Reason) && installsResources(p):
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonCustomResourcesReconcileFailed,
			fmt.Sprintf("Istio is in place, and what belongs to it cannot be rolled out: %s", doing.Message)}, false
	case slices.Contains(kymaStuck, doing.Reason):
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallUninstallFailed,
			fmt.Sprintf("package %s cannot be rolled out: %s", p.Name, doing.Message)}, false
	case doing.Reason == v1alpha1.ReasonPaused || doing.Reason == v1alpha1.ReasonAwaitingApproval:
		return verdict{v1alpha2.StateWarning, metav1.ConditionUnknown, v1alpha2.ReasonReconcileUnknown, fmt.Sprintf("package %s: %s", p.Name, doing.Message)}, false
	}
	if installsResources(p) {
		return verdict{v1alpha2.StateProcessing, metav1.ConditionFalse, v1alpha2.ReasonIstioInstallSucceeded,
			fmt.Sprintf("Istio is in place, and what belongs to it is being rolled out: %s", ready.Message)}, false
	}
	return processing("package %s: %s", p.Name, ready.Message)
}

// installsResources says whether a rollout has all of Istio in place, and is at what follows.
func installsResources(p *front.Package) bool {
	return p.Name == servicemesh.PackageIstio && p.Package.Status.CurrentRevision != p.Target.Spec.Revision && servicemesh.Installed(p.Target) != ""
}

// kymaRunning reports a mesh that runs, and what a user should look at.
func kymaRunning(istio *v1alpha2.Istio, s State) verdict {
	ready := verdict{v1alpha2.StateReady, metav1.ConditionTrue, v1alpha2.ReasonReconcileSucceeded,
		fmt.Sprintf("Istio %s runs, with the defaults for a cluster of size %s", s.Version, s.Size)}
	if s.Warning != "" {
		// The mesh runs, but not as a user may expect.
		ready.state, ready.message = v1alpha2.StateWarning, ready.message+"; "+s.Warning
	}
	switch r := s.Restarts; {
	case s.FiltersErr != nil:
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonReconcileFailed, kymaFilters(s).Message}
	case r.Gateway.Err != nil:
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonIngressGatewayRestartFailed, "the ingress gateway cannot be restarted: " + r.Gateway.Err.Error()}
	case r.Egress.Err != nil:
		return verdict{v1alpha2.StateError, metav1.ConditionFalse, v1alpha2.ReasonEgressGatewayRestartFailed, "the egress gateway cannot be restarted: " + r.Egress.Err.Error()}
	case len(s.Filters) > 0:
		return verdict{v1alpha2.StateWarning, metav1.ConditionFalse, v1alpha2.ReasonReconcileFailed, kymaFilters(s).Message}
	case r.Gateway.Rolling:
		// what the resource asks for applies from when the new pods serve.
		return verdict{v1alpha2.StateProcessing, metav1.ConditionFalse, v1alpha2.ReasonIngressGatewayRestartSucceeded, "the ingress gateway was restarted, and its new pods are starting"}
	case r.Egress.Rolling:
		return verdict{v1alpha2.StateProcessing, metav1.ConditionFalse, v1alpha2.ReasonEgressGatewayRestartSucceeded, "the egress gateway was restarted, and its new pods are starting"}
	case r.Gateway.Waits != "" || r.Egress.Waits != "":
		return kymaWaits(r)
	case r.Problem != nil:
		ready.state, ready.message = v1alpha2.StateWarning, ready.message+"; no workload is restarted: "+r.Problem.Error()
	case s.Awaited && !kymaWasReady(istio):
		// Gateways may have to be restarted before what the resource asks for applies.
		return verdict{v1alpha2.StateProcessing, metav1.ConditionUnknown, v1alpha2.ReasonReconcileUnknown,
			fmt.Sprintf("Istio %s runs; its pods are being checked for outdated proxies", s.Version)}
	case len(r.Failed)+len(r.Manual) > 0:
		c, _ := kymaRestarts(r)
		ready.state, ready.message = v1alpha2.StateWarning, ready.message+"; "+c.Message
	}
	return ready
}

// kymaWaits reports a gateway that waits for its restart: what the resource asks for does not apply
// until then.
func kymaWaits(r restarts.State) verdict {
	name, causes := "ingress", r.Gateway.Waits
	if causes == "" {
		name, causes = "egress", r.Egress.Waits
	}
	v := verdict{v1alpha2.StateProcessing, metav1.ConditionFalse, v1alpha2.ReasonReconcileRequeued,
		fmt.Sprintf("the %s gateway runs with outdated settings (%s) until it is restarted", name, causes)}
	switch {
	case r.Problem != nil:
		v.state, v.message = v1alpha2.StateWarning, v.message+", and no workload is restarted: "+r.Problem.Error()
	case r.WindowClosed:
		v.message += windowClosed
	case len(r.Failed) > 0:
		c, _ := kymaRestarts(r)
		v.state, v.message = v1alpha2.StateWarning, v.message+"; "+c.Message
	}
	return v
}

const windowClosed = "; no workload is restarted before the window for restarts opens (annotation " + v1alpha2.AnnotationRestartWindow + ")"

// kymaWasReady says whether the mesh of the resource, as it is, has been ready before. A manager
// that begins knows nothing of pods, and makes it no less ready.
func kymaWasReady(istio *v1alpha2.Istio) bool {
	if istio.Status.Conditions == nil {
		return false
	}
	ready := meta.FindStatusCondition(*istio.Status.Conditions, v1alpha2.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == istio.Generation
}

// kymaRestarts is the condition about proxies.
func kymaRestarts(r restarts.State) (c metav1.Condition, known bool) {
	const kind = v1alpha2.ConditionProxySidecarRestartSucceeded
	switch {
	case !r.Known:
		return c, false
	case len(r.Failed) > 0:
		stopped := "restarts have stopped in the namespaces of workloads that do not become ready"
		if r.Stopped {
			stopped = "restarts have stopped, as these do not become ready"
		}
		return status.Condition(kind, metav1.ConditionFalse, v1alpha2.ReasonProxySidecarRestartFailed, stopped+": "+strings.Join(r.Failed, "; ")), true
	case r.Pending > 0:
		message := workloadsAre(r.Pending) + " still to be restarted, as proxies are outdated"
		if r.WindowClosed {
			message += windowClosed
		}
		if len(r.Manual) > 0 {
			message += "; these have to be restarted by hand: " + strings.Join(r.Manual, "; ")
		}
		return status.Condition(kind, metav1.ConditionFalse, v1alpha2.ReasonProxySidecarRestartPartiallySucceeded, message), true
	case len(r.Manual) > 0:
		return status.Condition(kind, metav1.ConditionFalse, v1alpha2.ReasonProxySidecarManualRestartRequired,
				fmt.Sprintf("these run an outdated proxy, and have to be restarted by hand: %s", strings.Join(r.Manual, "; "))),
			true
	}
	return status.Condition(kind, metav1.ConditionTrue, v1alpha2.ReasonProxySidecarRestartSucceeded, "no workload runs an outdated proxy"), true
}

// workloadsAre counts workloads, with the verb.
func workloadsAre(n int) string {
	if n == 1 {
		return "1 workload is"
	}
	return fmt.Sprintf("%d workloads are", n)
}

// kymaFilters is the condition about EnvoyFilters of users.
func kymaFilters(s State) metav1.Condition {
	const kind = v1alpha2.ConditionIngressTargetingUserResourceFound
	switch {
	case s.FiltersErr != nil:
		return status.Condition(kind, metav1.ConditionUnknown, v1alpha2.ReasonIngressTargetingUserResourceDetectionFailed, "EnvoyFilters cannot be listed: "+s.FiltersErr.Error())
	case len(s.Filters) > 0:
		return status.Condition(kind, metav1.ConditionTrue, v1alpha2.ReasonIngressTargetingUserResourceFound,
			fmt.Sprintf("EnvoyFilters of users configure the ingress gateway, which the next version of Istio may not understand: %s", strings.Join(s.Filters, ", ")))
	}
	return status.Condition(kind, metav1.ConditionFalse, v1alpha2.ReasonIngressTargetingUserResourceNotFound, "no EnvoyFilter of a user configures the ingress gateway")
}
