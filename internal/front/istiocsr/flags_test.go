// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// given are the flags that differ from those of an agent without arguments.
func given(t *testing.T, args []string, version string) map[string]string {
	t.Helper()
	defaults, err := readFlags(nil, version)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readFlags(args, version)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{}
	for name, value := range got {
		if defaults[name] != value {
			changed[name] = value
		}
	}
	return changed
}

func TestReadFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		args    []string
		version string
		want    map[string]string
	}{
		"Nothing":   {"the defaults hold", nil, "v0.14.2", map[string]string{}},
		"Defaults":  {"a default that is written down is none the less the default", []string{"--log-level=1", "--issuer-enabled=true", "--max-client-certificate-duration=60m", "--root-ca-file="}, "v0.14.2", map[string]string{}},
		"Equals":    {"one way to write it", []string{"--log-level=3"}, "v0.14.2", map[string]string{"log-level": "3"}},
		"Apart":     {"another way", []string{"--log-level", "3", "--log-format", "json"}, "v0.14.2", map[string]string{"log-level": "3", "log-format": "json"}},
		"Short":     {"letters, in all ways", []string{"-v", "3", "-c=mesh", "-kClusterIssuer", "-m", "90m"}, "v0.14.2", map[string]string{"log-level": "3", "certificate-namespace": "mesh", "issuer-kind": "ClusterIssuer", "max-client-certificate-duration": "1h30m0s"}},
		"Switches":  {"a switch takes no value from the next argument", []string{"--preserve-certificate-requests", "--issuer-enabled=F", "-d=0", "-d"}, "v0.14.2", map[string]string{"preserve-certificate-requests": "true", "issuer-enabled": "false"}},
		"LastWins":  {"a flag that is given twice", []string{"--log-level=3", "--log-level=4"}, "v0.14.2", map[string]string{"log-level": "4"}},
		"Lists":     {"lists grow, and have no order", []string{"--serving-certificate-dns-names=b,a", "--serving-certificate-dns-names", "c"}, "v0.14.2", map[string]string{"serving-certificate-dns-names": "a,b,c"}},
		"Order":     {"preferences have one", []string{"--serving-tls-curve-preferences=X25519,CurveP256"}, "main", map[string]string{"serving-tls-curve-preferences": "X25519,CurveP256"}},
		"Selectors": {"they are compared by what they select", []string{"--configmap-namespace-selector=b in (y,x),a==1"}, "v0.14.2", map[string]string{"configmap-namespace-selector": "a=1,b in (x,y)"}},
		"Versions":  {"a newer agent has more flags", []string{"--max-concurrent-reconciles=2"}, "v0.16.0", map[string]string{"max-concurrent-reconciles": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, given(t, tc.args, tc.version)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What cannot be read for sure is never taken for equal.
func TestReadFlags_Unreadable(t *testing.T) {
	for name, tc := range map[string]struct {
		arg  string
		want string
	}{
		"Unknown":      {"--kubeconfig=/etc/config", "known to have the flag --kubeconfig"},
		"TooNew":       {"--serving-tls-min-version=VersionTLS13", "istio-csr v0.15.1 is not known to have the flag"},
		"Positional":   {"serve", `"serve" is not a flag`},
		"Ended":        {"--", `"--" is not a flag`},
		"Dash":         {"-", `"-" is not a flag`},
		"UnknownShort": {"-x=1", "not a flag"},
		"Cluster":      {"-de", "several flags at once"},
		"NoValue":      {"--log-level", "has no value"},
		"NoNumber":     {"--log-level=high", "--log-level"},
		"NoDuration":   {"--max-client-certificate-duration=1d", "--max-client-certificate-duration"},
		"NoSelector":   {"--configmap-namespace-selector=a==b==c", "not a label selector"},
		"NoSwitch":     {"--issuer-enabled=maybe", "--issuer-enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readFlags([]string{tc.arg}, "v0.15.1"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one about %q", err, tc.want)
			}
		})
	}
}

// Every argument that is rendered is one that the agent is known to have, or a takeover
// would compare with something that it cannot read.
func TestReadFlags_Rendered(t *testing.T) {
	for name, tc := range effects {
		ic := smallest()
		tc.set(ic, &ic.Spec.IstioCSRConfig)
		in := Input{IstioCSR: ic, Image: image, Facts: working()}
		if _, err := readFlags(args(t, Render(in)), imageOf(ic, image).Version); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
