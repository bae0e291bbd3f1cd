// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"
	"time"
)

// mostDepartures bounds the namespaces that are seen off at a time.
const mostDepartures = 100

// Departures are namespaces that have left the mesh and whose pods still have sidecars of it,
// each with since when that is known. Labels that are gone do not tell when they went.
type Departures map[string]time.Time

// ParseDepartures reads what [Departures.String] has written. What cannot be read is empty.
func ParseDepartures(text string) Departures {
	d := Departures{}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Departures{}
	}
	return d
}

// String is the form for an annotation, the same for the same departures, empty for none.
func (d Departures) String() string {
	if len(d) == 0 {
		return ""
	}
	data, err := json.Marshal(d)
	if err != nil {
		return "" // times can be encoded
	}
	return string(data)
}

// Add takes in a namespace, unless there are too many.
func (d Departures) Add(namespace string, since time.Time) bool {
	if _, known := d[namespace]; !known && len(d) >= mostDepartures {
		return false
	}
	d[namespace] = since
	return true
}
