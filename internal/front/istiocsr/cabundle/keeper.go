// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/trust"
)

const (
	// Name is that of the ConfigMap, in the namespace of the IstioCSR.
	Name = "cert-manager-istio-csr-issuer-ca-copy"
	// SpareName is that of the ConfigMap beside it with the same content. Only a
	// Keeper that finds the copy changed or deleted when it starts reads it.
	SpareName = Name + "-spare"
	// Key is where the CAs stand in it, in PEM.
	Key = "ca.crt"
)

// The kinds that a Keeper looks at.
const (
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
)

// Keeper keeps the copy for each IstioCSR that runs. It remembers what it has decided,
// so there is one for a manager. Requests for one namespace must not run beside each
// other; those for several may.
type Keeper struct {
	// Cache reads metadata of ConfigMaps and Secrets, and nothing else of them.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Writer writes the copy, and prompts the pods that read it.
	Writer client.Writer
	// Now is the clock. Default: the system's.
	Now func() time.Time

	mu   sync.Mutex
	kept map[string]*memory
}

// Request says what an IstioCSR wants.
type Request struct {
	// Namespace is the IstioCSR's, where the copy stands.
	Namespace string
	// Labels are those of the copy.
	Labels map[string]string
	// Reference is the ConfigMap with the CAs that the user chose. Nil: none.
	Reference *Reference
	// IssuerSecret is what an issuer of type CA signs with, in its namespace or, for a
	// ClusterIssuer, in that of cert-manager's cluster resources. Zero for issuers of
	// other types.
	IssuerSecret types.NamespacedName
	// Certificate is the Secret with the istiod certificate.
	Certificate types.NamespacedName
	// Overlap is how long certificates of a CA may be in use after the istiod
	// certificate has left it: the longest lifetime that the mesh gives.
	Overlap time.Duration
	// Left are the namespaces, sorted, of agents of the same mesh and issuer that run
	// without an IstioCSR: the copies there are kept alike, if they are of this kind.
	Left []string
	// Before are the namespaces, sorted, of other agents whose CAs the mesh may still use:
	// when nothing is served here yet, theirs are carried over.
	Before []string
	// Dropped are CAs that go at once, see [trust.Input].
	Dropped []string

	// namespaceOnly says that nothing but the namespace is known, as in KeepLast.
	namespaceOnly bool
}

// Reference is a key of a ConfigMap.
type Reference struct {
	// Namespace is the ConfigMap's. Empty: the one of the IstioCSR.
	Namespace string
	// Name is the ConfigMap's.
	Name string
	// Key is where the CAs stand.
	Key string
}

// memory is what is known of one copy.
type memory struct {
	request Request
	// versions are, of each object that matters, those that the decision knows of.
	versions map[object]versions
	// decided says that the rest is valid.
	decided bool
	serving trust.Bundle
	state   trust.State
}

// object is a ConfigMap or a Secret.
type object struct {
	types.NamespacedName

	kind string
}

// Keep brings the copy up to date and says what is in it. What users can cause is in
// the state; an error is one of the API server, to be tried again.
func (k *Keeper) Keep(ctx context.Context, request Request) (trust.State, error) {
	now := time.Now()
	if k.Now != nil {
		now = k.Now()
	}
	m := k.remember(request)
	cached, err := k.cached(ctx, request)
	if err != nil {
		return trust.State{}, err
	}
	if m.settled(cached, now) {
		return m.state, nil
	}
	found, err := k.read(ctx, request, len(m.serving) == 0)
	if err != nil {
		return trust.State{}, err
	}
	if len(m.serving) == 0 {
		m.serving = found.carriedOn(now)
	}
	if request.namespaceOnly && !m.decided {
		request = k.label(m, found.own.labels())
	}
	bundle, state := trust.Decide(found.input(request, m.serving, now))
	written, err := k.writeAll(ctx, request, found, bundle)
	if err != nil {
		return trust.State{}, err
	}
	m.serving, m.state, m.decided = bundle, state, true
	m.versions = join(cached, found.live, written)
	return state, nil
}

// KeepLast keeps the copy as it was requested last, for as long as it is not known what
// is wanted, as while the issuer is missing: a change by another client is repaired.
// A keeper without any request so far goes by what it finds: the copy if it is as we
// left it, else the spare.
func (k *Keeper) KeepLast(ctx context.Context, namespace string) (trust.State, error) {
	request := Request{Namespace: namespace, namespaceOnly: true}
	k.mu.Lock()
	if m := k.kept[namespace]; m != nil {
		request = m.request
	}
	k.mu.Unlock()
	return k.Keep(ctx, request)
}

// Forget drops the state of an IstioCSR. Its copy stays.
func (k *Keeper) Forget(namespace string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, namespace)
}

// Remove deletes the copy of an IstioCSR, and the spare, unless it has another owner.
func (k *Keeper) Remove(ctx context.Context, namespace string) error {
	k.Forget(namespace)
	for _, name := range []string{Name, SpareName} {
		var current corev1.ConfigMap
		err := k.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &current)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, name, err)
		}
		if !owned(&current).data {
			continue
		}
		if err := k.remove(ctx, &current); err != nil {
			return err
		}
	}
	return nil
}

// remember notes a request before anything is read for it, so that no event between
// the two is missed. Another request than the last one is decided anew.
func (k *Keeper) remember(request Request) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string]*memory{}
	}
	m := k.kept[request.Namespace]
	if m == nil {
		m = &memory{}
		k.kept[request.Namespace] = m
	}
	if !m.request.equal(request) {
		m.request, m.versions = request, nil
	}
	return m
}

// label notes the labels that a copy was found to have.
func (k *Keeper) label(m *memory, labels map[string]string) Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	m.request.Labels = labels
	return m.request
}

func (r Request) equal(other Request) bool {
	switch {
	case (r.Reference == nil) != (other.Reference == nil):
		return false
	case r.Reference != nil && *r.Reference != *other.Reference:
		return false
	}
	return r.Namespace == other.Namespace && r.namespaceOnly == other.namespaceOnly && r.IssuerSecret == other.IssuerSecret && r.Certificate == other.Certificate &&
		r.Overlap == other.Overlap && maps.Equal(r.Labels, other.Labels) &&
		slices.Equal(r.Left, other.Left) && slices.Equal(r.Before, other.Before) && slices.Equal(r.Dropped, other.Dropped)
}

// objects are those that a request is about.
func (r Request) objects() []object {
	list := []object{r.copy(), r.spare()}
	if r.namespaceOnly {
		return list
	}
	for _, namespace := range r.Left {
		list = append(list, copyIn(namespace), spareIn(namespace))
	}
	list = append(list, object{r.Certificate, kindSecret})
	if r.Reference != nil {
		list = append(list, r.reference())
	}
	if r.IssuerSecret.Name != "" {
		list = append(list, object{r.IssuerSecret, kindSecret})
	}
	return list
}

func (r Request) copy() object { return copyIn(r.Namespace) }

func (r Request) spare() object { return spareIn(r.Namespace) }

func copyIn(namespace string) object {
	return object{types.NamespacedName{Namespace: namespace, Name: Name}, kindConfigMap}
}

func spareIn(namespace string) object {
	return object{types.NamespacedName{Namespace: namespace, Name: SpareName}, kindConfigMap}
}

// reference is the chosen ConfigMap, which there has to be.
func (r Request) reference() object {
	o := object{types.NamespacedName{Namespace: r.Reference.Namespace, Name: r.Reference.Name}, kindConfigMap}
	if o.Namespace == "" {
		o.Namespace = r.Namespace
	}
	return o
}

// settled says whether nothing has changed since the decision.
func (m *memory) settled(cached map[object]string, now time.Time) bool {
	if !m.decided || m.versions == nil || !m.state.Next.IsZero() && !m.state.Next.After(now) {
		return false
	}
	for o, version := range cached {
		if !m.versions[o].contain(version) {
			return false
		}
	}
	return true
}

// cached are the versions that the cache knows, empty for what is not there.
func (k *Keeper) cached(ctx context.Context, request Request) (map[object]string, error) {
	found := map[object]string{}
	for _, o := range request.objects() {
		metadata := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: o.kind}}
		if err := k.Cache.Get(ctx, o.NamespacedName, metadata); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the metadata of %s: %w", o, err)
		}
		found[o] = metadata.ResourceVersion
	}
	return found, nil
}

// String is the object in messages.
func (o object) String() string { return o.kind + " " + o.NamespacedName.String() }
