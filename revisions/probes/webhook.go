// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// webhooksReady asks that the API server can verify the server behind every webhook
// of a configuration: each has a CA bundle with a certificate in it. Until then a
// webhook that fails closed rejects every request that it matches.
//
// A webhook that names its server by URL may do without: the API server then uses
// the trust roots of its own system, which know public certificates. The server of
// a Service never has such a certificate.
func webhooksReady(content map[string]any) Result {
	var lacking []string
	for i, entry := range listAt(content, "webhooks") {
		webhook, _ := entry.(map[string]any)
		config := mapAt(webhook, "clientConfig")
		bundle := stringAt(config, "caBundle")
		if bundle == "" && stringAt(config, "url") != "" || hasCertificate(bundle) {
			continue
		}
		name := stringAt(webhook, "name")
		if name == "" {
			name = fmt.Sprintf("webhooks[%d]", i)
		}
		lacking = append(lacking, describe(name))
	}
	if len(lacking) == 0 {
		return Result{Status: True}
	}
	return NewResult(False, "no certificate in .clientConfig.caBundle of the webhook "+strings.Join(lacking, ", "))
}

// hasCertificate tells a bundle from an empty one and from the placeholder (a
// line break, for example) that generators put there for a later injection.
func hasCertificate(bundle string) bool {
	if bundle == "" {
		return false
	}
	pem, err := base64.StdEncoding.DecodeString(bundle)
	return err == nil && bytes.Contains(pem, []byte("-----BEGIN CERTIFICATE-----"))
}
