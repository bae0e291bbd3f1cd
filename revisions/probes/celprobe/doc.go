// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package celprobe makes a probe of a CEL expression.
//
// The expression sees one variable, self, which is the object as it stands in the
// cluster, and has to say true or false:
//
//	self.status.readyReplicas == self.spec.replicas
//	self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")
//	has(self.status.loadBalancer.ingress)
//
// The language is that of Kubernetes' own validation rules, with its libraries for
// strings, lists, sets, quantities, URLs, regular expressions, IP addresses, semantic
// versions and optional values. self has no schema, so a field that does not exist is
// noticed when the expression is evaluated, not when it is compiled; has() and
// self.?status.?replicas.orValue(0) ask for one that may be missing.
//
// The package stands apart from probes so that only who evaluates CEL has to link it.
//
// # Answers
//
// The expression is true: True. It is false: False, with the message that its author
// gave. It cannot be evaluated (a field is missing, a value has the wrong type) or
// costs more than [CostLimit]: Unknown, with the reason. On a Secret the reason is left
// out, because it may quote a value.
package celprobe
