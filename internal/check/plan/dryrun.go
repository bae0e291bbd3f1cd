// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// DryRun applies objects without effect, as strictly as the API server can be asked to:
// a field that it does not know is refused.
type DryRun struct {
	// Writer sends the requests. Required.
	Writer preflight.Asker
	// Package is whose objects they are to become, nil for none.
	Package *v1alpha1.Package
	// Exact is true when the writer acts as the package does: what it may not do counts
	// as refused then.
	Exact bool
}

// Attempt is what the API server has said to the dry run of one object.
type Attempt struct {
	// ID names the object.
	ID revisions.ObjectID
	// Live is the object as it is, nil when there is none.
	Live *unstructured.Unstructured
	// Applied is the object as it would be, nil when that is not known.
	Applied *unstructured.Unstructured
	// Refused is set when the API server would refuse the object.
	Refused *preflight.Finding
	// Untried is why nothing is known, empty when something is. An object whose kind comes
	// with the content is neither tried nor untried: nothing can be wrong with it yet.
	Untried string
}

// definitionKind and namespaceKind are the kinds that other objects need.
var (
	definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	namespaceKind  = schema.GroupKind{Kind: "Namespace"}
)

// surroundings are what a content brings along and what a dry run lacks.
type surroundings struct {
	namespaces map[string]bool
	kinds      map[schema.GroupKind]bool
	// admission is true when the content has rules of admission of its own.
	admission bool
}

func surroundingsOf(target revisions.Revision) surroundings {
	s := surroundings{namespaces: map[string]bool{}, kinds: map[schema.GroupKind]bool{}}
	for _, phase := range target.Phases {
		for _, object := range phase.Objects {
			switch kind := object.Manifest.GroupVersionKind().GroupKind(); {
			case kind == namespaceKind:
				s.namespaces[object.Manifest.GetName()] = true
			case kind == definitionKind:
				s.kinds[defines(object.Manifest)] = true
			case kind.Group == "admissionregistration.k8s.io":
				s.admission = true
			}
		}
	}
	return s
}

// defines is the kind that a CustomResourceDefinition defines.
func defines(definition *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// Run applies the objects of a revision that are wanted, without effect. The answers are
// in the order of the revision. Live is the object of an identity as it is, nil for none;
// without the function nothing is known of what exists.
func (d DryRun) Run(ctx context.Context, target revisions.Revision, wanted func(revisions.ObjectID) bool, live func(revisions.ObjectID) *unstructured.Unstructured) []Attempt {
	around := surroundingsOf(target)
	var attempts []Attempt
	var objects []revisions.Object
	for _, phase := range target.Phases {
		for _, object := range phase.Objects {
			if id := revisions.IDOf(object.Manifest); wanted(id) && !around.kinds[id.GroupKind] {
				attempts, objects = append(attempts, Attempt{ID: id}), append(objects, object)
			}
		}
	}
	var group sync.WaitGroup
	room := make(chan struct{}, readAtOnce)
	for i := range attempts {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			if live != nil {
				attempts[i].Live = live(attempts[i].ID)
			}
			d.try(ctx, objects[i], around, &attempts[i])
		})
	}
	group.Wait()
	return attempts
}

// try applies one object, and sorts the answer.
func (d DryRun) try(ctx context.Context, object revisions.Object, around surroundings, a *Attempt) {
	var uid types.UID
	if a.Live != nil {
		uid = a.Live.GetUID()
	}
	request := preflight.Request(d.Package, object, uid)
	answer, err := d.apply(ctx, request)
	if missing := missingNamespace(err); missing != "" && around.namespaces[missing] {
		// The namespace comes with the content. Another one stands in for it, whose own
		// rules say nothing: only what is wrong wherever the object is, counts.
		request.SetNamespace(metav1.NamespaceDefault)
		request.SetResourceVersion(absent)
		if _, err = d.apply(ctx, request); !isMalformed(err) {
			return
		}
	}
	if err == nil {
		a.Applied = answer
		return
	}
	d.sort(object.Manifest, around, a, err)
}

// absent is a resourceVersion that no object has: an apply with it succeeds only where
// there is no object of that name.
const absent = "1"

func (d DryRun) apply(ctx context.Context, request *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(request.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	answer := &unstructured.Unstructured{}
	answer.SetGroupVersionKind(request.GroupVersionKind())
	answer.SetNamespace(request.GetNamespace())
	answer.SetName(request.GetName())
	err = d.Writer.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), client.DryRunAll,
		client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership, client.FieldValidation(metav1.FieldValidationStrict))
	return answer, err
}

// notTyped begins what an API server says of an object that does not fit its schema. It
// has no reason of its own.
const notTyped = "failed to create typed patch object"

// isMalformed says whether the API server refuses an object for what it is, whatever
// else there is.
func isMalformed(err error) bool {
	return apierrors.IsInvalid(err) && !isAdmission(err) || apierrors.IsBadRequest(err) && !isAdmission(err) || err != nil && strings.Contains(err.Error(), notTyped)
}

// isAdmission says whether a webhook or a policy has answered.
func isAdmission(err error) bool {
	text := err.Error()
	return strings.Contains(text, "admission webhook") || strings.Contains(text, "ValidatingAdmissionPolicy") || strings.Contains(text, "failed calling webhook")
}

// missingNamespace is the namespace that the API server has not found, empty when it is
// not that.
func missingNamespace(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return ""
	}
	if details := status.Status().Details; details != nil && details.Kind == "namespaces" {
		return details.Name
	}
	return ""
}

// What helps against a refusal.
const (
	remedyManifest  = "correct the manifest"
	remedyNamespace = "add a manifest of kind Namespace to the content, or create the namespace"
	remedyPolicy    = "change the manifest so that the policy admits it, or the policy"
)

// sort tells a refusal from what says nothing of the object.
func (d DryRun) sort(manifest *unstructured.Unstructured, around surroundings, a *Attempt, err error) {
	refuse := func(text, remedy string) {
		a.Refused = &preflight.Finding{Check: preflight.CheckAdmission, Object: a.ID, Message: fmt.Sprintf("%s would be refused: %s", a.ID, text), Remedy: remedy}
	}
	text := answerText(manifest, err)
	switch missing := missingNamespace(err); {
	case missing != "":
		refuse(fmt.Sprintf("namespace %s does not exist", missing), remedyNamespace)
	case isMalformed(err):
		refuse(text, remedyManifest)
	case isAdmission(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)):
		if !around.admission {
			refuse(text, remedyPolicy)
		}
	case apierrors.IsForbidden(err) && isAboutRights(err):
		if !d.Exact {
			a.Untried = "you may not apply it: " + text
		}
	case apierrors.IsForbidden(err):
		refuse(text, remedyPolicy)
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		// The plan says of a kind that the API server does not serve that it waits.
	default:
		a.Untried = text
	}
}

// isAboutRights says whether it is the account that may not do something, rather than a
// rule of admission that forbids the object.
func isAboutRights(err error) bool {
	return slices.ContainsFunc([]string{" cannot ", "attempting to grant RBAC permissions"}, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// answerText is what the API server has said, on one line. What it says of a Secret may
// quote a value.
func answerText(manifest *unstructured.Unstructured, err error) string {
	if probes.ContainsSecrets(manifest) {
		return "the API server does not take it; its words are left out, as they may quote the Secret"
	}
	text := err.Error()
	if _, fields, found := strings.Cut(text, notTyped); found {
		if _, after, found := strings.Cut(fields, "): "); found {
			text = strings.TrimPrefix(after, "errors:\n")
		}
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
