// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions/probes"
)

// deployment is what a client reads from the cluster while a rollout waits for its
// last pod.
func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"name":        "web",
			"generation":  int64(2),
			"labels":      map[string]any{"app": "web"},
			"annotations": map[string]any{"example.org/channel": "stable"},
		},
		"spec": map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(2),
			"replicas":           int64(3),
			"updatedReplicas":    int64(3),
			"availableReplicas":  int64(2),
			"conditions": []any{
				map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
			},
		},
	}}
}

func ExampleDefault() {
	p, ok := probes.Default(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if !ok {
		fmt.Println("it is unknown when such an object is ready")
		return
	}
	result := p.Probe(deployment())
	fmt.Printf("%s: %s\n", result.Status, result.Message)
	// Output: False: 2 of 3 updated replicas available
}

func ExampleCondition() {
	available := probes.Condition{Type: "Available"}
	progressing := probes.Condition{Type: "Progressing", Reason: "NewReplicaSetAvailable"}
	for _, p := range []probes.Probe{available, progressing} {
		result := p.Probe(deployment())
		fmt.Printf("%s %q\n", result.Status, result.Message)
	}
	// Output:
	// True ""
	// Unknown "the object has no condition \"Progressing\" yet"
}

func ExampleParsePath() {
	for _, text := range []string{
		`.metadata.annotations["example.org/channel"]`,
		".status.conditions[type=Available].reason",
		".metadata.annotations.example.org/channel",
	} {
		path, err := probes.ParsePath(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		value, found := path.Lookup(deployment())
		fmt.Println(value, found)
	}
	// Output:
	// stable true
	// MinimumReplicasAvailable true
	// parsing path ".metadata.annotations.example.org/channel": position 34: found '/', expected "." or "["
}

func ExampleFieldValue_operator() {
	path, err := probes.ParsePath(".status.availableReplicas")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, least := range []int{2, 3} {
		result := probes.FieldValue{Path: path, Value: least, Operator: probes.AtLeast}.Probe(deployment())
		fmt.Printf("%s %q\n", result.Status, result.Message)
	}
	// Output:
	// True ""
	// False ".status.availableReplicas is 2, expected at least 3"
}

func ExampleFieldsEqual() {
	wanted, _ := probes.ParsePath(".spec.replicas")
	there, _ := probes.ParsePath(".status.availableReplicas")
	result := probes.FieldsEqual{A: there, B: wanted}.Probe(deployment())
	fmt.Println(result.Status, result.Message)
	// Output: False .status.availableReplicas is 2, expected it to equal .spec.replicas, which is 3
}

func ExampleObservedGeneration() {
	obj := deployment()
	obj.SetGeneration(3) // a user has changed the spec since
	result := probes.ObservedGeneration{Inner: probes.Condition{Type: "Available"}}.Probe(obj)
	fmt.Println(result.Status, result.Message)
	// Output: Unknown not observed yet (generation 3, observed 2)
}

// One of several ways to be ready is enough.
func ExampleAny() {
	result := probes.Any{
		probes.Condition{Type: "Ready"},
		probes.Condition{Type: "Available"},
	}.Probe(deployment())
	fmt.Println(result.Status)
	// Output: True
}

// What the object does not say is neither so nor not so.
func ExampleNot() {
	fmt.Println(probes.Not{Inner: probes.Condition{Type: "Available"}}.Probe(deployment()))
	fmt.Println(probes.Not{Inner: probes.Condition{Type: "Degraded"}}.Probe(deployment()))
	// Output:
	// {False this is true and must not be: condition "Available" is "True"}
	// {Unknown the object has no condition "Degraded" yet}
}

// For objects that are not selected, the answer is True.
func ExampleSelect() {
	p := probes.Select{Kind: schema.GroupKind{Kind: "Service"}, Inner: probes.Condition{Type: "Ready"}}
	fmt.Println(p.Probe(deployment()).Status)
	// Output: True
}

// An object that is not ready may serve all the same.
func ExampleServing() {
	p, _ := probes.Serving(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	fmt.Println(p.Probe(deployment()).Status)
	// Output: True
}

func ExampleFieldValue() {
	path, err := probes.ParsePath(".spec.resources.limits.memory")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := probes.FieldValue{Path: path, Value: resource.MustParse("1Gi")}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Widget",
		"spec": map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": "1024Mi"}}},
	}}
	fmt.Println(p.Probe(obj).Status)
	// Output: True
}

// A probe for all objects of a phase: Deployments that are labelled have to be
// ready, and nothing may be marked as broken.
func ExampleAll() {
	broken, err := probes.ParsePath(`.metadata.annotations["example.org/broken"]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	ready, _ := probes.Default(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	p := probes.All{
		probes.Select{
			Kind:   schema.GroupKind{Group: "apps", Kind: "Deployment"},
			Labels: labels.SelectorFromSet(labels.Set{"app": "web"}),
			Inner:  ready,
		},
		probes.Not{Inner: probes.FieldValue{Path: broken, Value: "true"}},
	}
	obj := deployment()
	obj.SetAnnotations(map[string]string{"example.org/broken": "true"})
	result := p.Probe(obj)
	fmt.Printf("%s: %s\n", result.Status, result.Message)
	// Output: False: 2 of 3 updated replicas available; this is true and must not be: .metadata.annotations["example.org/broken"] is "true"
}

// A probe of one's own keeps to the rules with ContainsSecrets and NewResult.
func ExampleFunc() {
	short := probes.Func(func(obj *unstructured.Unstructured) probes.Result {
		if obj == nil || len(obj.GetName()) <= 3 {
			return probes.Result{Status: probes.True}
		}
		if probes.ContainsSecrets(obj) {
			return probes.NewResult(probes.False, "the name is too long")
		}
		return probes.NewResult(probes.False, fmt.Sprintf("the name %q is too long", obj.GetName()))
	})
	fmt.Println(short.Probe(deployment()).Status)
	// Output: True
}
