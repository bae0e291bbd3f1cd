// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/pods"
)

// States of restarted workloads.
const (
	restartComplete = "Complete"
	restartRolling  = "RollingOut"
	restartFailed   = "Failed"
	restartExcluded = "Excluded"
)

// restartKinds are those of workloads that are restarted by their pod template.
var restartKinds = []string{"Deployment", "StatefulSet", "DaemonSet"}

const restartPage = 500

func (a *app) restartsCommand() *cobra.Command {
	var o outputFormat
	var namespace string
	cmd := &cobra.Command{
		Use:   "restarts",
		Short: "List the workloads that were restarted for Kyma's mesh",
		Long: `List the workloads that were restarted as their proxies were outdated, of one
namespace or of all, and say what is still to be restarted.

Workloads that are not complete come first. STATE is Complete, RollingOut,
Failed (its Deployment reports that it does not come up) or Excluded. FOR are
the causes of all restarts so far. ReplicaSets without an owner and
ReplicationControllers are not listed.

A workload is restarted once for a cause. To restart it again, use kubectl
rollout restart. To exclude it, set its annotation
strata.run/exclude-from-restart=true; to restart at certain times only, the
annotation strata.run/restart-window of the Istio resource.

Exit codes: 0; 2 usage; 6 there is no Istio resource; 7 no cluster answers.

Rights: list istios.operator.kyma-project.io in kyma-system; list deployments,
statefulsets and daemonsets.`,
		Example: `  strata restarts
  strata restarts -n shop -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.restarts(ctx, o, namespace)
		}),
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "list only the workloads of this namespace")
	addOutput(cmd, &o, outputJSON, outputYAML, outputJSONPath)
	return cmd
}

func (a *app) restarts(ctx context.Context, o outputFormat, namespace string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	r, err := c.restarts(ctx)
	if err != nil {
		return err
	}
	if r.Workloads, err = c.restartedWorkloads(ctx, namespace); err != nil {
		return err
	}
	return a.print(o, r, func(p *output.Printer) { a.writeRestarts(p, r) })
}

var istioKind = v1alpha2.GroupVersion.WithKind("Istio")

func (c *cluster) restarts(ctx context.Context) (view.Restarts, error) {
	const doing = "listing Istio resources"
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("IstioList"))
	err := c.client.List(ctx, list, client.InNamespace(v1alpha2.Namespace))
	if meta.IsNoMatchError(err) || isMissingKind(err) || err == nil && len(list.Items) == 0 {
		return view.Restarts{}, exitf(CodeNotFound, "there is no Istio resource of Kyma in namespace %s", v1alpha2.Namespace)
	}
	if err != nil {
		return view.Restarts{}, c.explain(doing, err)
	}
	// The resource that describes the mesh has the condition; no other resource has it.
	istio := &list.Items[0]
	condition := map[string]any{}
	for i := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		for _, item := range conditions {
			if found, _ := item.(map[string]any); found["type"] == v1alpha2.ConditionProxySidecarRestartSucceeded {
				istio, condition = &list.Items[i], found
			}
		}
	}
	text := func(value any) string { s, _ := value.(string); return s }
	state, _, _ := unstructured.NestedString(istio.Object, "status", "state")
	return view.Restarts{
		TypeMeta: view.DocumentType("Restarts"), Istio: istio.GetNamespace() + "/" + istio.GetName(), State: state,
		Status: text(condition["status"]), Reason: text(condition["reason"]), Message: text(condition["message"]),
		Window: istio.GetAnnotations()[v1alpha2.AnnotationRestartWindow], Workloads: []view.RestartedWorkload{},
	}, nil
}

// restartedWorkloads are those of a namespace, or of all, that carry a record of restarts.
func (c *cluster) restartedWorkloads(ctx context.Context, namespace string) ([]view.RestartedWorkload, error) {
	found := []view.RestartedWorkload{}
	for _, kind := range restartKinds {
		gvk := appsv1.SchemeGroupVersion.WithKind(kind + "List")
		for next := ""; ; {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk)
			err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(restartPage), client.Continue(next))
			if apierrors.IsResourceExpired(err) {
				return nil, fmt.Errorf("listing objects of kind %s took too long: try again, or name a namespace", kind)
			}
			if err != nil {
				return nil, c.explain("listing objects of kind "+kind, err)
			}
			for i := range list.Items {
				if o := &list.Items[i]; o.GetAnnotations()[v1alpha2.AnnotationRestartedFor] != "" {
					o.SetKind(kind)
					found = append(found, restartedWorkload(o))
				}
			}
			if next = list.GetContinue(); next == "" {
				break
			}
		}
	}
	slices.SortFunc(found, func(a, b view.RestartedWorkload) int {
		rank := func(w view.RestartedWorkload) int {
			return slices.Index([]string{restartFailed, restartRolling, restartExcluded, restartComplete}, w.State)
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

func restartedWorkload(o *unstructured.Unstructured) view.RestartedWorkload {
	record, rollout := v1alpha2.ParseRestartRecord(o.GetAnnotations()[v1alpha2.AnnotationRestartedFor]), pods.RolloutOf(o)
	w := view.RestartedWorkload{
		Namespace: o.GetNamespace(), Kind: o.GetKind(), Name: o.GetName(), RestartedAt: metav1.NewTime(record.At),
		Causes: []string{}, State: restartComplete,
	}
	for _, cause := range slices.Sorted(maps.Keys(record.Causes)) {
		w.Causes = append(w.Causes, string(cause))
	}
	switch {
	case o.GetAnnotations()[v1alpha2.AnnotationExcludeFromRestart] == "true":
		w.State = restartExcluded
	case rollout.Failed != "":
		w.State, w.Progress = restartFailed, rollout.Because(rollout.Failed)
	case !rollout.Done:
		w.State, w.Progress = restartRolling, cmp.Or(rollout.Blocked, rollout.Progress)
	}
	return w
}

func (a *app) writeRestarts(p *output.Printer, r view.Restarts) {
	p.Line(output.Span{Text: fmt.Sprintf("Istio %s is %s: ", r.Istio, cmp.Or(r.State, "in no state yet"))},
		output.Span{Text: cmp.Or(r.Message, "pods were not compared with the mesh yet")})
	if r.Window != "" {
		p.Line(output.Span{Text: "Window for restarts (UTC): " + r.Window})
	}
	if len(r.Workloads) == 0 {
		a.note("No workload was restarted.")
		return
	}
	rows := make([][]output.Cell, 0, len(r.Workloads))
	for _, w := range r.Workloads {
		rows = append(rows, []output.Cell{
			{Text: w.Namespace}, {Text: w.Kind}, {Text: w.Name}, {Text: w.State, Style: map[string]output.Style{restartFailed: output.Bad, restartRolling: output.Busy}[w.State]},
			{Text: view.Age(a.now(), w.RestartedAt)}, {Text: strings.Join(w.Causes, ",")}, {Text: w.Progress},
		})
	}
	p.Table([]output.Column{
		{Head: "NAMESPACE"}, {Head: "KIND"}, {Head: "NAME"}, {Head: "STATE"}, {Head: "RESTARTED"}, {Head: "FOR"}, {Head: "PROGRESS", Flexible: true},
	}, rows)
}
