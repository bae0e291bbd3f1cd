// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// pages answers lists as an API server does that holds these names, one a page.
type pages struct {
	names []string
	// uncounted leaves out how many remain, as a list with a selector does.
	uncounted bool
	err       error
	asked     []string
}

func (p *pages) Get(context.Context, types.NamespacedName, client.Object, ...client.GetOption) error {
	return errors.New("only lists are answered")
}

func (p *pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	found := list.(*unstructured.UnstructuredList)
	p.asked = append(p.asked, found.GetAPIVersion()+" "+found.GetKind())
	if p.err != nil {
		return p.err
	}
	limit := int((&client.ListOptions{}).ApplyOptions(options).Limit)
	if limit == 0 {
		limit = len(p.names)
	}
	for _, name := range p.names[:min(limit, len(p.names))] {
		item := unstructured.Unstructured{}
		item.SetNamespace("app")
		item.SetName(name)
		found.Items = append(found.Items, item)
	}
	if more := int64(len(p.names) - limit); more > 0 {
		found.SetContinue("more")
		if !p.uncounted {
			found.SetRemainingItemCount(&more)
		}
	}
	return nil
}

func TestEngine_InstancesLeft(t *testing.T) {
	const versions = "versions: [{name: v1, served: true, storage: false}, {name: v2, served: true, storage: true}, {name: v3, served: true, storage: false}]"
	down := errors.New("the API server is down")
	cases := map[string]struct {
		reason  string
		spec    string
		status  string
		cluster pages
		want    string
		asked   string
		err     bool
	}{
		"None":       {reason: "nothing is lost", spec: versions, asked: "example.org/v2 WidgetList"},
		"One":        {reason: "it is named", spec: versions, cluster: pages{names: []string{"a"}}, want: "1 instance of its kind exists (e.g. app/a): delete it first", asked: "example.org/v2 WidgetList"},
		"Many":       {reason: "the rest is counted", spec: versions, cluster: pages{names: []string{"a", "b", "c"}}, want: "3 instances of its kind exist (e.g. app/a): delete them first", asked: "example.org/v2 WidgetList"},
		"Uncounted":  {reason: "no wrong number", spec: versions, cluster: pages{names: []string{"a", "b"}, uncounted: true}, want: "instances of its kind exist (e.g. app/a): delete them first", asked: "example.org/v2 WidgetList"},
		"OtherStore": {reason: "the one that is served is asked", spec: "versions: [{name: v1, served: false, storage: true}, {name: v2, served: true}]", asked: "example.org/v2 WidgetList"},
		"Unserved":   {reason: "they cannot be seen, so they may exist", spec: "versions: [{name: v1, served: false, storage: true}]", err: true},
		"Down":       {reason: "unknown is not none", spec: versions, cluster: pages{err: down}, asked: "example.org/v2 WidgetList", err: true},
		"Refused":    {reason: "its names are another one's, so nothing could be created", spec: versions, status: "conditions: [{type: NamesAccepted, status: \"False\"}, {type: Established, status: \"False\"}]"},
		"Installing": {reason: "it may be established at any moment", spec: versions, status: "conditions: [{type: NamesAccepted, status: \"True\"}, {type: Established, status: \"False\"}]", asked: "example.org/v2 WidgetList"},
		"Malformed":  {reason: "what cannot be read is no permission", spec: "versions: 3", err: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			definition := &unstructured.Unstructured{}
			text := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.org}, spec: {group: example.org, names: {kind: Widget}, " + c.spec + "}, status: {" + c.status + "}}"
			if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
				t.Fatal(err)
			}
			engine := &Engine{config: Config{Live: &c.cluster}}
			got, err := engine.instancesLeft(t.Context(), definition)
			if got != c.want || (err != nil) != c.err {
				t.Errorf("%s: got %q, %v, want %q", c.reason, got, err, c.want)
			}
			if c.cluster.err != nil && !errors.Is(err, down) {
				t.Errorf("the error does not say why: %v", err)
			}
			if asked := strings.Join(c.cluster.asked, ", "); asked != c.asked {
				t.Errorf("asked for %q, want %q", asked, c.asked)
			}
		})
	}
}
