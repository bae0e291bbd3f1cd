// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust decides which CAs a mesh trusts, as a pure function.
//
// The agent istio-csr gets the mesh's CAs in a file. [Decide] says what belongs in
// it, from what was found in the cluster: the CAs of the source that the user chose,
// the certificate of istiod, the certificate that the issuer signs with, and the
// bundle that is served now. Nothing is taken over unseen:
//
//   - Each PEM block has to be a CA certificate that may sign others. A private key, or a
//     block that cannot be read, spoils the whole text. A CA that has expired is left out.
//   - One of the CAs has to have signed the istiod certificate, or what the issuer
//     signs with: agents refuse a chain that does not lead to the bundle, and then
//     no workload gets a certificate any more.
//   - Otherwise the bundle that is served stays as it is, and [State] says why.
//
// # Rotation
//
// When a CA is replaced there are certificates of both for a while. The bundle contains
// the new CA from the moment on that its source has it, and the old one until the
// istiod certificate leads to the new one and then as long as certificates of the
// old one may be in use ([Input].Overlap), so that at each moment the bundle verifies
// every certificate of that moment. When an old CA goes stands in [CA].Until, which
// has to be kept: with [Bundle.Record] and [Read] it survives a restart.
//
// A CA that has signed nothing since it is served goes with its source, and one that the
// user drops by its digest ([Input.Dropped]) at once.
//
// What a bundle contains never depends on the order of events, only on its input; equal
// input gives equal bytes.
package trust
