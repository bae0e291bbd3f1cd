// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// issuerTypes are the fields of an issuer's spec of which one is set.
var issuerTypes = []string{issuerACME, issuerCA, issuerSelfSigned, "vault", "venafi"}

// IssuerOf reads what matters of an Issuer, a ClusterIssuer or a Certificate. What is not as
// it should be is as if it were missing.
func IssuerOf(u *unstructured.Unstructured) Issuer {
	issuer := Issuer{Exists: true}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	for _, name := range issuerTypes {
		if _, ok := spec[name]; ok {
			issuer.Type = name
			break
		}
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if !ok || condition["type"] != "Ready" {
			continue
		}
		issuer.Message, _ = condition["message"].(string)
		// cert-manager says which spec it has looked at; of an older one nothing is known.
		observed, isSet := condition["observedGeneration"].(int64)
		issuer.Ready = condition["status"] == "True" && (!isSet || observed >= u.GetGeneration())
	}
	return issuer
}

// Signs says whether an issuer exists that can sign for a mesh, ready or not.
func (i Issuer) Signs() bool {
	return i.Exists && !slices.Contains([]string{issuerACME, issuerSelfSigned}, i.Type)
}

// CASecretOf is the name of the Secret that an issuer of type CA signs with, empty for
// another type.
func CASecretOf(u *unstructured.Unstructured) string {
	name, _, err := unstructured.NestedString(u.Object, "spec", "ca", "secretName")
	if err != nil {
		return ""
	}
	return name
}
