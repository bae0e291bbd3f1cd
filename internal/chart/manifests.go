// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// annotationHook marks a Helm hook; its value lists when it runs.
const annotationHook = "helm.sh/hook"

// document is one YAML document of a file.
type document struct {
	text []byte
	// lines is how many lines of the file stand before it.
	lines int
}

// Manifests parses a file of YAML documents into objects, as [Chart.Render] does
// with the output of a template: without status, null values and what only an
// API server sets, sorted. Name is what errors call the file.
func Manifests(name string, data []byte) ([]*unstructured.Unstructured, error) {
	placed, err := Placed(name, data)
	return objectsOf(placed), err
}

// Placed parses a file as [Manifests] does, and says where each object stands.
func Placed(name string, data []byte) ([]Located, error) {
	return manifests(name, data, yaml.YAMLToJSONStrict)
}

// Installed parses what Helm has stored of a release as [Manifests] does, but as
// Helm itself reads it: a key that stands twice is no error, and has its last value.
func Installed(name string, data []byte) ([]*unstructured.Unstructured, error) {
	placed, err := manifests(name, data, yaml.YAMLToJSON)
	return objectsOf(placed), err
}

// decoder turns YAML into JSON.
type decoder func(text []byte) ([]byte, error)

func manifests(name string, data []byte, decode decoder) ([]Located, error) {
	if len(data) > MaxOutputBytes {
		return nil, fmt.Errorf("parsing manifests: %s has more than %d bytes", name, MaxOutputBytes)
	}
	all, err := parse(name, data, decode)
	if err != nil {
		return nil, fmt.Errorf("parsing manifests: %w", err)
	}
	objects, err := finish(all)
	if err != nil {
		return nil, fmt.Errorf("parsing manifests: %w", err)
	}
	return objects, nil
}

// split cuts a file at its document markers. A marker is "---" or "..." at the
// start of a line, alone or before white space; what follows it on the line
// belongs to the next document. Inside of a block scalar it cannot stand there,
// as the text of one is indented.
func split(data []byte) []document {
	var docs []document
	current := document{}
	lines := 0
	for line := range bytes.Lines(data) {
		if rest, ok := cutMarker(line); ok {
			docs = append(docs, current)
			current = document{lines: lines}
			line = rest
		}
		current.text = append(current.text, line...)
		lines++
	}
	return append(docs, current)
}

// cutMarker returns what follows the document marker that the line starts with.
func cutMarker(line []byte) ([]byte, bool) {
	for _, marker := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(marker))
		if ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			return rest, true
		}
	}
	return nil, false
}

// parse returns the objects of a file, in its order.
func parse(name string, data []byte, decode decoder) ([]Located, error) {
	all, problems := locate(name, data, decode)
	if len(problems) > 0 {
		return nil, problems[0].named()
	}
	return all, nil
}

// parse returns the document's content, nil when it contains nothing but comments.
// Numbers are int64 or float64. Whether a key may stand twice is the decoder's.
func (d document) parse(decode decoder) (any, error) {
	var content any
	if len(bytes.TrimSpace(d.text)) == 0 {
		return content, nil
	}
	raw, err := decode(d.text)
	if err != nil {
		// The parser counts lines from the document's start: put it where it
		// stands in the file.
		if _, padded := decode(append(bytes.Repeat([]byte("\n"), d.lines), d.text...)); padded != nil {
			err = padded
		}
		return nil, fmt.Errorf("invalid YAML: %w", oneLine(err))
	}
	// Aliases let a small text stand for a large content.
	if len(raw) > MaxOutputBytes {
		return nil, fmt.Errorf("the document at line %d has more than %d bytes as JSON", d.lines+1, MaxOutputBytes)
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("decoding the document at line %d: %w", d.lines+1, err)
	}
	return content, nil
}

// expand returns the objects of a document: none, one, or the items of a List.
func expand(content any) ([]map[string]any, error) {
	if content == nil {
		return nil, nil
	}
	object, ok := content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not an object but %.40q", fmt.Sprint(content))
	}
	if !isListed(object) {
		return []map[string]any{object}, nil
	}
	items, _ := object["items"].([]any)
	var all []map[string]any
	for _, item := range items {
		found, err := expand(item)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// isListed says whether a document is a List, whose items are objects.
func isListed(content any) bool {
	object, _ := content.(map[string]any)
	return object["kind"] == "List" && object["apiVersion"] == "v1"
}

// isKustomization says whether a document is a kustomization.yaml, which may leave out what
// it is.
func isKustomization(o *unstructured.Unstructured) bool {
	if o.GroupVersionKind().Group == "kustomize.config.k8s.io" {
		return true
	}
	resources, _ := o.Object["resources"].([]any)
	return o.GetKind() == "" && o.GetAPIVersion() == "" && len(resources) > 0
}

// check refuses what is no object, or one that cannot be treated as its chart
// means it.
func check(o *unstructured.Unstructured) error {
	metadata, _ := o.Object["metadata"].(map[string]any)
	if isKustomization(o) {
		return errors.New("it is a kustomization, which kubectl builds: kubectl kustomize FOLDER | strata apply PACKAGE -f -")
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if s, _ := o.Object[field].(string); s == "" {
			return fmt.Errorf("%s is missing", field)
		}
	}
	if s, _ := metadata["name"].(string); s == "" {
		return fmt.Errorf("%s: metadata.name is missing or not a string; a generated name is not supported", o.GetKind())
	}
	if namespace := metadata["namespace"]; namespace != nil && o.GetNamespace() == "" {
		return fmt.Errorf("%s %s: metadata.namespace is %v, not a namespace", o.GetKind(), o.GetName(), namespace)
	}
	hook := hookOf(o)
	for event := range strings.SplitSeq(hook, ",") {
		if hook != "" && !strings.HasPrefix(strings.TrimSpace(event), "test") {
			return fmt.Errorf("%s %s is a hook (%s), which is not supported", o.GetKind(), o.GetName(), hook)
		}
	}
	return checkStrings(metadata)
}

// hookOf is when an object is applied as a hook, empty if it is none. It is read
// past GetAnnotations, which sees nothing when one annotation is null.
func hookOf(o *unstructured.Unstructured) string {
	metadata, _ := o.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	hook, _ := annotations[annotationHook].(string)
	return hook
}

// sanitise drops what must not be applied.
func sanitise(o *unstructured.Unstructured) {
	dropNulls(o.Object)
	delete(o.Object, "status")
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		delete(metadata, field)
	}
}

// checkStrings refuses a label or annotation that is no string, such as an
// unquoted true, which an API server would refuse less clearly.
func checkStrings(metadata map[string]any) error {
	for _, field := range []string{"labels", "annotations"} {
		values, _ := metadata[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, ok := values[key].(string); !ok && values[key] != nil {
				return fmt.Errorf("%s: metadata.%s[%s] is %v, not a string: quote it", metadata["name"], field, key, values[key])
			}
		}
	}
	return nil
}

// dropNulls takes out the keys of maps whose value is null, which says the same
// as no key. In a CRD's schema it does not, so that is left as it is.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			switch {
			case child == nil:
				delete(v, key)
			case key != "openAPIV3Schema":
				dropNulls(child)
			}
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}

// finish sorts the objects and refuses one that stands there twice.
func finish(all []Located) ([]Located, error) {
	if len(all) > MaxObjects {
		return nil, fmt.Errorf("more than %d objects", MaxObjects)
	}
	slices.SortStableFunc(all, func(a, b Located) int { return compareObjects(a.Object, b.Object) })
	seen := make(map[string]string, len(all))
	for _, l := range all {
		o := l.Object
		key := strings.Join([]string{o.GroupVersionKind().GroupKind().String(), o.GetNamespace(), o.GetName()}, " ")
		if first, ok := seen[key]; ok {
			return nil, fmt.Errorf("%s: %s %s is also in %s", l.File, o.GetKind(), o.GetName(), first)
		}
		seen[key] = l.File
	}
	return all, nil
}

func objectsOf(all []Located) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(all))
	for i := range all {
		objects[i] = all[i].Object
	}
	return objects
}

// compareObjects orders by group, version, kind, namespace and name.
func compareObjects(a, b *unstructured.Unstructured) int {
	ga, gb := a.GroupVersionKind(), b.GroupVersionKind()
	return cmp.Or(
		cmp.Compare(ga.Group, gb.Group),
		cmp.Compare(ga.Version, gb.Version),
		cmp.Compare(ga.Kind, gb.Kind),
		cmp.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(a.GetName(), b.GetName()),
	)
}
