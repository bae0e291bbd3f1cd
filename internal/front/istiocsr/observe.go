// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
	"github.com/strata-run/strata/revisions/cache"
)

// The CustomResourceDefinitions that say what there is in a cluster.
const definitionMonitor = "servicemonitors.monitoring.coreos.com"

var (
	certManagerDefinitions = []string{"certificates.cert-manager.io", "clusterissuers.cert-manager.io", "issuers.cert-manager.io"}
	definitions            = append([]string{definitionMonitor}, certManagerDefinitions...)
)

// caWriter brings the copy of the CA certificates up to date, or keeps it as it was.
type caWriter interface {
	Keep(ctx context.Context, request cabundle.Request) (trust.State, error)
	KeepLast(ctx context.Context, namespace string) (trust.State, error)
}

// caKeeper keeps the copy of the CA certificates.
type caKeeper interface {
	caWriter

	Remove(ctx context.Context, namespace string) error
	Forget(namespace string)
}

// observer reads what an agent depends on, and keeps the copy of its CA
// certificates. What it reads is watched, object by object.
type observer struct {
	// cache has the CRDs and the configurations of meshes, objects what is watched alone. Live
	// is for what is looked up once.
	cache   client.Reader
	live    client.Reader
	writer  client.Writer
	objects *cache.Objects
	served  func(kind schema.GroupVersionKind) bool
	keeper  caKeeper
	// image is what an agent runs that asks for no other.
	image Image
	// clusterNamespace is where cert-manager looks for the Secrets of ClusterIssuers.
	clusterNamespace string
	now              func() time.Time
	// handed is the resourceVersion of the Deployment of which Helm's fields were handed
	// over last.
	handed string
	// signal reports changes of what is watched.
	signal front.Signal
}

func newObserver(w front.Wiring, settings *Settings) *observer {
	mgr, signal := w.Manager, front.NewSignal()
	watched := w.Informers.Objects(func() { signal.Raise(&operatorv1alpha1.IstioCSR{}) })
	return &observer{
		cache:            mgr.GetCache(),
		live:             mgr.GetAPIReader(),
		writer:           mgr.GetClient(),
		objects:          watched,
		served:           w.Kinds.Served,
		keeper:           &cabundle.Keeper{Cache: watched, Live: mgr.GetAPIReader(), Writer: mgr.GetClient()},
		image:            settings.image,
		clusterNamespace: settings.ClusterResourceNamespace,
		now:              time.Now,
		signal:           signal,
	}
}

// Observe reads the facts about the IstioCSR that runs.
func (o *observer) Observe(ctx context.Context, group front.Group[*operatorv1alpha1.IstioCSR]) (observed, error) {
	facts := observed{Unremoved: o.release(ctx, group)}
	o.objects.Begin()
	ic := Running(group.Resources)
	if ic != nil {
		facts.Running = ic.Namespace
	}
	facts.Pointing = o.observeClients(ctx, group)
	if ic == nil {
		o.objects.End()
		return facts, nil
	}
	if err := front.Unreadable(ic); err != nil {
		return facts, err
	}
	if !CanBeFollowed(ic) {
		err := o.keepLast(ctx, ic, &facts) // it does not say what to look at
		return facts, err
	}
	err := o.observeDeployment(ctx, ic, group, &facts)
	if err == nil {
		err = o.observeRuntimeIssuer(ctx, ic, &facts)
	}
	if err == nil {
		err = o.observeOtherAgents(ctx, ic, group, &facts)
	}
	if err == nil {
		err = o.observeClusterRoles(ctx, ic, group, &facts)
	}
	if err == nil {
		err = o.observeAPIServer(ctx, ic, group, &facts)
	}
	if err == nil {
		err = o.observeRunning(ctx, ic, &facts)
	}
	if err == nil && facts.CertManager {
		err = o.observeConflict(ctx, ic, &facts)
	}
	if err != nil {
		return observed{Facts: Facts{Running: ic.Namespace}, Pointing: facts.Pointing, Unremoved: facts.Unremoved}, err
	}
	o.objects.End()
	return facts, nil
}

// release forgets the copies of those that are being deleted, and deletes what was asked to be
// deleted: last, when nothing reads it any more. What cannot be deleted keeps its own
// IstioCSR, and is no trouble of the others.
func (o *observer) release(ctx context.Context, group front.Group[*operatorv1alpha1.IstioCSR]) map[string]error {
	unremoved := map[string]error{}
	for _, ic := range group.Deleting {
		o.keeper.Forget(ic.Namespace)
		if !RemovesOnDeletion(ic) || hasPackage(group, ic.Namespace) {
			continue
		}
		read, err := o.agentIn(ctx, ic.Namespace)
		if err == nil && !read {
			err = o.keeper.Remove(ctx, ic.Namespace)
		}
		if err != nil {
			unremoved[ic.Namespace] = err
		}
	}
	return unremoved
}

// agentIn says whether an agent is in a namespace, of any IstioCSR or of none: an agent that
// a deleted IstioCSR has left running goes on reading its CA certificates.
func (o *observer) agentIn(ctx context.Context, namespace string) (bool, error) {
	return front.Read(ctx, o.live, namespace, AgentName, front.Metadata(deploymentKind))
}

func (o *observer) observeRunning(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) error {
	var err error
	if facts.ServiceMonitors, err = o.defined(ctx, definitionMonitor); err != nil {
		return err
	}
	if facts.CertManager, err = o.defined(ctx, certManagerDefinitions...); err != nil {
		return err
	}
	if !facts.CertManager {
		return o.keepLast(ctx, ic, facts)
	}
	namespace := front.Metadata(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if facts.Namespace, err = front.Read(ctx, o.objects, "", ic.Spec.IstioCSRConfig.Istio.Namespace, namespace); err != nil {
		return err
	}
	caSecret, err := o.observeIssuer(ctx, ic, facts)
	if err != nil {
		return err
	}
	if !facts.Namespace || !facts.Issuer.Signs() {
		return o.keepLast(ctx, ic, facts)
	}
	return o.keep(ctx, ic, caSecret, facts)
}

// keepLast keeps the copy of the CA certificates as it is while it is not known what is wanted,
// so that a change by another client is repaired then, too.
func (o *observer) keepLast(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) error {
	state, err := o.keeper.KeepLast(ctx, ic.Namespace)
	if err != nil {
		return err
	}
	facts.waitFor(state.Again(o.now()))
	facts.CA.Certificates = certificatesOf(state)
	return nil
}

// keep keeps the copy of the CA certificates, and those of the agents that were left running.
func (o *observer) keep(ctx context.Context, ic *operatorv1alpha1.IstioCSR, issuerSecret string, facts *observed) error {
	mesh := ic.Spec.IstioCSRConfig.Istio.Namespace
	request := cabundle.Request{
		Namespace:   ic.Namespace,
		Labels:      Labels(ic, o.image),
		Certificate: types.NamespacedName{Namespace: mesh, Name: CertificateTarget},
		Overlap:     Overlap(ic),
		Before:      facts.Before,
	}
	for _, namespace := range facts.LeftRunning {
		if !slices.Contains(facts.LeftApart, namespace) {
			request.Left = append(request.Left, namespace)
		}
	}
	var malformed []string
	request.Dropped, malformed = droppedBy(ic)
	if reference := ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate; reference != nil {
		request.Reference = &cabundle.Reference{Namespace: reference.Namespace, Name: reference.Name, Key: reference.Key}
	}
	if issuerSecret != "" {
		request.IssuerSecret = types.NamespacedName{Namespace: mesh, Name: issuerSecret}
		if kind, _, _ := signing(ic, facts.RuntimeIssuer); kind == KindClusterIssuer {
			request.IssuerSecret.Namespace = o.clusterNamespace
		}
	}
	state, err := o.keeper.Keep(ctx, request)
	if err != nil {
		return err
	}
	now := o.now()
	facts.waitFor(state.Again(now))
	for _, root := range state.Ending(now) {
		facts.CA.Ending = append(facts.CA.Ending, root.Name)
	}
	if state.Problem != nil {
		facts.CA.Problem, facts.CA.Waiting = state.Problem.Message, state.Problem.Waiting
	}
	facts.CA.Source, facts.CA.Expired, facts.CA.Undropped = state.Source, state.Expired, slices.Concat(malformed, state.Undropped)
	facts.CA.Certificates = certificatesOf(state)
	return nil
}

// droppedBy are the digests of the CAs that the annotation of an IstioCSR drops, and what
// is to be said of those that are none.
func droppedBy(ic *operatorv1alpha1.IstioCSR) (digests, malformed []string) {
	for text := range strings.SplitSeq(ic.Annotations[operatorv1alpha1.AnnotationDropCAs], ",") {
		digest := trust.Digest(text)
		switch {
		case digest != "":
			digests = append(digests, digest)
		case strings.TrimSpace(text) != "":
			malformed = append(malformed, fmt.Sprintf("%.80q is not the digest of a certificate, such as those in status.caCertificates", text))
		}
	}
	return digests, malformed
}

// certificatesOf are the CA certificates that are served, for the status.
func certificatesOf(state trust.State) []operatorv1alpha1.CACertificate {
	var all []operatorv1alpha1.CACertificate
	for _, root := range state.Roots {
		ca := operatorv1alpha1.CACertificate{
			Name: root.Name[1 : len(root.Name)-1], Digest: root.Digest, NotAfter: metav1.NewTime(root.NotAfter), Leaving: root.Old || !root.Until.IsZero(),
		}
		if !root.Until.IsZero() {
			ca.Until = new(metav1.NewTime(root.Until))
		}
		all = append(all, ca)
	}
	return all
}

// defined says whether all of the CRDs are there.
func (o *observer) defined(ctx context.Context, names ...string) (bool, error) {
	for _, name := range names {
		if found, err := front.Read(ctx, o.cache, "", name, front.Definition()); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}
