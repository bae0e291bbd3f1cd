// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
)

// caKey is where cert-manager, and who writes such Secrets by hand, puts a CA.
const caKey = "ca.crt"

// caField is where a user chooses the CAs, for messages.
const caField = "spec.istioCSRConfig.certManager.istioCACertificate"

// found is what the API server answered.
type found struct {
	live map[object]string
	// own is the copy of the IstioCSR, left are those of agents that were left running,
	// and before those of agents whose CAs are carried over.
	own          place
	left, before []place
	// certificate is the Secret with the istiod certificate, issuer that of an issuer
	// of type CA; nil when there is none.
	certificate, issuer *corev1.Secret
	source              trust.Source
}

// place is the copy in a namespace. Both are nil when there is none.
type place struct {
	namespace   string
	copy, spare *corev1.ConfigMap
}

// readPlaces reads the copies, and where nothing is served yet those of agents before.
func (k *Keeper) readPlaces(ctx context.Context, request Request, fresh bool, f *found) error {
	var err error
	if f.own, err = k.place(ctx, f, request.Namespace); err != nil {
		return err
	}
	if request.namespaceOnly {
		return nil
	}
	for _, namespace := range request.Left {
		left, err := k.place(ctx, f, namespace)
		if err != nil {
			return err
		}
		f.left = append(f.left, left)
	}
	for _, namespace := range request.Before {
		if !fresh {
			break
		}
		before, err := k.place(ctx, f, namespace)
		if err != nil {
			return err
		}
		f.before = append(f.before, before)
	}
	return nil
}

func (k *Keeper) place(ctx context.Context, f *found, namespace string) (place, error) {
	p := place{namespace: namespace}
	var err error
	if p.copy, err = get(ctx, k.Live, f, copyIn(namespace), &corev1.ConfigMap{}); err == nil {
		p.spare, err = get(ctx, k.Live, f, spareIn(namespace), &corev1.ConfigMap{})
	}
	return p, err
}

// read reads everything that a request is about. Fresh says that nothing is served yet.
func (k *Keeper) read(ctx context.Context, request Request, fresh bool) (found, error) {
	f := found{live: map[object]string{}}
	err := k.readPlaces(ctx, request, fresh, &f)
	if err != nil {
		return f, err
	}
	if request.namespaceOnly {
		f.source = trust.Source{Name: "the IstioCSR", Missing: "what it asks for is unknown", Waiting: true}
		return f, nil
	}
	if f.certificate, err = get(ctx, k.Live, &f, object{request.Certificate, kindSecret}, &corev1.Secret{}); err != nil {
		return f, err
	}
	if request.IssuerSecret.Name != "" {
		if f.issuer, err = get(ctx, k.Live, &f, object{request.IssuerSecret, kindSecret}, &corev1.Secret{}); err != nil {
			return f, err
		}
	}
	switch {
	case request.Reference != nil:
		var chosen *corev1.ConfigMap
		if chosen, err = get(ctx, k.Live, &f, request.reference(), &corev1.ConfigMap{}); err != nil {
			return f, err
		}
		f.source = chosenSource(request, chosen)
	case request.IssuerSecret.Name != "":
		f.source = issuerSource(request, f.issuer)
	default:
		f.source = certificateSource(request, f.certificate)
	}
	return f, nil
}

// get reads one object and notes its version. It returns nil when there is none.
func get[T client.Object](ctx context.Context, live client.Reader, f *found, o object, into T) (T, error) {
	var none T
	err := live.Get(ctx, o.NamespacedName, into)
	if apierrors.IsNotFound(err) {
		f.live[o] = ""
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", o, err)
	}
	f.live[o] = into.GetResourceVersion()
	return into, nil
}

// chosenSource is a ConfigMap of the user.
func chosenSource(request Request, chosen *corev1.ConfigMap) trust.Source {
	source := trust.Source{
		Name:   fmt.Sprintf("%s, key %s", request.reference(), request.Reference.Key),
		Chosen: true,
	}
	if request.reference() == request.copy() || request.reference() == request.spare() {
		source.Missing = "the ConfigMap is a copy that is made of the CAs, and cannot be its own source; change " + caField
		return source
	}
	if chosen == nil {
		source.Missing = "the ConfigMap does not exist; create it, or change " + caField
		return source
	}
	text, isText := chosen.Data[request.Reference.Key]
	content, isBinary := chosen.BinaryData[request.Reference.Key]
	switch {
	case isText:
		source.PEM = []byte(text)
	case isBinary:
		source.PEM = content
	default:
		source.Missing = "the ConfigMap has no such key; add it, or change " + caField
	}
	return source
}

// issuerSource is the Secret that an issuer of type CA signs with. Who made it by hand
// may have left out the CA, which then is the top of the chain.
func issuerSource(request Request, secret *corev1.Secret) trust.Source {
	o := object{request.IssuerSecret, kindSecret}
	source := trust.Source{Name: o.String() + " of the issuer"}
	if secret == nil {
		source.Missing = "the Secret does not exist, so the issuer cannot sign yet"
		source.Waiting = true
		return source
	}
	if source.PEM = secret.Data[caKey]; len(source.PEM) == 0 {
		source.PEM = trust.Tops(secret.Data[corev1.TLSCertKey])
	}
	if len(source.PEM) == 0 {
		source.Missing = "the Secret contains no certificate in ca.crt or tls.crt; an issuer of type CA needs one"
	}
	return source
}

// certificateSource is the Secret with the istiod certificate, where cert-manager puts
// the CA that the issuer returned.
func certificateSource(request Request, secret *corev1.Secret) trust.Source {
	source := trust.Source{Name: certificateName(request)}
	switch {
	case secret == nil || len(secret.Data[corev1.TLSCertKey]) == 0:
		source.Missing = "the istiod certificate is not issued yet"
		source.Waiting = true
	case len(secret.Data[caKey]) == 0:
		source.Missing = "the issuer does not publish its CA, so ca.crt is empty; put the CA into a ConfigMap and name that in " + caField
	default:
		source.PEM = secret.Data[caKey]
	}
	return source
}

func certificateName(request Request) string {
	return object{request.Certificate, kindSecret}.String() + " of the istiod certificate"
}

// input is everything for a decision.
func (f found) input(request Request, serving trust.Bundle, now time.Time) trust.Input {
	in := trust.Input{
		Now: now, Source: f.source, Certificate: certificateName(request), Serving: serving, Overlap: request.Overlap, Dropped: request.Dropped,
	}
	if f.certificate != nil {
		in.Issued, in.IssuedCA = f.certificate.Data[corev1.TLSCertKey], f.certificate.Data[caKey]
	}
	if f.issuer != nil {
		in.Signing = f.issuer.Data[corev1.TLSCertKey]
	}
	return in
}

// carriedOn is what is served, as far as nothing is known of it: what the copy has, and what
// those of other agents of the mesh have, as certificates of their CAs are in use.
func (f found) carriedOn(now time.Time) trust.Bundle {
	bundle := f.own.carriedOn(f.certificate, now)
	for _, other := range slices.Concat(f.left, f.before) {
		bundle = bundle.Join(other.carriedOn(f.certificate, now))
	}
	return bundle
}

// carriedOn is what stands in the copy as we have left it, else in the spare.
func (p place) carriedOn(certificate *corev1.Secret, now time.Time) trust.Bundle {
	if ours := p.ours(); ours != nil {
		return trust.Read([]byte(ours.Data[Key]), ours.Annotations[v1alpha1.AnnotationLeavingCAs])
	}
	if p.copy == nil || certificate == nil {
		return nil
	}
	return trust.Signers([]byte(p.copy.Data[Key]), certificate.Data[corev1.TLSCertKey], now)
}

// ours is the copy or the spare, if its CAs were written last by us. Nil when neither
// is.
func (p place) ours() *corev1.ConfigMap {
	for _, kept := range []*corev1.ConfigMap{p.copy, p.spare} {
		if kept != nil && owned(kept).data {
			return kept
		}
	}
	return nil
}

// labels are those that we have given to the copy, as far as they can be found out: what
// of them was changed in the copy still stands in the spare.
func (p place) labels() map[string]string {
	labels := map[string]string{}
	for _, kept := range []*corev1.ConfigMap{p.copy, p.spare} {
		if kept == nil {
			continue
		}
		for _, name := range owned(kept).labels {
			labels[name] = kept.Labels[name]
		}
	}
	return labels
}
