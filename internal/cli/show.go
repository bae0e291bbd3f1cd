// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/diff"
	"github.com/strata-run/strata/internal/history"
)

type showOptions struct {
	output           outputFlag
	object           string
	showSecrets      bool
	managerNamespace string
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show PACKAGE [REVISION]",
		Short: "Show what a revision contains, exactly as it is stored",
		Long: `Show the manifests of a revision, exactly as they are stored: inline, in
ObjectSlices, or in Secrets. Without REVISION it is the target. What was read is
checked against the revision's digest, so that what is shown as revision N is N.

Without -o it is a stream of YAML documents, one an object, which kubectl apply
and diff take. -o yaml and -o json write one document with phases, probes and
settings besides; -o name lists the objects. --object shows one object.

Values of Secrets are redacted without --show-secrets.

Exit codes: 0 shown; 1 some of it could not be read, or it is not what the
digest says; 2 usage; 6 there is no such package, revision or object; 7 no
cluster answers.
Rights needed: to get packages and objectslices, to list revisions; for
manifests of kind Secret, to get Secrets in the manager's namespace.`,
		Example: `  strata show istiod-openshift-gateway
  strata show istiod-openshift-gateway 2 --object deployment/istiod
  strata show web 3 -o json | jq '.phases[].name'`,
		Args:              packageAndRevision,
		ValidArgsFunction: a.completeContents(1),
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.show(ctx, o, args) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputName, outputJSONPath)
	cmd.Flags().StringVar(&o.object, "object", "", "only the object KIND/NAME, such as deployment/istiod or configmap/istio-system/istio")
	cmd.Flags().BoolVar(&o.showSecrets, "show-secrets", false, "show the values of Secrets")
	addManagerNamespace(cmd, &o.managerNamespace)
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("object", a.completeObjects)
	return cmd
}

// Content is the document of `strata show`: what a revision contains.
type Content struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the number.
	Revision int64 `json:"revision"`
	// ContentDigest is what the revision says its digest is, empty when it says none.
	ContentDigest string `json:"contentDigest,omitempty"`
	// Verified is true when all of it was read and has that digest.
	Verified bool `json:"verified"`
	// Origin is where the content comes from.
	Origin *v1alpha1.Origin `json:"origin,omitempty"`
	// Phases are in the order in which they are rolled out. With --object there is but
	// that object in them.
	Phases []StoredPhase `json:"phases"`
	// Probes decide when an object is ready.
	Probes []v1alpha1.Probe `json:"probes,omitempty"`
}

// packageAndRevision is the check of a command that takes a package and, if wanted, the
// number of a revision.
func packageAndRevision(cmd *cobra.Command, args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("a package and a revision: %s is one too many", args[2])
	}
	if len(args) == 2 {
		if _, err := revisionNumber(args[1]); err != nil {
			return err
		}
	}
	return onePackage(cmd, args[:min(len(args), 1)])
}

// revisionNumber is the number of a revision in an argument.
func revisionNumber(arg string) (int64, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no revision: `strata history` lists them by number", arg)
	}
	return n, nil
}

// revisionOr is the revision of a number; of 0 the target, or else the newest.
func revisionOr(pkg *v1alpha1.Package, revisions []v1alpha1.Revision, n int64) (*v1alpha1.Revision, error) {
	if n != 0 {
		return revisionNumbered(pkg.Name, revisions, n)
	}
	if target := history.Sort(pkg, revisions).Target; target != nil {
		return target, nil
	}
	if len(revisions) == 0 {
		return nil, exitf(CodeNotFound, "package %s has no revisions", pkg.Name)
	}
	return &revisions[len(revisions)-1], nil
}

func (a *app) show(ctx context.Context, o showOptions, args []string) error {
	var n int64
	if len(args) == 2 {
		n, _ = revisionNumber(args[1]) // checked with the arguments
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, packageName(args[0]))
	if err != nil {
		return err
	}
	revision, err := revisionOr(pkg, revisions, n)
	if err != nil {
		return err
	}
	read, err := newReader(c.contents(o.managerNamespace), true).read(ctx, revision)
	if err != nil {
		return c.explain(fmt.Sprintf("reading revision %d", revision.Spec.Revision), err)
	}
	doc := buildContent(revision, read, o.showSecrets)
	if o.object != "" {
		if doc.Phases = onlyObject(doc.Phases, o.object); len(doc.Phases) == 0 {
			return exitf(CodeNotFound, "revision %d of package %s contains no %s: `strata show %s %d -o name` lists what it contains", doc.Revision, pkg.Name, o.object, pkg.Name, doc.Revision)
		}
	}
	p := a.stdout(o.output.value)
	if err := printContent(p, o.output, doc); err != nil {
		return err
	}
	switch {
	case read.unread != nil:
		return exitf(CodeFalse, "not all of revision %d could be read: %w", doc.Revision, read.unread)
	case doc.ContentDigest != "" && !doc.Verified:
		return exitf(CodeFalse, "revision %d is not what it says: its content has the digest %s, and it names %s", doc.Revision, read.digest, doc.ContentDigest)
	}
	return nil
}

// buildContent is the document of a revision.
func buildContent(revision *v1alpha1.Revision, read storedContent, showSecrets bool) Content {
	doc := Content{
		TypeMeta: documentType("Content"), Package: revision.Spec.Package, Revision: revision.Spec.Revision,
		ContentDigest: revision.Spec.ContentDigest, Verified: read.digest != "" && read.digest == revision.Spec.ContentDigest,
		Origin: revision.Spec.Origin, Phases: append([]StoredPhase{}, read.phases...), Probes: revision.Spec.Probes,
	}
	if showSecrets {
		return doc
	}
	for i := range doc.Phases {
		for j := range doc.Phases[i].Objects {
			object := &doc.Phases[i].Objects[j]
			if manifest := object.unstructured(); manifest != nil {
				object.Manifest = diff.Redact(manifest).Object
			}
		}
	}
	return doc
}

// onlyObject are the phases with the objects that an argument names.
func onlyObject(phases []StoredPhase, argument string) []StoredPhase {
	var kept []StoredPhase
	for _, phase := range phases {
		var objects []StoredObject
		for _, object := range phase.Objects {
			if manifest := object.unstructured(); manifest != nil && namesObject(argument, referenceOf(manifest)) {
				objects = append(objects, object)
			}
		}
		if len(objects) > 0 {
			phase.Objects = objects
			kept = append(kept, phase)
		}
	}
	return kept
}

// printContent writes a content in a format.
func printContent(p *output.Printer, o outputFlag, doc Content) error {
	switch {
	case o.isDocument():
		return printDocument(p, o.value, doc)
	case o.value == outputName:
		for _, phase := range doc.Phases {
			for _, object := range phase.Objects {
				if manifest := object.unstructured(); manifest != nil {
					p.Line(output.Span{Text: plainName(manifest)})
				}
			}
		}
	default:
		writeContent(p, doc)
	}
	return p.Err()
}

// writeContent writes a stream of YAML documents. Comments name the phases.
func writeContent(p *output.Printer, doc Content) {
	first := true
	for _, phase := range doc.Phases {
		head := fmt.Sprintf("# %s revision %d, phase %s", doc.Package, doc.Revision, phase.Name)
		for _, object := range phase.Objects {
			if !first {
				p.Line(output.Span{Text: "---"})
			}
			first = false
			if head != "" {
				p.Line(output.Span{Text: head, Style: output.Faint})
				head = ""
			}
			writeStoredObject(p, object.unstructured(), object)
		}
	}
}

func writeStoredObject(p *output.Printer, manifest *unstructured.Unstructured, object StoredObject) {
	if manifest == nil {
		p.Line(output.Span{Text: "# not readable: " + object.Unreadable, Style: output.Bad})
		return
	}
	p.YAML(manifest.Object)
}
