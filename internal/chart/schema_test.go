// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

func TestChart_RenderChecksValues(t *testing.T) {
	const schema = `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["image"], "additionalProperties": false,
		"properties": {"replicas": {"type": "integer", "minimum": 1}, "image": {"type": "string"}, "password": {"$ref": "#/$defs/word"}},
		"$defs": {"word": {"type": "string", "pattern": "^[a-z]+$"}}}`
	cases := map[string]struct {
		reason string
		schema string
		values map[string]any
		want   string
	}{
		"Valid":    {reason: "The chart's own values count, too.", schema: schema, values: map[string]any{"replicas": int64(2)}},
		"Type":     {reason: "The value is named, and what it should be.", schema: schema, values: map[string]any{"replicas": "two"}, want: "value .replicas: got string, want integer"},
		"Unknown":  {reason: "A typing error would be overlooked.", schema: schema, values: map[string]any{"replica": 1}, want: "'replica' not allowed"},
		"Password": {reason: "The value itself is not reported.", schema: schema, values: map[string]any{"password": "CANARY 1"}, want: "value .password: does not match pattern"},
		"Several":  {reason: "All are reported.", schema: schema, values: map[string]any{"replicas": 0, "password": 1}, want: "value .password: got number, want string; value .replicas: minimum"},
		"Remote":   {reason: "Nothing is fetched.", schema: `{"$ref": "https://example.com/schema.json"}`, want: "references to other files are not followed"},
		"File":     {reason: "Nor read.", schema: `{"$ref": "file:///etc/passwd"}`, want: "references to other files are not followed"},
		"Broken":   {reason: "A schema that is none.", schema: `{`, want: "reading values.schema.json"},
		"None":     {reason: "Most charts have none.", values: map[string]any{"any": "thing"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"values.yaml": "image: a\n", "templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"}
			if tc.schema != "" {
				files["values.schema.json"] = tc.schema
			}
			c := load(t, files)
			_, err := c.Render(Release{Name: "r", Namespace: "n", Values: tc.values, CheckValues: true})
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			case err != nil && (strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), "\n")):
				t.Errorf("the error tells too much: %v", err)
			}
			if _, err := c.Render(Release{Name: "r", Namespace: "n", Values: tc.values}); err != nil {
				t.Errorf("no check was asked for: %v", err)
			}
		})
	}
}
