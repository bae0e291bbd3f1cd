// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// managerUser is who the manager is. It has the rights of config/rbac.
const managerUser = "system:serviceaccount:strata-system:strata-manager"

var startOnce sync.Once

// withManager runs the manager in this process from the first test on that wants it.
// It ends with the process.
func withManager(t *testing.T) {
	t.Helper()
	startOnce.Do(func() {
		must(t, v1alpha1.AddToScheme(admin.Scheme()))
		must(t, operatorv1alpha1.AddToScheme(admin.Scheme()))
		root := os.DirFS(filepath.Join("..", ".."))
		for _, source := range []struct {
			files   fs.FS
			pattern string
		}{{crd.Files, "*.yaml"}, {root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"}} {
			must(t, applyFiles(t.Context(), source.files, source.pattern))
		}
		planetest.Eventually(t, "our kinds to be served", func() (bool, error) {
			err := admin.List(t.Context(), &operatorv1alpha1.IstioCSRList{})
			return err == nil, err
		})
		config, err := plane.ConfigFor(managerUser, "system:serviceaccounts", "system:serviceaccounts:strata-system")
		must(t, err)
		ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
		options := controller.DefaultOptions()
		options.LeaderElect, options.MetricsAddress, options.HealthAddress = false, "0", "0"
		go func() {
			err := controller.Run(context.Background(), config, options)
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}()
	})
}

// applyFiles applies manifests, but no workload: the manager runs in this process.
func applyFiles(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files match %s: %w", pattern, fs.ErrNotExist)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			if object.Object == nil || object.GetKind() == "Deployment" {
				continue
			}
			if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
		}
	}
	return nil
}
