// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"encoding/json"
	"fmt"
)

// Switches are what ConfigMaps said when they could be read last. They are kept with the mesh,
// since a ConfigMap that cannot be read must not change it.
type Switches struct {
	// Features are those of [FeaturesConfigMap], nil when they were never read.
	Features *Features `json:"features,omitempty"`
	// DualStack is what [ProvisioningInfo] says of the cluster's IP stacks, nil likewise.
	DualStack *bool `json:"dualStack,omitempty"`
}

// ReadSwitches reads the values of [FeaturesKey] and [ProvisioningKey], empty for none. What
// cannot be read is as in kept. The problems say which values these are, and what counts
// instead.
func ReadSwitches(features, provisioning string, kept Switches) (now Switches, problems []string) {
	now = kept
	problem := func(err error, isKept bool) {
		instead := "until it can be read, nothing of it is set"
		if isKept {
			instead = "its previous content stays in force"
		}
		problems = append(problems, fmt.Sprintf("%v; %s", err, instead))
	}
	if read, err := ParseFeatures(features); err != nil {
		problem(err, kept.Features != nil)
	} else {
		now.Features = &read
	}
	if read, err := ParseDualStack(provisioning); err != nil {
		problem(err, kept.DualStack != nil)
	} else {
		now.DualStack = &read
	}
	return now, problems
}

// InForce are the switches that count: what was never read is not set.
func (s Switches) InForce() (features Features, dualStack bool) {
	if s.Features != nil {
		features = *s.Features
	}
	return features, s.DualStack != nil && *s.DualStack
}

// ParseSwitches reads what [Switches.String] has written. What is not of that form says
// nothing.
func ParseSwitches(text string) Switches {
	s := Switches{}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Switches{}
	}
	return s
}

// String is the form to keep them in: JSON on one line.
func (s Switches) String() string {
	data, err := json.Marshal(s)
	if err != nil {
		return "" // switches can be written
	}
	return string(data)
}
