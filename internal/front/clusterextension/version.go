// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// versionKept is how long the version of Kubernetes is taken for the one that the cluster has.
const versionKept = 10 * time.Minute

// serverVersion asks the API server of a manager.
func serverVersion(mgr manager.Manager) (func(context.Context) (string, error), error) {
	discovering, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("setting up the front of ClusterExtensions: %w", err)
	}
	return func(ctx context.Context) (string, error) {
		text, err := discovering.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return "", err
		}
		is := version.Info{}
		err = json.Unmarshal(text, &is)
		return is.GitVersion, err
	}, nil
}

// kubernetes is the version of Kubernetes, which is asked for only when a bundle is looked at after a time.
func (s *supply) kubernetes(ctx context.Context) (string, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.version == nil || !s.asked.IsZero() && time.Since(s.asked) < versionKept {
		return s.current, nil
	}
	known, err := s.version(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the version of Kubernetes: %w", err)
	}
	s.current, s.asked = known, time.Now()
	return known, nil
}
