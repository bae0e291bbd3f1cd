// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// SecretKey is the key of a Secret's data that holds the manifests.
	SecretKey = "manifests"

	// KeySize is how many bytes the key of a Packer has.
	KeySize = 32

	// saltSize is how many bytes a salt has: more than can be guessed.
	saltSize = 16
)

// IsSecret says whether a manifest is a core Secret. Such manifests stand neither
// in Revisions nor in ObjectSlices.
func IsSecret(manifest *unstructured.Unstructured) bool {
	return manifest.GetKind() == "Secret" && manifest.GetAPIVersion() == "v1"
}

// HasSecrets says whether phases hold manifests of kind Secret, for which a Packer
// needs a key.
func HasSecrets(phases []Phase) bool {
	for _, phase := range phases {
		for _, object := range phase.Objects {
			if IsSecret(object.Manifest) {
				return true
			}
		}
	}
	return false
}

// Sealed is a manifest of kind Secret as it is stored, with its salt.
//
// The names of stored content and the digests of revisions can be read by everyone
// who may read Revisions. Were they digests of the manifest alone, anyone could try
// passwords against them. So a salt is stored with the manifest, and is part of
// what they are digests of. It is made from the manifest with a key that only those
// have who may read Secrets: equal manifests have equal salts and equal digests, and
// without the key no guess can be checked.
type Sealed struct {
	// Manifest is the Secret.
	Manifest *unstructured.Unstructured
	// Salt is a hexadecimal number that cannot be guessed. It may stand in nothing
	// that can be read without the manifest.
	Salt string
	// Digest is the part that the manifest has in the revision's digest.
	Digest string
}

// seal is the line that is stored of a Secret's manifest, given its canonical JSON.
func seal(key, canonical []byte) ([]byte, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("storing a Secret takes a key of %d bytes, and this one has %d", KeySize, len(key))
	}
	code := hmac.New(sha256.New, key)
	code.Write(canonical)
	salt := hex.EncodeToString(code.Sum(nil)[:saltSize])
	return fmt.Appendf(nil, `{"manifest":%s,"salt":%q}`, canonical, salt), nil
}

// UnpackSecret reads the manifests of a Secret that Pack has made, and proves that
// they are what the Secret's name says. What is wrong is an *UnavailableError,
// which quotes nothing that the Secret holds.
func UnpackSecret(secret *corev1.Secret) ([]Sealed, error) {
	altered := func(format string, args ...any) error {
		return &UnavailableError{Secret: secret.Namespace + "/" + secret.Name, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case secret.Type != v1alpha1.SecretTypeManifests:
		return nil, altered("is not of type %s", v1alpha1.SecretTypeManifests)
	case secret.Immutable == nil || !*secret.Immutable:
		return nil, altered("is not immutable")
	}
	raw, err := inflate(secret.Data[SecretKey])
	if err != nil {
		return nil, altered("%v", err)
	}
	if SliceName(raw) != secret.Name {
		return nil, altered("contains other content than its name says")
	}
	var all []Sealed
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		var stored struct {
			Manifest json.RawMessage `json:"manifest"`
			Salt     string          `json:"salt"`
		}
		manifest := &unstructured.Unstructured{}
		// The errors are left out: they may quote what they could not read.
		if json.Unmarshal(line, &stored) != nil || manifest.UnmarshalJSON(stored.Manifest) != nil {
			return nil, altered("contains a manifest that cannot be read")
		}
		if !IsSecret(manifest) {
			return nil, altered("holds a manifest of kind %s, and may hold Secrets only", manifest.GetKind())
		}
		all = append(all, Sealed{Manifest: manifest, Salt: stored.Salt, Digest: ObjectDigest(line)})
	}
	return all, nil
}
