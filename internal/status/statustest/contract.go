// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package statustest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/history"
)

// Contract is what may stand in a condition: its type, its reason, and the status that comes with it.
type Contract = map[string]map[string]metav1.ConditionStatus

// contract is that of our own kinds: what the table of reasons says.
var contract = func() Contract {
	all := Contract{}
	for _, reason := range history.Reasons {
		for condition, status := range reason.Conditions {
			if all[condition] == nil {
				all[condition] = map[string]metav1.ConditionStatus{}
			}
			all[condition][reason.Name] = status
		}
	}
	return all
}()
