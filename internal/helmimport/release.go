// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// releaseType is the type of the Secrets that Helm 3 and 4 keep releases in, a
	// Secret for each version.
	releaseType = "helm.sh/release.v1"

	// secretKey is the key of such a Secret's data.
	secretKey = "release"

	// inflateLimit bounds what a release may inflate to, in bytes: the chart and the
	// manifest of one that fits a Secret take a few megabytes.
	inflateLimit = 32 << 20
)

// Statuses of a release that matter here; Helm has more.
const (
	statusDeployed     = "deployed"
	statusSuperseded   = "superseded"
	statusUninstalled  = "uninstalled"
	statusUninstalling = "uninstalling"
)

// Release is one version of a Helm release.
type Release struct {
	// Namespace and Name are the release's.
	Namespace, Name string
	// Version is the number of the version, from 1; Helm calls it the revision.
	Version int
	// Status is Helm's, such as deployed or failed.
	Status string
	// Deployed is when it was installed, zero when that is not on record.
	Deployed time.Time
	// Chart, ChartVersion and AppVersion are those of the chart.
	Chart, ChartVersion, AppVersion string
	// Manifest contains the objects, hooks apart.
	Manifest string
	// Hooks are the chart's.
	Hooks []Hook
	// CRDs are the files of the chart's folder crds/, sorted by name. Helm does not
	// keep those of charts that the chart depends on.
	CRDs []File
}

// Hook is an object that Helm creates at an event, and then leaves alone.
type Hook struct {
	// Kind and Name are the object's.
	Kind, Name string
	// Events are when it is created, such as pre-upgrade, sorted.
	Events []string
}

// File is a file of a chart.
type File struct {
	Name string
	Data []byte
}

// String is the release as people write it.
func (r Release) String() string {
	return fmt.Sprintf("%s/%s version %d", r.Namespace, r.Name, r.Version)
}

// stored is what is read of the JSON that Helm writes.
type stored struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Info    struct {
		Status   string `json:"status"`
		Deployed string `json:"last_deployed"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Name       string `json:"name"`
			Version    string `json:"version"`
			AppVersion string `json:"appVersion"`
		} `json:"metadata"`
		Files []struct {
			Name string `json:"name"`
			Data []byte `json:"data"`
		} `json:"files"`
	} `json:"chart"`
	Manifest string `json:"manifest"`
	Hooks    []struct {
		Kind   string   `json:"kind"`
		Name   string   `json:"name"`
		Events []string `json:"events"`
	} `json:"hooks"`
}

// decode reads the release that a Secret contains. The error names the Secret, and
// quotes nothing of what it contains.
func decode(secret *corev1.Secret) (Release, error) {
	release, err := decodeData(secret)
	if err != nil {
		return Release{}, fmt.Errorf("reading the release in Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	release.Namespace = secret.Namespace
	return release, nil
}

func decodeData(secret *corev1.Secret) (Release, error) {
	switch {
	case secret.Type != releaseType:
		return Release{}, fmt.Errorf("its type is %q, not %s", secret.Type, releaseType)
	case len(secret.Data[secretKey]) == 0:
		return Release{}, fmt.Errorf("data.%s is missing", secretKey)
	}
	text, err := inflate(secret.Data[secretKey])
	if err != nil {
		return Release{}, fmt.Errorf("data.%s: %w", secretKey, err)
	}
	var s stored
	// The error is left out, as it may quote a value.
	if json.Unmarshal(text, &s) != nil {
		return Release{}, fmt.Errorf("data.%s does not contain a release as JSON", secretKey)
	}
	if s.Name == "" || s.Version < 1 || s.Info.Status == "" {
		return Release{}, fmt.Errorf("data.%s lacks name, version or status", secretKey)
	}
	return s.release(), nil
}

// inflate undoes base64 and gzip. What was stored before Helm compressed releases
// is not gzip'd.
func inflate(data []byte) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return nil, fmt.Errorf("decoding base64: %w", err)
	}
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b, 0x08}) {
		return packed, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("inflating: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, inflateLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("inflating: %w", err)
	case len(text) > inflateLimit:
		return nil, fmt.Errorf("inflating: more than %d bytes", inflateLimit)
	}
	return text, nil
}

func (s stored) release() Release {
	meta := s.Chart.Metadata
	r := Release{
		Name: s.Name, Version: s.Version, Status: s.Info.Status, Manifest: s.Manifest,
		Chart: meta.Name, ChartVersion: meta.Version, AppVersion: meta.AppVersion,
	}
	// Helm writes an empty text for a time that is not set.
	if deployed, err := time.Parse(time.RFC3339, s.Info.Deployed); err == nil {
		r.Deployed = deployed
	}
	for _, hook := range s.Hooks {
		slices.Sort(hook.Events)
		r.Hooks = append(r.Hooks, Hook{Kind: hook.Kind, Name: hook.Name, Events: hook.Events})
	}
	for _, file := range s.Chart.Files {
		if strings.HasPrefix(file.Name, "crds/") && hasManifestExtension(file.Name) {
			r.CRDs = append(r.CRDs, File{Name: file.Name, Data: file.Data})
		}
	}
	slices.SortFunc(r.CRDs, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func hasManifestExtension(name string) bool {
	return slices.ContainsFunc([]string{".yaml", ".yml", ".json"}, func(extension string) bool { return strings.HasSuffix(name, extension) })
}

// NotFoundError says that there is no such release.
type NotFoundError struct {
	// Namespace and Name are those asked for.
	Namespace, Name string
	// Exist are the names of the releases in the namespace, sorted.
	Exist []string
}

// Error names the releases that there are.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("namespace %s has no Helm release %s", e.Namespace, e.Name)
	if len(e.Exist) == 0 {
		return text + ", nor any other that is kept in Secrets"
	}
	return text + "; there are: " + strings.Join(e.Exist, ", ")
}

// RefusedError says that a release, or a plan, cannot be imported as it is.
type RefusedError struct{ Reasons []string }

// Error lists the reasons.
func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "\n") }

// isRefusal tells a refusal from other errors.
func isRefusal(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}
