// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// annotationGone on the namespace of Istio is the [uninstallNote]. The namespace is what stays of a
// mesh: its packages and its resource may be gone before the last sidecar is.
const annotationGone = "strata.run/mesh-gone"

const (
	// maxFailures is how many passes in a row may fail before that is reported, and before the front
	// stops waiting for the sidecars of a mesh that is gone.
	maxFailures = 5
	// uninstallDeadline is how long workloads are restarted for a mesh that is gone. A window opens
	// once a day, or once a week: it has its time.
	uninstallDeadline = 8 * 24 * time.Hour
)

var (
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	webhookKind   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
)

// uninstallNote says what there is to do after a mesh is gone.
type uninstallNote struct {
	// Since is when the mesh was found gone: pods made later have their sidecars from
	// another mesh.
	Since time.Time `json:"since"`
	// Window is the one for restarts that its resource had.
	Window string `json:"window,omitempty"`
	// Done says that no more workloads are restarted.
	Done bool `json:"done,omitempty"`
}

// uninstall is what is known of a mesh that is gone, or may be one day.
type uninstall struct {
	// existed says that there has been a mesh, and window is the one for restarts that it had.
	existed bool
	window  string
	// note is that of the namespace, once it was read.
	note *uninstallNote
	read bool
}

// reconcileUninstall sees to the sidecars of a mesh that no resource asks for any more. Workloads are
// restarted once its package is gone, and with it what gives sidecars to new pods.
func (c *Controller) reconcileUninstall(ctx context.Context, m *mesh) (time.Duration, bool, error) {
	if m.installed() {
		return 0, false, nil
	}
	for _, istio := range m.before {
		if applied, err := servicemesh.ParseLastApplied(istio.Annotations); err == nil && applied.IstioTag != "" {
			c.uninstall.existed, c.uninstall.window = true, istio.Annotations[v1alpha2.AnnotationRestartWindow]
		}
	}
	if m.pkg != nil {
		c.uninstall.existed = c.uninstall.existed || m.pkg.Status.CurrentRevision > 0
		return 0, true, nil
	}
	if err := c.readNote(ctx); err != nil {
		return 0, true, err
	}
	if c.uninstall.note == nil && c.uninstall.existed {
		log.FromContext(ctx).Info("The mesh is gone, workloads are restarted to remove its sidecars")
		err := c.writeNote(ctx, &uninstallNote{Since: c.now().UTC().Truncate(time.Second), Window: c.uninstall.window})
		if err != nil {
			return 0, true, err
		}
	}
	return 0, c.uninstall.note == nil || c.uninstall.note.Done, nil
}

// finishUninstall ends the restarts for a mesh that is gone when no more are to be done.
func (c *Controller) finishUninstall(ctx context.Context, m *mesh) (time.Duration, bool, error) {
	switch {
	case m.installed():
		return 0, false, nil
	case c.uninstallLeft() <= 0:
		return 0, true, c.endUninstall(ctx, "the deadline has passed")
	case !c.run.restarted && !c.run.queue.unfinished():
		return 0, true, c.endUninstall(ctx, "no more can be removed")
	}
	return 0, false, nil
}

func (c *Controller) uninstallLeft() time.Duration {
	return uninstallDeadline - c.now().Sub(c.uninstall.note.Since)
}

func (c *Controller) endUninstall(ctx context.Context, why string) error {
	log.FromContext(ctx).Info("Workloads are no longer restarted for the mesh that is gone", "reason", why, "left", c.run.queue.state().Manual)
	note := *c.uninstall.note
	note.Done = true
	err := c.writeNote(ctx, &note)
	if err == nil {
		c.run = run{}
	}
	return err
}

// clearUninstall removes the note, as there is a mesh.
func (c *Controller) clearUninstall(ctx context.Context) error {
	if err := c.readNote(ctx); err != nil {
		return err
	}
	if c.uninstall.existed = true; c.uninstall.note == nil {
		return nil
	}
	return c.writeNote(ctx, nil)
}

// readNote reads the note, once in a process.
func (c *Controller) readNote(ctx context.Context) error {
	if c.uninstall.read {
		return nil
	}
	namespace := front.Metadata(namespaceKind)
	if _, err := front.Read(ctx, c.live, "", servicemesh.IstioNamespace, namespace); err != nil {
		return err
	}
	note := &uninstallNote{}
	if text := namespace.Annotations[annotationGone]; text != "" && json.Unmarshal([]byte(text), note) == nil {
		c.uninstall.note = note // one that is broken is none
	}
	c.uninstall.read = true
	return nil
}

// writeNote records the note; nil removes it. Without the namespace it lasts as long as the process.
func (c *Controller) writeNote(ctx context.Context, note *uninstallNote) error {
	text := ""
	if note != nil {
		data, err := json.Marshal(note)
		if err != nil {
			return fmt.Errorf("encoding since when the mesh is gone: %w", err)
		}
		text = string(data)
	}
	namespace := front.Metadata(namespaceKind)
	namespace.Name = servicemesh.IstioNamespace
	if err := c.annotate(ctx, namespace, map[string]string{annotationGone: text}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("recording on Namespace %s since when the mesh is gone: %w", servicemesh.IstioNamespace, err)
	}
	c.uninstall.note = note
	return nil
}

// endReplaced ends the restarts for a mesh that is gone when another Istio gives sidecars of the default
// revision to pods: then it is not known whose the sidecars are.
func (c *Controller) endReplaced(ctx context.Context, m *mesh) (bool, error) {
	if m.installed() {
		return false, nil
	}
	list := front.MetadataList(webhookKind)
	err := c.live.List(ctx, list, client.Limit(1), client.MatchingLabels{LabelRevision: DefaultRevision})
	if err != nil {
		return false, fmt.Errorf("listing objects of kind %s: %w", webhookKind.Kind, err)
	}
	if len(list.Items) == 0 {
		return false, nil
	}
	return true, c.endUninstall(ctx, "another Istio gives sidecars to pods")
}

// uninstalled says that there is no mesh, and that nothing is done about its sidecars that is worth
// waiting for: its resource may go. What cannot be restarted, or not now, keeps no resource.
func (c *Controller) uninstalled() bool {
	switch note := c.uninstall.note; {
	case c.mesh == nil || !c.mesh.removed():
		return false
	case c.failures >= maxFailures:
		return true
	case !c.uninstall.read:
		return false
	case note == nil:
		return !c.uninstall.existed
	case note.Done:
		return true
	case c.run.surveyed == "":
		return false
	}
	return !c.run.queue.busy() || !c.gate().open()
}
