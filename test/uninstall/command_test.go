// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/controller"
)

// strata runs a command line against the cluster, which has to end with a code and to say
// some words on either stream.
func (c *cluster) strata(code cli.Code, words string, args ...string) string {
	c.Helper()
	var out bytes.Buffer
	got := cli.Run(c.Context(), cli.Config{
		Args: append([]string{"strata", "--kubeconfig", c.plane.Kubeconfig()}, args...), In: strings.NewReader(""), Out: &out, Err: &out, Getenv: os.Getenv,
	})
	if got != code || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), words) {
		c.Fatalf("strata %v ends with %d, want %d and %q:\n%s", args, got, code, words, &out)
	}
	return out.String()
}

// kubectl runs a command that a user types in the repository's folder. One that deletes waits
// until what it has deleted is gone, which has to be soon.
func (c *cluster) kubectl(command string) {
	c.Helper()
	args := strings.Fields(command)
	ctx, end := context.WithTimeout(c.Context(), 3*time.Minute)
	defer end()
	typed := exec.CommandContext(ctx, c.plane.Binaries.Path(args[0]), args[1:]...)
	typed.Dir, typed.Env = root, append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig())
	if out, err := typed.CombinedOutput(); err != nil {
		c.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (c *cluster) patch(text string) {
	c.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	c.must(c.admin.Patch(c.Context(), pkg, client.RawPatch("application/merge-patch+json", []byte(text))))
}

// strata uninstall refuses while something stands in the way; then it releases what packages
// manage, and the commands that it names take Strata away.
func TestUninstall(t *testing.T) {
	c := newCluster(t)
	c.kubectl("kubectl apply --server-side --force-conflicts -k config/default")
	c.start()
	c.rollOut()
	before := c.identities()
	c.strata(cli.CodeOK, "web, 2 objects", "uninstall", "--check")
	c.strata(cli.CodeUsage, "give --yes", "uninstall")

	c.patch(`{"spec":{"paused":{"reason":"change freeze"}}}`)
	c.strata(cli.CodeFalse, "strata resume web", "uninstall", "--check")
	c.patch(`{"spec":{"paused":null},"metadata":{"labels":{"strata.run/front":"gatewayclass"}}}`)
	c.strata(cli.CodeOK, "made by front gatewayclass", "uninstall", "--check")
	c.kubectl(`kubectl patch deployment strata-manager -n strata-system --type=json -p [{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--fronts=gatewayclass"}]`)
	c.strata(cli.CodeFalse, "front gatewayclass runs", "uninstall", "--yes")
	c.patch(`{"metadata":{"labels":{"strata.run/front":null}}}`)
	c.must(c.plane.StopManager())
	c.strata(cli.CodeFalse, "no manager renews the lease", "uninstall", "--yes", "-o", "json")
	c.must(c.admin.Get(c.Context(), client.ObjectKey{Name: "web"}, &v1alpha1.Package{}))

	c.start()
	c.awaitLease()
	reported := c.strata(cli.CodeOK, "Every package is released", "uninstall", "--yes")
	c.survived(before)
	c.must(c.plane.StopManager())
	for line := range strings.Lines(reported) {
		if command := strings.TrimSpace(line); strings.HasPrefix(command, "kubectl ") {
			c.kubectl(command)
		}
	}
	c.awaitGone(controller.Definitions...)
	c.survived(before)
}
