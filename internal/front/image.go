// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import "regexp"

// imageReference is a registry or user, a path, and a tag, a digest or both.
var imageReference = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`)

// IsImage says whether a text is a full image reference, with a tag or a digest.
func IsImage(reference string) bool {
	return len(reference) <= 512 && imageReference.MatchString(reference)
}
