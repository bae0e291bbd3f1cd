// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// maxName is how long the names may be that are put together.
const maxName = 63

// suffixed is base-suffix, with the base cut so that the whole is not too long.
func suffixed(base, suffix string) string {
	if room := maxName - len(suffix) - 1; len(base) > room {
		base = base[:max(room, 0)]
	}
	return base + "-" + suffix
}

// roleName is the name that OLM gives the role of a permission, so that an extension which it has
// installed keeps its roles: equal permissions have equal names, others do not.
func roleName(csv string, p permission) (string, error) {
	hash := sha256.New224()
	// The encoder escapes for HTML and ends with a line break; both count.
	if err := json.NewEncoder(hash).Encode(p); err != nil {
		return "", fmt.Errorf("naming the role of ServiceAccount %s: %w", p.ServiceAccountName, err)
	}
	suffix := new(big.Int).SetBytes(hash.Sum(nil)).Text(36)
	return suffixed(csv+"-"+p.account(), suffix), nil
}

// serviceName is the Service before the webhooks of a Deployment.
func serviceName(deployment string) string {
	return suffixed(strings.ReplaceAll(deployment, ".", "-"), "service")
}

// certificateName is the Certificate of a Service, and its Secret.
func certificateName(deployment string) string { return suffixed(serviceName(deployment), "cert") }
