// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Policy says which images may be pulled, by a file such as
//
//	default: reject
//	images:
//	  registry.example/team: accept
//
// Of the entries of images that name the registry or a folder that an image is in, the longest counts.
// The file is read for each image, and one that does not parse rejects all: nothing is accepted
// because what forbids it could not be read. A file that asks for signatures, as the policy.json of other
// tools may, is refused: they are not verified.
type Policy struct{ path string }

// policyFile is the content of the file.
type policyFile struct {
	Default string            `json:"default"`
	Images  map[string]string `json:"images"`
}

// The answers of a policy.
const (
	policyAccept = "accept"
	policyReject = "reject"
)

// NewPolicy reads the file, so that a wrong one is found at start.
func NewPolicy(path string) (*Policy, error) {
	policy := &Policy{path: path}
	if _, err := policy.read(); err != nil {
		return nil, err
	}
	return policy, nil
}

func (p *Policy) read() (policyFile, error) {
	file := policyFile{}
	raw, err := os.ReadFile(p.path)
	if err != nil {
		return file, fmt.Errorf("reading the image policy: %w", err)
	}
	if asksForSignatures(raw) {
		return file, fmt.Errorf("reading the image policy %s: it is in the format of containers-policy.json, and signatures of images are not verified: "+
			"write a file with default: %s or %s, and verify signatures by mirroring only what is signed", p.path, policyAccept, policyReject)
	}
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		return file, fmt.Errorf("reading the image policy %s: %w", p.path, err)
	}
	if !isAnswer(file.Default) {
		return file, fmt.Errorf("reading the image policy %s: default is %q, and has to be %s or %s", p.path, file.Default, policyAccept, policyReject)
	}
	for scope, answer := range file.Images {
		if !isAnswer(answer) {
			return file, fmt.Errorf("reading the image policy %s: %q is for %q, and has to be %s or %s", p.path, answer, scope, policyAccept, policyReject)
		}
	}
	return file, nil
}

// asksForSignatures says whether a file is in the format of containers-policy.json, whose default is a list
// of requirements.
func asksForSignatures(raw []byte) bool {
	other := struct {
		Default    []map[string]any `json:"default"`
		Transports map[string]any   `json:"transports"`
	}{}
	return yaml.Unmarshal(raw, &other) == nil && (len(other.Default) > 0 || len(other.Transports) > 0)
}

func isAnswer(text string) bool { return text == policyAccept || text == policyReject }

// check returns an error for an image that may not be pulled. Without a policy all may.
func (p *Policy) check(image string) error {
	if p == nil {
		return nil
	}
	file, err := p.read()
	if err != nil {
		return &Error{Kind: Rejected, Image: image, Text: err.Error(), cause: err}
	}
	named, err := parse(image)
	if err != nil {
		return &Error{Kind: Invalid, Image: image, Text: err.Error(), cause: err}
	}
	answer, longest, by := file.Default, -1, "its default"
	for scope, given := range file.Images {
		scope = strings.TrimSuffix(scope, "/")
		if isBelow(named.Name(), scope) && len(scope) > longest {
			answer, longest, by = given, len(scope), fmt.Sprintf("its entry %q", scope)
		}
	}
	if answer == policyReject {
		return &Error{Kind: Rejected, Image: image, Text: fmt.Sprintf("the image policy %s rejects it, by %s", p.path, by)}
	}
	return nil
}
