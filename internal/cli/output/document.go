// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// JSON writes a value as an indented JSON document.
func (p *Printer) JSON(v any) {
	p.document(v, func(b []byte) ([]byte, error) {
		var out bytes.Buffer
		err := json.Indent(&out, b, "", "    ")
		return out.Bytes(), err
	})
}

// JSONLine writes a value as JSON on one line, for streams of documents.
func (p *Printer) JSONLine(v any) {
	p.document(v, func(b []byte) ([]byte, error) { return b, nil })
}

// YAML writes a value as a YAML document. Where the text holds characters that a
// terminal may act on, the document is written as JSON, which is YAML too and
// can escape each of them.
func (p *Printer) YAML(v any) {
	p.document(v, func(b []byte) ([]byte, error) {
		out, err := yaml.JSONToYAML(b)
		if err != nil {
			return nil, fmt.Errorf("turning JSON into YAML: %w", err)
		}
		if !isClean(string(bytes.ReplaceAll(out, []byte("\n"), nil))) {
			return b, nil
		}
		return bytes.TrimSuffix(out, []byte("\n")), nil
	})
}

func (p *Printer) document(v any, format func([]byte) ([]byte, error)) {
	b, err := marshal(v)
	if err == nil {
		b, err = format(b)
	}
	if err != nil {
		p.fail(err)
		return
	}
	p.write(string(b) + "\n")
}

// marshal is JSON in which every harmful character is escaped. encoding/json
// escapes the C0 ones only; the others can stand in strings alone, where the
// escape has the same meaning.
func marshal(v any) ([]byte, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	text := string(bytes.TrimSuffix(raw.Bytes(), []byte("\n")))
	var out bytes.Buffer
	for _, r := range text {
		if isHarmful(r) {
			out.WriteString(escape(r))
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes(), nil
}
