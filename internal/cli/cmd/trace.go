// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type traceOptions struct {
	output    outputFormat
	namespace string
	fields    bool
}

func (a *app) traceCommand() *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "trace KIND/NAME",
		Short: "Show where an object comes from, and who set its fields",
		Long: `Show where an object comes from: the revisions that contain it, their package,
and what that was made from. For an object that belongs to one of a package,
such as a pod, the way up is shown. Then each field manager, with the fields
that it has set. Values are neither read nor shown.

Exit codes: 0 a package has it; 1 no package has it; 2 usage; 6 there is no such
object; 7 no cluster answers.

Rights: get the object and those that control it (their metadata); get
packages.strata.run; list revisions.strata.run; get objectslices.strata.run.`,
		Example: `  strata trace deployment/istiod-openshift-gateway -n openshift-ingress
  strata trace pods istiod-openshift-gateway-5c9d8f7b6d-x2x7p -n openshift-ingress
  strata trace crd/gateways.networking.istio.io --fields`,
		Args: func(_ *cobra.Command, args []string) error {
			_, _, err := kindAndName(args)
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.trace(ctx, o, args) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "the object's namespace; empty is that of the kubeconfig's context")
	cmd.Flags().BoolVar(&o.fields, "fields", false, "list every field")
	return cmd
}

func kindAndName(args []string) (kind, name string, err error) {
	switch {
	case len(args) == 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case len(args) == 2 && !strings.Contains(args[0], "/"):
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" {
		return "", "", errors.New("an object is required, such as deployment/istiod")
	}
	return kind, name, nil
}

func (a *app) trace(ctx context.Context, o traceOptions, args []string) error {
	kind, name, err := kindAndName(args)
	if err != nil {
		return exitf(CodeUsage, "%w", err)
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	object, err := a.findObject(ctx, c, kind, name, o.namespace)
	if err != nil {
		return err
	}
	t := view.Trace{
		TypeMeta: view.DocumentType("Trace"), Object: view.ReferenceOf(object), UID: string(object.UID),
		Managers: view.ManagersOf(object), Revisions: []view.TraceRevision{},
	}
	if err := a.traceUp(ctx, c, object, &t); err != nil {
		return err
	}
	err = a.print(o.output, t, func(p *output.Printer) { view.WriteTrace(p, t, o.fields, a.now()) })
	if err == nil && !t.Managed {
		return &ExitError{Code: CodeFalse}
	}
	return err
}

// findObject reads the metadata of an object whose kind is given as people write it:
// deploy, deployments.apps, Deployment.
func (a *app) findObject(ctx context.Context, c *cluster, kind, name, namespace string) (*metav1.PartialObjectMetadata, error) {
	mapping, err := a.mappingOf(c, kind)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	} else if namespace, err = a.namespaceOr(namespace); err != nil {
		return nil, err
	}
	object, err := c.metadata(ctx, mapping.GroupVersionKind, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, exitf(CodeNotFound, "%s: not in the cluster at %s", view.ObjectName(v1alpha1.ObjectReference{Kind: mapping.GroupVersionKind.Kind, Namespace: namespace, Name: name}), c.host)
	}
	return object, c.explain("reading "+kind+" "+name, err)
}

func (a *app) mappingOf(c *cluster, kind string) (*meta.RESTMapping, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, exitf(CodeUsage, "connecting to %s: %w", c.host, err)
	}
	cached := memory.NewMemCacheClient(d)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, func(text string) { a.note("Warning: %s", text) })
	resource, groupResource := schema.ParseResourceArg(kind)
	var found schema.GroupVersionKind
	if resource != nil {
		found, err = mapper.KindFor(*resource)
	}
	if resource == nil || err != nil {
		found, err = mapper.KindFor(groupResource.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		// Kinds are written as they stand in manifests, too.
		named := schema.ParseGroupKind(kind)
		if mapping, err := mapper.RESTMapping(named); err == nil {
			return mapping, nil
		}
		return nil, exitf(CodeNotFound, "the cluster at %s has no kind %q", c.host, kind)
	}
	if err != nil {
		return nil, c.explain("looking for the kind "+kind, err)
	}
	return mapper.RESTMapping(found.GroupKind(), found.Version)
}

func (c *cluster) metadata(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	object.SetGroupVersionKind(kind)
	return object, err
}

const longestWay = 8

// traceUp goes from an object up to the package that has it, or one of its
// controllers.
func (a *app) traceUp(ctx context.Context, c *cluster, object *metav1.PartialObjectMetadata, t *view.Trace) error {
	current := object
	for range longestWay {
		pkg := packageOf(current)
		if pkg != "" {
			return a.tracePackage(ctx, c, pkg, view.ReferenceOf(current), t)
		}
		owner := metav1.GetControllerOf(current)
		if owner == nil {
			break
		}
		t.Controller = owner.Kind + " " + owner.Name
		next, err := c.metadata(ctx, schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), current.Namespace, owner.Name)
		if err != nil {
			a.note("Note: the way up ends at %s: %s", t.Controller, err)
			break
		}
		if next.UID != owner.UID {
			break
		}
		t.Via = append(t.Via, view.ReferenceOf(next))
		current = next
	}
	return nil
}

// packageOf is the name of the package that has an object, empty for none. Retained
// objects have no owner reference, and are known by their label.
func packageOf(object *metav1.PartialObjectMetadata) string {
	owner := metav1.GetControllerOf(object)
	switch {
	case owner == nil:
		return object.Labels[v1alpha1.LabelPackage]
	case owner.Kind == "Package" && strings.HasPrefix(owner.APIVersion, v1alpha1.GroupVersion.Group+"/"):
		return owner.Name
	}
	return ""
}

func (a *app) tracePackage(ctx context.Context, c *cluster, name string, ref v1alpha1.ObjectReference, t *view.Trace) error {
	v, err := c.snapshot(ctx, name)
	if codeOf(err) == CodeNotFound {
		t.Controller = fmt.Sprintf("package %s, which does not exist any more", name)
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.readSlices(ctx, v.Manifests, history.Sort(v.Package, v.Revisions).All()...); err != nil {
		a.note("Note: some revisions cannot be looked into: %s", err)
	}
	summary := view.SummarisePackage(v.Package, v.Revisions)
	t.Package, t.Revisions = &summary, v.TraceRevisions(view.IdentityOf(ref))
	t.Managed = len(t.Revisions) > 0
	if t.Managed {
		placed := slices.IndexFunc(t.Revisions, func(r view.TraceRevision) bool { return r.Placed })
		t.Origin = t.Revisions[max(placed, 0)].Origin
	}
	return nil
}
