// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"slices"
	"text/template"
)

// refusedFunctions give another result at another time or on another machine:
// random values and salts, and the clock or the local time zone.
var refusedFunctions = []string{
	"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric",
	"shuffle", "uuidv4",
	"bcrypt", "encryptAES", "htpasswd",
	"genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey",
	"ago", "date", "date_in_zone", "dateInZone", "htmlDate", "htmlDateInZone",
	"mustToDate", "now", "toDate",
}

// functions are those that differ from Helm's.
func functions() template.FuncMap {
	f := template.FuncMap{
		"keys":   sortedKeys,
		"values": valuesByKey,
	}
	for _, name := range refusedFunctions {
		f[name] = func(...any) (string, error) {
			return "", fmt.Errorf("function %s is refused: the same input must render the same content", name)
		}
	}
	return f
}

// sortedKeys are the keys of each map, in order.
func sortedKeys(dicts ...map[string]any) []string {
	keys := make([]string, 0, len(dicts))
	for _, d := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(d))...)
	}
	return keys
}

// valuesByKey are a map's values in the order of their keys.
func valuesByKey(dict map[string]any) []any {
	values := make([]any, 0, len(dict))
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[k])
	}
	return values
}
