// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/strata-run/strata/internal/localplane/module"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	kwokModule       = "sigs.k8s.io/kwok"
)

// key names the folder of the binaries: the Kubernetes version, a hash of what
// they are built from, the platform, and the Go version. Without a go command
// the Go version does not matter: whatever is already built is taken.
func (b builder) key(ctx context.Context) (string, error) {
	prefix, err := keyPrefix(b.goMod, b.goSum)
	if err != nil {
		return "", err
	}
	version, err := b.goVersion(ctx)
	if err == nil {
		return prefix + version, nil
	}
	built, globErr := filepath.Glob(filepath.Join(b.cacheDir, prefix+"*"))
	if globErr != nil || len(built) == 0 {
		return "", err
	}
	return filepath.Base(slices.Max(built)), nil
}

// keyPrefix is the key up to the Go version.
func keyPrefix(goMod, goSum []byte) (string, error) {
	version, err := module.Version(goMod, kubernetesModule)
	if err != nil {
		return "", err
	}
	ldflags, err := stampVersions(goMod)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, part := range [][]byte{goMod, goSum, []byte(ldflags)} {
		// The length keeps the border between two parts in the hash.
		fmt.Fprintf(hash, "%d\n%s", len(part), part)
	}
	short := hex.EncodeToString(hash.Sum(nil))[:12]
	return fmt.Sprintf("%s-%s-%s-%s-", version, short, runtime.GOOS, runtime.GOARCH), nil
}

// goVersion asks the go command on PATH for its version, for example "go1.26.8".
func (b builder) goVersion(ctx context.Context) (string, error) {
	path, err := findGo()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, "env", "GOVERSION")
	cmd.Dir = b.cacheDir
	cmd.Env = b.goEnv()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	// A development version contains spaces.
	return strings.Join(strings.Fields(string(out)), "-"), nil
}

// stampVersions returns the linker flags that strip the programs and tell them
// their version: servers without it answer v0.0.0-master+$Format, which clients
// cannot parse.
func stampVersions(goMod []byte) (string, error) {
	kubernetes, err := module.Version(goMod, kubernetesModule)
	if err != nil {
		return "", err
	}
	kwok, err := module.Version(goMod, kwokModule)
	if err != nil {
		return "", err
	}
	numbers := strings.SplitN(strings.TrimPrefix(kubernetes, "v"), ".", 3)
	if len(numbers) != 3 {
		return "", fmt.Errorf("go.mod: %s: version %s is not vX.Y.Z", kubernetesModule, kubernetes)
	}
	flags := []string{"-s", "-w", "-X", "sigs.k8s.io/kwok/pkg/consts.Version=" + strings.TrimPrefix(kwok, "v")}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, stamp := range []string{
			"gitVersion=" + kubernetes,
			"gitMajor=" + numbers[0],
			"gitMinor=" + numbers[1],
			"gitTreeState=clean",
			// There is no checkout: the module version is what identifies it.
			"gitCommit=" + kubernetesModule + "@" + kubernetes,
			// A fixed date keeps the build reproducible.
			"buildDate=1970-01-01T00:00:00Z",
		} {
			flags = append(flags, "-X", pkg+"."+stamp)
		}
	}
	return strings.Join(flags, " "), nil
}
