// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantity bounds the text that is read as a quantity, in bytes.
const maxQuantity = 64

// errQuantityTooLong is what ParseQuantity says of a text that it does not try.
var errQuantityTooLong = errors.New("reading a quantity: the text has more than 64 bytes or an exponent of more than 3 digits")

// ParseQuantity reads a quantity such as "500m" or "1Gi" that may come from
// anywhere. It differs from resource.ParseQuantity only in that it refuses text
// which no real quantity needs: that parser writes a decimal exponent out in full,
// so "1e1000000000" in a string field of a custom resource would keep it busy for
// hours.
func ParseQuantity(text string) (resource.Quantity, error) {
	if !isBoundedQuantity(text) {
		return resource.Quantity{}, errQuantityTooLong
	}
	return resource.ParseQuantity(text)
}

func isBoundedQuantity(text string) bool {
	if len(text) > maxQuantity {
		return false
	}
	for i := range len(text) {
		if text[i] == 'e' || text[i] == 'E' {
			return len(text)-i <= len("e+999")
		}
	}
	return true
}

// quantityOf reads a value of an object as a quantity.
func quantityOf(value any) (resource.Quantity, bool) {
	text, ok := value.(string)
	if !ok {
		n, isNumber := numberOf(value)
		if !isNumber {
			return resource.Quantity{}, false
		}
		text = n.String()
	}
	q, err := ParseQuantity(text)
	return q, err == nil
}
