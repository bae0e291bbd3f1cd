// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestIstiod(t *testing.T) {
	content, err := Istiod()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for document := range strings.SplitSeq(string(content), "---\n") {
		var stage struct {
			Kind string
			Spec struct {
				ResourceRef struct{ APIGroup, Kind string }
				Selector    struct{ MatchExpressions []struct{ Key string } }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &stage); err != nil {
			t.Fatalf("a stage is no YAML: %v\n%s", err, document)
		}
		if stage.Kind != "Stage" || len(stage.Spec.Selector.MatchExpressions) != 2 {
			t.Errorf("a document is a %s with %d selectors, want a Stage with 2", stage.Kind, len(stage.Spec.Selector.MatchExpressions))
		}
		kinds[stage.Spec.ResourceRef.Kind] = true
		checkBundle(t, document)
	}
	if len(kinds) != 2 || !kinds["MutatingWebhookConfiguration"] || !kinds["ValidatingWebhookConfiguration"] {
		t.Errorf("the stages are for %v, want both kinds of webhook configuration", kinds)
	}
}

// checkBundle proves that what a stage writes is a certificate that the API server
// and our own probe take.
func checkBundle(t *testing.T, document string) {
	t.Helper()
	match := regexp.MustCompile(`"value": "([^"]+)"`).FindStringSubmatch(document)
	if match == nil {
		t.Fatalf("the stage writes no value:\n%s", document)
	}
	data, err := base64.StdEncoding.DecodeString(match[1])
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatalf("the bundle is no PEM: %s", data)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !certificate.IsCA {
		t.Error("the bundle's certificate is no CA")
	}
}
