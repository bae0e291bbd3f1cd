// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Blob is one object of a catalog.
type Blob struct {
	// Schema, Package and Name are its keys; Package is the name for the schema olm.package.
	Schema, Package, Name string
	// JSON is the whole object, and only valid until the function that it was handed to returns.
	JSON []byte
	// File and Line are where it begins.
	File string
	Line int
	// Problem says why the blob could not be read. JSON is nil then, and Package is what could be
	// made out of the beginning.
	Problem *Problem
}

// longestName bounds what an index keeps in memory of one blob.
const longestName = 1024

// newBlob reads the keys of an object.
func newBlob(raw []byte) (Blob, *Problem) {
	var blob Blob
	if err := blob.readKeys(raw); err != nil {
		blob.Package = guessPackage(raw)
		return blob, &Problem{Package: blob.Package, Rule: "parse", Fatal: true, Message: err.Error()}
	}
	blob.JSON = raw
	if blob.Schema == SchemaPackage {
		blob.Package = blob.Name
	}
	if blob.Schema == "" {
		return blob, &Problem{Package: blob.Package, Rule: "schema", Fatal: true, Message: "the object has no schema"}
	}
	return blob, nil
}

// readKeys finds the three keys without regard to case, as far as the object can be read.
func (b *Blob) readKeys(raw []byte) error {
	wanted := map[string]*string{"schema": &b.Schema, "package": &b.Package, "name": &b.Name}
	seen := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return errors.New("it is no object")
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("it is no JSON: %w", err)
		}
		key, _ := token.(string)
		folded := strings.ToLower(key)
		into, ok := wanted[folded]
		value := json.RawMessage{}
		if ok {
			err = decoder.Decode(&value)
		} else {
			err = decoder.Decode(&skipped{})
		}
		if err != nil {
			return fmt.Errorf("it is no JSON after the key %q: %w", brief(key), err)
		}
		if !ok {
			continue
		}
		if other, twice := seen[folded]; twice {
			return fmt.Errorf("the keys %q and %q are the same", other, key)
		}
		seen[folded] = key
		if err := json.Unmarshal(value, into); err != nil {
			return fmt.Errorf("the value of %q is no text", key)
		}
		if len(*into) > longestName {
			*into = ""
			return fmt.Errorf("the value of %q has more than %d characters", key, longestName)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return nil
}

// skipped is a value that is not copied, as it may be large.
type skipped struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// guessPackage is the package that a blob is about which does not parse, as far as its text says so.
func guessPackage(broken []byte) string {
	broken = broken[:min(len(broken), 64<<10)]
	if firstGroup(guessKey.schema, broken) == SchemaPackage {
		return firstGroup(guessKey.name, broken)
	}
	return firstGroup(guessKey.of, broken)
}

var guessKey = struct{ schema, of, name *regexp.Regexp }{textOf("schema"), textOf("package"), textOf("name")}

// textOf finds the value of a key in JSON and in YAML.
func textOf(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[\s{,"'])` + key + `["']?\s*:\s*["']?([a-z0-9][a-z0-9.-]*)`)
}

func firstGroup(pattern *regexp.Regexp, text []byte) string {
	if found := pattern.FindSubmatch(text); len(found) > 1 {
		return string(found[1])
	}
	return ""
}

// brief cuts a text of a catalog to what a message can hold.
func brief(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}
