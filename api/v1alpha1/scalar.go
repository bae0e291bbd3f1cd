// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Scalar is a JSON string, number or boolean. It is kept as the API server writes
// it, so that the same value has the same digest everywhere.
type Scalar struct {
	// Raw is the value as JSON; empty when it is not set.
	Raw []byte `json:"-"`
}

// ScalarOf is a value of one of Go's types.
func ScalarOf[T string | bool | int64](value T) Scalar {
	raw, err := json.Marshal(value)
	if err != nil {
		// Values of these types can be encoded.
		return Scalar{}
	}
	return Scalar{Raw: raw}
}

// UnmarshalJSON takes in any JSON value. Whether it is a scalar is said by Value, so
// that a revision with another one can still be read.
func (s *Scalar) UnmarshalJSON(data []byte) error {
	var value any
	if err := utiljson.Unmarshal(data, &value); err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a value: %w", err)
	}
	s.Raw = raw
	return nil
}

// MarshalJSON writes the value; null when it is not set.
func (s Scalar) MarshalJSON() ([]byte, error) {
	if len(s.Raw) == 0 {
		return []byte("null"), nil
	}
	return s.Raw, nil
}

// Value is a string, a bool, an int64 or, for numbers that are not whole, a float64.
// An error says that it is none of these.
func (s Scalar) Value() (any, error) {
	if len(s.Raw) == 0 {
		return nil, fmt.Errorf("the value is missing")
	}
	var value any
	if err := utiljson.Unmarshal(s.Raw, &value); err != nil {
		return nil, fmt.Errorf("reading the value: %w", err)
	}
	switch value.(type) {
	case string, bool, int64, float64:
		return value, nil
	case nil:
		return nil, fmt.Errorf("the value is null: set a string, a number, true or false")
	case []any:
		return nil, fmt.Errorf("the value is a list: set a string, a number, true or false")
	default:
		return nil, fmt.Errorf("the value is an object: set a string, a number, true or false")
	}
}
