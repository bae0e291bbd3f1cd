// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"
)

// State is what there is to say about a mesh's CAs.
type State struct {
	// Source is where the CAs come from, for example "ConfigMap mesh/ca, key ca.crt".
	Source string
	// Roots are the CAs that are served, in the bundle's order. Empty: there is no
	// bundle yet.
	Roots []Root
	// Problem is why the bundle is not what the source asks for. Nil: it is.
	Problem *Problem
	// Expired are the names of the source's CAs that have expired and are left out.
	Expired []string
	// Undropped says of each digest in [Input.Dropped] why its CA is served nevertheless,
	// or that no CA has it.
	Undropped []string
	// Next is when time alone changes something: an old CA goes, or a CA expires.
	// Zero: nothing does.
	Next time.Time
}

// Root is one CA, for a status.
type Root struct {
	// Name is the CA's own, quoted and at most 64 bytes of it.
	Name string
	// Digest begins the SHA-256 of the certificate, in hexadecimal digits.
	Digest string
	// NotAfter is when the CA expires.
	NotAfter time.Time
	// Late is when it is high time to replace the CA: a tenth of its lifetime, and at
	// most 30 days, before it expires. Who renews CAs has done so by then.
	Late time.Time
	// Old says that the source no longer has the CA.
	Old bool
	// Until is when an old CA goes. Zero: not while the istiod certificate leads to it.
	Until time.Time
}

// Ending are the CAs that are about to expire and that the source still contains.
// successor for.
func (s State) Ending(now time.Time) []Root {
	var ending []Root
	for _, root := range s.Roots {
		if !root.Old && !now.Before(root.Late) {
			ending = append(ending, root)
		}
	}
	return ending
}

// Problem is why the bundle is not what the source asks for.
type Problem struct {
	// Waiting says that a controller is about to solve it. Else only the user can.
	Waiting bool
	// Message names the object, what is wrong with it, the remedy, and what is served
	// in the meantime.
	Message string
}

// Again is how long nothing changes by time alone: at least a second, 0 for ever.
func (s State) Again(now time.Time) time.Duration {
	if s.Next.IsZero() {
		return 0
	}
	return max(s.Next.Sub(now), time.Second)
}

// state describes a bundle.
func (b Bundle) state(source string) State {
	s := State{Source: source}
	for _, ca := range b {
		s.Roots = append(s.Roots, Root{
			Name: Name(ca.Certificate), Digest: ca.Digest(), NotAfter: ca.Certificate.NotAfter, Late: ca.late(), Old: ca.Old, Until: ca.Until,
		})
	}
	return s
}
