// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probes says whether an object of a Kubernetes cluster is ready.
//
// A [Probe] is a pure function of one object. It reads no other object, no clock and
// no cluster, and it changes nothing, so it can be evaluated anywhere: by the rollout
// engine on a cached object, by a command line tool on a file, by a test on a
// literal. It answers with a [Result]: a [Status] of True, False or Unknown, and a
// message for a person.
//
// # The three answers
//
// True opens the gate of a rollout. False and Unknown both keep it closed, and differ
// in what they mean:
//
//   - False: the object was looked at and is not as it should be. Its controller
//     works on it or has failed; the message says which field decided.
//   - Unknown: the object does not say. Its controller has not looked at the present
//     generation yet, the condition or field that is asked for does not exist, the
//     rollout is paused, or the probe itself is not valid.
//
// What is missing never passes, not even under a negation: it is Unknown, and the
// negation of Unknown is Unknown. Who wants a field to be absent asks for that in CEL,
// with !has(self.status.problem). An object of the wrong kind, with values of the wrong
// type, or nil, gets an answer as well; no probe panics.
//
// # The probes
//
//   - [Condition] asks for an entry of .status.conditions.
//   - [FieldValue] asks for the value of a field, typed: equal, at least or at most,
//     as text, number, boolean or quantity.
//   - [FieldsEqual] asks that two fields are equal.
//   - [Default] knows what ready means for a kind, see below. [Serving] knows when an
//     object of a kind still serves, which is less.
//   - [ObservedGeneration] lets its inner probe speak only about the present spec, and
//     asks on demand that the object says which spec its status is about.
//   - [All], [Any] and [Not] combine probes.
//   - [Select] puts a probe to the objects of one kind or with some labels only.
//   - [Func] makes a probe of a function. The package celprobe, beside this one,
//     makes one of a CEL expression.
//
// Fields are named by a [Path], which [ParsePath] reads; see there for the spelling
// of names with dots in them and of entries of lists.
//
// The combinators decide like this; messages of all probes that decided are kept:
//
//	All   False if any is False, else Unknown if any is Unknown, else True
//	Any   True if any is True, else Unknown if any is Unknown, else False
//	Not   True and False change places, Unknown stays
//
// # Time
//
// No probe knows a clock. That a probe has to hold for a while, or to hold within a
// time, is for who asks it again and again and keeps since when: the rollout engine
// does the first (HoldsFor of its Object), who judges a rollout the second.
//
// # What Default asks of a kind
//
//	Deployment           observed; all replicas updated and available, no old ones left; zero replicas
//	                     are ready when none is left; paused before that is Unknown
//	StatefulSet          observed; replicas updated (down to the partition) and available; with OnDelete
//	                     only available
//	DaemonSet            observed; updated and available on every node that is wanted; with OnDelete only
//	                     available
//	ReplicaSet           observed; all replicas available
//	Pod                  Ready, or Succeeded
//	Job                  Complete; suspended is Unknown
//	CustomResourceDefinition  Established, and NamesAccepted not False
//	APIService           Available
//	Namespace            Active
//	PersistentVolumeClaim     Bound, or Pending for want of a consumer (True with a message)
//	Service              of type LoadBalancer: has an address; else nothing
//	HorizontalPodAutoscaler   AbleToScale; ScalingActive False is only reported, unless the reason
//	                     is ScalingDisabled
//	MutatingWebhookConfiguration, ValidatingWebhookConfiguration
//	                     each webhook has a certificate in its caBundle; one with a URL may leave it out
//	PodDisruptionBudget  observed
//	Certificate, Issuer, ClusterIssuer (cert-manager.io)
//	                     Ready
//
// "Observed" means that .status.observedGeneration is there and is the object's
// generation. An object that is being deleted is False for all of them. For every
// other kind there is no default: what ready means is not defined for kinds in general.
//
// An autoscaled Deployment is not ready while a replica that the autoscaler has just
// asked for is not available yet, although it serves. Who does not want that asks for
// the Condition Available instead.
//
// A claim that waits for its first consumer looks the same as one whose storage class
// is missing, since the class is another object. The default assumes the first: the pod
// that uses the claim then says what is wrong, whereas a rollout that waits for the
// claim before it creates the pod would wait for ever.
//
// # Secrets
//
// A message never holds a value of a Secret, nor the text of a condition on one; it
// says "differs" instead. An object that does not say its kind is treated as if it
// were a Secret. Probes of other packages keep to this with [ContainsSecrets], and make
// their messages fit to be shown with [NewResult].
//
// # Size and cost
//
// A message has at most [MaxMessage] bytes and one line. A probe reads the object in
// place, without copying it; a True answer of most probes allocates nothing. Reading a
// quantity from an object is bounded, see [ParseQuantity].
package probes
