// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cert-manager/cert-manager/internal/apis/config/shared"
	config "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// webhookName is that of both configurations, in the release's chart as well.
	webhookName = "cert-manager-webhook"
	// authoritySecret keeps the authority that signs the webhook's certificate.
	authoritySecret = "cert-manager-webhook-ca"
	// webhookHost is a name and no address, because the webhook's certificate
	// holds names only.
	webhookHost = "localhost"
)

// runWebhook serves admission with the certificate that cert-manager makes for
// itself, and registers it.
func runWebhook(ctx context.Context, restConfig *rest.Config, s settings) error {
	// The server that cert-manager builds listens on every interface. Its parts
	// are used, and served on loopback.
	built, err := webhook.NewCertManagerWebhookServer(logr.FromContextOrDiscard(ctx), config.WebhookConfiguration{
		KubeConfig: s.kubeconfig,
		TLSConfig: shared.TLSConfig{Dynamic: shared.DynamicServingConfig{
			SecretNamespace: s.namespace,
			SecretName:      authoritySecret,
			DNSNames:        []string{webhookHost},
			LeafDuration:    24 * time.Hour,
		}},
		MetricsListenAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("preparing the webhook: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mutate", admission.NewCustomMutationWebhook(built.MutationWebhook))
	mux.Handle("/validate", admission.NewCustomValidationWebhook(built.ResourceScheme, built.ValidationWebhook))

	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for the webhook: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	encrypted := tls.NewListener(listener, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: built.CertificateSource.GetCertificate,
	})
	return together(ctx,
		built.CertificateSource.Start,
		func(context.Context) error {
			if err := server.Serve(encrypted); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving the webhook: %w", err)
			}
			return nil
		},
		func(ctx context.Context) error {
			if err := register(ctx, restConfig, s.namespace, listener.Addr()); err != nil {
				return err
			}
			<-ctx.Done()
			return server.Close()
		},
	)
}

// register makes the webhook's configurations, as the release's chart has them but
// for the URL. The CA injector puts the authority into them.
func register(ctx context.Context, restConfig *rest.Config, namespace string, at net.Addr) error {
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return err
	}
	base := "https://" + net.JoinHostPort(webhookHost, port)
	authority := map[string]string{"cert-manager.io/inject-ca-from-secret": namespace + "/" + authoritySecret}
	how := metav1.ApplyOptions{FieldManager: "cert-manager-rig", Force: true}

	validate := admissionapply.ValidatingWebhookConfiguration(webhookName).WithAnnotations(authority).WithWebhooks(
		admissionapply.ValidatingWebhook().
			WithName("webhook.cert-manager.io").
			WithRules(admissionapply.RuleWithOperations().
				WithAPIGroups("cert-manager.io", "acme.cert-manager.io").WithAPIVersions("v1").
				WithOperations(admissionv1.Create, admissionv1.Update).WithResources("*/*")).
			WithAdmissionReviewVersions("v1").
			WithMatchPolicy(admissionv1.Equivalent).
			WithTimeoutSeconds(30).
			WithFailurePolicy(admissionv1.Fail).
			WithSideEffects(admissionv1.SideEffectClassNone).
			WithClientConfig(admissionapply.WebhookClientConfig().WithURL(base + "/validate")))
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Apply(ctx, validate, how); err != nil {
		return fmt.Errorf("registering the validating webhook: %w", err)
	}
	mutate := admissionapply.MutatingWebhookConfiguration(webhookName).WithAnnotations(authority).WithWebhooks(
		admissionapply.MutatingWebhook().
			WithName("webhook.cert-manager.io").
			WithRules(admissionapply.RuleWithOperations().
				WithAPIGroups("cert-manager.io").WithAPIVersions("v1").
				WithOperations(admissionv1.Create).WithResources("certificaterequests")).
			WithAdmissionReviewVersions("v1").
			WithMatchPolicy(admissionv1.Equivalent).
			WithTimeoutSeconds(30).
			WithFailurePolicy(admissionv1.Fail).
			WithSideEffects(admissionv1.SideEffectClassNone).
			WithClientConfig(admissionapply.WebhookClientConfig().WithURL(base + "/mutate")))
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Apply(ctx, mutate, how); err != nil {
		return fmt.Errorf("registering the mutating webhook: %w", err)
	}
	return nil
}
