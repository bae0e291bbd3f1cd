// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// TestNotices: an event says once which bundle was chosen, also when the manager is started anew.
func TestNotices(t *testing.T) {
	l := newLoop(t)
	l.create()
	choose := func(version string) {
		choice := resolve.Choice{Identity: resolve.Identity{Name: "p.v" + version, Version: version}, Image: "registry.example/p:1", Catalog: "operators"}
		l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &choice}
		l.is.bundle = rendered{image: "registry.example/p@sha256:" + version}
		l.pass()
		l.pass()
	}
	choose("1.0.0")
	l.recorded("Normal Resolved Resolved to bundle p.v1.0.0 1.0.0 of catalog operators")
	l.restart()
	choose("1.0.0")
	l.recorded()
	choose("1.1.0")
	choose("1.0.0")
	l.recorded("Normal Resolved Resolved to bundle p.v1.1.0 1.1.0 of catalog operators", "Normal Resolved Resolved to bundle p.v1.0.0 1.0.0 of catalog operators")
}

func TestNotices_Imported(t *testing.T) {
	l := newLoop(t)
	l.create()
	l.is.imported = &migration.Import{Package: "p", Bundle: resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}, Image: "registry.example/p@sha256:1"}
	l.pass()
	l.recorded("Normal Imported Imported bundle p.v1.0.0 1.0.0 as revision 1, from a release of OLM's own controller")
}

// recorded compares the events of the front itself since the last time.
func (l *loop) recorded(want ...string) {
	l.T.Helper()
	var got []string
	for {
		select {
		case event := <-l.events.Events:
			got = append(got, event)
			continue
		default:
		}
		break
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.T.Errorf("the events (-want +got):\n%s", diff)
	}
}

func TestCatalogEvents(t *testing.T) {
	read := func(at int64) *olmv1.ClusterCatalog {
		cc := &olmv1.ClusterCatalog{}
		unpacked := metav1.NewTime(time.Unix(at, 0))
		cc.Status.LastUnpacked = &unpacked
		cc.Status.ResolvedSource = &olmv1.ResolvedCatalogSource{Type: "Image", Image: &olmv1.ResolvedImageSource{Ref: "registry.example/catalog@sha256:1"}}
		return cc
	}
	for name, tc := range map[string]struct {
		before, after *olmv1.ClusterCatalog
		want          int
	}{
		"First":   {&olmv1.ClusterCatalog{}, read(1), 1},
		"Another": {read(1), read(2), 1},
		"Same":    {read(1), read(1), 0},
		"Dropped": {read(1), &olmv1.ClusterCatalog{}, 0},
	} {
		got := catalogEvents(tc.before, tc.after)
		if len(got) != tc.want || tc.want == 1 && got[0].Note != "Read another content of the catalog: registry.example/catalog@sha256:1" {
			t.Errorf("%s: %v", name, got)
		}
	}
}
