// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/strata-run/strata/internal/localplane/module"
)

// CacheDirEnv is the environment variable that moves the default cache folder.
const CacheDirEnv = "STRATA_KUBERNETES_DIR"

// BuildOptions say where the binaries are kept.
type BuildOptions struct {
	// CacheDir is the folder with one folder of binaries per version.
	// Default: $STRATA_KUBERNETES_DIR, else strata/kubernetes in the user's
	// cache folder. Folders of older versions stay; they can be deleted.
	CacheDir string
	// Progress gets one line per step, nothing when there is nothing to build.
	// Default: none.
	Progress io.Writer
}

// Build returns the binaries of the local Kubernetes and builds them first when
// the cache does not contain them, which takes about 7 minutes on 2 cores. Two
// processes that call it at once build once.
//
// It needs the go command on PATH. The error of a module that cannot be fetched
// names the module and the remedy.
func Build(ctx context.Context, o BuildOptions) (Binaries, error) {
	b := builder{goMod: module.GoMod, goSum: module.GoSum, progress: o.Progress}
	if b.progress == nil {
		b.progress = io.Discard
	}
	var err error
	if b.cacheDir, err = cacheDir(o.CacheDir); err != nil {
		return Binaries{}, err
	}
	return b.build(ctx)
}

// cacheDir is the given folder or the default one.
func cacheDir(given string) (string, error) {
	if given == "" {
		given = os.Getenv(CacheDirEnv)
	}
	if given == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the user's cache folder: %w; set %s to a folder for the binaries", err, CacheDirEnv)
		}
		given = filepath.Join(user, "strata", "kubernetes")
	}
	return filepath.Abs(given)
}

// builder builds the programs of one module into one cache folder.
type builder struct {
	goMod, goSum []byte
	cacheDir     string
	progress     io.Writer
	// env is added to the environment of the go command, for tests.
	env []string
}

// build returns the cached binaries, or builds them under the cache's lock.
func (b builder) build(ctx context.Context) (Binaries, error) {
	if err := os.MkdirAll(b.cacheDir, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("creating the cache folder: %w", err)
	}
	key, err := b.key(ctx)
	if err != nil {
		return Binaries{}, err
	}
	binaries := Binaries{Dir: filepath.Join(b.cacheDir, key)}
	if binaries.check() == nil {
		return binaries, nil
	}
	lock, err := acquireLock(ctx, filepath.Join(b.cacheDir, "lock"), func() {
		fmt.Fprintln(b.progress, "waiting for another process that builds the local Kubernetes")
	})
	if err != nil {
		return Binaries{}, fmt.Errorf("locking the cache folder: %w", err)
	}
	defer lock.release()
	if binaries.check() == nil {
		return binaries, nil
	}
	if err := b.compileTo(ctx, binaries.Dir); err != nil {
		return Binaries{}, fmt.Errorf("building the local Kubernetes: %w", err)
	}
	return binaries, nil
}

// compileTo builds every program beside dir and then renames the folder, so
// that dir is either complete or absent.
func (b builder) compileTo(ctx context.Context, dir string) error {
	started := time.Now()
	version, err := module.Version(b.goMod, kubernetesModule)
	if err != nil {
		return err
	}
	work, err := b.makeWorkDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Fprintf(b.progress, "building Kubernetes %s from Go modules; the first time takes about 7 minutes on 2 cores\n", version)
	if err := b.download(ctx, work); err != nil {
		return err
	}
	built := Binaries{Dir: filepath.Join(work, "bin")}
	if err := b.compile(ctx, work, built); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Rename(built.Dir, dir); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "built Kubernetes %s in %s: %s\n", version, time.Since(started).Round(time.Second), dir)
	return nil
}

// workPrefix begins the name of the folder in which a build runs.
const workPrefix = ".build-"

// makeWorkDir makes a folder with the module, and removes those that a
// killed build left. The caller holds the lock.
func (b builder) makeWorkDir() (string, error) {
	leftovers, err := filepath.Glob(filepath.Join(b.cacheDir, workPrefix+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	work, err := os.MkdirTemp(b.cacheDir, workPrefix)
	if err != nil {
		return "", err
	}
	for name, content := range map[string][]byte{"go.mod": b.goMod, "go.sum": b.goSum} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return "", err
		}
	}
	return work, nil
}

// compile builds one program after the other; go builds their packages on all
// cores.
func (b builder) compile(ctx context.Context, work string, built Binaries) error {
	ldflags, err := stampVersions(b.goMod)
	if err != nil {
		return err
	}
	for i, p := range programs {
		fmt.Fprintf(b.progress, "building %s (%d of %d)\n", p.name, i+1, len(programs))
		if err := b.goCommand(ctx, work, "build", "-ldflags", ldflags, "-o", built.Path(p.name), p.importPath); err != nil {
			return fmt.Errorf("compiling %s for %s/%s: %w", p.name, runtime.GOOS, runtime.GOARCH, err)
		}
	}
	return nil
}

// download fetches the modules, so that what is missing is known before the
// first minutes of compiling are spent.
func (b builder) download(ctx context.Context, work string) error {
	fmt.Fprintln(b.progress, "downloading Go modules")
	args := []string{"list", "-deps"}
	for _, p := range programs {
		args = append(args, p.importPath)
	}
	if err := b.goCommand(ctx, work, args...); err != nil {
		return fmt.Errorf("downloading Go modules: %w", err)
	}
	return nil
}
