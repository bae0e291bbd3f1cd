// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions/probes/celprobe"
)

func ExampleCompile() {
	p, err := celprobe.Compile(`self.status.readyReplicas == self.spec.replicas`, "not all replicas are ready")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, ready := range []int64{1, 2} {
		result := p.Probe(&unstructured.Unstructured{Object: map[string]any{
			"kind":   "Widget",
			"spec":   map[string]any{"replicas": int64(2)},
			"status": map[string]any{"readyReplicas": ready},
		}})
		fmt.Println(result.Status, result.Message)
	}
	// Output:
	// False not all replicas are ready
	// True
}

func ExampleCompile_error() {
	_, err := celprobe.Compile("self.spec.replicas == 1 &&\n  status.ready == true", "")
	fmt.Println(err)
	// Output: compiling CEL expression: line 2, column 3: undeclared reference to 'status' (in container '')
}
