// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Source is where the CAs come from, and what was found there.
type Source struct {
	// Name says where, for example "ConfigMap mesh/ca, key ca.crt".
	Name string
	// PEM is what was found.
	PEM []byte
	// Missing says why nothing was found, for example "the ConfigMap does not exist".
	// Empty: something was.
	Missing string
	// Waiting says that a controller is about to provide what is missing, so that the user
	// has nothing to do.
	Waiting bool
	// Chosen says that the user named the CAs. Then no CA is served, during a rotation
	// either, that was not among them before.
	Chosen bool
}

// Input is everything that is known.
type Input struct {
	// Now is the time.
	Now time.Time
	// Source is where the CAs come from.
	Source Source
	// Certificate names the object with the istiod certificate, for messages.
	Certificate string
	// Issued is the istiod certificate with its chain, in PEM, and IssuedCA the CA that
	// the issuer said it was signed by. Issued is empty until there is one.
	Issued, IssuedCA []byte
	// Signing is the certificate, with its chain, that an issuer of type CA signs with
	// from now on, in PEM. Empty for other issuers.
	Signing []byte
	// Serving is the bundle that is served now. Empty: none is.
	Serving Bundle
	// Overlap is how long certificates of an old CA may be in use after the istiod
	// certificate has left it.
	Overlap time.Duration
	// Dropped are CAs that go at once, without their time: each begins the SHA-256 of
	// the certificate, in at least 16 hexadecimal digits.
	Dropped []string
}

// Decide says which bundle is to be served, and what there is to say about it. An
// empty bundle is not to be written.
func Decide(in Input) (Bundle, State) {
	cas, expired, issued, problem := examine(in)
	var bundle Bundle
	if problem == nil {
		bundle = append(in.asked(cas, issued), leaving(in, cas, issued)...)
		if !issued.leadsTo(in.Now, bundle.certificates()...) {
			problem = unrelated(in, cas, issued)
		}
	}
	if problem != nil {
		problem.Message += meanwhile(in.Serving)
		bundle = slices.DeleteFunc(slices.Clone(in.Serving), func(ca CA) bool { return !ca.Until.IsZero() && in.drops(ca) })
		state := bundle.state(in.Source.Name)
		state.Problem, state.Undropped = problem, in.undropped(bundle)
		state.Next = earliest(in.Now, validFrom(cas))
		return bundle, state
	}
	state := bundle.state(in.Source.Name)
	state.Undropped = in.undropped(bundle)
	for _, ca := range expired {
		state.Expired = append(state.Expired, Name(ca))
	}
	state.Next = earliest(in.Now, append(ends(bundle), validFrom(cas)...))
	return bundle, state
}

// asked are the CAs of the source. A CA is unused until the istiod certificate, or what an
// issuer of type CA signs with, leads to it.
func (in Input) asked(cas []*x509.Certificate, issued chain) Bundle {
	var bundle Bundle
	for _, ca := range cas {
		i := slices.IndexFunc(in.Serving, func(served CA) bool { return served.Certificate.Equal(ca) })
		isNew := i < 0 || in.Serving[i].Unused
		bundle = append(bundle, CA{Certificate: ca, Unused: isNew && !in.signs(ca, issued)})
	}
	return bundle
}

// signs says whether the mesh has certificates of a CA, or gets them from now on.
func (in Input) signs(ca *x509.Certificate, issued chain) bool {
	if issued.leadsTo(in.Now, ca) {
		return true
	}
	signing, err := parseChain(in.Signing)
	return err == nil && signing.leadsTo(in.Now, ca)
}

// examine reads the source's CAs and the istiod certificate, and says why they cannot
// be taken.
func examine(in Input) (cas, expired []*x509.Certificate, issued chain, problem *Problem) {
	if in.Source.Missing != "" {
		return nil, nil, nil, &Problem{Waiting: in.Source.Waiting, Message: fmt.Sprintf("%s: %s", in.Source.Name, in.Source.Missing)}
	}
	cas, expired, err := Parse(in.Source.PEM, in.Now)
	if err != nil {
		return nil, nil, nil, &Problem{Message: fmt.Sprintf("%s: %v", in.Source.Name, err)}
	}
	if len(in.Issued) == 0 {
		return cas, expired, nil, &Problem{Waiting: true, Message: fmt.Sprintf("%s: the istiod certificate is not issued yet, so it is not known whether its CA is the right one", in.Certificate)}
	}
	if issued, err = parseChain(in.Issued); err != nil {
		return cas, expired, nil, &Problem{Waiting: true, Message: fmt.Sprintf("%s: tls.crt: %v", in.Certificate, err)}
	}
	if issued.leadsTo(in.Now, cas...) {
		return cas, expired, issued, nil
	}
	// The issuer may have moved to a new CA already, and the istiod certificate follows
	// when it is renewed.
	if signing, err := parseChain(in.Signing); err == nil && signing.leadsTo(in.Now, cas...) {
		return cas, expired, issued, nil
	}
	return cas, expired, nil, unrelated(in, cas, issued)
}

// unrelated says that the istiod certificate leads to none of the CAs.
func unrelated(in Input, cas []*x509.Certificate, issued chain) *Problem {
	remedy := "have it issued again by deleting the Secret, or choose the CAs yourself"
	signing, err := parseChain(in.Signing)
	switch {
	case in.Source.Chosen:
		remedy = "add the CA that has"
	case err == nil && !signing.leadsTo(in.Now, cas...):
		remedy = "put the CA that its tls.crt leads to into its ca.crt"
	}
	return &Problem{Message: fmt.Sprintf(
		"%s: none of its CAs (%s) has signed the istiod certificate in %s, which is by %s; %s",
		in.Source.Name, names(cas), in.Certificate, quote(issued[0].Issuer.String()), remedy)}
}

// leaving are the CAs that the source no longer has and that are still needed: first
// those that the istiod certificate leads to, then those whose time is not over.
func leaving(in Input, cas []*x509.Certificate, issued chain) Bundle {
	moved := issued.leadsTo(in.Now, cas...)
	var needed, rest Bundle
	for _, ca := range served(in, issued, moved) {
		if contains(cas, ca.Certificate) || in.Now.After(ca.Certificate.NotAfter) {
			continue
		}
		ca.Old = true
		if !moved && issued.leadsTo(in.Now, ca.Certificate) {
			ca.Until, ca.Unused = time.Time{}, false
			needed = append(needed, ca)
			continue
		}
		if in.drops(ca) || ca.Unused && !in.signs(ca.Certificate, issued) {
			continue
		}
		ca.Unused = false
		if ca.Until.IsZero() {
			ca.Until = wholeSecond(in.Now.Add(in.Overlap))
		}
		if ca.Until.After(in.Now) {
			rest = append(rest, ca)
		}
	}
	return append(needed, fitting(rest, MaxCAs-len(needed))...)
}

// served are the CAs that may have signed what is in use.
func served(in Input, issued chain, moved bool) Bundle {
	bundle := slices.Clone(in.Serving)
	if moved || in.Source.Chosen {
		return bundle
	}
	// Where a rotation began before anything was served, and after a restart in the
	// midst of one, the issuer's word tells of the old CA.
	old, _, err := Parse(in.IssuedCA, in.Now)
	if err != nil {
		return bundle
	}
	for _, ca := range old {
		if !contains(bundle.certificates(), ca) && issued.leadsTo(in.Now, ca) {
			bundle = append(bundle, CA{Certificate: ca})
		}
	}
	return bundle
}

// fitting is as much of a bundle as there is room for beside a source. So many CAs
// are never about to be removed in normal use.
func fitting(b Bundle, room int) Bundle {
	b = b[:min(len(b), max(room, 0))]
	for len(b) > 0 && len(b.PEM()) > MaxBytes/2 {
		b = b[:len(b)-1]
	}
	return b
}

// wholeSecond rounds up, to what a record can say.
func wholeSecond(moment time.Time) time.Time {
	return moment.Add(time.Second - 1).Truncate(time.Second)
}

// meanwhile ends the message of a problem.
func meanwhile(serving Bundle) string {
	if len(serving) == 0 {
		return ""
	}
	return fmt.Sprintf("; the last good copy (%s) stays in use", names(serving.certificates()))
}

// names lists at most three CAs.
func names(cas []*x509.Certificate) string {
	const most = 3
	text := ""
	for i, ca := range cas {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(cas)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += Name(ca)
	}
	return text
}

// ends are the moments at which the CAs of a bundle go or expire, or are about to.
func ends(b Bundle) []time.Time {
	var moments []time.Time
	for _, ca := range b {
		// A certificate is valid at the second of its end.
		moments = append(moments, ca.Until, ca.Certificate.NotAfter.Add(time.Second))
		if !ca.Old {
			moments = append(moments, ca.late())
		}
	}
	return moments
}

// validFrom are the moments at which CAs become valid.
func validFrom(cas []*x509.Certificate) []time.Time {
	var moments []time.Time
	for _, ca := range cas {
		moments = append(moments, ca.NotBefore)
	}
	return moments
}

// earliest is the first moment that is still to come.
func earliest(now time.Time, moments []time.Time) time.Time {
	moments = slices.DeleteFunc(moments, func(moment time.Time) bool { return !moment.After(now) })
	if len(moments) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(moments, time.Time.Compare)
}
