// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// flagKind says how the value of a flag is read, so that two spellings of one value are
// the same.
type flagKind int

const (
	textFlag flagKind = iota
	numberFlag
	switchFlag
	durationFlag
	// listFlag is a list whose order has no meaning, and orderedFlag one whose order has.
	listFlag
	orderedFlag
	// selectorFlag is a label selector.
	selectorFlag
)

// agentFlag is a flag of the agent.
type agentFlag struct {
	kind flagKind
	// initial is its value when it is not given.
	initial string
	// short is its letter, empty when it has none.
	short string
	// since is the first of [releases] that has it, empty for all of them.
	since string
}

// agentFlags are those that configure the agent. Others that it has are about its
// connection to the API server.
var agentFlags = map[string]agentFlag{
	"log-level":                              {kind: numberFlag, initial: "1", short: "v"},
	"log-format":                             {initial: "text"},
	"readiness-probe-port":                   {kind: numberFlag, initial: "6060"},
	"readiness-probe-path":                   {initial: "/readyz"},
	"metrics-port":                           {kind: numberFlag, initial: "9402"},
	"trust-domain":                           {initial: "cluster.local"},
	flagRoot:                                 {},
	"serving-certificate-duration":           {kind: durationFlag, initial: "1h", short: "t"},
	"serving-certificate-dns-names":          {kind: listFlag, initial: "cert-manager-istio-csr.cert-manager.svc"},
	"serving-certificate-key-size":           {kind: numberFlag, initial: "2048"},
	"serving-signature-algorithm":            {initial: "RSA"},
	flagTLSVersion:                           {since: mainBranch},
	flagTLSSuites:                            {kind: listFlag, since: mainBranch},
	flagTLSCurves:                            {kind: orderedFlag, since: mainBranch},
	"preserve-certificate-requests":          {kind: switchFlag, initial: "false", short: "d"},
	"certificate-namespace":                  {initial: "istio-system", short: "c"},
	"issuer-enabled":                         {kind: switchFlag, initial: "true", short: "e"},
	flagIssuerName:                           {initial: "istio-ca", short: "u"},
	flagIssuerKind:                           {initial: KindIssuer, short: "k"},
	flagIssuerGroup:                          {initial: GroupCertManager, short: "g"},
	flagRuntimeName:                          {},
	flagRuntimeNamespace:                     {},
	flagAnnotations:                          {kind: listFlag},
	"serving-address":                        {initial: "0.0.0.0:6443", short: "a"},
	"max-client-certificate-duration":        {kind: durationFlag, initial: "1h", short: "m"},
	"cluster-id":                             {initial: defaultClusterID},
	"enable-client-cert-authenticator":       {kind: switchFlag, initial: "false"},
	flagTrustedAccounts:                      {kind: listFlag},
	"leader-election-namespace":              {initial: "istio-system"},
	"configmap-namespace-selector":           {kind: selectorFlag},
	"disable-kubernetes-client-rate-limiter": {kind: switchFlag, initial: "false"},
	flagReconciles:                           {kind: numberFlag, initial: "1", since: "0.16"},
	flagIstiodEnabled:                        {kind: switchFlag, initial: "false"},
	flagIstiodName:                           {initial: "istiod-dynamic"},
	flagIstiodNamespace:                      {initial: "istio-system"},
	"istiod-cert-duration":                   {kind: durationFlag, initial: "1h"},
	"istiod-cert-renew-before":               {kind: durationFlag, initial: "30m"},
	"istiod-cert-key-algorithm":              {initial: "RSA"},
	"istiod-cert-key-size":                   {kind: numberFlag, initial: "2048"},
	"istiod-cert-additional-dns-names":       {kind: listFlag},
	"istiod-cert-additional-annotations":     {kind: listFlag},
	"istiod-cert-istio-revisions":            {kind: listFlag},
}

const (
	flagRoot          = "root-ca-file"
	flagRuntimeName   = "runtime-issuance-config-map-name"
	flagIstiodEnabled = "istiod-cert-enabled"
	flagIstiodName    = "istiod-cert-name"
	flagIssuerName    = "issuer-name"
	flagIssuerKind    = "issuer-kind"
	flagIssuerGroup   = "issuer-group"

	flagIstiodNamespace  = "istiod-cert-namespace"
	flagRuntimeNamespace = "runtime-issuance-config-map-namespace"

	flagReconciles      = "max-concurrent-reconciles"
	flagAnnotations     = "certificate-request-additional-annotations"
	flagTLSVersion      = "serving-tls-min-version"
	flagTLSSuites       = "serving-tls-cipher-suites"
	flagTLSCurves       = "serving-tls-curve-preferences"
	flagTrustedAccounts = "ca-trusted-node-accounts"

	flagsOfIstiod = "istiod-cert-"
)

// commandLine are the flags that an agent is given, nil when its arguments cannot be read.
type commandLine map[string][]string

// givenTo reads the arguments of the agent in pods, whose spec is at a path of an object.
func givenTo(object map[string]any, path ...string) commandLine {
	spec, _, _ := unstructured.NestedMap(object, path...) // what is none has no agent
	pod := &corev1.PodSpec{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, pod) != nil {
		return nil
	}
	at := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == AgentName })
	if at < 0 {
		return nil
	}
	flags, err := splitFlags(argumentsOf(&pod.Containers[at]))
	if err != nil {
		return nil
	}
	return flags
}

// value is that of a flag, given or not.
func (c commandLine) value(flag string) string {
	if values := c[flag]; len(values) > 0 {
		return values[len(values)-1]
	}
	return agentFlags[flag].initial
}

// certificate is the Certificate of istiod that the agent makes, empty when it makes none.
func (c commandLine) certificate() types.NamespacedName {
	if makes, err := strconv.ParseBool(c.value(flagIstiodEnabled)); err != nil || !makes {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: c.value(flagIstiodNamespace), Name: c.value(flagIstiodName)}
}

// argumentsOf are all that follows the program of an agent's container.
func argumentsOf(c *corev1.Container) []string {
	if len(c.Command) > 1 {
		return slices.Concat(c.Command[1:], c.Args)
	}
	return c.Args
}

// isMaterial says whether the values of a flag make two agents differ. Where probes go is
// the pod's own affair, and what is about a certificate that is not asked for has no
// effect.
func isMaterial(name string, found map[string]string) bool {
	switch {
	case name == flagRoot, strings.HasPrefix(name, "readiness-probe-"):
		return false
	case strings.HasPrefix(name, flagsOfIstiod) && name != flagIstiodEnabled:
		return found[flagIstiodEnabled] == "true"
	case name == flagRuntimeNamespace:
		return found[flagRuntimeName] != ""
	default:
		return true
	}
}

// readFlags reads the arguments of an agent of a version: what each flag that it knows
// means, given or not. It fails at what an agent of that version would fail at, and at
// flags that are not the agent's own.
func readFlags(args []string, version string) (map[string]string, error) {
	given, err := splitFlags(args)
	if err != nil {
		return nil, err
	}
	meant := map[string]string{}
	for name, flag := range agentFlags {
		if !hasFlag(version, name) {
			continue
		}
		values, ok := given[name]
		if !ok {
			values = []string{flag.initial}
		}
		if meant[name], err = flag.meaning(values); err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
		delete(given, name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return nil, fmt.Errorf("istio-csr %[2]s is not known to have the flag --%[1]s", name, version)
	}
	return meant, nil
}

// splitFlags is what is given to each flag, in all ways in which it can be written:
// --flag=value, --flag value, -f=value, -f value, -fvalue, and a switch alone.
func splitFlags(args []string) (map[string][]string, error) {
	given := map[string][]string{}
	for i := 0; i < len(args); i++ {
		name, value, hasValue, err := splitFlag(args[i])
		if err != nil {
			return nil, err
		}
		switch {
		case hasValue:
		case agentFlags[name].kind == switchFlag:
			value = "true"
		case i+1 == len(args):
			return nil, fmt.Errorf("argument %s has no value", args[i])
		default:
			i++
			value = args[i]
		}
		given[name] = append(given[name], value)
	}
	return given, nil
}

// splitFlag is the flag that an argument names, and its value if it has one.
func splitFlag(arg string) (name, value string, hasValue bool, err error) {
	if long, ok := strings.CutPrefix(arg, "--"); ok && long != "" {
		name, value, hasValue = strings.Cut(long, "=")
		return name, value, hasValue, nil
	}
	short, ok := strings.CutPrefix(arg, "-")
	if !ok || short == "" || arg == "--" {
		return "", "", false, fmt.Errorf("argument %.100q is not a flag", arg)
	}
	for _, name := range slices.Sorted(maps.Keys(agentFlags)) {
		flag := agentFlags[name]
		if flag.short == "" || flag.short != short[:1] {
			continue
		}
		rest := short[1:]
		if value, ok := strings.CutPrefix(rest, "="); ok {
			return name, value, true, nil
		}
		if flag.kind == switchFlag && rest != "" {
			return "", "", false, fmt.Errorf("argument %.100q is several flags at once", arg)
		}
		return name, rest, rest != "", nil
	}
	return "", "", false, fmt.Errorf("argument %.100q is not a flag that istio-csr is known to have", arg)
}

// meaning is what the values mean that a flag is given, in one spelling.
func (f agentFlag) meaning(values []string) (string, error) {
	last := values[len(values)-1]
	switch f.kind {
	case numberFlag:
		number, err := strconv.Atoi(last)
		return strconv.Itoa(number), err
	case switchFlag:
		on, err := strconv.ParseBool(last)
		return strconv.FormatBool(on), err
	case durationFlag:
		duration, err := time.ParseDuration(last)
		return duration.String(), err
	case selectorFlag:
		selector, err := labels.Parse(last)
		if err != nil {
			return "", fmt.Errorf("%.200q is not a label selector: %w", last, err)
		}
		return strings.ReplaceAll(selector.String(), "==", "="), nil // two ways to write one operator
	case listFlag, orderedFlag:
		var items []string
		for _, value := range values {
			if value != "" {
				items = append(items, strings.Split(value, ",")...)
			}
		}
		if f.kind == listFlag {
			slices.Sort(items)
		}
		return strings.Join(items, ","), nil
	case textFlag:
	}
	return last, nil
}
