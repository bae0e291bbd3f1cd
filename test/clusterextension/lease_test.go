// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// olmNamespace is where the other controller has its lease, and olmDuration how long that is valid.
const (
	olmNamespace = "olmv1-system"
	olmDuration  = 10 * time.Second
)

// leadAsOLM holds OLM's lease and renews it, as OLM's own controller does, until it is frozen: it
// stops renewing then, and releases nothing.
func leadAsOLM(t *testing.T, who string) (freeze func()) {
	t.Helper()
	clients := kubernetes.NewForConfigOrDie(cluster.Config())
	ctx, cancel := context.WithCancel(t.Context())
	led := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: olmNamespace, Name: "9c4404e7.operatorframework.io"},
			Client:    clients.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: who},
		},
		LeaseDuration: olmDuration, RenewDeadline: olmDuration * 4 / 5, RetryPeriod: time.Second,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(led) }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); elector.Run(ctx) }()
	select {
	case <-led:
	case <-time.After(time.Minute):
		t.Fatal("the lease was not got within a minute")
	}
	return func() { cancel(); <-ended }
}

// extensionNamed makes a ClusterExtension.
func extensionNamed(t *testing.T, name string) *olmv1.ClusterExtension {
	t.Helper()
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: name}}
	ce.Spec.Namespace = "default"
	ce.Spec.Source = olmv1.SourceConfig{SourceType: "Catalog", Catalog: &olmv1.CatalogFilter{PackageName: "demo"}}
	if err := admin.Create(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	return ce
}

// isTouched says whether the front has written to a ClusterExtension.
func isTouched(t *testing.T, ce *olmv1.ClusterExtension) (bool, error) {
	t.Helper()
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(ce), ce)
	return len(ce.Finalizers) > 0 || len(ce.Status.Conditions) > 0, err
}

// isLeft says whether it has not.
func isLeft(t *testing.T, ce *olmv1.ClusterExtension) (bool, error) {
	t.Helper()
	touched, err := isTouched(t, ce)
	return !touched, err
}

// eventCount is how many events of a reason there are on the lease.
func eventCount(t *testing.T, reason string) (int, error) {
	t.Helper()
	list := &eventsv1.EventList{}
	err := admin.List(t.Context(), list, client.InNamespace(olmNamespace))
	count := 0
	for i := range list.Items {
		if list.Items[i].Reason == reason {
			count++
		}
	}
	return count, err
}

// TestLease: the front writes nothing while OLM's own controller leads, takes over when that has
// frozen, and leaves off again when it comes back.
func TestLease(t *testing.T) {
	err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: olmNamespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) { // another test has releases in it
		t.Fatal(err)
	}
	freeze := leadAsOLM(t, "olm-one")
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--cache-dir="+t.TempDir())
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	first := extensionNamed(t, "first")
	planetest.Eventually(t, "the front says that it leaves off", func() (bool, error) {
		count, err := eventCount(t, "LeftToOLM")
		return count == 1, err
	})
	planetest.Stays(t, olmDuration*5/2, "nothing is written while OLM leads", func() (bool, error) { return isLeft(t, first) })

	freeze()
	frozen := time.Now()
	planetest.Eventually(t, "the front takes over", func() (bool, error) { return isTouched(t, first) })
	if waited := time.Since(frozen); waited < olmDuration {
		t.Errorf("the front took over %v after the last renewal, before the lease had expired", waited)
	}
	planetest.Eventually(t, "the status says that there is no catalog", func() (bool, error) {
		_, err := isTouched(t, first)
		c := meta.FindStatusCondition(first.Status.Conditions, olmv1.TypeProgressing)
		return c != nil && c.Reason == olmv1.ReasonRetrying && len(first.Status.Conditions) == 7, err
	})

	freeze = leadAsOLM(t, "olm-two")
	defer freeze()
	planetest.Eventually(t, "the front says so again", func() (bool, error) {
		left, err := eventCount(t, "LeftToOLM")
		if err != nil {
			return false, err
		}
		taken, err := eventCount(t, "TakenOver")
		return left == 2 && taken == 1, err
	})
	second := extensionNamed(t, "second")
	planetest.Stays(t, olmDuration, "nothing is written while OLM leads again", func() (bool, error) { return isLeft(t, second) })
}
