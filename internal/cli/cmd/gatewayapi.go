// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"sigs.k8s.io/gateway-api/pkg/consts"
)

// gatewayAPIModule holds the CustomResourceDefinitions of the Gateway API. They
// are no copy of ours and cannot be embedded from another module, so they are
// taken from the module that this program was built with.
const gatewayAPIModule = "sigs.k8s.io/gateway-api"

// findGatewayAPI is the folder that the flag --gateway-api-crds stands for, or
// "none". It is checked here, where the user sees it.
func findGatewayAPI(ctx context.Context, flag string) (string, error) {
	switch flag {
	case noGatewayAPI:
		return flag, nil
	case "":
		return gatewayAPIDir(ctx)
	}
	dir, err := filepath.Abs(flag)
	if err == nil {
		_, err = manifestsIn(os.DirFS(dir), "*.yaml")
	}
	if err != nil {
		return "", exitf(CodeUsage, "flag --gateway-api-crds: %s: %w", flag, err)
	}
	return dir, nil
}

// gatewayAPIDir is the folder with the standard CRDs of the Gateway API, in the
// version that this program is linked with. The go command finds it in its cache
// or downloads it, and the module's sum must be the one that this program was
// built with.
func gatewayAPIDir(ctx context.Context) (string, error) {
	version, sum := linkedGatewayAPI()
	wrong := func(err error) error {
		return fmt.Errorf("finding the CRDs of the Gateway API: %w; give a folder with them with --gateway-api-crds, or go without with --gateway-api-crds=none", err)
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json")
	cmd.Args = append(cmd.Args, gatewayAPIModule+"@"+version)
	cmd.Dir = os.TempDir()
	// A workspace or flags for another build have no say here.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var module struct {
		Dir   string `json:"Dir"`
		Sum   string `json:"Sum"`
		Error string `json:"Error"`
	}
	if decodeErr := json.Unmarshal(out, &module); decodeErr == nil && module.Error != "" {
		return "", wrong(errors.New(module.Error))
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return "", wrong(fmt.Errorf("go mod download %s@%s: %s", gatewayAPIModule, version, strings.TrimSpace(string(exit.Stderr))))
	case err != nil:
		return "", wrong(fmt.Errorf("running go: %w", err))
	case sum != "" && module.Sum != sum:
		return "", wrong(fmt.Errorf("%s@%s has the sum %s, and this program was built with %s", gatewayAPIModule, version, module.Sum, sum))
	}
	return filepath.Join(module.Dir, "config", "crd", "standard"), nil
}

// linkedGatewayAPI is the version of the module in this program, and its sum,
// which is empty where the build has recorded none.
func linkedGatewayAPI() (version, sum string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == gatewayAPIModule && module.Replace == nil {
				return module.Version, module.Sum
			}
		}
	}
	return consts.BundleVersion, ""
}
