// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// answering answers every dry run with an error by namespace, and keeps the options.
type answering struct {
	t       *testing.T
	answers map[string]error
}

// Create is never asked for.
func (answering) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errors.New("a dry run applies")
}

// Patch answers a dry run.
func (a answering) Patch(_ context.Context, object client.Object, _ client.Patch, options ...client.PatchOption) error {
	applied := &client.PatchOptions{}
	applied.ApplyOptions(options)
	if len(applied.DryRun) != 1 || applied.FieldValidation != metav1.FieldValidationStrict || applied.FieldManager != revisions.DefaultFieldOwner {
		a.t.Errorf("%s is applied with %+v", object.GetName(), applied)
	}
	return a.answers[object.GetNamespace()]
}

func TestDryRun_Sorts(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	status := func(code int32, reason metav1.StatusReason, text string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: text}}
	}
	const typed = "failed to create typed patch object (app/a; /v1, Kind=ConfigMap): errors:\n  .date: field not declared in schema\n  .data.k: expected string, got 4711"
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "app")
	missing.ErrStatus.Details.Kind = "namespaces"
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "namespace": "app"}}}
	cases := map[string]struct {
		reason           string
		object           *unstructured.Unstructured
		others           []*unstructured.Unstructured
		answers          map[string]error
		exact            bool
		refused, untried string
	}{
		"Taken": {reason: "What is taken is known."},
		"Unknown": {
			reason: "A field that the API server does not know is refused, each on its own.", answers: map[string]error{"app": status(500, "", typed)},
			refused: "ConfigMap app/a would be refused: .date: field not declared in schema; .data.k: expected string, got 4711",
		},
		"Secret": {
			reason: "What is said of a Secret may quote it.", object: secret, answers: map[string]error{"app": status(500, "", typed)},
			refused: "as they may quote the Secret",
		},
		"NoNamespace": {reason: "It would never come.", answers: map[string]error{"app": missing}, refused: "namespace app does not exist"},
		"NamespaceComes": {
			reason: "Another namespace stands in for one that the content brings.", answers: map[string]error{"app": missing, "default": apierrors.NewForbidden(gr, "a", errors.New("exceeded quota"))},
			others: []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "app"}}}},
		},
		"NamespaceComesAndInvalid": {
			reason: "What is wrong wherever it is, counts.", answers: map[string]error{"app": missing, "default": status(422, metav1.StatusReasonInvalid, "name is wrong")},
			others:  []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "app"}}}},
			refused: "name is wrong",
		},
		"Policy": {
			reason: "A policy that denies, refuses.", answers: map[string]error{"app": status(403, metav1.StatusReasonForbidden, `admission webhook "p" denied the request`)}, refused: "denied",
		},
		"OwnPolicy": {
			reason: "The content may bring the rule that admits it.", answers: map[string]error{"app": status(403, metav1.StatusReasonForbidden, `admission webhook "p" denied the request`)},
			others: []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "w"}}}},
		},
		"Rights": {
			reason: "Who may not apply it, knows nothing of it.", answers: map[string]error{"app": status(403, metav1.StatusReasonForbidden, `User "v" cannot patch resource`)}, untried: "you may not apply it",
		},
		"RightsOfPackage": {
			reason: "The check of rights says it.", exact: true, answers: map[string]error{"app": status(403, metav1.StatusReasonForbidden, `User "v" cannot patch resource`)},
		},
		"WebhookDown": {
			reason: "It says nothing of the object.", answers: map[string]error{"app": status(500, metav1.StatusReasonInternalError, `failed calling webhook "p"`)}, untried: "failed calling webhook",
		},
		"WebhookWithoutDryRun": {
			reason: "It says nothing of the object.", answers: map[string]error{"app": status(400, metav1.StatusReasonBadRequest, `admission webhook "p" does not support dry run`)}, untried: "does not support dry run",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.object == nil {
				tc.object = configMap("a", "1")
			}
			phase := revisions.Phase{Name: "all", Objects: []revisions.Object{{Manifest: tc.object}}}
			for _, other := range tc.others {
				phase.Objects = append(phase.Objects, revisions.Object{Manifest: other})
			}
			only := func(id revisions.ObjectID) bool { return id == revisions.IDOf(tc.object) }
			run := DryRun{Writer: answering{t, tc.answers}, Exact: tc.exact}
			got := run.Run(t.Context(), revisions.Revision{Phases: []revisions.Phase{phase}}, only, nil)[0]
			refused := ""
			if got.Refused != nil {
				refused = got.Refused.Message
			}
			if !strings.Contains(refused, tc.refused) || (refused == "") != (tc.refused == "") || !strings.Contains(got.Untried, tc.untried) || (got.Untried == "") != (tc.untried == "") {
				t.Errorf("%s refused %q, untried %q; want %q, %q", tc.reason, refused, got.Untried, tc.refused, tc.untried)
			}
		})
	}
}
