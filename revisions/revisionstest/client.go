// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Client sends requests to a [Cluster]. Objects must be *unstructured.Unstructured
// and lists *unstructured.UnstructuredList.
type Client struct {
	unoffered

	cluster *Cluster
	name    string
}

var (
	_ client.Reader = (*Client)(nil)
	_ client.Writer = (*Client)(nil)
)

// Get reads an object.
func (c *Client) Get(ctx context.Context, key types.NamespacedName, obj client.Object, _ ...client.GetOption) error {
	object, request, err := requestOf(ctx, c.name, VerbGet, obj)
	if err != nil {
		return err
	}
	request.Object.Namespace, request.Object.Name = key.Namespace, key.Name
	return c.cluster.answer(request, func() (string, error) {
		if err := c.cluster.checkServed(request, object.GroupVersionKind().Version); err != nil {
			return "", err
		}
		found := c.cluster.objects[request.Object]
		if found == nil {
			return "", statusError(404, request, "")
		}
		found.renderInto(object)
		return "", nil
	})
}

// List reads the objects of a kind. The options may name a namespace and labels.
func (c *Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	all, request, err := listOf(c.name, list, options)
	if err != nil {
		return err
	}
	gvk := request.Object.WithVersion(all.GroupVersionKind().Version)
	return c.cluster.answer(request, func() (string, error) {
		if err := c.cluster.checkServed(request, gvk.Version); err != nil {
			return "", err
		}
		all.Items = nil
		for _, id := range slices.SortedFunc(maps.Keys(c.cluster.objects), compareIDs) {
			if id.GroupKind != gvk.GroupKind() || request.Object.Namespace != "" && request.Object.Namespace != id.Namespace {
				continue
			}
			item := unstructured.Unstructured{}
			item.SetGroupVersionKind(gvk)
			c.cluster.objects[id].renderInto(&item)
			all.Items = append(all.Items, item)
		}
		return "", nil
	})
}

// listOf is a list that a client asks for.
func listOf(name string, list client.ObjectList, options []client.ListOption) (*unstructured.UnstructuredList, Request, error) {
	all, ok := list.(*unstructured.UnstructuredList)
	if !ok {
		return nil, Request{}, fmt.Errorf("listing into a %T: use *unstructured.UnstructuredList", list)
	}
	gk := all.GroupVersionKind().GroupKind()
	gk.Kind = strings.TrimSuffix(gk.Kind, "List")
	selected := (&client.ListOptions{}).ApplyOptions(options)
	return all, Request{Client: name, Verb: VerbList, Object: revisions.ObjectID{GroupKind: gk, Namespace: selected.Namespace}}, nil
}

// Patch applies a server-side apply or a merge patch. A forced apply takes fields
// from others, one that is not forced is refused.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	object, write, err := patchOf(ctx, c.name, obj, patch, options)
	if err != nil {
		return err
	}
	return c.write(object, write)
}

// patchOf is a patch that a client sends.
func patchOf(ctx context.Context, name string, obj client.Object, patch client.Patch, options []client.PatchOption) (*unstructured.Unstructured, write, error) {
	given := (&client.PatchOptions{}).ApplyOptions(options)
	verb := VerbPatch
	if patch.Type() == types.ApplyPatchType {
		verb = VerbApply
	}
	object, request, err := requestOf(ctx, name, verb, obj)
	if err != nil {
		return nil, write{}, err
	}
	data, err := patch.Data(obj)
	if err != nil {
		return nil, write{}, fmt.Errorf("encoding the patch: %w", err)
	}
	body := map[string]any{}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, write{}, fmt.Errorf("reading the patch: %w", err)
	}
	request.DryRun = len(given.DryRun) > 0
	w := newWrite(request, integers(body), object.GroupVersionKind().Version, given.FieldManager)
	w.force = given.Force != nil && *given.Force
	return object, w, nil
}

// Create creates an object.
func (c *Client) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	given := (&client.CreateOptions{}).ApplyOptions(options)
	object, request, err := requestOf(ctx, c.name, VerbCreate, obj)
	if err != nil {
		return err
	}
	return c.write(object, newWrite(request, object.DeepCopy().Object, object.GroupVersionKind().Version, given.FieldManager))
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	given := (&client.UpdateOptions{}).ApplyOptions(options)
	object, request, err := requestOf(ctx, c.name, VerbUpdate, obj)
	if err != nil {
		return err
	}
	return c.write(object, newWrite(request, object.DeepCopy().Object, object.GroupVersionKind().Version, given.FieldManager))
}

func (c *Client) write(object *unstructured.Unstructured, w write) error {
	return c.cluster.answer(w.request, func() (string, error) {
		next, effect, err := c.cluster.write(w)
		if err != nil {
			return "", err
		}
		next.renderInto(object)
		return effect, nil
	})
}

// Delete deletes an object, or marks it for deletion when it has finalizers.
func (c *Client) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	given := (&client.DeleteOptions{}).ApplyOptions(options)
	object, request, err := requestOf(ctx, c.name, VerbDelete, obj)
	if err != nil {
		return err
	}
	request.Condition = deleteCondition(given)
	return c.cluster.answer(request, func() (string, error) {
		if err := c.cluster.checkServed(request, object.GroupVersionKind().Version); err != nil {
			return "", err
		}
		return c.cluster.delete(request, given.Preconditions)
	})
}

// deleteCondition is the precondition of a delete, in words.
func deleteCondition(given *client.DeleteOptions) string {
	if given.Preconditions == nil || given.Preconditions.UID == nil || given.Preconditions.ResourceVersion == nil {
		return ""
	}
	return ifUnchanged
}

// unoffered are the requests that no client sends.
type unoffered struct{}

// Apply is not offered; use Patch with an apply patch.
func (unoffered) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("apply configurations are not offered: use Patch")
}

// DeleteAllOf is not offered; use Delete.
func (unoffered) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.New("deleting several objects is not offered: use Delete")
}

func requestOf(ctx context.Context, client, verb string, obj client.Object) (*unstructured.Unstructured, Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, Request{}, fmt.Errorf("%s: %w", verb, err)
	}
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, Request{}, fmt.Errorf("a request with a %T: use *unstructured.Unstructured", obj)
	}
	return object, Request{Client: client, Verb: verb, Object: revisions.IDOf(object)}, nil
}

// renderInto fills an object with the state in the object's API version.
func (s *stored) renderInto(object *unstructured.Unstructured) {
	version := object.GetAPIVersion()
	object.Object = s.render().Object
	if version != "" {
		object.SetAPIVersion(version)
	}
}

// integers makes whole numbers of what JSON reads as floats.
func integers(content map[string]any) map[string]any {
	for name, value := range content {
		content[name] = integer(value)
	}
	return content
}

func integer(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		return integers(v)
	case []any:
		for i := range v {
			v[i] = integer(v[i])
		}
	}
	return value
}
