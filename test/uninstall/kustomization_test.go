// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// deleteKustomization types `kubectl delete -k config/default`. As a kubelet would, it ends
// the manager as soon as its Deployment is gone. kubectl waits for what it has deleted; when
// that hangs, it is interrupted as a user would.
func (c *cluster) deleteKustomization() (output string) {
	c.Helper()
	ctx, interrupt := context.WithCancel(c.Context())
	defer interrupt()
	typed := exec.CommandContext(ctx, c.plane.Binaries.Path("kubectl"), "delete", "-k", "config/default")
	var out bytes.Buffer
	typed.Dir, typed.Env = root, append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig())
	typed.Stdout, typed.Stderr, typed.Cancel = &out, &out, func() error { return typed.Process.Signal(os.Interrupt) }
	c.must(typed.Start())
	ended := make(chan error, 1)
	go func() { ended <- typed.Wait() }()
	planetest.Eventually(c.T, "the Deployment of the manager is gone", func() (bool, error) {
		err := c.admin.Get(c.Context(), client.ObjectKey{Namespace: "strata-system", Name: "strata-manager"}, &appsv1.Deployment{})
		return apierrors.IsNotFound(err), err
	})
	c.must(c.plane.StopManager())
	planetest.Eventually(c.T, "kubectl has ended, or hangs in what it has deleted", func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return true, nil
		default:
			return c.hangs(), fmt.Errorf("kubectl goes on: %s", &out)
		}
	})
	interrupt()
	// How it ends tells nothing: definitions are refused, or go, or hang.
	<-ended
	return out.String()
}

// hangs says whether everything of config/default but definitions is gone, and a definition
// is held by its finalizer.
func (c *cluster) hangs() bool {
	policy := &unstructured.Unstructured{}
	policy.SetAPIVersion("admissionregistration.k8s.io/v1")
	policy.SetKind("ValidatingAdmissionPolicyBinding")
	if !apierrors.IsNotFound(c.admin.Get(c.Context(), client.ObjectKey{Name: "strata-protection"}, policy)) {
		return false
	}
	for _, name := range controller.Definitions {
		held := definition(name)
		if c.admin.Get(c.Context(), client.ObjectKeyFromObject(held), held) == nil && held.GetDeletionTimestamp() != nil {
			return true
		}
	}
	return false
}

// applyKustomization applies config/default until nothing that is being deleted stands in
// the way.
func (c *cluster) applyKustomization() {
	c.Helper()
	planetest.Eventually(c.T, "config/default is applied", func() (bool, error) {
		typed := exec.CommandContext(c.Context(), c.plane.Binaries.Path("kubectl"), "apply", "--server-side", "--force-conflicts", "-k", "config/default")
		typed.Dir, typed.Env = root, append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig())
		out, err := typed.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err == nil, err
	})
}

// A user types kubectl delete -k config/default while packages are rolled out and the manager
// runs, and then applies it again: what packages manage survives both, where the policies
// keep the definitions, and where they let them go.
func TestDeleteKustomization(t *testing.T) {
	c := newCluster(t)
	c.applyKustomization()
	c.start()
	c.rollOut()
	before := c.identities()
	planetest.Eventually(t, "the policies are in force", func() (bool, error) {
		err := c.admin.Delete(c.Context(), definition(controller.Definitions[0]), client.DryRunAll)
		return apierrors.IsInvalid(err), err
	})

	t.Log(c.deleteKustomization())
	c.live(before)
	c.applyKustomization()
	c.start()
	c.rollOut()
	c.live(before)

	c.kubectl("kubectl annotate crd packages.strata.run revisions.strata.run objectslices.strata.run strata.run/allow-deletion=")
	t.Log(c.deleteKustomization())
	c.live(before)
	c.applyKustomization()
	c.start()
	// Definitions that hung in deletion go now, and take nothing with them.
	planetest.Eventually(t, "the definitions are there to stay", func() (bool, error) {
		for _, name := range controller.Definitions {
			held := definition(name)
			if err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(held), held); err != nil || held.GetDeletionTimestamp() != nil {
				c.applyKustomization()
				return false, fmt.Errorf("%s: deleted %v: %w", name, held.GetDeletionTimestamp(), err)
			}
		}
		return true, nil
	})
	c.rollOut()
	c.live(before)
}

// live fails unless the objects are those of before.
func (c *cluster) live(before map[string]types.UID) {
	c.Helper()
	for kind, uid := range before {
		object, err := c.object(kind)
		c.must(err)
		if object.UID != uid || object.DeletionTimestamp != nil {
			c.Errorf("%s was deleted", kind)
		}
	}
}
