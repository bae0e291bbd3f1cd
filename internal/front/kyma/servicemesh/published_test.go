// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// published is where the values lie that Kyma publishes, beside the checkout.
var published = filepath.Join("..", "..", "..", "..", "shared", "kyma")

// accepted are the places where our mesh is meant to differ from Kyma's, with the reason.
var accepted = []struct{ size, place, reason string }{
	{"", "ConfigMap values/", "it keeps what the charts were rendered with, and nothing reads it"},
	{"", "ConfigMap istio-sidecar-injector/data/values/global/jwtPolicy", "no template of these releases reads it"},
	{"", "ConfigMap istio-sidecar-injector/data/values/pilot/env/CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE", "it is set on istiod itself, which alone reads it"},
	{"", "ConfigMap istio/data/mesh/extensionProviders/stdout-json/envoyFileAccessLog/logFormat/labels/upstream_transport_failure_reason", "Kyma writes another value under this name"},
	{"", "Deployment istio-egressgateway/spec/strategy/rollingUpdate/maxUnavailable", "as the ingress gateway: traffic is not interrupted"},
	{"", "Deployment istio-egressgateway/spec/template/metadata/annotations/sidecar.istio.io/statsEvictionInterval", "as the ingress gateway"},
	{"", "Deployment istio-egressgateway/spec/template/spec/securityContext", "as the ingress gateway"},
	{"", "Deployment istio-ingressgateway/spec/template/metadata/annotations/istios.operator.kyma-project.io/managed-by-disclaimer", "it stands on the objects, not on their pods"},
	{"", "Deployment istiod/spec/template/metadata/annotations/istios.operator.kyma-project.io/managed-by-disclaimer", "it stands on the objects, not on their pods"},
	{"", "ValidatingWebhookConfiguration istiod-default-validator", "Kyma's installer makes it beside the charts"},
}

// The defaults are Kyma's: its published values and ours give the same objects by Istio's
// charts, but for what is listed.
func TestDefaults_ArePublished(t *testing.T) {
	if _, err := os.Stat(published); errors.Is(err, fs.ErrNotExist) {
		t.Logf("Kyma's published values are not in %s: nothing is compared", published)
		return
	}
	met := map[string]bool{}
	for size, file := range map[Size]string{Production: "istio-operator.yaml", Evaluation: "istio-operator-light.yaml"} {
		theirs := operatorOf(t, file)
		in := input(t, "components: {egressGateway: {enabled: true}}")
		in.Cluster.Size = size
		ours, err := Merge(in.Istio, in.Settings, in.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		entry(at(theirs, "spec", "components"), EgressGateway, "egressGateways")["enabled"] = true
		mergeSettings(at(theirs, "spec"), in.Settings)
		differences := map[string]string{}
		compare("", renderedBy(t, in.Settings, theirs), renderedBy(t, in.Settings, ours), differences)
		for _, place := range slices.Sorted(maps.Keys(differences)) {
			i := slices.IndexFunc(accepted, func(a struct{ size, place, reason string }) bool {
				return (a.size == "" || a.size == string(size)) && strings.HasPrefix(place, a.place)
			})
			if i < 0 {
				t.Errorf("%s %s: %s", size, place, differences[place])
				continue
			}
			met[accepted[i].place] = true
		}
	}
	for _, a := range accepted {
		if !met[a.place] {
			t.Errorf("%s does not differ any more: take it off the list (%s)", a.place, a.reason)
		}
	}
}

func operatorOf(t *testing.T, file string) tree {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(published, file))
	if err != nil {
		t.Fatal(err)
	}
	document := tree{}
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	operator, err := treeOf(document)
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

// renderedBy are the objects of an operator document, by kind and name.
func renderedBy(t *testing.T, s Settings, operator tree) tree {
	t.Helper()
	all := tree{}
	for _, c := range componentsOf(operator) {
		objects, err := c.render(s.Release)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			unfold(o)
			all[o.GetKind()+" "+o.GetName()] = o.Object
		}
	}
	return all
}

// unfold gives the documents in ConfigMaps as what they say.
func unfold(o *unstructured.Unstructured) {
	data, _ := o.Object["data"].(tree)
	for key, value := range data {
		text, _ := value.(string)
		var document any
		if yaml.Unmarshal([]byte(text), &document) == nil {
			data[key] = document
		}
	}
}

// compare notes where two values differ. Entries of lists go by their name, if they have one.
func compare(place string, a, b any, differences map[string]string) {
	x, isMap := asTree(a)
	y, alsoMap := asTree(b)
	if !isMap && a != nil || !alsoMap && b != nil || !isMap && !alsoMap {
		if !cmp.Equal(a, b) && (!isEmpty(a) || !isEmpty(b)) {
			differences[place] = fmt.Sprintf("Kyma has %v, and we have %v", a, b)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(union(x, y))) {
		compare(strings.TrimPrefix(place+"/"+key, "/"), x[key], y[key], differences)
	}
}

// isEmpty says whether a value says what leaving it out says.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case []any:
		return len(value) == 0
	case tree:
		return !slices.ContainsFunc(slices.Collect(maps.Values(value)), func(inner any) bool { return !isEmpty(inner) })
	}
	return false
}

func union(a, b tree) tree {
	all := tree{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

func asTree(value any) (tree, bool) {
	if m, ok := value.(tree); ok {
		return m, true
	}
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	named, ok := byName(list)
	if !ok {
		return nil, false
	}
	all := tree{}
	for _, item := range named {
		name, _ := item["name"].(string)
		all[name] = item
	}
	return all, true
}
