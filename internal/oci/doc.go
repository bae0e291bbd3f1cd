// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oci gets images from registries and keeps what is in them on disk.
//
// [Client.Resolve] asks which digest a tag names, with one HEAD request, and [Client.Pull] unpacks
// an image into a folder, always by digest: what does not have the digest that was asked for is
// refused. Where the image is looked for, and how, is in [Mirrors] (registries.conf), [Credentials]
// (pull secrets) and [NewTransport] (CAs); what may be pulled at all is in [Policy]. Unpacking streams
// the layers, keeps at most one folder of the image, never writes outside of the folder that it was
// given, and has [Limits] for everything that an image can have too much of.
//
// [Store] keeps unpacked images by digest, within a size, over restarts and crashes. [Queue] runs
// pulls beside the loops, a few at a time and fewer to one registry, and cancels what is not wanted any
// more. Every failure is an [Error] whose kind says whether trying again can help; its text has no
// addresses and ports, so that it stays the same from one try to the next.
package oci
