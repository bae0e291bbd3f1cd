// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// annotationGone on the namespace of Istio says since when the mesh is gone, and whether what it
// has left behind was seen to. The namespace is what stays of a mesh: its packages and its
// resource may be gone before the last sidecar is.
const annotationGone = "strata.run/mesh-gone"

const (
	// patience is how many reads in a row may fail before that is reported, and before the front
	// stops waiting for the sidecars of a mesh that is gone.
	patience = 5
	// longestDeparture is how long workloads are restarted for a mesh that is gone. A window opens
	// once a day, or once a week: it has its time.
	longestDeparture = 8 * 24 * time.Hour
)

var (
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	webhookKind   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
)

// departure is what is known of a mesh that goes, or is gone.
type departure struct {
	// away says that no resource asks for a mesh, and leaving that its package is still there.
	away, leaving bool
	// was says that there has been a mesh, and before which window for restarts it had.
	was    bool
	before string
	// gone is the note about it, once the namespace was asked for it.
	gone  *goneNote
	asked bool
	// failures counts looks that have failed since the last one that has not, and failure is why
	// the last one has.
	failures int
	failure  error
}

// goneNote is the value of annotationGone.
type goneNote struct {
	// Since is when the mesh was found gone: pods made later have their sidecars from
	// another mesh.
	Since time.Time `json:"since"`
	// Window is the one for restarts that its resource had.
	Window string `json:"window,omitempty"`
	// Done says that all sidecars were seen to.
	Done bool `json:"done,omitempty"`
}

// observeLeaving finds out what is left of a mesh that no resource asks for any more.
func (c *Controller) observeLeaving(ctx context.Context, m *mesh, leaving []*v1alpha2.Istio) error {
	for _, istio := range leaving {
		applied, err := servicemesh.ParseLastApplied(istio.Annotations)
		if istio.Namespace != v1alpha2.Namespace || err != nil || applied.IstioTag == "" {
			continue
		}
		m.was, m.window = true, istio.Annotations[v1alpha2.AnnotationRestartWindow]
	}
	pkg := &v1alpha1.Package{}
	err := c.Cache.Get(ctx, types.NamespacedName{Name: servicemesh.PackageIstio}, pkg)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Package %s: %w", servicemesh.PackageIstio, err)
	}
	m.pkg, m.was = pkg, m.was || pkg.Status.CurrentRevision > 0
	return nil
}

// lookAway looks after the sidecars of a mesh that no resource asks for any more. They are
// restarted away once its package is gone, and with it what gives sidecars to new pods.
func (c *Controller) lookAway(ctx context.Context, m *mesh) (time.Duration, error) {
	if !c.away || m.pkg != nil {
		c.forget()
	}
	c.away, c.leaving, c.was = true, m.pkg != nil, c.was || m.was
	if m.was {
		c.before = m.window
	}
	if c.leaving {
		return 0, nil
	}
	if err := c.openDeparture(ctx); err != nil || c.gone == nil || c.gone.Done {
		return 0, err
	}
	c.window, c.problem = ParseWindow(c.gone.Window)
	if key := "gone " + c.gone.Since.String(); c.due(key) {
		taken, err := c.takenOver(ctx)
		if err == nil && taken {
			return 0, c.finishDeparture(ctx, "another Istio gives sidecars to pods")
		}
		if err == nil {
			err = c.survey(ctx, &mesh{gone: c.gone.Since})
		}
		if err != nil {
			return 0, err
		}
		c.looked(key, false)
	}
	left := longestDeparture - c.Now().Sub(c.gone.Since)
	if left <= 0 {
		return 0, c.finishDeparture(ctx, "it has taken too long")
	}
	if !c.dirty && !c.board.Unsettled() {
		return 0, c.finishDeparture(ctx, "all of them were seen to")
	}
	if after := c.fill(); after > 0 && after < left {
		return after, nil
	}
	return left, nil
}

// openDeparture finds out since when the mesh is gone, and writes the note when there is
// none. Without a note there was no mesh, as far as is known.
func (c *Controller) openDeparture(ctx context.Context) error {
	if err := c.readDeparture(ctx); err != nil || c.gone != nil || !c.was {
		return err
	}
	note := goneNote{Since: c.Now().UTC().Truncate(time.Second), Window: c.before}
	log.FromContext(ctx).Info("The mesh is gone, workloads are restarted to be rid of its sidecars")
	return c.writeDeparture(ctx, &note)
}

// finishDeparture notes that nothing is left to do.
func (c *Controller) finishDeparture(ctx context.Context, why string) error {
	note := *c.gone
	note.Done = true
	log.FromContext(ctx).Info("Workloads are no longer restarted for the sidecars of the mesh that is gone", "reason", why, "left", c.board.State().Manual)
	if err := c.writeDeparture(ctx, &note); err != nil {
		return err
	}
	c.forget()
	return nil
}

// closeDeparture takes the note away, as there is a mesh again.
func (c *Controller) closeDeparture(ctx context.Context) error {
	if err := c.readDeparture(ctx); err != nil {
		return err
	}
	c.was = true
	if c.gone == nil {
		return nil
	}
	return c.writeDeparture(ctx, nil)
}

// readDeparture reads the note, once.
func (c *Controller) readDeparture(ctx context.Context) error {
	if c.asked {
		return nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(namespaceKind)
	err := c.Live.Get(ctx, types.NamespacedName{Name: servicemesh.IstioNamespace}, namespace)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Namespace %s: %w", servicemesh.IstioNamespace, err)
	}
	c.asked, c.gone = true, nil
	if text := namespace.Annotations[annotationGone]; text != "" {
		note := &goneNote{}
		if json.Unmarshal([]byte(text), note) == nil { // what is broken is no note
			c.gone = note
		}
	}
	return nil
}

// writeDeparture keeps the note; nil takes it away. Without the namespace it lasts as long as
// the process.
func (c *Controller) writeDeparture(ctx context.Context, note *goneNote) error {
	text := ""
	if note != nil {
		data, err := json.Marshal(note)
		if err != nil {
			return fmt.Errorf("encoding since when the mesh is gone: %w", err)
		}
		text = string(data)
	}
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.IstioNamespace}}
	namespace.SetGroupVersionKind(namespaceKind)
	if err := c.annotateObject(ctx, namespace, annotationGone, text); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting on Namespace %s since when the mesh is gone: %w", servicemesh.IstioNamespace, err)
	}
	c.gone = note
	return nil
}

// takenOver says whether something still gives sidecars of the default revision to pods: then
// it is not known whose the sidecars are.
func (c *Controller) takenOver(ctx context.Context) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(webhookKind.GroupVersion().WithKind(webhookKind.Kind + "List"))
	err := c.Live.List(ctx, list, client.Limit(1), client.MatchingLabels{LabelRevision: DefaultRevision})
	if err != nil {
		return false, fmt.Errorf("listing objects of kind %s: %w", webhookKind.Kind, err)
	}
	return len(list.Items) > 0, nil
}

// noteTrouble counts looks that fail in a row.
func (c *Controller) noteTrouble(err error) {
	c.failures++
	if c.failure = err; err == nil {
		c.failures = 0
	}
}

// departed says that there is no mesh, and that nothing is done about its sidecars that is worth
// waiting for: its resource may go. What cannot be restarted, or not now, keeps no resource.
func (c *Controller) departed() bool {
	switch {
	case !c.away || c.leaving:
		return false
	case c.failures >= patience:
		return true
	case !c.asked:
		return false
	case c.gone == nil:
		return !c.was
	case c.gone.Done:
		return true
	case c.surveyed == "":
		return false
	}
	return !c.board.Busy() || c.problem != nil || c.window.Opens(c.Now()) > 0
}
