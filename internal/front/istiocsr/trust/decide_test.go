// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

// bundleOf is a bundle that is served.
func bundleOf(authorities ...trusttest.Authority) Bundle {
	var b Bundle
	for _, a := range authorities {
		b = append(b, CA{Certificate: a.Certificate})
	}
	return b
}

// textOf is what a state says of the bundle: names, with a star for an old CA and the
// minutes from now on after which it goes.
func textOf(s State) string {
	var words []string
	for _, root := range s.Roots {
		word := strings.Trim(root.Name, `"`)
		if root.Old {
			word += "*"
		}
		if !root.Until.IsZero() {
			word += fmt.Sprintf("+%dm", int(root.Until.Sub(now).Minutes()))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// cast are the authorities of a rotation.
type cast struct {
	// old is followed by fresh; stranger has to do with neither, and below is old's.
	old, fresh, stranger, below trusttest.Authority
	// gone has expired, late expires in 5 minutes and soon in 10; cross is fresh, signed by old.
	gone, late, soon, cross trusttest.Authority
	// byOld and byFresh are certificates of istiod.
	byOld, byFresh string
}

func newCast(t *testing.T) cast {
	t.Helper()
	until := func(left time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotAfter = now.Add(left) }
	}
	c := cast{
		old: trusttest.CA(t, "old", nil), fresh: trusttest.CA(t, "new", nil), stranger: trusttest.CA(t, "stranger", nil),
		gone: trusttest.CA(t, "gone", until(-time.Second)), late: trusttest.CA(t, "late", until(5*time.Minute)), soon: trusttest.CA(t, "soon", until(10*time.Minute)),
	}
	c.below, c.cross = c.old.Intermediate(t, "below"), c.fresh.Cross(t, c.old)
	c.byOld, c.byFresh = c.old.Issue(t, "istiod", nil).PEM, c.fresh.Issue(t, "istiod", nil).PEM
	return c
}

func source(pem string) Source { return Source{Name: "here", PEM: []byte(pem)} }

func chosen(pem string) Source { return Source{Name: "here", PEM: []byte(pem), Chosen: true} }

func leavingIn(a trusttest.Authority, minutes int) CA {
	return CA{Certificate: a.Certificate, Until: now.Add(time.Duration(minutes) * time.Minute)}
}

func digest(a trusttest.Authority) string { return CA{Certificate: a.Certificate}.Digest() }

// decideCase is what is there, and what is decided.
type decideCase struct {
	reason  string
	in      Input
	want    string // as textOf writes it
	problem string // a part of the message; with ~ in front: waiting
	next    int    // minutes from now on, when it matters
	// expired and undropped are of the state.
	expired, undropped string
}

func (tc decideCase) check(t *testing.T) {
	tc.in.Now, tc.in.Certificate, tc.in.Overlap = now, "there", time.Hour
	bundle, state := Decide(tc.in)
	if got := textOf(state); got != tc.want {
		t.Errorf("%s: the bundle is %q, want %q", tc.reason, got, tc.want)
	}
	checkProblem(t, tc.reason, state.Problem, tc.problem)
	if got := strings.Join(state.Expired, "; "); got != tc.expired {
		t.Errorf("%s: expired are %q, want %q", tc.reason, got, tc.expired)
	}
	if got := strings.Join(state.Undropped, "; "); got != tc.undropped {
		t.Errorf("%s: still there is %q, want %q", tc.reason, got, tc.undropped)
	}
	if tc.next > 0 && !near(state.Next, now.Add(time.Duration(tc.next)*time.Minute)) {
		t.Errorf("%s: it looks again at %s, want in %d minutes", tc.reason, state.Next, tc.next)
	}
	again := tc.in
	again.Serving = Read(bundle.PEM(), bundle.Record())
	repeated, same := Decide(again)
	if diff := cmp.Diff(textOf(state), textOf(same)); diff != "" || !bytes.Equal(bundle.PEM(), repeated.PEM()) || bundle.Record() != repeated.Record() {
		t.Errorf("deciding again, after a restart, gives something else: -first +second\n%s", diff)
	}
}

// TestDecide: a CA is trusted that has signed the istiod certificate.
func TestDecide(t *testing.T) {
	c := newCast(t)
	for name, tc := range map[string]decideCase{
		"First": {
			reason: "a CA that has signed the istiod certificate is served",
			in:     Input{Source: chosen(c.old.PEM), Issued: []byte(c.byOld)}, want: "old",
		},
		"Riders": {
			reason: "one CA of a bundle has to have signed it; the others are published ahead of a rotation",
			in:     Input{Source: chosen(c.fresh.PEM + c.old.PEM), Issued: []byte(c.byOld)}, want: "new old",
		},
		"ThroughAnother": {
			reason: "the chain may lead to the CA through another one",
			in:     Input{Source: source(c.old.PEM), Issued: []byte(c.below.Issue(t, "istiod", nil).PEM + c.below.PEM)}, want: "old",
		},
		"Anchor": {
			reason: "a CA in the middle can be the one that is trusted",
			in:     Input{Source: source(c.below.PEM), Issued: []byte(c.below.Issue(t, "istiod", nil).PEM), IssuedCA: []byte(c.old.PEM)}, want: "below",
		},
		"RenewalIsLate": {
			reason: "an istiod certificate that has just expired tells as well who signed it",
			in:     Input{Source: source(c.old.PEM), Issued: []byte(c.old.Issue(t, "istiod", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(-time.Minute) }).PEM)}, want: "old",
		},
		"Unrelated": {
			reason:  "agents would refuse every certificate",
			in:      Input{Source: chosen(c.stranger.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)},
			want:    "old",
			problem: `here: none of its CAs ("stranger") has signed the istiod certificate in there, which is by "CN=old"; add the CA that has; the last good copy ("old") stays in use`,
		},
		"UnrelatedAtFirst": {
			reason: "nothing is served that was not found right",
			in:     Input{Source: chosen(c.stranger.PEM), Issued: []byte(c.byOld), IssuedCA: []byte(c.old.PEM)}, problem: "none of its CAs",
		},
		"Lost": {
			reason: "an issuer that has moved on, with no record left of its old CA",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld)}, problem: "have it issued again",
		},
		"SameNameOtherKey": {
			reason: "a name can be anyone's",
			in:     Input{Source: chosen(trusttest.CA(t, "old", nil).PEM), Issued: []byte(c.byOld)}, problem: "none of its CAs",
		},
		"NotIssued": {
			reason: "until there is a certificate the signer is unknown", in: Input{Source: source(c.old.PEM)},
			problem: "~there: the istiod certificate is not issued yet",
		},
		"IssuedAnew": {
			reason: "what is served stays while the certificate is issued anew", in: Input{Source: source(c.old.PEM), Serving: bundleOf(c.old)},
			want: "old", problem: "~not issued yet",
		},
		"Unreadable": {
			reason: "so it does while the certificate cannot be read", in: Input{Source: source(c.old.PEM), Issued: []byte("x"), Serving: bundleOf(c.old)},
			want: "old", problem: "~there: tls.crt: it contains no certificate",
		},
		"Missing": {
			reason: "a source that is not there is reported", in: Input{Source: Source{Name: "here", Missing: "the ConfigMap does not exist"}, Issued: []byte(c.byOld), Serving: bundleOf(c.old)},
			want: "old", problem: "here: the ConfigMap does not exist; the last good copy",
		},
		"MissingForNow": {
			reason: "who others provide for has nothing to do", in: Input{Source: Source{Name: "here", Missing: "no Secret", Waiting: true}},
			problem: "~here: no Secret",
		},
		"Invalid": {
			reason: "an edit that makes no sense changes nothing", in: Input{Source: chosen(c.old.PEM + "-----BEGIN CERT"), Issued: []byte(c.byOld), Serving: bundleOf(c.old, c.fresh)},
			want: "old new", problem: "here: block 2: it is not valid PEM",
		},
	} {
		t.Run(name, tc.check)
	}
}

// TestDecide_Left: what expires or is dropped leaves the bundle.
func TestDecide_Left(t *testing.T) {
	c := newCast(t)
	for name, tc := range map[string]decideCase{
		"Expired": {
			reason: "an expired CA is left out, and keeps the others from nothing", in: Input{Source: chosen(c.gone.PEM + c.old.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.gone, c.old)},
			want: "old", expired: `"gone"`,
		},
		"AllExpired": {
			reason: "nothing is served when nothing is left", in: Input{Source: chosen(c.gone.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)},
			want: "old", problem: `here: all of its CAs have expired ("gone"): add one that is valid; the last good copy`,
		},
		"Unused": {
			reason: "a CA of which there can be no certificate goes with its source",
			in:     Input{Source: chosen(c.old.PEM), Issued: []byte(c.byOld), Serving: append(bundleOf(c.old), CA{Certificate: c.stranger.Certificate, Unused: true})}, want: "old",
		},
		"UnusedUntilNow": {
			reason: "what the issuer signs with now is in use",
			in:     Input{Source: chosen(c.old.PEM), Signing: []byte(c.stranger.PEM), Issued: []byte(c.byOld), Serving: append(bundleOf(c.old), CA{Certificate: c.stranger.Certificate, Unused: true})},
			want:   "old stranger*+60m", next: 60,
		},
		"Dropped": {
			reason: "a CA that was dropped does not wait for its time",
			in:     Input{Source: source(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: append(bundleOf(c.fresh), leavingIn(c.old, 20)), Dropped: []string{digest(c.old)}}, want: "new",
			undropped: "no CA that is served has the digest " + digest(c.old),
		},
		"DroppedAsItLeaves": {
			reason: "nor does it get one",
			in:     Input{Source: source(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: bundleOf(c.old), Dropped: []string{digest(c.old)}}, want: "new",
			undropped: "no CA that is served has the digest " + digest(c.old),
		},
		"DroppedTooEarly": {
			reason: "agents would serve no client without the CA of the istiod certificate",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old), Dropped: []string{digest(c.old)}}, want: "new old*",
			undropped: `CA "old" (` + digest(c.old) + `) is still served: the istiod certificate leads to it, in there; delete that Secret to have it issued again`,
		},
		"DroppedInSource": {
			reason: "what the source has is the source's to drop",
			in:     Input{Source: chosen(c.old.PEM + c.fresh.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old, c.fresh), Dropped: []string{digest(c.fresh)}}, want: "old new",
			undropped: `CA "new" (` + digest(c.fresh) + `) is still served: here has it; remove it there`,
		},
		"DroppedMeanwhile": {
			reason: "a source that is wrong keeps what leaves from nothing",
			in:     Input{Source: chosen("x"), Issued: []byte(c.byFresh), Serving: append(bundleOf(c.fresh), leavingIn(c.old, 20)), Dropped: []string{digest(c.old)}}, want: "new",
			problem: "no certificate in PEM", undropped: "no CA that is served has the digest " + digest(c.old),
		},
	} {
		t.Run(name, tc.check)
	}
}

// TestDecide_Rotation: what the issuer signs with is trusted before, and what it has signed with after it.
func TestDecide_Rotation(t *testing.T) {
	c := newCast(t)
	for name, tc := range map[string]decideCase{
		"IssuerMoved": {
			reason: "what the issuer signs with is served before the istiod certificate has followed",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)}, want: "new old*",
		},
		"IssuerMovedBeforeUs": {
			reason: "the old CA is found beside the istiod certificate when nothing is served yet",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), IssuedCA: []byte(c.old.PEM)}, want: "new old*",
		},
		"IssuerMovedChosen": {
			reason: "where the user chose the CAs, no other is added unasked",
			in:     Input{Source: chosen(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), IssuedCA: []byte(c.old.PEM)}, problem: "none of its CAs",
		},
		"IssuerMovedChosenBefore": {
			reason: "the old one stays if it was chosen before",
			in:     Input{Source: chosen(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)}, want: "new old*",
		},
		"ChosenLags": {
			reason:  "the status says when the issuer signs with a CA that was not chosen",
			in:      Input{Source: chosen(c.old.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: bundleOf(c.old)},
			want:    "old",
			problem: `which is by "CN=new"; add the CA that has`,
		},
		"ChainMoved": {
			reason: "certificates of the old CA are in use for a while",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byFresh), IssuedCA: []byte(c.fresh.PEM), Serving: bundleOf(c.fresh, c.old)},
			want:   "new old*+60m", next: 60,
		},
		"Leaving": {
			reason: "a time that is set stays", in: Input{Source: source(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: append(bundleOf(c.fresh), leavingIn(c.old, 20))},
			want: "new old*+20m", next: 20,
		},
		"Left": {
			reason: "when the time is over the old CA goes", in: Input{Source: source(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: append(bundleOf(c.fresh), leavingIn(c.old, 0))},
			want: "new",
		},
		"Returned": {
			reason: "a rotation can be taken back", in: Input{Source: source(c.old.PEM), Issued: []byte(c.byOld), Serving: append(bundleOf(c.fresh), leavingIn(c.old, 20))},
			want: "old new*+60m", next: 60,
		},
	} {
		t.Run(name, tc.check)
	}
}

// TestDecide_Renewal: a CA may expire, or be signed anew, while it is in use.
func TestDecide_Renewal(t *testing.T) {
	c := newCast(t)
	for name, tc := range map[string]decideCase{
		"OldExpires": {
			reason: "an old CA that expired vouches for nothing", in: Input{Source: source(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: bundleOf(c.fresh, c.gone)},
			want: "new",
		},
		"Expiry": {
			reason: "an expiry is looked for in time", in: Input{Source: source(c.soon.PEM), Issued: []byte(c.soon.Issue(t, "istiod", nil).PEM)},
			want: "soon", next: 3,
		},
		"LateExpiry": {
			reason: "nor is it missed when it was published", in: Input{Source: source(c.late.PEM), Issued: []byte(c.late.Issue(t, "istiod", nil).PEM)},
			want: "late", next: 5,
		},
		"CrossSigned": {
			reason: "where the old CA has signed the new one nothing changes, until the source says so",
			in:     Input{Source: source(c.old.PEM), Signing: []byte(c.cross.PEM), Issued: []byte(c.byFresh + c.cross.PEM), Serving: bundleOf(c.old)}, want: "old",
		},
		"CrossSignedMoved": {
			reason: "when it does, the chain leads to both, and the old one goes in its time",
			in:     Input{Source: source(c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byFresh + c.cross.PEM), Serving: bundleOf(c.old)},
			want:   "new old*+60m", next: 60,
		},
		"CrossSignedChosen": {
			reason: "who gives both certificates of the new CA gets both",
			in:     Input{Source: chosen(c.old.PEM + c.fresh.PEM + c.cross.PEM), Issued: []byte(c.byOld)}, want: "old new new",
		},
		"CrossSignedAlone": {
			reason: "the one that the old CA has signed does for the new one",
			in:     Input{Source: source(c.cross.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byFresh), Serving: bundleOf(c.old)},
			want:   "new old*+60m",
		},
		"ExpiredWhileServed": {
			reason: "a CA of the source that expires goes, and the rest is served as asked for",
			in:     Input{Source: source(c.gone.PEM + c.fresh.PEM), Signing: []byte(c.fresh.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.gone, c.old)},
			want:   "new old*", expired: `"gone"`,
		},
		"ForeignBesideKey": {
			reason:  "a CA beside what the issuer signs with, that it does not lead to",
			in:      Input{Source: source(c.stranger.PEM), Signing: []byte(c.old.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)},
			want:    "old",
			problem: `none of its CAs ("stranger") has signed the istiod certificate in there, which is by "CN=old"; put the CA that its tls.crt leads to into its ca.crt`,
		},
		"IntermediateRenewed": {
			reason: "another CA in the middle is no other CA to trust",
			in:     Input{Source: source(c.old.PEM), Signing: []byte(c.below.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.old)}, want: "old",
		},
		"ThreeAtOnce": {
			reason: "rotations may follow each other quickly",
			in:     Input{Source: source(c.stranger.PEM), Signing: []byte(c.stranger.PEM), Issued: []byte(c.byOld), Serving: bundleOf(c.fresh, c.old)},
			want:   "stranger old* new*+60m", next: 60,
		},
	} {
		t.Run(name, tc.check)
	}
}

func checkProblem(t *testing.T, reason string, got *Problem, want string) {
	t.Helper()
	want, waiting := strings.CutPrefix(want, "~")
	switch {
	case want == "" && got != nil:
		t.Errorf("%s: there is a problem: %s", reason, got.Message)
	case want != "" && got == nil:
		t.Errorf("%s: there is no problem, want one with %q", reason, want)
	case want != "" && (!strings.Contains(got.Message, want) || got.Waiting != waiting):
		t.Errorf("%s: the problem is (waiting: %v) %s\nwant one with (waiting: %v) %s", reason, got.Waiting, got.Message, waiting, want)
	}
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Second }

// TestRotations walks through random rotations: whatever the order of events, each
// moment's bundle verifies each certificate that is in use.
func TestRotations(t *testing.T) {
	const lifetime = time.Hour
	var authorities []trusttest.Authority
	for i := range 4 {
		authorities = append(authorities, trusttest.CA(t, fmt.Sprintf("ca%d", i), nil))
	}
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 0))
		at := now
		issue := func(by int) trusttest.Authority {
			return authorities[by].Issue(t, "workload", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = at, at.Add(lifetime) })
		}
		signing := 0
		istiod, istiodBy := issue(signing), signing
		var inUse []trusttest.Authority
		serving := Bundle{}
		for range 200 {
			at = at.Add(time.Duration(random.IntN(20)) * time.Minute)
			switch random.IntN(8) {
			case 0:
				signing = random.IntN(len(authorities))
			case 1, 2:
				istiod, istiodBy = issue(signing), signing
			case 3: // a restart forgets what is not written
				serving = Read(serving.PEM(), serving.Record())
			}
			if at.After(istiod.Certificate.NotAfter) {
				istiod, istiodBy = issue(signing), signing
			}
			var state State
			serving, state = Decide(Input{
				Now: at, Source: Source{Name: "issuer", PEM: []byte(authorities[signing].PEM)}, Signing: []byte(authorities[signing].PEM),
				Issued: []byte(istiod.PEM), IssuedCA: []byte(authorities[istiodBy].PEM), Serving: serving, Overlap: lifetime,
			})
			if state.Problem != nil {
				t.Fatalf("seed %d: %s", seed, state.Problem.Message)
			}
			inUse = append(inUse, istiod, issue(signing))
			inUse = verified(t, seed, at, serving, inUse)
		}
		if len(serving) > len(authorities) {
			t.Errorf("seed %d: %d CAs are left", seed, len(serving))
		}
	}
}

// verified checks those certificates that have not expired, and returns them.
func verified(t *testing.T, seed uint64, at time.Time, b Bundle, certificates []trusttest.Authority) []trusttest.Authority {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.PEM())
	var rest []trusttest.Authority
	for _, c := range certificates {
		if at.After(c.Certificate.NotAfter) {
			continue
		}
		if _, err := c.Certificate.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: at}); err != nil {
			t.Fatalf("seed %d, %s: a certificate of %s until %s: %v", seed, at, c.Certificate.Issuer, c.Certificate.NotAfter, err)
		}
		rest = append(rest, c)
	}
	return rest
}

func TestSigners(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	issued := []byte(one.Issue(t, "istiod", nil).PEM)
	cases := map[string]struct {
		reason, text string
		want         string
	}{
		"Signer":    {reason: "who has signed is taken out of a text that another manager wrote", text: two.PEM + one.PEM, want: "one"},
		"None":      {reason: "strangers are not", text: two.PEM, want: ""},
		"Worthless": {reason: "nor is a text that is no bundle", text: one.PEM + one.KeyPEM(t), want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := textOf(Signers([]byte(tc.text), issued, now).state("")); got != tc.want {
				t.Errorf("%s: Signers() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if got := Signers([]byte(one.PEM), []byte("x"), now); got != nil {
		t.Errorf("without a certificate no CA has signed it: %v", got)
	}
}

func TestRecord(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	bundle := append(bundleOf(one), CA{Certificate: two.Certificate, Until: now.Add(time.Minute)})
	if diff := cmp.Diff(bundle[1].Digest()+"=2026-01-01T12:01:00Z", bundle.Record()); diff != "" {
		t.Errorf("Record(): -want +got\n%s", diff)
	}
	read := Read(bundle.PEM(), "nonsense,=,a=b,"+bundle.Record())
	if len(read) != 2 || !read[0].Until.IsZero() || !read[1].Until.Equal(bundle[1].Until) {
		t.Errorf("Read() = %v", read)
	}
	bundle[0].Unused = true
	if got := Read(bundle.PEM(), bundle.Record()); !got[0].Unused || got[1].Unused || got.Record() != bundle.Record() {
		t.Errorf("the record %s reads as %v", bundle.Record(), got)
	}
	if got := Read(bundle.PEM(), ""); len(got) != 2 || !got[1].Until.IsZero() {
		t.Errorf("without a record no CA leaves: %v", got)
	}
}

// TestJoin: whatever one of two bundles still needs, both need.
func TestJoin(t *testing.T) {
	a, b, c := trusttest.CA(t, "a", nil), trusttest.CA(t, "b", nil), trusttest.CA(t, "c", nil)
	until := func(a trusttest.Authority, minutes int) CA {
		return CA{Certificate: a.Certificate, Until: now.Add(time.Duration(minutes) * time.Minute)}
	}
	own := append(bundleOf(a), until(b, 5), until(c, 20))
	if got := textOf(own.Join(append(Bundle{until(a, 5)}, until(b, 10), until(c, 10))).state("")); got != "a b+10m c+20m" {
		t.Errorf("the later end is %q", got)
	}
	if got := textOf(bundleOf(a).Join(append(bundleOf(b), until(c, 10))).state("")); got != "a b c+10m" {
		t.Errorf("what the first lacks: %q", got)
	}
	if got := textOf(own.Join(bundleOf(b)).state("")); got != "a b c+20m" {
		t.Errorf("what leaves nowhere else stays: %q", got)
	}
}

func TestDigest(t *testing.T) {
	whole := strings.Repeat("0123456789abcdef", 4)
	spaced := " 0123456789ABCDEF "
	for text, want := range map[string]string{
		spaced: "0123456789abcdef", whole: whole, "01:23:45:67:89:AB:CD:EF": "0123456789abcdef",
		"0123456789abcde": "", whole + "0": "", "0123456789abcdeg": "", "": "",
	} {
		if got := Digest(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestAgain(t *testing.T) {
	cases := map[string]struct {
		reason string
		next   time.Time
		want   time.Duration
	}{
		"Never":  {reason: "nothing changes by time alone", want: 0},
		"Later":  {reason: "it looks when something does", next: now.Add(time.Minute), want: time.Minute},
		"Passed": {reason: "a moment that has passed is no reason to spin", next: now.Add(-time.Minute), want: time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (State{Next: tc.next}).Again(now); got != tc.want {
				t.Errorf("%s: Again() = %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	one, two := trusttest.CA(f, "one", nil), trusttest.CA(f, "two", nil)
	leaving := Bundle{{Certificate: one.Certificate}, {Certificate: two.Certificate, Until: now.Add(time.Minute)}}
	f.Add(leaving.PEM(), leaving.Record())
	f.Add([]byte(one.PEM), "=,,a=b=c")
	f.Add([]byte(two.PEM+one.KeyPEM(f)), "")
	issued := []byte(one.Issue(f, "istiod", nil).PEM)
	f.Fuzz(func(t *testing.T, text []byte, record string) {
		// Whatever stands in the copy: the next bundle is the source's, then what is known,
		// and it reads as it was written.
		in := Input{Now: now, Source: Source{PEM: []byte(one.PEM)}, Issued: issued, Serving: Read(text, record), Overlap: time.Hour}
		bundle, state := Decide(in)
		if state.Problem != nil || len(bundle) == 0 || !bundle[0].Certificate.Equal(one.Certificate) {
			t.Fatalf("the bundle does not begin with the source's CA: %v", state)
		}
		if len(bundle) > 2*MaxCAs || len(bundle.PEM()) > 2*MaxBytes {
			t.Fatalf("the bundle holds %d CAs, %d bytes", len(bundle), len(bundle.PEM()))
		}
		in.Serving = Read(bundle.PEM(), bundle.Record())
		if again, _ := Decide(in); !bytes.Equal(again.PEM(), bundle.PEM()) || again.Record() != bundle.Record() {
			t.Fatal("deciding again gives something else")
		}
	})
}

// A CA that is about to expire is reported in time, and one that is on its way out is not.
func TestState_Ending(t *testing.T) {
	now := trusttest.Now
	soon := trusttest.CA(t, "soon", func(c *x509.Certificate) { c.NotAfter = now.Add(10 * time.Minute) })
	long := trusttest.CA(t, "long", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = now.AddDate(-9, 0, 0), now.AddDate(0, 0, 31) })
	_, state := Decide(Input{Now: now, Source: Source{PEM: []byte(soon.PEM + long.PEM)}, Issued: []byte(soon.Issue(t, "istiod", nil).PEM)})
	for _, tc := range []struct {
		after time.Duration
		want  []string
	}{
		{after: 0, want: nil},
		{after: 3 * time.Minute, want: []string{`"soon"`}},
		{after: 25 * time.Hour, want: []string{`"soon"`, `"long"`}},
	} {
		var got []string
		for _, root := range state.Ending(now.Add(tc.after)) {
			got = append(got, root.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", tc.after, diff)
		}
	}
	state.Roots[0].Old = true
	if got := state.Ending(now.Add(3 * time.Minute)); len(got) > 0 {
		t.Errorf("a CA that was replaced is reported: %v", got)
	}
}
