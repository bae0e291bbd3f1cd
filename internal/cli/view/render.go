// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
)

// WriteRendered writes the phases with their objects, and the size.
func WriteRendered(p *output.Printer, phases []content.Phase, packed content.Packed) {
	for _, phase := range phases {
		p.Line(output.Span{Text: "phase " + phase.Name, Style: output.Bold}, output.Span{Text: "  " + CountOf(len(phase.Objects), "object"), Style: output.Faint})
		for _, object := range phase.Objects {
			p.Line(output.Span{Text: "  " + ObjectName(ReferenceOf(object.Manifest))})
		}
	}
	p.Line(output.Span{Text: "digest  " + packed.Digest, Style: output.Faint})
	p.Line(output.Span{Text: "size    " + contentSizeOf(packed).String(), Style: output.Faint})
}

// ContentSize is how much room a content takes.
type ContentSize struct {
	// Bytes is what the Revision takes, as JSON, without its status.
	Bytes int `json:"bytes"`
	// Slices is how many ObjectSlices it refers to, and sliceBytes what they take.
	Slices     int `json:"slices"`
	SliceBytes int `json:"sliceBytes"`
	// Secrets is how many Secrets it refers to, and secretBytes what they take.
	Secrets     int `json:"secrets"`
	SecretBytes int `json:"secretBytes"`
}

func contentSizeOf(packed content.Packed) ContentSize {
	size := ContentSize{Slices: len(packed.Slices), Secrets: len(packed.Secrets)}
	if data, err := json.Marshal(packed.Phases); err == nil {
		size.Bytes = len(data)
	}
	for i := range packed.Slices {
		size.SliceBytes += len(packed.Slices[i].Data)
	}
	for i := range packed.Secrets {
		for _, data := range packed.Secrets[i].Data {
			size.SecretBytes += len(data)
		}
	}
	return size
}

// String is the size for people.
func (s ContentSize) String() string {
	text := sizeText(int64(s.Bytes))
	if s.Slices > 0 {
		text += fmt.Sprintf(", and %s in %s", sizeText(int64(s.SliceBytes)), CountOf(s.Slices, "ObjectSlice"))
	}
	if s.Secrets > 0 {
		text += fmt.Sprintf(", and %s in %s", sizeText(int64(s.SecretBytes)), CountOf(s.Secrets, "Secret"))
	}
	return text
}

// CountOf is a number with its noun.
func CountOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
