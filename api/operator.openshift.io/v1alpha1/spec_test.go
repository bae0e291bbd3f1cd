// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// One object that cannot be decoded must not keep the others from being read.
func TestIstioCSRSpec_Undecodable(t *testing.T) {
	list := &IstioCSRList{}
	err := json.Unmarshal([]byte(`{"items": [
		{"metadata": {"namespace": "a"}, "spec": {"istioCSRConfig": {"logLevel": 3, "istiodTLSConfig": {"certificateDuration": "banana"}}}},
		{"metadata": {"namespace": "b"}, "spec": {"istioCSRConfig": {"logLevel": 4, "istiodTLSConfig": {"certificateDuration": "90m"}}}},
		{"metadata": {"namespace": "c"}, "spec": {"istioCSRConfig": {"resources": {"limits": {"cpu": "1e1.5"}}}}, "status": {"clusterRole": "r"}}
	]}`), list)
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d items were read: %v", len(list.Items), err)
	}
	for i, want := range []string{"banana", "", "quantities"} {
		spec := list.Items[i].Spec
		if (spec.Undecodable == "") != (want == "") || !strings.Contains(spec.Undecodable, want) {
			t.Errorf("item %d: undecodable is %q, want one about %q", i, spec.Undecodable, want)
		}
		if want != "" && spec.IstioCSRConfig.LogLevel != 0 {
			t.Errorf("item %d: half of it was decoded", i)
		}
	}
	good := list.Items[1].Spec.IstioCSRConfig
	if good.LogLevel != 4 || good.IstiodTLSConfig.CertificateDuration.Duration != 90*time.Minute {
		t.Errorf("the good one is %+v", good)
	}
	if list.Items[2].Status.ClusterRole != "r" || list.Items[2].Namespace != "c" {
		t.Errorf("what can be read besides the spec was lost: %+v", list.Items[2])
	}
	out, err := json.Marshal(list.Items[0])
	if err != nil || strings.Contains(string(out), "ndecodable") {
		t.Errorf("it is written as %s (%v)", out, err)
	}
}
