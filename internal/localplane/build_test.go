// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/localplane/module"
)

// testBuilder builds the module into a folder of its own.
func testBuilder(t *testing.T) builder {
	t.Helper()
	return builder{goMod: module.GoMod, goSum: module.GoSum, cacheDir: t.TempDir(), progress: io.Discard}
}

// fakeBinaries puts files with the names of all programs into the cache.
func fakeBinaries(t *testing.T, b builder, key string) string {
	t.Helper()
	binaries := Binaries{Dir: filepath.Join(b.cacheDir, key)}
	if err := os.MkdirAll(binaries.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if err := os.WriteFile(binaries.Path(p.name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return binaries.Dir
}

func TestKey(t *testing.T) {
	b := testBuilder(t)
	key, err := b.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version, err := module.Version(b.goMod, kubernetesModule)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(key, version+"-") || !strings.Contains(key, "-"+runtime.GOOS+"-"+runtime.GOARCH+"-go1.") {
		t.Errorf("key %s does not hold the version %s, the platform and the Go version", key, version)
	}
	cases := map[string]struct {
		reason string
		change func(*builder)
	}{
		"Module":    {reason: "another requirement makes other binaries", change: func(b *builder) { b.goMod = append(bytes.Clone(b.goMod), '\n') }},
		"Checksums": {reason: "other sources make other binaries", change: func(b *builder) { b.goSum = b.goSum[1:] }},
		"Border": {reason: "moving a byte between the files is a change", change: func(b *builder) {
			b.goMod, b.goSum = append(bytes.Clone(b.goMod), b.goSum[0]), b.goSum[1:]
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changed := b
			tc.change(&changed)
			if other, err := changed.key(t.Context()); err != nil || other == key {
				t.Errorf("%s: key() = %q, %v", tc.reason, other, err)
			}
		})
	}
}

func TestStampVersions(t *testing.T) {
	flags, err := stampVersions([]byte("require k8s.io/kubernetes v1.2.3\nrequire sigs.k8s.io/kwok v0.4.5\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.2.3 ",
		"-X k8s.io/client-go/pkg/version.gitMajor=1 ",
		"-X k8s.io/client-go/pkg/version.gitMinor=2 ",
		"-X sigs.k8s.io/kwok/pkg/consts.Version=0.4.5 ",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("the flags %s do not hold %s", flags, want)
		}
	}
	if _, err := stampVersions([]byte("require sigs.k8s.io/kwok v0.4.5\n")); err == nil || !strings.Contains(err.Error(), "k8s.io/kubernetes is not required") {
		t.Errorf("a module without Kubernetes: %v", err)
	}
}

func TestBuildUsesTheCache(t *testing.T) {
	b := testBuilder(t)
	key, err := b.key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fakeBinaries(t, b, key)
	got, err := b.build(t.Context())
	if err != nil || got.Dir != want {
		t.Errorf("build() = %s, %v; want %s", got.Dir, err, want)
	}
	t.Setenv(CacheDirEnv, b.cacheDir)
	if got, err := Build(t.Context(), BuildOptions{}); err != nil || got.Dir != want {
		t.Errorf("Build() with %s = %s, %v; want %s", CacheDirEnv, got.Dir, err, want)
	}
}

func TestBuildWithoutGo(t *testing.T) {
	b := testBuilder(t)
	prefix, err := keyPrefix(b.goMod, b.goSum)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := b.build(t.Context()); err == nil || !strings.Contains(err.Error(), "finding the go command") || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("without go and without binaries: %v", err)
	}
	want := fakeBinaries(t, b, prefix+"go1.99.0")
	if got, err := b.build(t.Context()); err != nil || got.Dir != want {
		t.Errorf("without go but with binaries: %s, %v; want %s", got.Dir, err, want)
	}
}

func TestBrokenDownload(t *testing.T) {
	// A proxy that has nothing, on loopback.
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "on fire", http.StatusInternalServerError)
	}))
	defer proxy.Close()
	cases := map[string]struct {
		reason string
		change func(*builder)
		want   []string
	}{
		"ProxyFails": {
			reason: "the module that could not be fetched is named",
			change: func(b *builder) {
				b.env = []string{"GOPROXY=" + proxy.URL, "GOMODCACHE=" + t.TempDir(), "GONOSUMDB=*", "GOTOOLCHAIN=local"}
			},
			want: []string{"downloading Go modules: module ", "@v", "cannot be had", "GOPROXY", "500 Internal Server Error"},
		},
		"BadVersion": {
			reason: "a version that is not recorded is named",
			change: func(b *builder) {
				b.goMod = bytes.ReplaceAll(b.goMod, []byte("sigs.k8s.io/kwok v0.8.0"), []byte("sigs.k8s.io/kwok v0.8.999"))
				b.env = []string{"GOPROXY=off", "GOTOOLCHAIN=local"}
			},
			want: []string{"module sigs.k8s.io/kwok@v0.8.999 cannot be had", "go mod tidy"},
		},
		"OtherContent": {
			reason: "content that was tampered with is not used",
			change: func(b *builder) {
				b.goSum = tamper(t, b.goSum, "sigs.k8s.io/kwok v0.8.0 h1:")
				b.env = []string{"GOTOOLCHAIN=local"}
			},
			want: []string{"module sigs.k8s.io/kwok@v0.8.0 cannot be had", "go clean -modcache"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := testBuilder(t)
			tc.change(&b)
			_, err := b.build(t.Context())
			if err == nil {
				t.Fatalf("%s: the build succeeded", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, want, err)
				}
			}
			left, globErr := filepath.Glob(filepath.Join(b.cacheDir, "*"))
			if globErr != nil || len(left) != 1 || filepath.Base(left[0]) != "lock" {
				t.Errorf("%s: the cache holds %v, want the lock only", tc.reason, left)
			}
		})
	}
}

// tamper changes the checksum that follows prefix.
func tamper(t *testing.T, sums []byte, prefix string) []byte {
	t.Helper()
	i := bytes.Index(sums, []byte(prefix))
	if i < 0 {
		t.Fatalf("go.sum has no line %s", prefix)
	}
	changed := bytes.Clone(sums)
	first := &changed[i+len(prefix)]
	if *first == 'A' {
		*first = 'B'
	} else {
		*first = 'A'
	}
	return changed
}

func TestBuildIsCancelled(t *testing.T) {
	b := testBuilder(t)
	lock, err := tryLock(filepath.Join(b.cacheDir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.release()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	progress := &signalWriter{written: func() { cancel(why) }}
	b.progress = progress
	// The build waits for the lock, says so, and is cancelled by that.
	if _, err := b.build(ctx); !errors.Is(err, why) {
		t.Errorf("build() = %v, want %v", err, why)
	}
	if !strings.Contains(progress.text.String(), "waiting for another process") {
		t.Errorf("progress: %q", progress.text.String())
	}
}

// signalWriter keeps what is written and tells about the first time.
type signalWriter struct {
	text    strings.Builder
	once    sync.Once
	written func()
}

func (w *signalWriter) Write(p []byte) (int, error) {
	defer w.once.Do(w.written)
	return w.text.Write(p)
}

func TestStaleDataDirsAreRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	create := func(name string) string {
		dir := filepath.Join(temp, name)
		if err := os.MkdirAll(filepath.Join(dir, "etcd"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	age := func(dir string) {
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	stale, young := create(tempPrefix+"stale"), create(tempPrefix+"young")
	live, foreign := create(tempPrefix+"live"), create("other")
	lock, err := tryLock(filepath.Join(live, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.release()
	for _, dir := range []string{stale, live, foreign} {
		age(dir)
	}
	removeStaleDataDirs()
	for dir, want := range map[string]bool{stale: false, young: true, live: true, foreign: true} {
		_, err := os.Stat(dir)
		if exists := err == nil; exists != want {
			t.Errorf("%s exists: %t, want %t", dir, exists, want)
		}
	}
}
