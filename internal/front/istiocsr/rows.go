// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// Rows are all conditions and reasons of IstioCSRs.
func Rows() front.Rows {
	ready, degraded := front.RowOf(operatorv1alpha1.ConditionReady), front.RowOf(operatorv1alpha1.ConditionDegraded)
	return []front.Row{
		ready("True", operatorv1alpha1.ReasonReady, "the newest spec is rolled out; Deployment, certificate and issuer are ready", "istio-csr v0.14.2 answers at cert-manager-istio-csr.istio-csr.svc:443", ""),
		ready("True", operatorv1alpha1.ReasonReady, "so it is, but some setting has no effect or causes a problem later: a CA that is about to expire or has expired, a CA that cannot be dropped, labels that are the agent's own, a ServiceMonitor without its kind, a rollback, a mesh that would lose its agent, another agent that was left running for the mesh, an agent that is kept as it was found or that Helm still counts as its own",
			"istio-csr v0.14.2 answers at ... (with warning: ...)", "the warning says it"),
		ready("False", operatorv1alpha1.ReasonProgressing, "cert-manager is not installed, or the namespace of istiod does not exist, or an earlier agent is still being released or removed; nothing is rolled out until then", "namespace istio-system (spec.istioCSRConfig.istio.namespace) does not exist: create it", "as the message says"),
		ready("False", operatorv1alpha1.ReasonProgressing, "the issuer does not exist or is not ready", "Issuer istio-system/istio-ca is not ready: ...", "`kubectl describe` the issuer"),
		ready("False", operatorv1alpha1.ReasonProgressing, "the istiod certificate is not issued yet, or the Secret with the CA not there yet", "Secret istio-system/istiod-tls ...", "`kubectl describe certificate istiod` in the namespace of istiod"),
		ready("False", operatorv1alpha1.ReasonProgressing, "a revision is being rolled out, or the agent has stopped to work", "revision 2 (v0.14.2): phase 2/3: ...", "`strata explain istio-csr-NAMESPACE`"),
		ready("False", operatorv1alpha1.ReasonProgressing, "an agent that was installed by other means is taken over; if its pods are replaced, the message says what of it is not as it is asked for",
			"...; a Deployment from before is taken over: istio-csr/cert-manager-istio-csr, and its pods stay", ""),
		ready("False", operatorv1alpha1.ReasonProgressing, "the API server does not answer", "...; the manager retries", ""),
		ready("False", operatorv1alpha1.ReasonProgressing, "it is being deleted", "the IstioCSR is being deleted: the agent keeps running, and its objects are released", ""),
		ready("False", operatorv1alpha1.ReasonFailed, "the spec cannot work, although the API server accepts it, or asks for no pods", "spec.istioCSRConfig.istio.revisions[0]: \"1_16\": ...", "change the field that the message names"),
		ready("False", operatorv1alpha1.ReasonFailed, "the issuer is of type ACME or SelfSigned", "Issuer istio-system/istio-ca is of type ACME, ...", "make an IstioCSR with another issuer: issuerRef cannot be changed"),
		ready("False", operatorv1alpha1.ReasonFailed, "the CA certificates are invalid; the last valid ones stay in use", "ConfigMap istio-system/ca, key ca.crt: ...", "fix what the message names"),
		ready("False", operatorv1alpha1.ReasonFailed, "the rollout continues only after a change by a user: an object has another owner, an object is refused, rights are missing", "the object, and the API server's words", "`strata explain istio-csr-NAMESPACE`"),
		ready("False", operatorv1alpha1.ReasonFailed, "an older IstioCSR runs the cluster's agent; Degraded is missing then", "IstioCSR istio-csr/default is older, and a cluster has one agent: ...", "delete one of them"),
		degraded("True", operatorv1alpha1.ReasonFailed, "any of the above that needs an action by a user", "that of Ready", "as above"),
		degraded("False", operatorv1alpha1.ReasonReady, "the agent works, or recovers by itself", "no user action is needed", ""),
	}
}
