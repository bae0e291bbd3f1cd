// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status/statustest"
)

const (
	crds  = "istio-crds"
	plane = "istiod-openshift-gateway"

	generation = 3
)

func at(second int64) metav1.Time { return metav1.Unix(second, 0) }

// frontPackage is a package with a target, see [statustest.PackageAt].
func frontPackage(name string, current int64, progressing, available string) front.Package {
	return front.Package{Name: name, Version: "1.31.0", Package: statustest.PackageAt(name, current, progressing, available), Target: &v1alpha1.Revision{}, Need: history.NeedNone}
}

// installedCase is a case of [TestSetControllerInstalled].
type installedCase struct {
	reason   string
	packages []front.Package
	cause    error
	want     string
}

const (
	installedRolledOut  = "False/RolledOut: revision 2 is rolled out"
	installedRollingOut = "True/RollingOut: revision 2: phase 2/3"
	installedServes     = "True/ProbesSucceeded: the operand serves"
	installedNotYet     = "False/RollingOut: the first revision has not been rolled out yet"
)

var installedCrdsDone = frontPackage(crds, 1, installedRolledOut, installedServes)

var installedWith = func(p front.Package, change func(p *front.Package)) []front.Package {
	change(&p)
	return []front.Package{installedCrdsDone, p}
}

var installedOnly = func(p front.Package) []front.Package { return []front.Package{installedCrdsDone, p} }

// installedCases are the cases of [TestSetControllerInstalled].
var installedCases = map[string]installedCase{
	"FirstReconciliation": {
		reason: "nothing has been started",
		want:   "Unknown/Pending: waiting for first reconciliation",
	},
	"Installed": {
		reason: "the version that runs", packages: installedOnly(frontPackage(plane, 2, installedRolledOut, installedServes)),
		want: "True/Installed: istiod 1.30.0 installed",
	},
	"InstalledWhateverTheOrder": {
		reason: "the control plane is known by its name", packages: []front.Package{frontPackage(plane, 2, installedRolledOut, installedServes), frontPackage(crds, 1, installedRolledOut, "False/ProbeFailed: x")},
		want: "True/Installed: istiod 1.30.0 installed",
	},
	"CRDsAloneAreNoControlPlane": {
		reason: "that the CRDs are there says nothing about istiod", packages: []front.Package{installedCrdsDone},
		want: "Unknown/Pending: istiod is being installed",
	},
	"Soaking": {
		reason: "before the first success the version is the one that is rolled out", packages: installedOnly(frontPackage(plane, 0, installedRollingOut, installedServes)),
		want: "True/Installed: istiod 1.31.0 installed (with warning: revision 2: phase 2/3)",
	},
	"Upgrading": {
		reason: "what runs is installed, and the upgrade is reported", packages: installedOnly(frontPackage(plane, 1, installedRollingOut, "True/Serving: revision 1 serves")),
		want: "True/Installed: istiod 1.30.0 installed (with warning: revision 2: phase 2/3)",
	},
	"UpgradeHangs": {
		reason: "an upgrade that does not go on is a warning while the old one serves", packages: installedOnly(frontPackage(plane, 1, "False/ProgressDeadlineExceeded: nothing moved", "True/Serving: revision 1 serves")),
		want: "True/Installed: istiod 1.30.0 installed (with warning: nothing moved)",
	},
	"UpgradeWaits": {
		reason: "an upgrade that waits for the CRDs is a warning", packages: installedWith(frontPackage(plane, 1, installedRolledOut, installedServes), func(p *front.Package) { p.Need, p.Waiting = history.NeedRevision, crds }),
		want: "True/Installed: istiod 1.30.0 installed (with warning: 1.31.0 waits for package istio-crds)",
	},
	"RolledBack": {
		reason: "content that a rollback keeps out is a warning", packages: installedWith(frontPackage(plane, 3, installedRolledOut, installedServes), func(p *front.Package) { p.Need = history.NeedRejected }),
		want: "True/Installed: istiod 1.30.0 installed (with warning: a rollback excludes the newest content of package " + plane + ": change the resource first)",
	},
	"Pinned": {
		reason: "content that a pin keeps out is a warning", packages: installedWith(frontPackage(plane, 3, installedRolledOut, installedServes), func(p *front.Package) { p.Need = history.NeedPinned }),
		want: "True/Installed: istiod 1.30.0 installed (with warning: a rollback excludes the newest content, as spec.rollback of package " + plane + " pins it: kubectl patch package.strata.run " + plane + ` --type=merge -p '{"spec":{"rollback":null}}'` + ")",
	},
	"ErrorWhileItServes": {
		reason: "an error does not take away what serves", packages: installedOnly(frontPackage(plane, 2, installedRolledOut, installedServes)), cause: errors.New("creating revision 3: timeout"),
		want: "True/Installed: istiod 1.30.0 installed (with warning: creating revision 3: timeout)",
	},
	"NothingRendered": {
		reason: "what is asked for cannot be installed", cause: errors.New("version 9.9 is not in this manager"),
		want: "False/InstallFailed: version 9.9 is not in this manager",
	},
	"ErrorWhileItDoesNotServe": {
		reason: "the error of the installation", packages: installedOnly(frontPackage(plane, 0, installedRollingOut, installedNotYet)), cause: errors.New("creating revision 3: forbidden"),
		want: "False/InstallFailed: creating revision 3: forbidden",
	},
	"MadeAgain": {
		reason: "a class that comes while the last one goes has not failed", packages: installedWith(frontPackage(plane, 2, installedRolledOut, installedServes), func(p *front.Package) {
			p.Target, p.Package.DeletionTimestamp = nil, new(at(1))
		}), cause: errors.New("package istiod-openshift-gateway is being deleted, and is created again afterwards"),
		want: "Unknown/Pending: package istiod-openshift-gateway is being deleted, and is created again afterwards",
	},
	"ForeignPackage": {
		reason: "a package of that name that is another owner's is not the control plane, even if it serves",
		packages: installedWith(frontPackage(plane, 2, installedRolledOut, installedServes), func(p *front.Package) {
			p.Target = nil
		}), cause: errors.New("package istiod-openshift-gateway exists and is not of front gatewayclass"),
		want: "False/InstallFailed: package istiod-openshift-gateway exists and is not of front gatewayclass",
	},
	"WaitsForTheCRDs": {
		reason:   "what is waited for is named, and why it is not done",
		packages: []front.Package{frontPackage(crds, 0, "True/RollingOut: phase 1/1", installedNotYet), {Name: plane, Version: "1.31.0", Package: &v1alpha1.Package{}, Need: history.NeedRevision, Waiting: crds}},
		want:     "Unknown/Pending: istiod waits for package istio-crds: phase 1/1",
	},
	"WaitsForCRDsWithoutAStatus": {
		reason:   "what is waited for is named",
		packages: []front.Package{frontPackage(crds, 0, "", ""), {Name: plane, Version: "1.31.0", Package: &v1alpha1.Package{}, Need: history.NeedRevision, Waiting: crds}},
		want:     "Unknown/Pending: istiod waits for package istio-crds",
	},
	"JustCreated": {
		reason: "a package without a status is being installed", packages: installedOnly(frontPackage(plane, 0, "", "")),
		want: "Unknown/Pending: istiod 1.31.0 is being installed",
	},
	"NoPackageYet": {
		reason: "a package that is not there yet is being installed", packages: installedOnly(front.Package{Name: plane, Version: "1.31.0"}),
		want: "Unknown/Pending: istiod 1.31.0 is being installed",
	},
	"Installing": {
		reason: "how far it is", packages: installedOnly(frontPackage(plane, 0, installedRollingOut, installedNotYet)),
		want: "Unknown/Pending: istiod 1.31.0 is being installed: revision 2: phase 2/3",
	},
	"PausedBeforeTheFirstSuccess": {
		reason: "a pause is no failure", packages: installedOnly(frontPackage(plane, 0, "False/Paused: paused by ann", installedNotYet)),
		want: "Unknown/Pending: istiod 1.31.0 is being installed: paused by ann",
	},
	"InstallFails": {
		reason: "what stops the first rollout is the failure", packages: installedOnly(frontPackage(plane, 0, "False/ObjectCollisions: Deployment x is another owner's", installedNotYet)),
		want: "False/InstallFailed: Deployment x is another owner's",
	},
	"DoesNotServeAnyMore": {
		reason: "installed means that it works", packages: installedOnly(frontPackage(plane, 2, installedRolledOut, "False/ProbeFailed: Deployment x: 0 of 1 available")),
		want: "False/InstallFailed: istiod does not serve: Deployment x: 0 of 1 available",
	},
	"RightsDiffer": {
		reason: "an istiod without its rights does not do what it is to do, though its pods run",
		packages: installedWith(frontPackage(plane, 2, installedRolledOut, installedServes), func(p *front.Package) {
			p.Package.Status.Conditions = append(p.Package.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRightsDiffer, Message: "ClusterRole istiod: gitops keeps changing .rules of it",
			})
		}),
		want: "False/InstallFailed: istiod does not have its rights: ClusterRole istiod: gitops keeps changing .rules of it",
	},
	"Interference": {
		reason: "another field of another object is a warning",
		packages: installedWith(frontPackage(plane, 2, installedRolledOut, installedServes), func(p *front.Package) {
			p.Package.Status.Conditions = append(p.Package.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInterference, Message: "Service istiod: gitops keeps changing .spec of it",
			})
		}),
		want: "True/Installed: istiod 1.30.0 installed (with warning: Service istiod: gitops keeps changing .spec of it)",
	},
	"JustMade": {
		reason: "a package whose revision was made a moment ago has not failed", packages: installedOnly(frontPackage(plane, 0, "False/NoRevision: no active revision", installedNotYet)),
		want: "Unknown/Pending: istiod 1.31.0 is being installed",
	},
	"Unknown": {
		reason: "what cannot be observed has not failed", packages: installedOnly(frontPackage(plane, 2, "False/RolloutError: timeout", "Unknown/Unknown: timeout")),
		want: "Unknown/Pending: whether istiod serves could not be observed: timeout",
	},
}

func TestSetControllerInstalled(t *testing.T) {
	for name, tc := range installedCases {
		t.Run(name, func(t *testing.T) {
			foreign := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", Message: "Handled by Istio controller", ObservedGeneration: 1, LastTransitionTime: at(1)}
			set := func(conditions []metav1.Condition, now int64) []metav1.Condition {
				conditions = append([]metav1.Condition(nil), conditions...)
				gatewayclass.SetControllerInstalled(&conditions, generation, plane, tc.packages, tc.cause, at(now))
				return conditions
			}
			got := set([]metav1.Condition{foreign}, 100)
			statustest.Conditions(t, gatewayclass.Rows().Statuses(), generation, got, gatewayclass.ConditionControllerInstalled)
			statustest.Stable(t, tc.reason, got, set([]metav1.Condition{foreign}, 100), set(got, 160))
			if diff := cmp.Diff(tc.want, statustest.Text(got, gatewayclass.ConditionControllerInstalled)); diff != "" {
				t.Errorf("%s: ControllerInstalled (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(foreign, got[0]); diff != "" || len(got) != 2 {
				t.Errorf("%s: the conditions of other controllers were touched, %d in all:\n%s", tc.reason, len(got), diff)
			}
		})
	}
}

// The time of the transition moves with the status, and with nothing else.
func TestSetControllerInstalled_TransitionTime(t *testing.T) {
	var conditions []metav1.Condition
	set := func(now int64, cause error, packages ...front.Package) metav1.Condition {
		gatewayclass.SetControllerInstalled(&conditions, generation, plane, packages, cause, at(now))
		return conditions[0]
	}
	serves := frontPackage(plane, 2, "False/RolledOut: x", "True/ProbesSucceeded: x")
	set(1, nil)
	if c := set(2, nil, serves); c.LastTransitionTime != at(2) {
		t.Errorf("it came true at %v", c.LastTransitionTime)
	}
	if c := set(3, errors.New("x"), serves); c.LastTransitionTime != at(2) {
		t.Errorf("a warning has moved the time of the transition to %v", c.LastTransitionTime)
	}
	if c := set(4, errors.New("x")); c.LastTransitionTime != at(4) {
		t.Errorf("it failed at %v", c.LastTransitionTime)
	}
}

// The status says that an object of istiod does not stay as it is wanted.
func TestSetControllerInstalled_Interference(t *testing.T) {
	const text = "ClusterRole istiod: other keeps changing .rules of it, and repairs are slowed"
	for reason, want := range map[string]string{v1alpha1.ReasonInterference: "True/Installed", v1alpha1.ReasonRightsDiffer: "False/InstallFailed"} {
		p := frontPackage(plane, 2, "False/RolledOut: x", "True/ProbesSucceeded: x")
		p.Package.Status.Conditions = append(p.Package.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Reason: reason, Message: text})
		var conditions []metav1.Condition
		gatewayclass.SetControllerInstalled(&conditions, generation, plane, []front.Package{p}, nil, at(1))
		if got := statustest.Text(conditions, gatewayclass.ConditionControllerInstalled); !strings.HasPrefix(got, want+": ") || !strings.Contains(got, text) {
			t.Errorf("%s gives %s, want %s with %q", reason, got, want, text)
		}
	}
}
