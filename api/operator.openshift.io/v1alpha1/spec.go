// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// UnmarshalJSON takes in a spec, and never fails: one object that cannot be decoded
// would otherwise keep a list of all from being decoded. What is wrong stands in
// Undecodable, and the rest of the spec is empty then.
func (s *IstioCSRSpec) UnmarshalJSON(data []byte) error {
	type plain IstioCSRSpec // without this method
	var decoded plain
	err := utiljson.Unmarshal(data, &decoded)
	*s = IstioCSRSpec(decoded)
	if err != nil {
		*s = IstioCSRSpec{Undecodable: err.Error()}
	}
	return nil
}
