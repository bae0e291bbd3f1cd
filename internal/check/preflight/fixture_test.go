// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// checked is a cluster with a Checker, whose identity has rights.
type checked struct {
	*Checker

	cluster *revisionstest.Cluster
	// who is the identity's client, which also counts what is asked about rights.
	who *identity
}

// identity answers questions about rights as an API server with RBAC does.
type identity struct {
	*revisionstest.Client

	// rules hold in a namespace, and in the whole cluster under "*".
	rules map[string][]authorizationv1.ResourceRule
	// hidden are rules that only a single question brings to light.
	hidden []authorizationv1.ResourceRule
	// down fails every question.
	down bool
	// rulesAsked and accessAsked count the questions.
	rulesAsked, accessAsked int
}

func (i *identity) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	request, ok := obj.(*unstructured.Unstructured)
	if !ok || !strings.HasPrefix(request.GetKind(), "SelfSubject") {
		return i.Client.Create(ctx, obj, opts...)
	}
	if i.down {
		return errors.New("the connection was refused")
	}
	var answer any
	switch request.GetKind() {
	case "SelfSubjectRulesReview":
		i.rulesAsked++
		review := &authorizationv1.SelfSubjectRulesReview{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(request.Object, review); err != nil {
			return err
		}
		review.Status.ResourceRules = slices.Clone(i.rules["*"])
		if review.Spec.Namespace != "*" {
			review.Status.ResourceRules = append(review.Status.ResourceRules, i.rules[review.Spec.Namespace]...)
		}
		review.Status.Incomplete = len(i.hidden) > 0
		answer = review
	default:
		i.accessAsked++
		review := &authorizationv1.SelfSubjectAccessReview{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(request.Object, review); err != nil {
			return err
		}
		a := review.Spec.ResourceAttributes
		all := rights{rules: slices.Concat(i.rules["*"], i.rules[a.Namespace], i.hidden)}
		review.Status.Allowed = all.allows(a.Verb, a.Group, a.Resource, a.Name)
		answer = review
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answer)
	request.Object = content
	return err
}

// rule allows verbs on resources of a group, of the objects named if any are.
func rule(verbs, group, resources string, names ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{Verbs: strings.Fields(verbs), APIGroups: []string{group}, Resources: strings.Fields(resources), ResourceNames: names}
}

// newChecked is a cluster whose manager may do everything.
func newChecked() *checked {
	cluster := revisionstest.New()
	who := &identity{Client: cluster.Client("identity"), rules: map[string][]authorizationv1.ResourceRule{"*": {rule("*", "*", "*")}}}
	return &checked{Checker: &Checker{Live: who, Writer: who, Mapper: cluster.Mapper()}, cluster: cluster, who: who}
}

// pkg is a package, which acts as a service account unless that is empty.
func pkg(account string, annotations ...string) *v1alpha1.Package {
	p := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "demo-uid", Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	if account != "" {
		p.Spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "app", Name: account}
	}
	return p
}

// manifest reads an object that is written in YAML.
func manifest(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = object.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return object
}

// revision is one phase of objects that are written in YAML.
func revision(t testing.TB, number int64, texts ...string) revisions.Revision {
	t.Helper()
	phase := revisions.Phase{Name: "all"}
	for _, text := range texts {
		phase.Objects = append(phase.Objects, revisions.Object{Manifest: manifest(t, text)})
	}
	return revisions.Revision{Number: number, Phases: []revisions.Phase{phase}}
}

// inPlace puts the objects of a revision on the cluster, as having been rolled out.
func (c *checked) inPlace(t testing.TB, r revisions.Revision) revisions.Revision {
	t.Helper()
	r.Succeeded, r.Records = true, map[revisions.ObjectID]revisions.Record{}
	for _, object := range r.Phases[0].Objects {
		created := object.Manifest.DeepCopy()
		if err := c.cluster.Client("setup").Create(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		r.Records[revisions.IDOf(created)] = revisions.Record{UID: created.GetUID()}
	}
	return r
}

// found are the findings of a check as "Check: message", and it fails the test if
// the check could not be made.
func (c *checked) found(t testing.TB, in Input) []string {
	t.Helper()
	return foundIn(t, c.Check(t.Context(), in))
}

func foundIn(t testing.TB, err error) []string {
	t.Helper()
	var held *Error
	if err != nil && !errors.As(err, &held) {
		t.Fatal(err)
	}
	var texts []string
	if held != nil {
		for _, finding := range held.Findings {
			texts = append(texts, string(finding.Check)+": "+finding.Message)
		}
	}
	return texts
}

// requests are those of the identity, and it fails the test if one of them had an
// effect.
func (c *checked) requests(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, request := range c.cluster.Requests("identity") {
		if !request.DryRun && request.Verb != revisionstest.VerbGet {
			t.Errorf("a preflight has sent a %s of %s", request.Verb, request.Object)
		}
		texts = append(texts, request.Verb+" "+request.Object.String())
	}
	return texts
}
