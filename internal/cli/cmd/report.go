// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/version"
)

type reportOptions struct {
	output   outputFlag
	file     string
	logLines int
}

func (a *app) reportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [PACKAGE...]",
		Short: "Collect what support needs to know into a file, without secrets",
		Long: `Collect what is needed to understand a problem from afar into a ZIP file:
packages and revisions, what status, tree, history and explain say of them,
events, versions, and the pods and logs of the manager. Without names it is
about all packages.

Values of Secrets and ConfigMaps, of environment variables and of arguments that
sound like a password are taken out. Look into the file before you pass it on:
names and messages are in it. What may not be read is left out, and listed.

Exit codes: 0 the file is written; 2 usage; 6 one of the names is no package; 7
no cluster answers.

Rights: list packages.strata.run and revisions.strata.run. As far as you may:
get objectslices.strata.run; list events, pods and replicasets.apps in the
namespaces of the objects, and pods and deployments.apps in strata-system; get
pods/log there.`,
		Example: `  strata report
  strata report istiod-openshift-gateway -f bundle.zip`,
		ValidArgsFunction: a.completePackages(-1),
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.report(ctx, o, args) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "the file to write, which must not exist; empty is strata-report-TIME.zip")
	cmd.Flags().IntVar(&o.logLines, "log-lines", 2000, "how many of the last lines of each log of the manager are in it, 0 none")
	return cmd
}

func (a *app) report(ctx context.Context, o reportOptions, args []string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	packages, missing, err := c.selectPackages(ctx, labels.Everything(), args)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return c.notFound(ctx, missing...)
	}
	if o.file == "" {
		o.file = "strata-report-" + a.now().UTC().Format("20060102-150405") + ".zip"
	}
	file, err := os.OpenFile(o.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return exitf(CodeUsage, "flag --file: %s exists already", o.file)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	b := &bundle{app: a, cluster: c, zip: zip.NewWriter(file), doc: view.Report{
		TypeMeta: view.DocumentType("Report"), File: o.file, CreatedAt: metav1.NewTime(a.now().UTC().Truncate(time.Second)), Packages: []string{}, Entries: []string{},
	}}
	err = errors.Join(b.fill(ctx, packages, o.logLines), b.zip.Close(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(o.file))
	}
	return a.printReport(o, b.doc)
}

func (a *app) printReport(o reportOptions, doc view.Report) error {
	return a.print(o.output, doc, func(p *output.Printer) {
		for _, text := range doc.Unread {
			a.note("Note: left out: %s", text)
		}
		p.Line(output.Span{Text: fmt.Sprintf("%s: %s about %s", doc.File, view.CountOf(len(doc.Entries), "file"), view.CountOf(len(doc.Packages), "package"))})
	})
}

// bundle is a report that is being written.
type bundle struct {
	app     *app
	cluster *cluster
	zip     *zip.Writer
	doc     view.Report
}

// fill writes all files. What cannot be read is noted; an error is one of writing.
func (b *bundle) fill(ctx context.Context, packages []v1alpha1.Package, logLines int) error {
	for i := range packages {
		if err := b.addPackage(ctx, &packages[i]); err != nil {
			return err
		}
	}
	v := view.Version{TypeMeta: view.DocumentType("Version"), Client: version.Get(), Server: b.app.serverVersion(ctx)}
	if err := b.json("version.json", v); err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Group: "apps", Version: "v1", Kind: "Deployment"}} {
		if err := b.addList(ctx, "manager/", kind, defaultManagerNamespace); err != nil {
			return err
		}
	}
	if err := b.addLogs(ctx, logLines); err != nil {
		return err
	}
	return b.json("report.json", &b.doc)
}

// addPackage writes all about one package.
func (b *bundle) addPackage(ctx context.Context, pkg *v1alpha1.Package) error {
	dir := "packages/" + pkg.Name + "/"
	b.doc.Packages = append(b.doc.Packages, pkg.Name)
	pkg.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package"}
	if err := b.yaml(dir+"package.yaml", pkg); err != nil {
		return err
	}
	revisions, err := b.cluster.revisions(ctx, pkg.Name)
	if err != nil {
		b.unread("revisions of "+pkg.Name, err)
	}
	for i := range revisions {
		clean := redactRevision(&revisions[i])
		if err := b.yaml(fmt.Sprintf("%srevisions/%d.yaml", dir, clean.Spec.Revision), clean); err != nil {
			return err
		}
	}
	v := view.Snapshot{Package: pkg, Revisions: revisions, Manifests: view.Manifests{}}
	b.app.readDetails(ctx, b.cluster, &v, v.ShownRevisions(true))
	e := v.Explanation(b.app.now())
	events := view.Events{TypeMeta: view.DocumentType("Events"), Package: pkg.Name}
	events.Events, events.Unread = b.cluster.readEvents(ctx, view.ScopeOf(pkg.Name, revisions))
	b.doc.Unread = append(b.doc.Unread, events.Unread...)
	for _, entry := range []struct {
		name string
		doc  any
	}{
		{"status.json", v.Status()}, {"tree.json", v.Tree(v.ShownRevisions(true))}, {"history.json", view.Snapshot{Package: pkg, Revisions: revisions}.History()},
		{"explanation.json", e}, {"events.json", events},
	} {
		if err := b.json(dir+entry.name, entry.doc); err != nil {
			return err
		}
	}
	return nil
}

// redactRevision is a revision without what may be confidential.
func redactRevision(r *v1alpha1.Revision) *v1alpha1.Revision {
	clean := r.DeepCopy()
	clean.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Revision"}
	for i := range clean.Spec.Phases {
		for j := range clean.Spec.Phases[i].Objects {
			object := &clean.Spec.Phases[i].Objects[j]
			if object.Object == nil {
				continue
			}
			manifest := &unstructured.Unstructured{}
			if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
				object.Object = nil
				continue
			}
			text, err := redact(manifest).MarshalJSON()
			if err != nil {
				object.Object = nil
				continue
			}
			object.Object = &runtime.RawExtension{Raw: text}
		}
	}
	return clean
}

// addList writes the objects of a kind in a namespace.
func (b *bundle) addList(ctx context.Context, dir string, kind schema.GroupVersionKind, namespace string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := b.cluster.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		b.unread(kind.Kind+"s of namespace "+namespace, err)
	}
	for i := range list.Items {
		name := fmt.Sprintf("%s%s-%s.yaml", dir, strings.ToLower(kind.Kind), list.Items[i].GetName())
		if err := b.yaml(name, redact(&list.Items[i])); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundle) unread(what string, err error) {
	b.doc.Unread = append(b.doc.Unread, what+": "+err.Error())
}

func (b *bundle) json(name string, v any) error {
	if name == "report.json" {
		b.doc.Entries = append(b.doc.Entries, name)
	}
	text, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return b.write(name, text)
}

func (b *bundle) yaml(name string, v any) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return b.write(name, text)
}

func (b *bundle) write(name string, text []byte) error {
	if name != "report.json" {
		b.doc.Entries = append(b.doc.Entries, name)
	}
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.doc.CreatedAt.Time})
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
