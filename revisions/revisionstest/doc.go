// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisionstest is a cluster in memory for tests of rollouts, and a player
// of scripts that tell a rollout step by step.
//
// [New] makes a [Cluster]. It does what the engine of package revisions relies on
// as a real API server does: server-side apply with managedFields whose time moves
// only with the object, creation by an apply with a resourceVersion, preconditions,
// finalizers, kinds that come and go with their CustomResourceDefinition, and
// owner references of which one may be the controller. [Cluster.Client] makes the
// clients, [NewCache] the cache, and every request of a client is on record. It has
// no schemas: a list is owned as a whole, and nothing is defaulted.
//
// That it does as a real one does is tested: [Conform] makes the requests that the
// engine relies on, and [Conformance] tells how every API server answers. The same
// test belongs to each Kubernetes version that is supported.
//
// The mapper is as forgetful as that of controller-runtime, which is not at all: a
// kind or version that is gone goes on to be known, and its path is not found.
//
// # Other API servers
//
// A script is played on a [Target]. [Remote] makes one of any API server, with
// whatever cache is under test: test/integration plays all scripts on a real one, and
// they must go as in memory, request by request. A script whose first line begins with
// "# needs: memory" is left out there, and says why.
//
// # Scripts
//
// [Replay] plays a script. The scripts under revisions/testdata/rollout tell what
// the engine promises; they are good reading. Objects are written as one line:
//
//	Deployment app/web image=v1 replicas=2 label:tier=front probe retain protect=None
//
// The commands for the history of revisions:
//
//	revision N          adds a revision, whose phases and objects follow
//	revision N as M     adds a revision with the content of another
//	pass                makes a pass; "paused" writes nothing, "lost" keeps no records
//	pause N, resume N   pauses one revision, and ends that
//	archive N           makes a pass at removing what only revision N contains
//	teardown            makes a pass at removing everything; "orphan" leaves the objects
//	forget              loses all records
//	owner               puts another owner of the same name in place of the owner
//	restart             starts the engine anew, with an empty cache
//
// The commands for what others do ("as NAME" says who, otherwise it is "user";
// NAME/SUBRESOURCE writes as through a subresource):
//
//	create OBJECT       creates an object; controller=Kind/name/uid gives it a controller
//	edit OBJECT         sets and, with field-, removes fields
//	apply OBJECT        applies fields with force
//	set KIND NAME STATE sets the status that "probe" looks at: ready, updating, broken
//	delete OBJECT       deletes an object
//	collect             lets the garbage collector look at owners that are gone
//	serve KIND HOW      serves a kind: yes, no, or unreachable
//	clock DURATION      lets time pass, which nothing else does
//
// The commands for what goes wrong:
//
//	stale on|off        delays events for the engine's cache
//	fail VERB OBJECT CODE  answers requests of the engine with an error; "once", "after"
//	heal                ends all failures
//
// And show prints all objects, or one with the managers of its fields.
package revisionstest
