// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// written is a version of a release, as OLM's controller writes it.
type written struct {
	version int
	// status is that in the label, and inside that in the JSON when it differs.
	status, inside string
	name, manifest string
	labels         map[string]string
	// parts is how many Secrets it takes, 1 for 0.
	parts int
	uid   types.UID
}

const uid = types.UID("11111111-2222-3333-4444-555555555555")

// complete are the labels of a release of today.
var complete = map[string]string{
	olmv1.AnnotationPackageName: "p", olmv1.AnnotationBundleName: "p.v1.0.0", olmv1.AnnotationBundleVersion: "1.0.0",
	olmv1.AnnotationBundleReference: "registry.example/p@sha256:1",
}

const settings = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"app"},"data":{"a":"b"}}` + "\n"

// secrets are what a version is kept in, the index first.
func (w written) secrets(t *testing.T) []*corev1.Secret {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"name": cmp.Or(w.name, "demo"), "chart": map[string]any{"templates": []any{map[string]any{"data": []byte(w.manifest)}}, "values": nil},
		"info": map[string]any{"status": cmp.Or(w.inside, w.status), "notes": "x"}, "version": w.version, "namespace": "app",
		"manifest": w.manifest, "labels": w.labels,
	})
	if err != nil {
		t.Fatal(err)
	}
	packed := &bytes.Buffer{}
	writer := gzip.NewWriter(packed)
	if _, err := writer.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	count := max(w.parts, 1)
	key := fmt.Sprintf("sh.helm.release.v1.%s.v%d", "demo", w.version)
	all := make([]*corev1.Secret, count)
	var names []string
	for i := range all {
		part := packed.Bytes()[packed.Len()*i/count : packed.Len()*(i+1)/count]
		all[i] = &corev1.Secret{Type: chunkType, Data: map[string][]byte{chunkKey: part}}
		all[i].Namespace, all[i].Name = "olmv1-system", fmt.Sprintf("%s-%d", key, i)
		all[i].Labels = map[string]string{"owner": "operator-controller", "key": key, "type": "chunk"}
		if i > 0 {
			names = append(names, all[i].Name)
		}
	}
	index := all[0]
	index.Type, index.Name = indexType, key
	index.Labels = map[string]string{"owner": "operator-controller", "key": key, "type": "index", "name": "demo", "status": w.status, "version": strconv.Itoa(w.version)}
	index.OwnerReferences = []metav1.OwnerReference{{APIVersion: olmv1.GroupVersion.String(), Kind: "ClusterExtension", Name: "demo", UID: cmp.Or(w.uid, uid)}}
	if len(names) > 0 {
		if index.Data[extraKey], err = json.Marshal(names); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
