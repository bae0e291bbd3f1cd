// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
)

// printResult tells every effect of a pass and its reason.
func printResult(in revisions.Rollout, result revisions.Result, err error) string {
	var b strings.Builder
	printRevision(&b, "target", result.Target)
	for i, serving := range result.Serving {
		if countObjects(serving) > 0 {
			printRevision(&b, "serving", result.Serving[i])
		}
	}
	if result.Target.Complete() && !in.Target.Succeeded && err == nil {
		fmt.Fprintf(&b, "revision %d has succeeded\n", in.Target.Number)
	}
	fmt.Fprintf(&b, "serves: %s: %s\n", result.Serves.Status, result.Serves.Message)
	return b.String() + printError(err)
}

func printRevision(b *strings.Builder, role string, result revisions.RevisionResult) {
	fmt.Fprintf(b, "revision %d, %s\n", result.Number, role)
	for _, phase := range result.Phases {
		switch {
		case !phase.Reached:
			fmt.Fprintf(b, "  phase %s: not reached\n", phase.Name)
			continue
		case role == "target":
			fmt.Fprintf(b, "  phase %s: %d/%d\n", phase.Name, phase.Ready(), phase.Size)
		case len(phase.Objects) > 0:
			fmt.Fprintf(b, "  phase %s\n", phase.Name)
		}
		for _, object := range phase.Objects {
			fmt.Fprintf(b, "    %s\n", object)
			if object.Remedy != "" {
				fmt.Fprintf(b, "      remedy: %s\n", object.Remedy)
			}
		}
	}
}

func countObjects(result revisions.RevisionResult) int {
	count := 0
	for _, phase := range result.Phases {
		count += len(phase.Objects)
	}
	return count
}

func printTeardown(number int64, result revisions.TeardownResult, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "revision %d\n", number)
	for _, object := range result.Objects {
		fmt.Fprintf(&b, "  phase %s: %s: %s", object.Phase, object.ID, object.State)
		if object.Message != "" {
			fmt.Fprintf(&b, ": %s", object.Message)
		}
		if object.Err != nil {
			fmt.Fprintf(&b, ": error: %v", object.Err)
		}
		b.WriteString("\n")
	}
	if result.Complete {
		b.WriteString("complete\n")
	}
	return b.String() + printError(err)
}

// printRequests are the requests of the engine since the last command.
func (p *player) printRequests() string {
	requests := p.target.Journal.Requests(engineClient)
	if len(requests) == 0 {
		return "no request\n"
	}
	var b strings.Builder
	b.WriteString("requests:\n")
	for _, request := range requests {
		fmt.Fprintf(&b, "  %s\n", request)
	}
	return b.String()
}

func printError(err error) string {
	if err == nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(&b, "error: %s\n", line)
	}
	return b.String()
}

// show prints an object with who owns its fields, or all objects in brief.
func (p *player) show(words, _ []string) (string, error) {
	objects, err := p.target.Objects()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(words) == 0 {
		for _, object := range objects {
			b.WriteString(printBrief(object))
		}
		return b.String(), nil
	}
	n, err := parseNotation(strings.Join(words, " "))
	if err != nil {
		return "", err
	}
	for _, object := range objects {
		if revisions.IDOf(object) == n.id() {
			return printState(object), nil
		}
	}
	return "absent\n", nil
}

// printBrief is an object on one line.
func printBrief(object *unstructured.Unstructured) string {
	text := revisions.IDOf(object).String()
	if object.GetDeletionTimestamp() != nil {
		text += " (being deleted)"
	}
	fields := leavesOf(object.Object)
	var parts []string
	for _, at := range fields.printed() {
		if object.GetKind() != definitionKind.Kind || strings.HasPrefix(string(at), "f:metadata") {
			parts = append(parts, printField(at, fields[at]))
		}
	}
	return text + ": " + strings.Join(parts, ", ") + "\n"
}

// printed are the paths in the order in which they are printed, which must not
// depend on the UIDs of owners.
func (l leaves) printed() []path {
	return slices.SortedFunc(maps.Keys(l), func(a, b path) int {
		list := path("f:metadata\nf:ownerReferences\n")
		if strings.HasPrefix(string(a), string(list)) && strings.HasPrefix(string(b), string(list)) {
			return strings.Compare(printField(a, l[a]), printField(b, l[b]))
		}
		return strings.Compare(string(a), string(b))
	})
}

func printField(at path, value any) string {
	if reference, ok := value.(map[string]any); ok && strings.HasPrefix(string(at), "f:metadata\nf:ownerReferences") {
		role := "owner"
		if reference["controller"] == true {
			role = "controller"
		}
		return fmt.Sprintf("%s %v %v", role, reference["kind"], reference["name"])
	}
	return fmt.Sprintf("%s=%v", at, value)
}

// printOwners lists the managers of a field. One that has not applied it has a
// star.
func (s *stored) printOwners(at path) string {
	var names []string
	for _, m := range s.managers {
		if m.fields[at] && m.operation == applied {
			names = append(names, m.name)
		} else if m.fields[at] {
			names = append(names, m.name+"*")
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return "  [" + strings.Join(names, " ") + "]"
}
