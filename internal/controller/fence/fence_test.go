// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is a lock whose lease names a holder.
type lease struct {
	resourcelock.Interface

	holder string
	err    error
}

func (l *lease) Identity() string { return "a" }

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *lease) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }
func (l *lease) Update(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }

// guarded is a fence with a lease and a clock.
type guarded struct {
	*Fence

	lock  resourcelock.Interface
	lease *lease
	at    time.Time
	lost  error
}

func newGuarded() *guarded {
	g := &guarded{at: time.Now(), lease: &lease{holder: "a"}}
	g.Fence = New(15*time.Second, func(err error) { g.lost = err })
	g.now = func() time.Time { return g.at }
	g.lock = g.Lock(g.lease)
	return g
}

func (g *guarded) renew(t *testing.T) {
	t.Helper()
	if err := g.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err != nil {
		t.Fatal(err)
	}
}

// send sends a request, and returns it as it was let through.
func (g *guarded) send(t *testing.T, method, path string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://api"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	sent := ""
	response, err := g.Wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.URL.RequestURI()
		return &http.Response{Body: http.NoBody}, nil
	})).RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	return sent, err
}

const configMaps = "/api/v1/namespaces/app/configmaps/a"

func TestFence_Wrap(t *testing.T) {
	tests := map[string]struct {
		reason string
		// before happens to a manager that has just renewed its lease.
		before       func(t *testing.T, g *guarded)
		method, path string
		want         string
		wantErr      error
	}{
		"Leads": {
			reason: "the API server is asked to drop what is not done before another manager can lead",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Add(2 * time.Second) }, want: configMaps + "?timeout=13s",
		},
		"Frozen": {
			reason: "time has passed without a renewal",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Add(20 * time.Second) }, wantErr: ErrStale,
		},
		"FrozenWithItsMachine": {
			reason: "only the wall clock has gone on",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Round(0).Add(20 * time.Second) }, wantErr: ErrStale,
		},
		"TooLittleLeft": {
			reason: "a write that could be overtaken is not begun",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Add(12 * time.Second) }, wantErr: ErrStale,
		},
		"RenewedAgain": {
			reason: "no other manager has taken over, and the lease is held again",
			before: func(t *testing.T, g *guarded) { t.Helper(); g.at = g.at.Add(time.Minute); g.renew(t) }, want: configMaps + "?timeout=15s",
		},
		"RenewalFails": {
			reason: "a renewal that is refused is none",
			before: func(t *testing.T, g *guarded) {
				t.Helper()
				g.at, g.lease.err = g.at.Add(time.Minute), errors.New("conflict")
				if err := g.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err == nil {
					t.Error("the error of the lock is lost")
				}
			},
			wantErr: ErrStale,
		},
		"GivenBack": {
			reason: "a lease that is given back is another manager's at once",
			before: func(t *testing.T, g *guarded) {
				t.Helper()
				if err := g.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: ErrStale,
		},
		"Read": {
			reason: "reads change nothing",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Add(time.Hour) }, method: http.MethodGet, want: configMaps,
		},
		"Review": {
			reason: "a manager that waits for its turn serves metrics, and asks who may read them",
			before: func(_ *testing.T, g *guarded) { g.at = g.at.Add(time.Hour) },
			method: http.MethodPost, path: "/apis/authentication.k8s.io/v1/tokenreviews", want: "/apis/authentication.k8s.io/v1/tokenreviews",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGuarded()
			if _, err := g.send(t, http.MethodPatch, configMaps); !errors.Is(err, ErrStale) {
				t.Errorf("before the first renewal a write ends with %v, want %v", err, ErrStale)
			}
			g.renew(t)
			tc.before(t, g)
			if tc.method == "" {
				tc.method, tc.path = http.MethodPatch, configMaps
			}
			if tc.path == "" {
				tc.path = configMaps
			}
			if sent, err := g.send(t, tc.method, tc.path); sent != tc.want || !errors.Is(err, tc.wantErr) {
				t.Errorf("%s: sent %q, error %v; want %q, %v", tc.reason, sent, err, tc.want, tc.wantErr)
			}
		})
	}
}

// TestFence_Replaced: a manager ends at once when the lease names another one, and not
// before it has led.
func TestFence_Replaced(t *testing.T) {
	g := newGuarded()
	look := func() {
		if _, _, err := g.lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	g.lease.holder = "b"
	look()
	if g.lost != nil {
		t.Errorf("a manager that waits for its turn was ended: %v", g.lost)
	}
	g.lease.holder = "a"
	g.renew(t)
	look()
	if g.lost != nil {
		t.Errorf("a manager that leads was ended: %v", g.lost)
	}
	g.lease.holder = "b"
	look()
	if !errors.Is(g.lost, ErrReplaced) {
		t.Errorf("it was ended with %v, want %v", g.lost, ErrReplaced)
	}
	g.renew(t)
	if _, err := g.send(t, http.MethodPatch, configMaps); !errors.Is(err, ErrStale) {
		t.Errorf("a manager that was replaced writes: %v", err)
	}
}
