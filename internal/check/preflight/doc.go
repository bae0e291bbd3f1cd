// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight looks at a revision before the first write of its content, and
// finds what would be refused halfway through, or do harm.
//
// Start with [Checker.Check] in checker.go. It asks once for a content, never in
// steady state; the caller remembers the answer for as long as the content and the
// Package stay the same. A finding blocks the content and leaves alone what
// runs. Each says what to do, and passes as soon as that is done:
//
//	Check                    File            Passes when
//	[CheckShrink]            shrink.go       the Package is annotated strata.run/allow-prune: DIGEST
//	[CheckPermission]        permissions.go  the right is granted to the identity
//	[CheckCRDUpgradeSafety]  crds.go         the Package is annotated strata.run/crd-upgrade-safety: None
//	[CheckImmutable]         immutable.go    the object opts in with onImmutableChange: Replace, or has another name
//	[CheckAdmission]         dryrun.go       what refuses it changes its mind, or the object opts in
//
// All of them pass, too, when the content is another one. No event reports a right
// that is granted or a webhook that changes, so the caller tries again by itself.
//
// What is not known is never safe: a read that fails is an error, worth another
// try, and no finding. What only the write itself can tell (a namespace that an
// earlier phase creates, a webhook that an earlier phase repairs) is left to it.
//
// # Cost
//
// An identity that may do everything is recognised by one request, whose positive
// answer is remembered for the manager's own. Another costs one more request for
// each namespace, and a dry run for each new or changed role and binding. A
// CustomResourceDefinition that is new or changed is read once. Of other objects,
// only those are read or tried out whose content changes in a field that may not
// change, or whose kind the API server alone can judge. A first rollout of
// built-in kinds by the manager itself costs nothing but the first question. The
// numbers of questions and dry runs are bounded; what is beyond, the writes show.
package preflight
