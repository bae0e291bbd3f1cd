// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// large are the catalogs that TestMemory reads, each in a process of its own.
var large = []struct {
	name, reason string
	write        func(io.Writer)
	// refused is what the problem of the first package says, empty for none.
	refused string
}{
	{
		name:   "JSON of 55 MB",
		reason: "the largest catalogs in use, with blobs of megabytes among them",
		write:  func(out io.Writer) { writeCatalog(out, 400, 20, 6000) },
	},
	{
		name:   "100000 bundles",
		reason: "what counts is the index that is made of them",
		write:  func(out io.Writer) { writeCatalog(out, 500, 200, 100) },
	},
	{
		name:   "largest package",
		reason: "one package is in memory at a time, and this is the largest that there may be",
		write:  func(out io.Writer) { writeCatalog(out, 1, defaultLimits.ofPackage-2, 100) },
	},
	{
		name:    "100000 bundles of one package",
		reason:  "a package with too many is refused before they are decoded",
		write:   func(out io.Writer) { writeCatalog(out, 1, 100_000, 100) },
		refused: `package "package-0" has more than 10000 blobs, and is not read`,
	},
	{
		name:   "large properties",
		reason: "a package of large bundles is refused while they are decoded",
		write: func(out io.Writer) {
			for i := range 50 {
				fmt.Fprintf(out, `{"schema":"olm.bundle","package":"package-0","name":"b%d","properties":[{"type":"x","value":%q}]}`+"\n", i, strings.Repeat("x", 1<<20))
			}
		},
		refused: `package "package-0" has more than 8 MiB of channels and bundles, without descriptions and manifests, and is not read`,
	},
	{
		name:   "short entries",
		reason: "they take more in memory than their text",
		write: func(out io.Writer) {
			fmt.Fprint(out, `{"schema":"olm.channel","package":"package-0","name":"c","entries":[{"name":"a"}`, strings.Repeat(`,{"name":"a"}`, 500_000), `]}`)
		},
		refused: `package "package-0" has more than 8 MiB of channels and bundles, without descriptions and manifests, and is not read`,
	},
}

// Reading a catalog and looking its largest package up may take so many MB, and so many stay.
const mostRead, mostKept = 64, 5

// memoryOf is the variable that makes this process read a catalog.
const memoryOf = "STRATA_TEST_CATALOG"

// TestMemory bounds what reading a catalog costs, by what the process has got from the system.
func TestMemory(t *testing.T) {
	for _, test := range large {
		t.Run(test.name, func(t *testing.T) {
			if os.Getenv(memoryOf) == test.name {
				readLarge(t, test.write, test.refused)
				return
			}
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$/^"+strings.ReplaceAll(test.name, " ", "_")+"$", "-test.v")
			process.Env = append(os.Environ(), memoryOf+"="+test.name)
			out, err := process.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, line, found := strings.Cut(string(out), "measured: ")
			var size, peak, rest float64
			if _, err := fmt.Sscanf(line, "%f MB, peak %f MB, rest %f MB", &size, &peak, &rest); !found || err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			t.Logf("a catalog of %.1f MB: %.1f MB at most while it was read, %.2f MB afterwards", size, peak, rest)
			if peak > mostRead || rest > mostKept {
				t.Errorf("want at most %v and %v MB: %s", mostRead, mostKept, test.reason)
			}
		})
	}
}

// readLarge reads a catalog, and prints what that took.
func readLarge(t *testing.T, write func(io.Writer), refused string) {
	t.Helper()
	reader, writer := io.Pipe()
	go func() {
		out := bufio.NewWriter(writer)
		write(out)
		_ = out.Flush()
		_ = writer.Close()
	}()
	before := memory()
	content, err := Build(context.Background(), t.TempDir(), Stream(reader))
	if err != nil {
		t.Fatal(err)
	}
	switch p, err := content.Package("package-0"); {
	case refused == "" && (err != nil || len(p.Bundles) == 0 || len(p.Warnings) > 0):
		t.Fatalf("%d bundles, %v, %v", len(p.Bundles), p.Warnings, err)
	case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
		t.Fatalf("%v, want %s", err, refused)
	}
	peak := memory()
	runtime.GC()
	runtime.GC() // the first one leaves what encoding/json keeps in a pool
	after := memory()
	fmt.Printf("measured: %.1f MB, peak %.1f MB, rest %.2f MB\n", mb(content.Size()), mb(int64(peak.Sys-before.Sys)), mb(int64(after.HeapAlloc)-int64(before.HeapAlloc)))
	runtime.KeepAlive(content)
}

func memory() runtime.MemStats {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats
}

func mb(size int64) float64 { return float64(size) / 1e6 }

// writeCatalog writes packages with a channel of bundles; of a hundred bundles one is large.
func writeCatalog(out io.Writer, packages, bundles, padding int) {
	text := strings.Repeat("eA==", padding/4)
	for p := range packages {
		fmt.Fprintf(out, `{"schema":"olm.package","name":"package-%d","defaultChannel":"stable"}`+"\n", p)
		fmt.Fprintf(out, `{"schema":"olm.channel","package":"package-%d","name":"stable","entries":[`, p)
		for b := range bundles {
			fmt.Fprintf(out, `{"name":"package-%d.v1.%d.0","replaces":"package-%d.v1.%d.0"}`, p, b, p, b-1)
			if b < bundles-1 {
				fmt.Fprint(out, ",")
			}
		}
		fmt.Fprint(out, "]}\n")
		for b := range bundles {
			fmt.Fprintf(out, `{"schema":"olm.bundle","package":"package-%d","name":"package-%d.v1.%d.0","image":"registry.example/package-%d@sha256:%064d",`, p, p, b, p, b)
			fmt.Fprintf(out, `"properties":[{"type":"olm.package","value":{"packageName":"package-%d","version":"1.%d.0"}},{"type":"olm.csv.metadata","value":{"description":%q}}`, p, b, text)
			if p == 0 && b == 0 {
				fmt.Fprintf(out, `,{"type":"olm.bundle.object","value":{"data":%q}}`, strings.Repeat("eA==", 1<<20))
			}
			fmt.Fprint(out, "]}\n")
		}
	}
}

// BenchmarkContent_Package looks up one of 400 packages with 20 bundles in a catalog of 55 MB.
func BenchmarkContent_Package(b *testing.B) {
	reader, writer := io.Pipe()
	go func() {
		out := bufio.NewWriter(writer)
		writeCatalog(out, 400, 20, 6000)
		_ = out.Flush()
		_ = writer.Close()
	}()
	content, err := Build(b.Context(), b.TempDir(), Stream(reader))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := content.Package("package-200"); err != nil {
			b.Fatal(err)
		}
	}
}
