// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cabundle keeps the ConfigMap from which the agent istio-csr reads the CAs of
// its mesh.
//
// The ConfigMap stands outside of every revision, under a name that stays: a new CA
// is no new content, the agent reads the file again by itself, and rolling back an
// agent must not bring back an old CA. What belongs in it is decided by package
// trust; this package finds the sources, reads them, and writes.
//
//	keeper := &cabundle.Keeper{Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient()}
//	...
//	state, err := keeper.Keep(ctx, cabundle.Request{...})
//
// The CAs come from the first of these that there is:
//
//  1. the ConfigMap that the user chose;
//  2. the Secret that an issuer of type CA signs with;
//  3. the Secret with the istiod certificate, in which cert-manager puts the CA that
//     the issuer returned.
//
// [Keeper.Keep] is cheap to call: while the versions of all these objects, which it
// reads from a cache of metadata, are those that it has decided with, it sends no
// request. Whatever differs is read past the cache, as Secrets and users' ConfigMaps
// are in no cache of ours. Nothing is written to any object but the copy and its spare,
// and to these only when they differ, so nothing at rest.
//
// The manager trusts the copy only as far as its own writes reach. After a restart that
// is what its entry in managedFields still contains. Where that entry is lost, because a
// user has changed or deleted the copy while no manager ran, the last good CAs are those
// of the spare, a second ConfigMap that no agent reads: a repair does not need the
// sources, and [Keeper.KeepLast] makes it while the sources are not known. Of a copy that
// another client has written, where there is no spare either, only CAs that have signed
// the istiod certificate are kept.
package cabundle
