// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// A cluster with nothing but config/default has no definition of a front. The manager rolls
// out packages there, whether its fronts are switched off or wait for their definitions.
func TestCoreAlone(t *testing.T) {
	for name, fronts := range map[string][]string{"NoFront": nil, "FrontsWait": controller.AllFronts} {
		t.Run(name, func(t *testing.T) {
			c := newBareCluster(t)
			c.applyKustomization()
			options := setup.ManagerOptions()
			options.Fronts = fronts
			c.must(c.plane.StartManager(options))
			c.rollOut()
		})
	}
}

// asks counts how often the API server is asked which kinds it serves, whichever client asks,
// and does something before the second time: awaitManager asks whether those of Strata are,
// and then makes the manager, which asks again.
type asks struct {
	count  atomic.Int64
	second func()
}

func (a *asks) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/apis" {
			if a.count.Add(1) == 2 {
				a.second()
			}
		}
		return next.RoundTrip(r)
	})
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A definition that goes after the manager has seen it, and before it is made, is waited for
// like one that was never there.
func TestDefinitionGoesBeforeTheManagerIsMade(t *testing.T) {
	c := newCluster(t)
	config, err := c.plane.ConfigFor(setup.Manager, setup.ManagerGroups...)
	c.must(err)
	gone := make(chan struct{})
	config.Wrap((&asks{second: func() {
		c.deleteDefinitions("revisions.strata.run")
		c.awaitGone("revisions.strata.run")
		c.awaitUnserved("revisions")
		close(gone)
	}}).wrap)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx, config, setup.ManagerOptions()) }()
	t.Cleanup(func() { // before the plane stops
		cancel()
		select {
		case err := <-ended:
			c.must(err)
		case <-time.After(time.Minute):
			c.Error("the manager has not ended a minute after it was asked to")
		}
	})
	select {
	case <-gone:
	case err := <-ended:
		t.Fatalf("the manager has ended before it was made: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the API server was asked once only")
	}
	c.install()
	c.rollOut()
	select {
	case err := <-ended:
		t.Fatalf("the manager has ended: %v", err)
	default:
	}
}

// awaitUnserved waits until the API server lists a kind of Strata no more.
func (c *cluster) awaitUnserved(resource string) {
	c.Helper()
	kinds, err := discovery.NewDiscoveryClientForConfig(c.plane.Config())
	c.must(err)
	planetest.Eventually(c.T, resource+" are not served", func() (bool, error) {
		_, lists, err := kinds.ServerGroupsAndResources()
		for _, list := range lists {
			if list.GroupVersion == v1alpha1.GroupVersion.String() && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
				return false, fmt.Errorf("served: %v, %w", list.APIResources, err)
			}
		}
		return len(lists) > 0, err
	})
}
