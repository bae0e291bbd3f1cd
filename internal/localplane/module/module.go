// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package module

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:generate go run generate.go

var (
	// GoMod is the content of tools/kubernetes/go.mod.
	//go:embed go.mod.txt
	GoMod []byte
	// GoSum is the content of tools/kubernetes/go.sum.
	//go:embed go.sum.txt
	GoSum []byte
)

// Version returns the version at which goMod requires the module at path, for
// example "v1.36.3". It returns an error when goMod does not require it.
func Version(goMod []byte, path string) (string, error) {
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == path && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("go.mod: module %s is not required", path)
}
