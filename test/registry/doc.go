// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Command registry serves images that it packs from folders: a registry for trying and
// testing what pulls images, without a container engine.
//
//	registry docs/guides/clusterextension
//	registry docs/guides/clusterextension make demo
//
// The files of the folder REPOSITORY/TAG become the one layer of the image REPOSITORY:TAG. With a
// command behind the folder, the registry ends with the command. The registry is that of the
// distribution project. It speaks HTTP, on loopback, and keeps the images in memory.
package main
