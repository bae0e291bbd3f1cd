// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// The keys of Secrets with credentials, of the types kubernetes.io/dockerconfigjson and dockercfg.
const (
	keyDockerConfigJSON = ".dockerconfigjson"
	keyDockerConfig     = ".dockercfg"
)

// Credentials are those of one or more pull secrets. They are kept in memory only.
type Credentials []credential

// credential is for the repositories below a host and a path.
type credential struct {
	host, path string
	auth       authn.AuthConfig
}

// dockerAuth is an entry of a pull secret.
type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// ParseSecret reads the data of a pull secret. An error means that it has none of the known keys, or
// that its content does not parse; the text has nothing of the content.
func ParseSecret(data map[string][]byte) (Credentials, error) {
	auths := map[string]dockerAuth{}
	if raw, found := data[keyDockerConfigJSON]; found {
		config := struct {
			Auths map[string]dockerAuth `json:"auths"`
		}{}
		if json.Unmarshal(raw, &config) != nil {
			return nil, fmt.Errorf("the value of %s is no JSON of a Docker configuration", keyDockerConfigJSON)
		}
		auths = config.Auths
	} else if raw, found := data[keyDockerConfig]; found {
		if json.Unmarshal(raw, &auths) != nil {
			return nil, fmt.Errorf("the value of %s is no JSON of a Docker configuration", keyDockerConfig)
		}
	} else {
		return nil, fmt.Errorf("it has neither the key %s nor %s", keyDockerConfigJSON, keyDockerConfig)
	}
	var result Credentials
	for place, entry := range auths {
		one := credential{auth: authn.AuthConfig{Username: entry.Username, Password: entry.Password, IdentityToken: entry.IdentityToken, RegistryToken: entry.RegistryToken}}
		one.host, one.path = placeOf(place)
		if entry.Auth != "" {
			decoded, err := base64.StdEncoding.DecodeString(entry.Auth)
			user, password, found := strings.Cut(string(decoded), ":")
			if err != nil || !found {
				return nil, fmt.Errorf("the auth of %q is not the base64 of a user, a colon and a password", place)
			}
			one.auth.Username, one.auth.Password = user, strings.TrimRight(password, "\x00")
		}
		result = append(result, one)
	}
	return result, nil
}

// placeOf splits what credentials are for: a host with an optional scheme, port and path.
func placeOf(place string) (host, folder string) {
	place = strings.TrimPrefix(strings.TrimPrefix(place, "https://"), "http://")
	host, folder, _ = strings.Cut(place, "/")
	folder = strings.Trim(folder, "/")
	if folder == "v1" || folder == "v2" { // an address of the registry's API
		folder = ""
	}
	return canonicalHost(host), folder
}

// canonicalHost is one name for the hosts of Docker Hub.
func canonicalHost(host string) string {
	if host == "docker.io" || host == "registry-1.docker.io" {
		return "index.docker.io"
	}
	return host
}

// Resolve finds the credentials for a repository: those with the longest path that it is below.
func (c Credentials) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	host, folder, _ := strings.Cut(resource.String(), "/")
	best := -1
	for i, one := range c {
		if matchesHost(one.host, canonicalHost(host)) && isBelow(folder, one.path) && (best < 0 || one.length() > c[best].length()) {
			best = i
		}
	}
	if best < 0 {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(c[best].auth), nil
}

// length orders credentials: a path before a host, and an exact host before a pattern.
func (c credential) length() int {
	length := 2 * len(c.path)
	if !strings.Contains(c.host, "*") {
		length++
	}
	return length
}

// matchesHost compares label by label, as a pattern such as *.example.com is one for each.
func matchesHost(pattern, host string) bool {
	patterns, labels := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(patterns) != len(labels) {
		return false
	}
	for i := range patterns {
		if matched, err := path.Match(patterns[i], labels[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

func isBelow(name, folder string) bool {
	return folder == "" || name == folder || strings.HasPrefix(name, folder+"/")
}
