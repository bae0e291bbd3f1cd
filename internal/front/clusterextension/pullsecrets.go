// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/oci"
)

// pullSecrets reads credentials for registries from the cluster, each time that an image is asked for:
// a change counts at once, nothing is kept, and at rest there is no request.
type pullSecrets struct {
	live client.Reader
	// named are those of --pull-secret, as namespace/name.
	named []string
	// self is the namespace/name of the manager's ServiceAccount, empty when it does not run as one.
	self func(context.Context) (string, error)
}

// selfReview asks the API server who the manager is, until it has answered: that does not change.
func selfReview(live client.Writer) func(context.Context) (string, error) {
	mutex, known, name := sync.Mutex{}, false, ""
	return func(ctx context.Context) (string, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if known {
			return name, nil
		}
		review := &authenticationv1.SelfSubjectReview{}
		if err := live.Create(ctx, review); err != nil {
			return "", fmt.Errorf("asking for the manager's ServiceAccount: %w", err)
		}
		if account, found := strings.CutPrefix(review.Status.UserInfo.Username, "system:serviceaccount:"); found {
			name = strings.Replace(account, ":", "/", 1)
		}
		known = true
		return name, nil
	}
}

// of are the credentials for the bundle of an extension, nil for catalogs: first those of its
// ServiceAccount, as of credentials for one place the first count.
func (p *pullSecrets) of(ce *olmv1.ClusterExtension) sources.Credentials {
	if p == nil {
		return nil
	}
	account := ""
	if ce != nil && ce.Spec.ServiceAccount != nil {
		account = ce.Spec.Namespace + "/" + ce.Spec.ServiceAccount.Name
	}
	return func(ctx context.Context) (found oci.Credentials, problems []string) {
		secrets, problem := p.ofAccount(ctx, account)
		problems = append(problems, problem...)
		secrets = append(secrets, p.named...)
		self, err := p.self(ctx)
		if err != nil {
			problems = append(problems, err.Error())
		}
		own, problem := p.ofAccount(ctx, self)
		problems = append(problems, problem...)
		for _, secret := range slices.Concat(secrets, own) {
			credentials, err := p.read(ctx, secret)
			if err != nil {
				problems = append(problems, err.Error())
			}
			found = append(found, credentials...)
		}
		return found, problems
	}
}

// ofAccount are the imagePullSecrets of a ServiceAccount, as namespace/name.
func (p *pullSecrets) ofAccount(ctx context.Context, account string) (secrets, problems []string) {
	if account == "" {
		return nil, nil
	}
	read := &corev1.ServiceAccount{}
	if err := p.live.Get(ctx, keyOf(account), read); err != nil {
		return nil, []string{fmt.Sprintf("reading the imagePullSecrets of ServiceAccount %s: %v", account, err)}
	}
	for _, secret := range read.ImagePullSecrets {
		secrets = append(secrets, read.Namespace+"/"+secret.Name)
	}
	return secrets, nil
}

func (p *pullSecrets) read(ctx context.Context, secret string) (oci.Credentials, error) {
	read := &corev1.Secret{}
	if err := p.live.Get(ctx, keyOf(secret), read); err != nil {
		return nil, fmt.Errorf("reading pull secret %s: %w", secret, err)
	}
	credentials, err := oci.ParseSecret(read.Data)
	if err != nil {
		return nil, fmt.Errorf("pull secret %s does not count: %w", secret, err)
	}
	return credentials, nil
}

func keyOf(path string) client.ObjectKey {
	namespace, name, _ := strings.Cut(path, "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}
