// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
)

// PackageName is the name of a Gateway's package: gateway-NAME, or for a long name
// gw- and its beginning with a digest of it.
func PackageName(gateway string) string {
	const short, long = "gateway-", "gw-"
	if name := short + gateway; len(name) <= maxPackage {
		return name
	}
	sum := sha256.Sum256([]byte(gateway))
	digest := hex.EncodeToString(sum[:])[:12]
	beginning := gateway[:maxPackage-len(long)-len(digest)-1]
	return long + strings.TrimRight(beginning, "-.") + "-" + digest
}

// RecordName is the name of a hostname's DNSRecord. It is what OpenShift's ingress
// operator calls it, so that records of before are taken over.
func RecordName(gateway, hostname string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(hostname + ".")) // never an error
	return gateway + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10)) + "-wildcard"
}
