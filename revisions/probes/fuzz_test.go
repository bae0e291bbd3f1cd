// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scrambler makes objects whose fields have the names that probes look for and
// values of any type, right and wrong.
type scrambler struct {
	random *rand.Rand
}

var scrambledNames = []string{
	"apiVersion", "kind", "metadata", "generation", "annotations", "labels", "deletionTimestamp", "spec", "status",
	"replicas", "updatedReplicas", "availableReplicas", "readyReplicas", "observedGeneration", "conditions", "type",
	"reason", "message", "phase", "paused", "suspend", "completions", "updateStrategy", "rollingUpdate", "partition",
	"currentRevision", "updateRevision", "desiredNumberScheduled", "numberAvailable", "loadBalancer", "ingress", "ip",
	"webhooks", "clientConfig", "caBundle", "url", "name", "volumeName", "containerStatuses", "initContainerStatuses",
	"state", "waiting", annConditions, annSelectedNode, annProvisioner,
}

var scrambledTexts = []string{
	"", "True", "False", "Unknown", "Ready", "Available", "Progressing", "Established", "AbleToScale", "Complete",
	"Pending", "Running", "OnDelete", "LoadBalancer", "LS0tLS0=", "[{", `[{"type":"AbleToScale"}]`, "[null, 3]",
	"1e2147483647", "a\nb\xff\x00", "apps/v1", "a/b/c",
}

func (s scrambler) value(depth int) any {
	kinds := 8
	if depth <= 0 {
		kinds = 6
	}
	switch s.random.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return s.random.IntN(2) == 0
	case 2:
		return s.random.Int64N(4)
	case 3:
		return s.random.NormFloat64() * 1e300
	case 4:
		return -s.random.Int64()
	case 5:
		return scrambledTexts[s.random.IntN(len(scrambledTexts))]
	case 6:
		list := make([]any, s.random.IntN(4))
		for i := range list {
			list[i] = s.value(depth - 1)
		}
		return list
	}
	return s.fields(depth)
}

func (s scrambler) fields(depth int) map[string]any {
	fields := map[string]any{}
	for range s.random.IntN(12) {
		fields[scrambledNames[s.random.IntN(len(scrambledNames))]] = s.value(depth - 1)
	}
	return fields
}

// object makes an object of the kind that p is for, if it is for one, so that the
// default probes do not turn it away at the door.
func (s scrambler) object(p Probe) *unstructured.Unstructured {
	content := s.fields(5)
	for _, name := range []string{"metadata", "spec", "status"} {
		if s.random.IntN(4) > 0 {
			content[name] = s.fields(4)
		}
	}
	if d, ok := p.(defaultProbe); ok {
		content["apiVersion"], content["kind"] = d.kind.WithVersion("v1").GroupVersion().String(), d.kind.Kind
		if metadata, ok := content["metadata"].(map[string]any); ok {
			delete(metadata, "deletionTimestamp")
		}
		s.observe(content)
	}
	return &unstructured.Unstructured{Object: content}
}

// observe lets about half of the objects pass the first question of most probes.
func (s scrambler) observe(content map[string]any) {
	metadata, ok := content["metadata"].(map[string]any)
	status, fine := content["status"].(map[string]any)
	if ok && fine && s.random.IntN(2) == 0 {
		metadata["generation"], status["observedGeneration"] = int64(1), int64(1)
	}
}

func scrambledProbes(t testing.TB) []Probe {
	one := Condition{Type: "Ready"}
	value := FieldValue{Path: path(t, ".status.conditions[type=Ready].status"), Value: "True"}
	amount := FieldValue{Path: path(t, ".spec.replicas"), Value: resource.MustParse("1")}
	equal := FieldsEqual{A: path(t, ".status"), B: path(t, ".spec")}
	list := []Probe{
		one, value, amount, equal, ObservedGeneration{Inner: one}, All{one, value, amount, equal}, Any{one, value, amount, equal},
		FieldValue{Path: path(t, ".spec.replicas"), Value: 1.5, Operator: AtLeast}, FieldValue{Path: path(t, ".spec.replicas"), Value: resource.MustParse("1"), Operator: AtMost},
		ObservedGeneration{Inner: All{}, Required: true}, Not{Inner: equal},
		Not{Inner: one}, Not{Inner: value}, Select{Inner: one}, All{nil}, Any{nil}, Not{}, Select{}, ObservedGeneration{},
		Condition{}, FieldValue{}, FieldsEqual{},
	}
	for _, kind := range defaultKinds() {
		ready, _ := Default(kind)
		serves, _ := Serving(kind)
		list = append(list, ready, serves)
	}
	return list
}

// checkProbe puts an object to a probe and checks what a probe promises for every
// object: a status, a message that can be shown, and the object left alone.
func checkProbe(t *testing.T, p Probe, obj *unstructured.Unstructured) Result {
	t.Helper()
	before := obj.DeepCopy()
	got := p.Probe(obj)
	if got.Status != True && got.Status != False && got.Status != Unknown {
		t.Errorf("%T: Probe() has the status %q", p, got.Status)
	}
	if got.Status != True && got.Message == "" {
		t.Errorf("%T: Probe() is %s and does not say why", p, got.Status)
	}
	if len(got.Message) > MaxMessage || !utf8.ValidString(got.Message) || oneLine(got.Message, MaxMessage) != got.Message {
		t.Errorf("%T: Probe() has a message that cannot be shown: %q", p, got.Message)
	}
	if again := p.Probe(obj); again != got {
		t.Errorf("%T: Probe() says %v, then %v, of the same object", p, got, again)
	}
	if !reflect.DeepEqual(before, obj) {
		t.Errorf("%T: Probe() changed the object:\n%s", p, cmp.Diff(before, obj))
	}
	return got
}

// FuzzProbes puts scrambled objects to all probes. Run as a test it goes through some
// thousand of them.
func FuzzProbes(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	list := scrambledProbes(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		s := scrambler{rand.New(rand.NewPCG(seed, 1))}
		for _, p := range list {
			checkProbe(t, p, s.object(p))
		}
	})
}

func TestProbes_OnNothing(t *testing.T) {
	for _, obj := range []*unstructured.Unstructured{nil, {}, {Object: map[string]any{}}} {
		for _, p := range scrambledProbes(t) {
			got := checkProbe(t, p, obj)
			if _, negated := p.(Not); got.Status == True && !negated {
				t.Errorf("%T: Probe() of nothing is True", p)
			}
		}
	}
}

// The scrambler is of use only if its objects get past the first question.
func TestScrambler_ReachesAllAnswers(t *testing.T) {
	seen := map[Status]int{}
	for seed := range uint64(200) {
		s := scrambler{rand.New(rand.NewPCG(seed, 2))}
		for _, p := range scrambledProbes(t) {
			seen[p.Probe(s.object(p)).Status]++
		}
	}
	for _, status := range answers {
		if seen[status] < 100 {
			t.Errorf("of all answers only %d are %s: %v", seen[status], status, seen)
		}
	}
}
