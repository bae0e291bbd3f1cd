// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// observeIssuer finds the issuer that signs for the agent, the name of the Secret that it
// signs with if it is of type CA, and the Certificate of istiod if the agent makes it.
func (o *observer) observeIssuer(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) (caSecret string, err error) {
	mesh := ic.Spec.IstioCSRConfig.Istio.Namespace
	if isDynamic(ic) {
		certificate, found, err := o.read(ctx, certificateKind, types.NamespacedName{Namespace: mesh, Name: CertificateName})
		if err != nil {
			return "", err
		}
		if found {
			facts.IstiodCertificate = IssuerOf(certificate)
		}
	}
	kind, name, ok := signing(ic, facts.RuntimeIssuer)
	if !ok {
		facts.Issuer = Issuer{Exists: true, Ready: true} // the agent says itself what is wrong with it
		return "", nil
	}
	key := types.NamespacedName{Name: name}
	if kind == KindIssuer {
		key.Namespace = mesh
	}
	issuer, found, err := o.read(ctx, schema.GroupVersionKind{Group: GroupCertManager, Version: "v1", Kind: kind}, key)
	if err != nil || !found {
		return "", err
	}
	facts.Issuer = IssuerOf(issuer)
	return CASecretOf(issuer), nil
}

// observeRuntimeIssuer finds the issuer that a ConfigMap has the agent follow.
func (o *observer) observeRuntimeIssuer(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) (err error) {
	if name := runtimeIssuerConfigMap(ic); name != "" {
		facts.RuntimeIssuer, err = o.runtimeIssuer(ctx, types.NamespacedName{Namespace: ic.Namespace, Name: name})
	}
	return err
}

func (o *observer) runtimeIssuer(ctx context.Context, key types.NamespacedName) (RuntimeIssuer, error) {
	config, found, err := o.read(ctx, configMapKind, key)
	if err != nil {
		return RuntimeIssuer{}, err
	}
	return runtimeIssuerOf(config, found), nil
}

// sharesIssuer says whether the issuer of an IstioCSR signs for an agent that was left running,
// too. The issuer of one whose arguments cannot be read is another one.
func (o *observer) sharesIssuer(ctx context.Context, ic *operatorv1alpha1.IstioCSR, own RuntimeIssuer, left commandLine) (bool, error) {
	if left == nil {
		return false, nil
	}
	issuer := RuntimeIssuer{Name: left.value(flagIssuerName), Kind: left.value(flagIssuerKind), Group: left.value(flagIssuerGroup)}
	if key := (types.NamespacedName{Namespace: left.value(flagRuntimeNamespace), Name: left.value(flagRuntimeName)}); key.Name != "" && key.Namespace != "" {
		named, err := o.runtimeIssuer(ctx, key)
		if err != nil {
			return false, err
		}
		if named.Name != "" {
			issuer = named
		}
	}
	return issuer == signer(ic, own), nil
}

// read is an object that is watched from then on.
func (o *observer) read(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (object *unstructured.Unstructured, found bool, err error) {
	object = front.Untyped(kind)
	found, err = front.Read(ctx, o.objects, key.Namespace, key.Name, object)
	return object, found, err
}

var certificateKind = schema.GroupVersionKind{Group: GroupCertManager, Version: "v1", Kind: "Certificate"}
