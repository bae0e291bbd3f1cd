// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// instancesLeft says why a CustomResourceDefinition must not be deleted: its
// resources would go with it. The message is empty when there is none. It is given
// the live definition.
//
// An error means that it is not known, which is no permission either. All
// versions show the same resources, so one that is served is asked, live and for a
// single resource. A resource that is created between the answer and the deletion
// goes with the definition.
func (e *Engine) instancesLeft(ctx context.Context, definition *unstructured.Unstructured) (string, error) {
	left, some, err := e.instancesOf(ctx, definition)
	if !some || err != nil {
		return "", err
	}
	text, remedy := instancesText(left, "its kind")
	return text + ": " + remedy, nil
}

// instancesOf are instances of a CustomResourceDefinition, and whether there are some.
func (e *Engine) instancesOf(ctx context.Context, definition *unstructured.Unstructured) (found *unstructured.UnstructuredList, some bool, err error) {
	gk, ok := definedKind(definition)
	if !ok {
		return nil, false, fmt.Errorf("counting the instances of %s: the definition names no kind", definition.GetName())
	}
	if neverServed(definition) {
		return nil, false, nil
	}
	version := instanceVersion(definition)
	if version == "" {
		return nil, false, fmt.Errorf("counting the instances of %s: no version of it is served, so it cannot be seen whether there are any: serve one", gk)
	}
	found = &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(schema.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind + "List"})
	if err = e.config.Live.List(ctx, found, client.Limit(1)); err != nil {
		return nil, false, fmt.Errorf("counting the instances of %s: %w", gk, err)
	}
	return found, len(found.Items) > 0 || found.GetContinue() != "", nil
}

// instancesText says how many instances of a kind there are, if that is known, and names one. The
// remedy says how to be rid of them.
func instancesText(found *unstructured.UnstructuredList, kind string) (text, remedy string) {
	example := ""
	if len(found.Items) > 0 {
		example = fmt.Sprintf(" (e.g. %s)", strings.TrimPrefix(keyOf(IDOf(&found.Items[0])).String(), "/"))
	}
	more := found.GetRemainingItemCount()
	switch {
	case more != nil:
		return fmt.Sprintf("%d instances of %s exist%s", int64(len(found.Items))+*more, kind, example), "delete them first"
	case found.GetContinue() != "":
		return "instances of " + kind + " exist" + example, "delete them first"
	default:
		return "1 instance of " + kind + " exists" + example, "delete it first"
	}
}

// instanceVersion is a served version, that in which the resources are stored if it
// is one, as it takes no conversion.
func instanceVersion(definition *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	best := ""
	for _, item := range list {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if version["served"] == true && (best == "" || version["storage"] == true) {
			best = name
		}
	}
	return best
}

// neverServed says whether the names of a definition were refused, so that it never
// served a resource: once established, a definition stays so.
func neverServed(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "status", "conditions")
	list, _ := conditions.([]any)
	status := map[string]any{}
	for _, item := range list {
		condition, _ := item.(map[string]any)
		name, _ := condition["type"].(string)
		status[name] = condition["status"]
	}
	return status["Established"] == "False" && status["NamesAccepted"] == "False"
}
