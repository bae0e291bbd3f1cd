// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Conformance is what [Conform] tells of every API server that the engine works
// with, a [Cluster] included.
//
//go:embed testdata/conform.txt
var Conformance string

// step is one request about the ConfigMap, with its body in JSON. $UID and $VERSION
// in it stand for those of the object.
type step struct {
	what    string
	verb    string
	manager string
	body    string
	dryRun  bool
}

const conformLabels = `"labels":{"l":"demo"}`

const conformOwner = `"ownerReferences":[{"apiVersion":"v1","kind":"P","name":"p","uid":"u1","controller":true,"blockOwnerDeletion":true}]`

const conformBase = `{"metadata":{` + conformLabels + `,` + conformOwner + `},"data":{"a":"1","b":"1"}}`

var conformSteps = []step{
	{what: "apply with a uid where there is nothing", verb: VerbApply, manager: "strata", body: `{"metadata":{"uid":"b0b0"},"data":{"a":"1"}}`},
	{what: "apply with resourceVersion 1 where there is nothing", verb: VerbApply, manager: "strata", body: `{"metadata":{"resourceVersion":"1",` + conformLabels + `,` + conformOwner + `},"data":{"a":"1","b":"1"}}`},
	{what: "apply with resourceVersion 1 where it exists", verb: VerbApply, manager: "strata", body: `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`},
	{what: "apply the same", verb: VerbApply, manager: "strata", body: conformBase},
	{what: "apply another value", verb: VerbApply, manager: "strata", body: `{"metadata":{"uid":"$UID",` + conformLabels + `,` + conformOwner + `},"data":{"a":"2","b":"1"}}`},
	{what: "apply with another uid", verb: VerbApply, manager: "strata", body: `{"metadata":{"uid":"b0b0"},"data":{"a":"3"}}`},
	{what: "someone changes a field and adds one", verb: VerbPatch, manager: "user", body: `{"data":{"b":"9","c":"1"}}`},
	{what: "apply over the change", verb: VerbApply, manager: "strata", body: conformBase},
	{what: "someone writes the same value", verb: VerbPatch, manager: "user", body: `{"data":{"a":"1"}}`},
	{what: "someone removes a field", verb: VerbPatch, manager: "user", body: `{"data":{"b":null}}`},
	{what: "apply it back", verb: VerbApply, manager: "strata", body: conformBase},
	{what: "someone removes label and owner", verb: VerbPatch, manager: "user", body: `{"metadata":{"labels":null,"ownerReferences":null}}`},
	{what: "apply them back", verb: VerbApply, manager: "strata", body: conformBase},
	{what: "a second controller", verb: VerbApply, manager: "other", body: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"O","name":"o","uid":"u2","controller":true}]}}`},
	{what: "a second owner", verb: VerbApply, manager: "other", body: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"O","name":"o","uid":"u2"}]}}`},
	{what: "apply without the owner and a field", verb: VerbApply, manager: "strata", body: `{"metadata":{` + conformLabels + `},"data":{"a":"1"}}`},
	{what: "apply with them", verb: VerbApply, manager: "strata", body: conformBase},
	{what: "an entry of another type", verb: VerbPatch, manager: "user", body: `{"metadata":{"managedFields":[{"manager":"strata","operation":"Apply","apiVersion":"v1","fieldsType":"Digest","fieldsV1":{"digest":"x"}}]}}`},
	{what: "someone changes a field and wipes the managedFields", verb: VerbPatch, manager: "user", body: `{"data":{"a":"9"},"metadata":{"managedFields":[{}]}}`},
	{what: "try to apply", verb: VerbApply, manager: "strata", body: conformBase, dryRun: true},
	{what: "apply over a stale state", verb: VerbApply, manager: "strata", body: `{"metadata":{"resourceVersion":"5"},"data":{"a":"1"}}`},
	{what: "apply over the present state", verb: VerbApply, manager: "strata", body: `{"metadata":{"resourceVersion":"$VERSION",` + conformLabels + `,` + conformOwner + `},"data":{"a":"1","b":"1"}}`},
	{what: "release", verb: VerbPatch, manager: "strata", body: `{"metadata":{"uid":"$UID","resourceVersion":"$VERSION","labels":{"l":null},"ownerReferences":[]}}`},
	{what: "add a finalizer", verb: VerbPatch, manager: "user", body: `{"metadata":{"finalizers":["example.org/wait"]}}`},
	{what: "delete a stale state", verb: VerbDelete, body: `{"resourceVersion":"5"}`},
	{what: "delete another object", verb: VerbDelete, body: `{"uid":"b0b0"}`},
	{what: "delete the present state", verb: VerbDelete, body: `{"uid":"$UID","resourceVersion":"$VERSION"}`},
	{what: "remove the finalizer", verb: VerbPatch, manager: "user", body: `{"metadata":{"finalizers":null}}`},
	{what: "patch what is gone", verb: VerbPatch, manager: "user", body: `{"data":{"a":"1"}}`},
	{what: "delete what is gone", verb: VerbDelete, body: `{}`},
}

// Conform makes the requests that the engine relies on, about a ConfigMap in a
// namespace that exists, and tells what the API server does: compare it with
// [Conformance]. It calls tick after each request, which must let more than a
// second pass on the server's clock, as that is the unit of managedFields.
func Conform(ctx context.Context, reader client.Reader, writer client.Writer, namespace string, tick func()) (string, error) {
	name := types.NamespacedName{Namespace: namespace, Name: "conformance"}
	var report strings.Builder
	before, err := readConform(ctx, reader, name)
	for _, s := range conformSteps {
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.what, err)
		}
		answer := s.send(ctx, writer, before)
		var after *unstructured.Unstructured
		if after, err = readConform(ctx, reader, name); err != nil {
			continue
		}
		fmt.Fprintf(&report, "%s: %s, %s\n", s.what, reasonOf(answer), compareStates(before, after))
		report.WriteString(printState(after))
		before = after
		tick()
	}
	return report.String(), err
}

// readConform reads the object. One that does not exist has no UID.
func readConform(ctx context.Context, reader client.Reader, name types.NamespacedName) (*unstructured.Unstructured, error) {
	object := conformObject(name)
	err := reader.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return conformObject(name), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	return object, nil
}

func conformObject(name types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

// send sends the step's request about the object in the state given.
func (s step) send(ctx context.Context, writer client.Writer, before *unstructured.Unstructured) error {
	text := strings.NewReplacer("$UID", string(before.GetUID()), "$VERSION", before.GetResourceVersion()).Replace(s.body)
	object := conformObject(types.NamespacedName{Namespace: before.GetNamespace(), Name: before.GetName()})
	if s.verb == VerbDelete {
		var condition client.Preconditions
		if err := json.Unmarshal([]byte(text), &condition); err != nil {
			return fmt.Errorf("reading the precondition: %w", err)
		}
		return answered(writer.Delete(ctx, object, condition))
	}
	options := []client.PatchOption{client.FieldOwner(s.manager)}
	patchType := types.MergePatchType
	if s.verb == VerbApply {
		patchType = types.ApplyPatchType
		options = append(options, client.ForceOwnership)
		var body map[string]any
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			return fmt.Errorf("reading the body: %w", err)
		}
		for field, value := range map[path]any{"f:apiVersion": "v1", "f:kind": "ConfigMap", "f:metadata\nf:name": object.GetName()} {
			set(body, field, value)
		}
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding the body: %w", err)
		}
		text = string(data)
	}
	if s.dryRun {
		options = append(options, client.DryRunAll)
	}
	return answered(writer.Patch(ctx, object, client.RawPatch(patchType, []byte(text)), options...))
}

// answered says that an error is the API server's.
func answered(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the API server answered: %w", err)
}

// reasonOf is the reason of an API server's answer.
func reasonOf(err error) string {
	if err == nil {
		return "done"
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return err.Error()
}

// compareStates tells what has changed of the object and of the time of our entry.
func compareStates(before, after *unstructured.Unstructured) string {
	switch {
	case before.GetUID() == "" && after.GetUID() == "":
		return "absent"
	case before.GetUID() == "":
		return "created"
	case after.GetUID() == "":
		return "gone"
	case before.GetResourceVersion() == after.GetResourceVersion():
		return "unchanged"
	case entryTime(before) == entryTime(after):
		return "changed"
	default:
		return "changed, with our time"
	}
}

func entryTime(object *unstructured.Unstructured) string {
	for _, m := range object.GetManagedFields() {
		if m.Manager == revisions.DefaultFieldOwner && m.Operation == applied && m.Time != nil {
			return m.Time.String()
		}
	}
	return ""
}

// printState tells the fields of an object and who owns them.
func printState(object *unstructured.Unstructured) string {
	s := &stored{object: object}
	managed, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields")
	s.takeManagers(managed)
	var b strings.Builder
	fields := leavesOf(object.Object)
	for _, at := range fields.printed() {
		fmt.Fprintf(&b, "%s%s\n", printField(at, fields[at]), s.printOwners(at))
	}
	return b.String()
}
