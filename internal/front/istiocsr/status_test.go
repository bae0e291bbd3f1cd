// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status/statustest"
)

const generation = 3

func at(second int64) metav1.Time { return metav1.Unix(second, 0) }

// frontPackage is a package with a target, see [statustest.PackageAt].
func frontPackage(name string, current int64, progressing, available string) front.Package {
	return front.Package{Name: name, Version: "1.31.0", Package: statustest.PackageAt(name, current, progressing, available), Target: &v1alpha1.Revision{}, Need: history.NeedNone}
}

func istioCSR() *operatorv1alpha1.IstioCSR {
	return &operatorv1alpha1.IstioCSR{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "csr", Generation: generation},
		Spec: operatorv1alpha1.IstioCSRSpec{IstioCSRConfig: operatorv1alpha1.IstioCSRConfig{
			CertManager:     operatorv1alpha1.CertManagerConfig{IssuerRef: operatorv1alpha1.IssuerReference{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}},
			IstiodTLSConfig: operatorv1alpha1.IstiodTLSConfig{TrustDomain: "cluster.local"},
			Istio:           operatorv1alpha1.IstioConfig{Namespace: "mesh"},
		}},
	}
}

// csrPackage is the agent's package, at revision 2.
func csrPackage(progressing, available, ready string) front.Package {
	p := frontPackage("istio-csr-csr", 1, progressing, available)
	p.Package.Status.TargetRevision = 2
	p.Target = &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 2, Origin: &v1alpha1.Origin{AppVersion: "v0.14.2", Images: []string{"example.com/csr:v0.14.2"}}}}
	if ready != "" {
		c := frontPackage("", 0, ready, "").Package.Status.Conditions[0]
		c.Type = v1alpha1.ConditionReady
		p.Package.Status.Conditions = append(p.Package.Status.Conditions, c)
	}
	return p
}

// csrState is that of an agent that works.
func csrState() istiocsr.State {
	return istiocsr.State{
		Image:    istiocsr.Image{Reference: istiocsr.DefaultImage},
		Facts:    istiocsr.Facts{Running: "csr", CertManager: true, Namespace: true, Issuer: istiocsr.Issuer{Exists: true, Type: "ca", Ready: true}},
		Packages: []front.Package{csrPackage("False/RolledOut: revision 2 is rolled out", "True/ProbesSucceeded: the operand serves", "True/Ready: revision 2 serves")},
		Now:      at(100),
	}
}

// statusCase is a case of [TestSetStatus].
type statusCase struct {
	reason          string
	change          func(ic *operatorv1alpha1.IstioCSR, s *istiocsr.State)
	ready, degraded string
}

const (
	statusNotDegraded = "False/Ready: no user action is needed"
	statusAnswers     = "istio-csr v0.14.2 answers at cert-manager-istio-csr.csr.svc:443"
	statusMeanwhile   = "; the agent that runs answers meanwhile"
)

// statusCases are the cases of [TestSetStatus].
var statusCases = map[string]statusCase{
	"Works": {
		reason: "everything is in place", change: func(*operatorv1alpha1.IstioCSR, *istiocsr.State) {},
		ready: "True/Ready: " + statusAnswers, degraded: statusNotDegraded,
	},
	"NoVersion": {
		reason: "the image has a digest alone", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages[0].Target = s.Packages[0].Target.DeepCopy()
			s.Packages[0].Target.Spec.Origin.AppVersion = ""
		},
		ready: "True/Ready: istio-csr answers at cert-manager-istio-csr.csr.svc:443", degraded: statusNotDegraded,
	},
	"GoesFirst": {
		reason: "what two agents would have is not asked for while one lets go of it", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{{Name: "istio-csr-csr"}}
			s.Facts.Uninstalling = []string{"istio-csr-before"}
		},
		ready: "False/Progressing: package istio-csr-before, of an agent before this one, has not yet released what agents have in namespace mesh", degraded: statusNotDegraded,
	},
	"Warnings": {
		reason: "what has no effect is reported", change: func(ic *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"app": "mine"}}
			s.Packages[0].Need = history.NeedRejected
		},
		ready: "True/Ready: " + statusAnswers + " (with warning: a rollback excludes the newest content of package istio-csr-csr: change the resource first; spec.controllerConfig.labels: the objects have app of their own, so these are ignored)", degraded: statusNotDegraded,
	},
	"RollsOut": {
		reason: "what is asked for is not there yet, and what was there still works", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{csrPackage("True/RollingOut: phase 2/3", "True/Serving: revision 1 serves", "False/NotReady: revision 2: phase 2/3")}
		},
		ready: "False/Progressing: revision 2: phase 2/3" + statusMeanwhile, degraded: statusNotDegraded,
	},
	"TakesOver": {
		reason: "what becomes of another owner's pods is reported at the end, from where an event has it", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{csrPackage("True/RollingOut: phase 2/3", "True/Serving: revision 1 serves", "False/NotReady: revision 2: phase 2/3")}
			s.Facts.Deployment = &istiocsr.Deployment{Foreign: true, Spec: map[string]any{
				"template": map[string]any{}, "selector": map[string]any{"matchLabels": map[string]any{"app": "cert-manager-istio-csr"}},
			}}
		},
		ready: "False/Progressing: revision 2: phase 2/3" + statusMeanwhile + "; a Deployment from before is taken over: csr/cert-manager-istio-csr, and its pods are replaced by one rolling update, " +
			`as it is not what is asked for: label app differs from the IstioCSR: "", want "cert-manager-istio-csr"; serviceAccountName differs from the IstioCSR: "", want "cert-manager-istio-csr"; no container is named cert-manager-istio-csr`,
		degraded: statusNotDegraded,
	},
	"TakenOver": {
		reason: "it is ours", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{csrPackage("True/RollingOut: phase 2/3", "True/Serving: revision 1 serves", "False/NotReady: revision 2: phase 2/3")}
			s.Facts.Deployment = &istiocsr.Deployment{Spec: map[string]any{"template": map[string]any{}}}
		},
		ready: "False/Progressing: revision 2: phase 2/3" + statusMeanwhile, degraded: statusNotDegraded,
	},
	"HelmsStill": {
		reason: "Helm would take it away", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) { s.Facts.Release = "csr/agent" },
		ready: "True/Ready: " + statusAnswers + " (with warning: Helm has the agent in its release csr/agent, and would change or delete it: remove the release with `kubectl delete secret -n csr -l owner=helm,name=agent`, " +
			"and then `kubectl annotate deployment cert-manager-istio-csr -n csr meta.helm.sh/release-name- meta.helm.sh/release-namespace-`; what the chart has made under other names stays)",
		degraded: statusNotDegraded,
	},
	"DeploymentFails": {
		reason: "it takes Ready back, and names the object", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{csrPackage("False/RolledOut: x", "False/ProbeFailed: Deployment x", "False/NotReady: Deployment csr/cert-manager-istio-csr: no pod is available")}
		},
		ready: "False/Progressing: Deployment csr/cert-manager-istio-csr: no pod is available", degraded: statusNotDegraded,
	},
	"NewerRevisionNotLookedAt": {
		reason: "the package's Ready is about the revision before", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages[0].Package.Status.TargetRevision = 1
		},
		ready: "False/Progressing: revision 2 (v0.14.2) is about to be rolled out" + statusMeanwhile, degraded: statusNotDegraded,
	},
	"NotMadeYet": {
		reason: "nothing is there", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{{Name: "istio-csr-csr"}}
		},
		ready: "False/Progressing: the agent is about to be installed", degraded: statusNotDegraded,
	},
	"Collision": {
		reason: "a user has to decide whose it is", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Packages = []front.Package{csrPackage("False/ObjectCollisions: x", "True/Serving: x", "False/NotReady: Service a/b is another owner's")}
		},
		ready: "False/Failed: Service a/b is another owner's" + statusMeanwhile, degraded: "True/Failed: Service a/b is another owner's" + statusMeanwhile,
	},
	"RefusedByAWebhook": {
		reason: "it would be refused again", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			m := `admission webhook "webhook.cert-manager.io" denied the request: no`
			s.Packages = []front.Package{csrPackage("False/RolloutError: "+m, "False/RollingOut: x", "False/NotReady: "+m)}
		},
		ready: `False/Failed: admission webhook "webhook.cert-manager.io" denied the request: no`, degraded: `True/Failed: admission webhook "webhook.cert-manager.io" denied the request: no`,
	},
	"WebhookIsDown": {
		reason: "it comes back", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			m := `failed calling webhook "webhook.cert-manager.io": connection refused`
			s.Packages = []front.Package{csrPackage("False/RolloutError: "+m, "False/RollingOut: x", "False/NotReady: "+m)}
		},
		ready: `False/Progressing: failed calling webhook "webhook.cert-manager.io": connection refused`, degraded: statusNotDegraded,
	},
	"IssuerNotReady": {
		reason: "an agent without its issuer can sign nothing", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Facts.Issuer.Ready, s.Facts.Issuer.Message = false, "the secret is missing"
		},
		ready: "False/Progressing: Issuer mesh/ca is not ready: the secret is missing" + statusMeanwhile, degraded: statusNotDegraded,
	},
	"IssuerRefused": {
		reason: "the user has to name another", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Facts.Issuer.Type = "acme"
			s.Packages = []front.Package{{Name: "istio-csr-csr", Blocked: "x"}}
		},
		ready:    "False/Failed: Issuer mesh/ca is of type ACME, which signs for DNS names only and not for the identities of a mesh: refer to an issuer of another type",
		degraded: "True/Failed: Issuer mesh/ca is of type ACME, which signs for DNS names only and not for the identities of a mesh: refer to an issuer of another type",
	},
	"BadCA": {
		reason: "what runs keeps the last good copy, and the user has to mend the new one", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Facts.CA = istiocsr.CA{Problem: "ConfigMap a/b: no certificate"}
		},
		ready: "False/Failed: ConfigMap a/b: no certificate" + statusMeanwhile, degraded: "True/Failed: ConfigMap a/b: no certificate" + statusMeanwhile,
	},
	"NoReplicas": {
		reason: "a Deployment without pods is available, and serves no client", change: func(ic *operatorv1alpha1.IstioCSR, _ *istiocsr.State) {
			ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{Replicas: new(int32(0))}
		},
		ready:    "False/Failed: spec.agentConfig.replicas is 0, so that no agent answers at cert-manager-istio-csr.csr.svc:443: set 1 or more",
		degraded: "True/Failed: spec.agentConfig.replicas is 0, so that no agent answers at cert-manager-istio-csr.csr.svc:443: set 1 or more",
	},
	"TroubleWithTheAPI": {
		reason: "what could not be observed is not reported", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			s.Facts, s.Packages, s.Err = istiocsr.Facts{Running: "csr"}, nil, errors.New("reading Issuer mesh/ca: timeout")
		},
		ready: "False/Progressing: reading Issuer mesh/ca: timeout; the manager retries", degraded: statusNotDegraded,
	},
	"Undecodable": {
		reason: "only the user can mend it", change: func(ic *operatorv1alpha1.IstioCSR, s *istiocsr.State) {
			ic.Spec = operatorv1alpha1.IstioCSRSpec{Undecodable: "time: invalid duration"}
			s.Packages[0].Blocked = "spec cannot be read"
		},
		ready: "False/Failed: spec cannot be read: time: invalid duration" + statusMeanwhile, degraded: "True/Failed: spec cannot be read: time: invalid duration" + statusMeanwhile,
	},
	"AnotherRuns": {
		reason: "nothing of its own is wrong", change: func(_ *operatorv1alpha1.IstioCSR, s *istiocsr.State) { s.Facts.Running = "older" },
		ready: "False/Failed: IstioCSR older/default is older, and a cluster has one agent: this one takes its place when it is deleted",
	},
}

func TestSetStatus(t *testing.T) {
	for name, tc := range statusCases {
		t.Run(name, func(t *testing.T) {
			ic, s := istioCSR(), csrState()
			tc.change(ic, &s)
			istiocsr.SetStatus(ic, s)
			required := []string{operatorv1alpha1.ConditionReady}
			if tc.degraded != "" {
				required = append(required, operatorv1alpha1.ConditionDegraded)
			}
			statustest.Conditions(t, istiocsr.Rows().Statuses(), generation, ic.Status.Conditions, required...)
			again := ic.DeepCopy()
			s.Now = at(160)
			istiocsr.SetStatus(again, s)
			if diff := cmp.Diff(ic, again); diff != "" {
				t.Errorf("%s: the same state gives another status:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.ready, statustest.Text(ic.Status.Conditions, operatorv1alpha1.ConditionReady)); diff != "" {
				t.Errorf("%s: Ready (-want +got):\n%s", tc.reason, diff)
			}
			if tc.degraded == "" {
				if len(ic.Status.Conditions) != 1 {
					t.Errorf("%s: the conditions are %v", tc.reason, ic.Status.Conditions)
				}
				return
			}
			if diff := cmp.Diff(tc.degraded, statustest.Text(ic.Status.Conditions, operatorv1alpha1.ConditionDegraded)); diff != "" {
				t.Errorf("%s: Degraded (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The fields tell what there is, and go with it.
func TestSetStatus_Fields(t *testing.T) {
	ic, s := istioCSR(), csrState()
	istiocsr.SetStatus(ic, s)
	fields := ic.Status
	fields.Conditions = nil
	want := operatorv1alpha1.IstioCSRStatus{
		IstioCSRImage: "example.com/csr:v0.14.2", IstioCSRGRPCEndpoint: "cert-manager-istio-csr.csr.svc:443", ServiceAccount: "cert-manager-istio-csr",
		ClusterRole: "cert-manager-istio-csr-csr", ClusterRoleBinding: "cert-manager-istio-csr-csr",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("with an agent (-want +got):\n%s", diff)
	}
	failing := csrState()
	failing.Packages, failing.Err = nil, errors.New("timeout")
	istiocsr.SetStatus(ic, failing)
	if ic.Status.IstioCSRGRPCEndpoint == "" {
		t.Error("they went since nothing could be observed")
	}
	istiocsr.SetStatus(ic, istiocsr.State{Now: at(1)})
	if ic.Status.IstioCSRGRPCEndpoint == "" {
		t.Error("they went since it is not known which one runs")
	}
	loser := csrState()
	loser.Facts.Running = "older"
	istiocsr.SetStatus(ic, loser)
	fields = ic.Status
	fields.Conditions = nil
	if diff := cmp.Diff(operatorv1alpha1.IstioCSRStatus{}, fields); diff != "" || len(ic.Status.Conditions) != 1 {
		t.Errorf("of one without an agent (-want +got): %v\n%s", ic.Status.Conditions, diff)
	}
	before := istioCSR()
	before.Status = operatorv1alpha1.IstioCSRStatus{IstioCSRImage: "old", ClusterRole: "cert-manager-istio-csr-x7", ClusterRoleBinding: "cert-manager-istio-csr-y8"}
	held := csrState()
	held.Packages = []front.Package{{Name: "istio-csr-csr", Blocked: "x"}}
	istiocsr.SetStatus(before, held)
	if before.Status.IstioCSRImage != "" || before.Status.ClusterRole != "cert-manager-istio-csr-x7" || before.Status.ClusterRoleBinding != "cert-manager-istio-csr-y8" {
		t.Errorf("before it is taken over, the names of the roles are kept and nothing else: %+v", before.Status)
	}
}

func TestSetStatus_Deleting(t *testing.T) {
	now := metav1.Unix(50, 0)
	ic, s := istioCSR(), csrState()
	ic.DeletionTimestamp = &now
	s.Packages = nil
	istiocsr.SetStatus(ic, s)
	if len(ic.Status.Conditions) != 0 {
		t.Errorf("without a package there is nothing to tell: %v", ic.Status.Conditions)
	}
	deleting := csrPackage("False/RolledOut: x", "", "").Package
	s.Deleting, s.Facts.Clients = []v1alpha1.Package{*deleting}, []string{"Istio default"}
	istiocsr.SetStatus(ic, s)
	if diff := cmp.Diff("False/Progressing: the IstioCSR is being deleted: the agent keeps running, and its objects are released", statustest.Text(ic.Status.Conditions, operatorv1alpha1.ConditionReady)); diff != "" {
		t.Errorf("one whose agent stays (-want +got):\n%s", diff)
	}
	ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: "Delete"}
	deleting = csrPackage("True/TearingDown: Deployment x is waited for", "", "").Package
	s.Deleting = []v1alpha1.Package{*deleting}
	s.Facts.Unread = []string{"ConfigMap mesh/istio-sidecar-injector: forbidden"}
	istiocsr.SetStatus(ic, s)
	want := "False/Progressing: the IstioCSR is being deleted, and its agent is removed, although Istio default still points at cert-manager-istio-csr.csr.svc:443" +
		"; what else points at it is not known (ConfigMap mesh/istio-sidecar-injector: forbidden): Deployment x is waited for"
	if diff := cmp.Diff(want, statustest.Text(ic.Status.Conditions, operatorv1alpha1.ConditionReady)); diff != "" {
		t.Errorf("one whose agent goes (-want +got):\n%s", diff)
	}
}

// The status says that an object of the agent does not stay as it is wanted.
func TestSetStatus_Interference(t *testing.T) {
	const text = "ClusterRole agent: other keeps changing .rules of it, and repairs are slowed"
	for _, tc := range []struct{ ready, reason, want string }{
		{"True", v1alpha1.ReasonInterference, "True/Ready"},
		{"False", v1alpha1.ReasonRightsDiffer, "False/Failed"},
	} {
		agent, state := istioCSR(), csrState()
		state.Packages = []front.Package{csrPackage("False/RolledOut: rolled out", "True/ProbesSucceeded: serves", tc.ready+"/"+tc.reason+": "+text)}
		istiocsr.SetStatus(agent, state)
		if got := statustest.Text(agent.Status.Conditions, operatorv1alpha1.ConditionReady); !strings.HasPrefix(got, tc.want+": ") || !strings.Contains(got, text) {
			t.Errorf("%s gives %s, want %s with %q", tc.reason, got, tc.want, text)
		}
	}
}
