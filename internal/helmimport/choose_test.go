// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestImporter_Choose(t *testing.T) {
	cases := map[string]struct {
		reason string
		// statuses are those of versions 1, 2, ...
		statuses []string
		want     int
		later    []int
		refused  string
	}{
		"Newest":        {reason: "the newest is deployed", statuses: []string{"superseded", "deployed"}, want: 2},
		"Failed":        {reason: "a failed upgrade leaves the one before deployed", statuses: []string{"superseded", "deployed", "failed"}, want: 2, later: []int{3}},
		"Pending":       {reason: "so does one that was interrupted", statuses: []string{"deployed", "failed", "pending-upgrade"}, want: 1, later: []int{3, 2}},
		"TenIsMore":     {reason: "versions are numbers, not texts", statuses: []string{"", "deployed", "", "", "", "", "", "", "superseded", "deployed"}, want: 10},
		"TwiceDeployed": {reason: "an interrupted helm may leave two: the newest counts", statuses: []string{"deployed", "deployed"}, want: 2},
		"AllFailed":     {reason: "what was never installed cannot be imported", statuses: []string{"failed", "failed"}, refused: "helm upgrade"},
		"Uninstalling":  {reason: "what goes is not imported", statuses: []string{"deployed", "uninstalling"}, refused: "is uninstalling"},
		"Uninstalled":   {reason: "with --keep-history a release that is gone is still known", statuses: []string{"superseded", "uninstalled"}, refused: "is uninstalled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for n, status := range tc.statuses {
				if status != "" {
					objects = append(objects, version(t, n+1, status, ""))
				}
			}
			choice, err := cluster(t, objects...).Choose(t.Context(), "shop", "web")
			if tc.refused != "" {
				wantsAll(t, tc.reason, err, tc.refused, "shop/web")
				if !isRefusal(err) {
					t.Errorf("%s: error %q is no refusal", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var later []int
			for _, r := range choice.Later {
				later = append(later, r.Version)
			}
			if choice.Release.Version != tc.want || !cmp.Equal(later, tc.later) {
				t.Errorf("%s: got version %d and later %v, want %d and %v", tc.reason, choice.Release.Version, later, tc.want, tc.later)
			}
			if len(choice.Secrets) != len(objects) {
				t.Errorf("%s: %d Secrets are known, want all %d", tc.reason, len(choice.Secrets), len(objects))
			}
		})
	}
}

func TestImporter_ChooseErrors(t *testing.T) {
	other := version(t, 1, "deployed", "")
	other.Name, other.Labels["name"] = "sh.helm.release.v1.api.v1", "api"
	_, err := cluster(t, other).Choose(t.Context(), "shop", "web")
	wantsAll(t, "the releases that exist are named", err, "no Helm release web", "there are: api")
	if _, ok := errors.AsType[*NotFoundError](err); !ok {
		t.Errorf("error %q is no NotFoundError", err)
	}
	_, err = cluster(t).Choose(t.Context(), "shop", "web")
	wantsAll(t, "Helm can also keep releases elsewhere", err, "kept in Secrets")

	cases := map[string]struct {
		reason string
		change func(*corev1.Secret)
		want   string
	}{
		"Data":    {reason: "a newest version that cannot be read may be the one that runs", change: func(s *corev1.Secret) { s.Data = nil }, want: "data.release is missing"},
		"Label":   {reason: "a version that is no number", change: func(s *corev1.Secret) { s.Labels["version"] = "new" }, want: `"new"`},
		"Another": {reason: "labels that say something else than the content", change: func(s *corev1.Secret) { s.Labels["version"] = "7" }, want: "its labels say web version 7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bad := version(t, 2, "deployed", "")
			tc.change(bad)
			_, err := cluster(t, version(t, 1, "superseded", ""), bad).Choose(t.Context(), "shop", "web")
			wantsAll(t, tc.reason, err, "Secret shop/sh.helm.release.v1.web.v2", tc.want)
		})
	}
}
