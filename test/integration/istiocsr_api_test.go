// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/localplane/planetest"
)

// smallestIstioCSR is one that has nothing but what is required.
const smallestIstioCSR = `
apiVersion: operator.openshift.io/v1alpha1
kind: IstioCSR
metadata:
  name: default
spec:
  istioCSRConfig:
    certManager:
      issuerRef: {name: istio-ca, kind: Issuer, group: cert-manager.io}
    istiodTLSConfig:
      trustDomain: cluster.local
    istio:
      namespace: istio-system
`

// istioCSR is the smallest IstioCSR in a namespace, with values at paths such as
// spec.istioCSRConfig.logLevel, which begin below spec.istioCSRConfig unless they
// begin with spec or metadata. A value is YAML; "-" takes the field away.
func istioCSR(t *testing.T, namespace string, changes map[string]string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(smallestIstioCSR), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(namespace)
	setFields(t, o, changes)
	return o
}

func setFields(t *testing.T, o *unstructured.Unstructured, changes map[string]string) {
	t.Helper()
	for path, text := range changes {
		if !strings.HasPrefix(path, "spec") && !strings.HasPrefix(path, "metadata") {
			path = "spec.istioCSRConfig." + path
		}
		fields := strings.Split(path, ".")
		if text == "-" {
			unstructured.RemoveNestedField(o.Object, fields...)
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if number, ok := value.(float64); ok {
			value = int64(number)
		}
		if err := unstructured.SetNestedField(o.Object, deepInts(value), fields...); err != nil {
			t.Fatal(err)
		}
	}
}

// deepInts makes whole numbers what unstructured content has for them.
func deepInts(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = deepInts(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = deepInts(v[k])
		}
	}
	return value
}

func list(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(item, i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func entries(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("k%d: v", i)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

const (
	caReference = "certManager.istioCACertificate"
	tlsConfig   = "istiodTLSConfig."
)

// refusedOnCreate are the inputs that the API server refuses, each with what its answer
// names.
var refusedOnCreate = map[string]struct {
	changes map[string]string
	names   string
}{
	"NameNotDefault":            {map[string]string{"metadata.name": "other"}, "must be 'default'"},
	"NoSpec":                    {map[string]string{"spec": "-"}, "spec"},
	"NoConfig":                  {map[string]string{"spec.istioCSRConfig": "-"}, "spec.istioCSRConfig"},
	"NoCertManager":             {map[string]string{"certManager": "-"}, "certManager"},
	"NoIssuerRef":               {map[string]string{"certManager.issuerRef": "-"}, "issuerRef"},
	"NoIssuerName":              {map[string]string{"certManager.issuerRef.name": "-"}, "issuerRef.name"},
	"EmptyIssuerName":           {map[string]string{"certManager.issuerRef.name": `""`}, "issuerRef.name"},
	"NoIssuerKind":              {map[string]string{"certManager.issuerRef.kind": "-"}, "kind must be either 'Issuer' or 'ClusterIssuer'"},
	"NoIssuerGroup":             {map[string]string{"certManager.issuerRef.group": "-"}, "group must be 'cert-manager.io'"},
	"OtherIssuerKind":           {map[string]string{"certManager.issuerRef.kind": "AWSPCAIssuer"}, "kind must be either"},
	"OtherIssuerGroup":          {map[string]string{"certManager.issuerRef.group": "awspca.cert-manager.io"}, "group must be"},
	"NoTLSConfig":               {map[string]string{"istiodTLSConfig": "-"}, "istiodTLSConfig"},
	"NoTrustDomain":             {map[string]string{"istiodTLSConfig.trustDomain": "-"}, "trustDomain"},
	"EmptyTrustDomain":          {map[string]string{tlsConfig + "trustDomain": `""`}, "trustDomain"},
	"LongTrustDomain":           {map[string]string{tlsConfig + "trustDomain": strings.Repeat("a", 64)}, "trustDomain"},
	"UpperCaseTrustDomain":      {map[string]string{tlsConfig + "trustDomain": "Cluster.local"}, "trustDomain must consist of"},
	"UnderscoreTrustDomain":     {map[string]string{tlsConfig + "trustDomain": "a_b"}, "trustDomain must consist of"},
	"DotsInTrustDomain":         {map[string]string{tlsConfig + "trustDomain": "a..b"}, "trustDomain must consist of"},
	"HyphenFirstInTrustDomain":  {map[string]string{tlsConfig + "trustDomain": "-a"}, "trustDomain must consist of"},
	"NoIstio":                   {map[string]string{"istio": "-"}, "istio"},
	"NoIstioNamespace":          {map[string]string{"istio.namespace": "-", "istio.revisions": "[a]"}, "istio.namespace"},
	"EmptyIstioNamespace":       {map[string]string{"istio.namespace": `""`}, "istio.namespace"},
	"LongIstioNamespace":        {map[string]string{"istio.namespace": strings.Repeat("a", 64)}, "istio.namespace"},
	"UpperCaseIstioNamespace":   {map[string]string{"istio.namespace": "Istio"}, "namespace must consist of"},
	"UnderscoreIstioNamespace":  {map[string]string{"istio.namespace": "a_b"}, "namespace must consist of"},
	"DotInIstioNamespace":       {map[string]string{"istio.namespace": "a.b"}, "namespace must consist of"},
	"LogLevelZero":              {map[string]string{"logLevel": "0"}, "logLevel"},
	"LogLevelSix":               {map[string]string{"logLevel": "6"}, "logLevel"},
	"LogLevelText":              {map[string]string{"logLevel": `"1"`}, "logLevel"},
	"LogFormatXML":              {map[string]string{"logFormat": "xml"}, "logFormat"},
	"LogFormatEmpty":            {map[string]string{"logFormat": `""`}, "logFormat"},
	"LongSelector":              {map[string]string{"istioDataPlaneNamespaceSelector": strings.Repeat("a", 4097)}, "istioDataPlaneNamespaceSelector"},
	"AlgorithmDSA":              {map[string]string{tlsConfig + "privateKeyAlgorithm": "DSA"}, "privateKeyAlgorithm"},
	"AlgorithmLowerCase":        {map[string]string{tlsConfig + "privateKeyAlgorithm": "rsa"}, "privateKeyAlgorithm"},
	"RSA256":                    {map[string]string{tlsConfig + "privateKeySize": "256"}, "privateKeySize must match"},
	"RSA384":                    {map[string]string{tlsConfig + "privateKeySize": "384"}, "privateKeySize must match"},
	"RSA1024":                   {map[string]string{tlsConfig + "privateKeySize": "1024"}, "privateKeySize"},
	"RSA3072":                   {map[string]string{tlsConfig + "privateKeySize": "3072"}, "privateKeySize"},
	"ECDSAWithoutSize":          {map[string]string{tlsConfig + "privateKeyAlgorithm": "ECDSA"}, "ECDSA 256 or 384, which has to be set"},
	"ECDSA2048":                 {map[string]string{tlsConfig + "privateKeyAlgorithm": "ECDSA", tlsConfig + "privateKeySize": "2048"}, "privateKeySize must match"},
	"ECDSA521":                  {map[string]string{tlsConfig + "privateKeyAlgorithm": "ECDSA", tlsConfig + "privateKeySize": "521"}, "privateKeySize"},
	"LongCommonName":            {map[string]string{tlsConfig + "commonName": strings.Repeat("a", 65)}, "commonName"},
	"ManyDNSNames":              {map[string]string{tlsConfig + "certificateDNSNames": list(26, "n%d")}, "certificateDNSNames"},
	"DuplicateDNSName":          {map[string]string{tlsConfig + "certificateDNSNames": "[a, a]"}, "certificateDNSNames"},
	"EmptyDNSName":              {map[string]string{tlsConfig + "certificateDNSNames": `[""]`}, "certificateDNSNames"},
	"LongDNSName":               {map[string]string{tlsConfig + "certificateDNSNames": "[" + strings.Repeat("a", 254) + "]"}, "certificateDNSNames"},
	"PortZero":                  {map[string]string{"server.port": "0"}, "server.port"},
	"PortTooHigh":               {map[string]string{"server.port": "65536"}, "server.port"},
	"LongClusterID":             {map[string]string{"server.clusterID": strings.Repeat("a", 254)}, "server.clusterID"},
	"ManyRevisions":             {map[string]string{"istio.revisions": list(26, "r%d")}, "istio.revisions"},
	"DuplicateRevision":         {map[string]string{"istio.revisions": "[a, a]"}, "istio.revisions"},
	"EmptyRevision":             {map[string]string{"istio.revisions": `[""]`}, "istio.revisions"},
	"LongRevision":              {map[string]string{"istio.revisions": "[" + strings.Repeat("a", 64) + "]"}, "istio.revisions"},
	"CAWithoutName":             {map[string]string{caReference: "{key: ca.crt}"}, "istioCACertificate.name"},
	"CAWithoutKey":              {map[string]string{caReference: "{name: ca}"}, "istioCACertificate.key"},
	"CAWithEmptyName":           {map[string]string{caReference: `{name: "", key: ca.crt}`}, "istioCACertificate.name"},
	"CAKeyWithSlash":            {map[string]string{caReference: "{name: ca, key: a/b}"}, "istioCACertificate.key"},
	"CALongKey":                 {map[string]string{caReference: "{name: ca, key: " + strings.Repeat("a", 254) + "}"}, "istioCACertificate.key"},
	"CALongName":                {map[string]string{caReference: "{key: a, name: " + strings.Repeat("a", 254) + "}"}, "istioCACertificate.name"},
	"CALongNamespace":           {map[string]string{caReference: "{key: a, name: a, namespace: " + strings.Repeat("a", 64) + "}"}, "istioCACertificate.namespace"},
	"CANameWithSpace":           {map[string]string{caReference: "{key: a, name: a b}"}, "name must consist of"},
	"CANamespaceWithUnderscore": {map[string]string{caReference: "{key: a, name: a, namespace: a_b}"}, "namespace must consist of"},
	"CANamespaceWithDot":        {map[string]string{caReference: "{key: a, name: a, namespace: a.b}"}, "namespace must consist of"},
	"ManyTolerations":           {map[string]string{"tolerations": list(51, "{key: k%d, operator: Exists}")}, "tolerations"},
	"ManyNodeSelectors":         {map[string]string{"nodeSelector": entries(51)}, "nodeSelector"},
	"ManyLabels":                {map[string]string{"spec.controllerConfig.labels": entries(21)}, "controllerConfig.labels"},
	"UnparsableQuantity":        {map[string]string{"resources.limits": "{cpu: lots}"}, "resources.limits"},
	"DurationThatIsNone":        {map[string]string{tlsConfig + "certificateDuration": "banana"}, "certificateDuration"},
	"DurationInDays":            {map[string]string{tlsConfig + "certificateRenewBefore": "1d"}, "certificateRenewBefore"},
	"NegativeDuration":          {map[string]string{tlsConfig + "certificateDuration": "-1h"}, "certificateDuration must be a duration longer than 0s"},
	"ZeroRenewBefore":           {map[string]string{tlsConfig + "certificateRenewBefore": "0s"}, "certificateRenewBefore must be a duration longer than 0s"},
	"MaxDurationBelowAMinute":   {map[string]string{tlsConfig + "maxCertificateDuration": "30s"}, "maxCertificateDuration must be a duration of at least 1m"},
	"TwoBudgets":                {map[string]string{"spec.agentConfig.podDisruptionBudget": "{minAvailable: 1, maxUnavailable: 1}"}, "exactly one of minAvailable and maxUnavailable"},
	"TrustedAccountWithoutName": {map[string]string{"spec.agentConfig.trustedNodeAccounts": "[istio-system]"}, "trustedNodeAccounts"},
	"MonitorIntervalThatIsNone": {map[string]string{"spec.agentConfig.serviceMonitor.interval": "often"}, "interval"},
}

func TestIstioCSR_RefusedOnCreate(t *testing.T) {
	ns := planetest.Namespace(t, plane)
	for name, tc := range refusedOnCreate {
		t.Run(name, func(t *testing.T) {
			o := istioCSR(t, ns, tc.changes)
			err := admin.Create(t.Context(), o, client.DryRunAll)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.names) {
				t.Errorf("the answer is %v, want a refusal that names %q", err, tc.names)
			}
		})
	}
	t.Run("UnknownField", func(t *testing.T) {
		o := istioCSR(t, ns, map[string]string{"logColour": "red"})
		err := admin.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "logColour") {
			t.Errorf("the answer is %v, want one that names the unknown field", err)
		}
	})
}

// TestIstioCSR_AcceptedOnCreate: what the seed lets through is not refused.
func TestIstioCSR_AcceptedOnCreate(t *testing.T) {
	ns := planetest.Namespace(t, plane)
	for name, changes := range map[string]map[string]string{
		"Smallest":            nil,
		"IssuerInAnyCase":     {"certManager.issuerRef.kind": "clusterISSUER", "certManager.issuerRef.group": "Cert-Manager.io"},
		"TrustDomain":         {tlsConfig + "trustDomain": "a.b-c.d"},
		"NamespaceFromADigit": {"istio.namespace": "1abc"},
		"CANameWithDot":       {caReference: "{name: a.b, key: ca.crt}"},
		"CANamespaceEmpty":    {caReference: `{name: a, key: ca.crt, namespace: ""}`},
		"ECDSA":               {tlsConfig + "privateKeyAlgorithm": "ECDSA", tlsConfig + "privateKeySize": "384"},
		"RSA8192":             {tlsConfig + "privateKeySize": "8192"},
		"ShortDuration":       {tlsConfig + "certificateDuration": "30m"},
		"SelectorThatIsNone":  {"istioDataPlaneNamespaceSelector": "a==b==c,,"},
		"RevisionOfAnyShape":  {"istio.revisions": `["1_16"]`},
		"NoRevisions":         {"istio.revisions": "[]"},
		"NullForADefault":     {tlsConfig + "certificateDuration": "null", "logLevel": "null"},
		"Agent": {"spec.agentConfig": "{replicas: 2, podDisruptionBudget: {minAvailable: 50%}, priorityClassName: system-cluster-critical, serviceMonitor: {}, " +
			"networkPolicy: {apiServerPorts: [443], dns: true, monitoringNamespace: monitoring}, trustedNodeAccounts: [istio-system/ztunnel], tls: {minVersion: '1.3'}}"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := admin.Create(t.Context(), istioCSR(t, ns, changes), client.DryRunAll); err != nil {
				t.Errorf("it was refused: %v", err)
			}
		})
	}
}

func TestIstioCSR_Defaults(t *testing.T) {
	t.Parallel()
	o := istioCSR(t, planetest.Namespace(t, plane), map[string]string{"server": "{}", "logLevel": "null"})
	if err := admin.Create(t.Context(), o, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"logLevel": int64(1), "logFormat": "text", "server.port": int64(443), "server.clusterID": "Kubernetes",
		tlsConfig + "certificateDuration": "1h", tlsConfig + "certificateRenewBefore": "30m", tlsConfig + "maxCertificateDuration": "1h",
		tlsConfig + "privateKeySize": int64(2048), tlsConfig + "privateKeyAlgorithm": "RSA", "istio.revisions": []any{"default"},
	} {
		got, _, err := unstructured.NestedFieldNoCopy(o.Object, strings.Split("spec.istioCSRConfig."+path, ".")...)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v (%v)", path, got, want, err)
		}
	}
}

func TestIstioCSR_Updates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, changes map[string]string
		refusal         string
	}{
		"IssuerName":           {changes: map[string]string{"certManager.issuerRef.name": "other"}, refusal: "issuerRef is immutable once set"},
		"IssuerKindInCase":     {changes: map[string]string{"certManager.issuerRef.kind": "issuer"}, refusal: "issuerRef is immutable once set"},
		"Algorithm":            {changes: map[string]string{tlsConfig + "privateKeyAlgorithm": "ECDSA", tlsConfig + "privateKeySize": "256"}, refusal: "privateKeyAlgorithm is immutable once set"},
		"Size":                 {changes: map[string]string{tlsConfig + "privateKeySize": "4096"}, refusal: "privateKeySize is immutable once set"},
		"SizeRemoved":          {before: map[string]string{tlsConfig + "privateKeySize": "4096"}, changes: map[string]string{tlsConfig + "privateKeySize": "-"}, refusal: "privateKeySize is immutable once set"},
		"IstioNamespace":       {changes: map[string]string{"istio.namespace": "other"}, refusal: "namespace is immutable once set"},
		"Port":                 {before: map[string]string{"server.port": "443"}, changes: map[string]string{"server.port": "8443"}, refusal: "port is immutable once set"},
		"PortDropped":          {before: map[string]string{"server.port": "8443"}, changes: map[string]string{"server.port": "-"}, refusal: "port is immutable once set"},
		"PortByRemovingServer": {before: map[string]string{"server.port": "8443"}, changes: map[string]string{"server": "-"}, refusal: "server may not be removed once set"},
		"PortSetLater":         {changes: map[string]string{"server.port": "8443"}},
		"ClusterID":            {before: map[string]string{"server.clusterID": "a"}, changes: map[string]string{"server.clusterID": "b"}},
		"CAAdded":              {changes: map[string]string{caReference: "{name: ca, key: ca.crt}"}},
		"CARemoved":            {before: map[string]string{caReference: "{name: ca, key: ca.crt}"}, changes: map[string]string{caReference: "-"}},
		"CAChanged":            {before: map[string]string{caReference: "{name: ca, key: ca.crt}"}, changes: map[string]string{caReference: "{name: cb, key: ca.crt}"}},
		"Revisions":            {changes: map[string]string{"istio.revisions": "[default, canary]"}},
		"TrustDomain":          {changes: map[string]string{tlsConfig + "trustDomain": "example.com"}},
		"CommonName":           {changes: map[string]string{tlsConfig + "commonName": "istiod"}},
		"Durations":            {changes: map[string]string{tlsConfig + "certificateDuration": "2h", tlsConfig + "certificateRenewBefore": "1h", tlsConfig + "maxCertificateDuration": "2h"}},
		"Selector":             {changes: map[string]string{"istioDataPlaneNamespaceSelector": "a=b"}},
		"Labels":               {changes: map[string]string{"spec.controllerConfig.labels": "{a: b}"}},
		"Resources":            {changes: map[string]string{"resources.requests": "{cpu: 10m}"}},
		"Logs":                 {changes: map[string]string{"logLevel": "5", "logFormat": "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := istioCSR(t, planetest.Namespace(t, plane), tc.before)
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			changed := istioCSR(t, o.GetNamespace(), tc.before)
			setFields(t, changed, tc.changes)
			err := admin.Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/json-patch+json", replaceSpec(t, changed)), client.DryRunAll)
			if tc.refusal == "" && err != nil || tc.refusal != "" && (err == nil || !strings.Contains(err.Error(), tc.refusal)) {
				t.Errorf("the answer is %v, want %q", err, tc.refusal)
			}
		})
	}
}

// replaceSpec is a patch that makes the spec of an object that of another.
func replaceSpec(t *testing.T, from *unstructured.Unstructured) []byte {
	t.Helper()
	spec, err := yaml.Marshal([]any{map[string]any{"op": "replace", "path": "/spec", "value": from.Object["spec"]}})
	if err != nil {
		t.Fatal(err)
	}
	patch, err := yaml.YAMLToJSON(spec)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}
