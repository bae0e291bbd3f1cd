// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/v1alpha1"
)

func TestOwnWrites(t *testing.T) {
	tests := map[string]struct {
		reason        string
		wrote, cached string // resourceVersions
		otherUID      bool
		want          string
	}{
		"CacheIsBehind":  {reason: "our own write counts until the cache has it", wrote: "12", cached: "11", want: "own"},
		"CacheIsLevel":   {reason: "the cache has our write", wrote: "12", cached: "12", want: "cached"},
		"CacheIsAhead":   {reason: "another client has written after us", wrote: "12", cached: "13", want: "cached"},
		"NumbersNotText": {reason: "9 is before 10", wrote: "10", cached: "9", want: "own"},
		"LongNumbers":    {reason: "resourceVersions may be large", wrote: "18446744073709551615", cached: "18446744073709551614", want: "own"},
		"AnotherObject":  {reason: "another object of the name is not ours", wrote: "12", cached: "11", otherUID: true, want: "cached"},
		"NoNumbers":      {reason: "what cannot be compared is believed", wrote: "b", cached: "a", want: "cached"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var o OwnWrites[*v1alpha1.Package]
			own, cached := &v1alpha1.Package{Status: v1alpha1.PackageStatus{Phase: "own"}}, &v1alpha1.Package{Status: v1alpha1.PackageStatus{Phase: "cached"}}
			own.UID, own.ResourceVersion = "u1", tc.wrote
			cached.UID, cached.ResourceVersion = "u1", tc.cached
			if tc.otherUID {
				cached.UID = "u2"
			}
			o.Wrote(own)
			if got := o.Newest(cached).Status.Phase; got != tc.want {
				t.Errorf("%s: the newest is the %s one, want the %s one", tc.reason, got, tc.want)
			}
		})
	}
}

// What the cache has seen is not remembered, and neither is what is gone.
func TestOwnWrites_Forget(t *testing.T) {
	state := func(uid types.UID, version string) *v1alpha1.Package {
		return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	var o OwnWrites[*v1alpha1.Package]
	o.ForgetOthers(nil)
	for _, uid := range []types.UID{"seen", "gone", "kept"} {
		o.Wrote(state(uid, "12"))
	}
	o.Newest(state("seen", "12"))
	o.ForgetOthers(map[types.UID]bool{"seen": true, "kept": true})
	for uid, want := range map[types.UID]string{"seen": "11", "gone": "11", "kept": "12"} {
		if got := o.Newest(state(uid, "11")).ResourceVersion; got != want {
			t.Errorf("%s: the newest is of resourceVersion %s, want %s", uid, got, want)
		}
	}
}

// A loop keeps what its own writes have returned until the cache tells that it has it,
// or that the object is gone, although no pass comes by.
func TestLoop_CaughtUp(t *testing.T) {
	state := func(uid types.UID, version string) *v1alpha1.Package {
		return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	var l Loop[v1alpha1.Package, *v1alpha1.Package]
	for _, uid := range []types.UID{"behind", "seen", "gone"} {
		l.own.Wrote(state(uid, "12"))
	}
	news := l.CaughtUp()
	passed := []bool{
		news.Update(event.UpdateEvent{ObjectNew: state("behind", "11")}),
		news.Update(event.UpdateEvent{ObjectNew: state("seen", "12")}),
		news.Delete(event.DeleteEvent{Object: state("gone", "13")}),
		news.Create(event.CreateEvent{Object: state("new", "14")}),
	}
	if slices.Contains(passed, false) {
		t.Errorf("news is kept from others: %v", passed)
	}
	for uid, want := range map[types.UID]string{"behind": "12", "seen": "1", "gone": "1"} {
		if got := l.own.Newest(state(uid, "1")).ResourceVersion; got != want {
			t.Errorf("%s: the newest is of resourceVersion %s, want %s", uid, got, want)
		}
	}
}
