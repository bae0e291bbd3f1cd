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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Client sends requests to a [Cluster]. Objects must be *unstructured.Unstructured
// and lists *unstructured.UnstructuredList.
type Client struct {
	cluster *Cluster
	name    string
}

var (
	_ client.Reader = (*Client)(nil)
	_ client.Writer = (*Client)(nil)
)

// Get reads an object.
func (c *Client) Get(ctx context.Context, key types.NamespacedName, obj client.Object, _ ...client.GetOption) error {
	object, request, err := c.request(ctx, VerbGet, obj)
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
	all, ok := list.(*unstructured.UnstructuredList)
	if !ok {
		return fmt.Errorf("listing into a %T: use *unstructured.UnstructuredList", list)
	}
	gvk := all.GroupVersionKind()
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	selected := (&client.ListOptions{}).ApplyOptions(options)
	request := Request{Client: c.name, Verb: VerbList, Object: revisions.ObjectID{GroupKind: gvk.GroupKind(), Namespace: selected.Namespace}}
	return c.cluster.answer(request, func() (string, error) {
		if err := c.cluster.checkServed(request, gvk.Version); err != nil {
			return "", err
		}
		all.Items = nil
		for _, id := range slices.SortedFunc(maps.Keys(c.cluster.objects), compareIDs) {
			if id.GroupKind != gvk.GroupKind() || selected.Namespace != "" && selected.Namespace != id.Namespace {
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

// Patch applies a server-side apply or a merge patch. A forced apply takes fields
// from others, one that is not forced is refused.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	given := (&client.PatchOptions{}).ApplyOptions(options)
	verb := VerbPatch
	if patch.Type() == types.ApplyPatchType {
		verb = VerbApply
	}
	object, request, err := c.request(ctx, verb, obj)
	if err != nil {
		return err
	}
	data, err := patch.Data(obj)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	body := map[string]any{}
	if err := json.Unmarshal(data, &body); err != nil {
		return fmt.Errorf("reading the patch: %w", err)
	}
	write := write{request: request, body: integers(body), version: object.GroupVersionKind().Version, manager: given.FieldManager, force: given.Force != nil && *given.Force}
	write.request.DryRun = len(given.DryRun) > 0
	return c.write(object, write)
}

// Create creates an object.
func (c *Client) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	given := (&client.CreateOptions{}).ApplyOptions(options)
	object, request, err := c.request(ctx, VerbCreate, obj)
	if err != nil {
		return err
	}
	return c.write(object, write{request: request, body: object.DeepCopy().Object, version: object.GroupVersionKind().Version, manager: given.FieldManager})
}

// Update replaces an object.
func (c *Client) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	given := (&client.UpdateOptions{}).ApplyOptions(options)
	object, request, err := c.request(ctx, VerbUpdate, obj)
	if err != nil {
		return err
	}
	return c.write(object, write{request: request, body: object.DeepCopy().Object, version: object.GroupVersionKind().Version, manager: given.FieldManager})
}

func (c *Client) write(object *unstructured.Unstructured, w write) error {
	if w.manager == "" {
		w.manager = c.name
	}
	w.request.Condition = w.condition()
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
	object, request, err := c.request(ctx, VerbDelete, obj)
	if err != nil {
		return err
	}
	if given.Preconditions != nil && given.Preconditions.UID != nil && given.Preconditions.ResourceVersion != nil {
		request.Condition = "if unchanged"
	}
	return c.cluster.answer(request, func() (string, error) {
		if err := c.cluster.checkServed(request, object.GroupVersionKind().Version); err != nil {
			return "", err
		}
		return c.cluster.delete(request, given.Preconditions)
	})
}

// Apply is not offered; use Patch with an apply patch.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("apply configurations are not offered: use Patch")
}

// DeleteAllOf is not offered; use Delete.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errors.New("deleting several objects is not offered: use Delete")
}

func (c *Client) request(ctx context.Context, verb string, obj client.Object) (*unstructured.Unstructured, Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, Request{}, fmt.Errorf("%s: %w", verb, err)
	}
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, Request{}, fmt.Errorf("a request with a %T: use *unstructured.Unstructured", obj)
	}
	return object, Request{Client: c.name, Verb: verb, Object: revisions.IDOf(object)}, nil
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
