// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import "flag"

// Update says that the files under testdata are to be written anew.
var Update = flag.Bool("update", false, "write the files under testdata anew")
