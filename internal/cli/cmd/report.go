// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/version"
)

type reportOptions struct {
	output   outputFormat
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
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.report(ctx, o, packageNames(args)) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "the file to write, which must not exist; empty is strata-report-TIME.zip")
	cmd.Flags().IntVar(&o.logLines, "log-lines", 2000, "how many of the last lines of each log of the manager are in it, 0 none")
	return cmd
}

func (a *app) report(ctx context.Context, o reportOptions, names []string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	packages, missing, err := c.selectPackages(ctx, labels.Everything(), names)
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
	b.fill(ctx, packages, o.logLines)
	err = errors.Join(b.err, b.zip.Close(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(o.file))
	}
	doc := b.doc
	return a.print(o.output, doc, func(p *output.Printer) {
		for _, text := range doc.Unread {
			a.note("Note: left out: %s", text)
		}
		p.Line(output.Span{Text: fmt.Sprintf("%s: %s about %s", doc.File, view.CountOf(len(doc.Entries), "file"), view.CountOf(len(doc.Packages), "package"))})
	})
}

// bundle is a report that is being written. The first error of a write is kept; what comes
// after it is dropped. What cannot be read is noted.
type bundle struct {
	app     *app
	cluster *cluster
	zip     *zip.Writer
	doc     view.Report
	err     error
}

func (b *bundle) fill(ctx context.Context, packages []v1alpha1.Package, logLines int) {
	for i := range packages {
		b.addPackage(ctx, &packages[i])
	}
	b.json("version.json", view.Version{TypeMeta: view.DocumentType("Version"), Client: version.Get(), Server: b.app.serverVersion(ctx)})
	for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Group: "apps", Version: "v1", Kind: "Deployment"}} {
		b.addList(ctx, "manager/", kind, defaultManagerNamespace)
	}
	if logLines > 0 {
		b.addLogs(ctx, logLines)
	}
	b.json("report.json", &b.doc)
}

func (b *bundle) addPackage(ctx context.Context, pkg *v1alpha1.Package) {
	dir := "packages/" + pkg.Name + "/"
	b.doc.Packages = append(b.doc.Packages, pkg.Name)
	pkg.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package"}
	b.yaml(dir+"package.yaml", pkg)
	v := view.Snapshot{Package: pkg, Manifests: view.Manifests{}}
	var err error
	if v.Revisions, err = b.cluster.revisions(ctx, pkg.Name); err != nil {
		b.unread("revisions of "+pkg.Name, err)
	}
	for i := range v.Revisions {
		b.yaml(fmt.Sprintf("%srevisions/%d.yaml", dir, v.Revisions[i].Spec.Revision), redactRevision(&v.Revisions[i]))
	}
	b.app.readDetails(ctx, b.cluster, &v, v.ShownRevisions(true))
	events := view.Events{TypeMeta: view.DocumentType("Events"), Package: pkg.Name}
	events.Events, events.Unread = b.cluster.readEvents(ctx, view.ScopeOf(pkg.Name, v.Revisions))
	b.doc.Unread = append(b.doc.Unread, events.Unread...)
	b.json(dir+"status.json", v.Status())
	b.json(dir+"tree.json", v.Tree(v.ShownRevisions(true)))
	b.json(dir+"history.json", v.History())
	b.json(dir+"explanation.json", v.Explanation(b.app.now()))
	b.json(dir+"events.json", events)
}

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
			err := manifest.UnmarshalJSON(object.Object.Raw)
			if err == nil {
				object.Object.Raw, err = redact(manifest).MarshalJSON()
			}
			if err != nil {
				object.Object = nil
			}
		}
	}
	return clean
}

func (b *bundle) addList(ctx context.Context, dir string, kind schema.GroupVersionKind, namespace string) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := b.cluster.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		b.unread(kind.Kind+"s of namespace "+namespace, err)
	}
	for i := range list.Items {
		b.yaml(fmt.Sprintf("%s%s-%s.yaml", dir, strings.ToLower(kind.Kind), list.Items[i].GetName()), redact(&list.Items[i]))
	}
}

func (b *bundle) unread(what string, err error) {
	b.doc.Unread = append(b.doc.Unread, what+": "+err.Error())
}

func (b *bundle) json(name string, v any) {
	b.write(name, func() ([]byte, error) { return json.MarshalIndent(v, "", "    ") })
}

func (b *bundle) yaml(name string, v any) {
	b.write(name, func() ([]byte, error) { return yaml.Marshal(v) })
}

// write writes a file. The list of files is one of them, so it is complete before it is encoded.
func (b *bundle) write(name string, encode func() ([]byte, error)) {
	if b.err != nil {
		return
	}
	b.doc.Entries = append(b.doc.Entries, name)
	text, err := encode()
	if err == nil {
		var w io.Writer
		if w, err = b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.doc.CreatedAt.Time}); err == nil {
			_, err = w.Write(text)
		}
	}
	if err != nil {
		b.err = fmt.Errorf("writing %s: %w", name, err)
	}
}

// lastApplied is the annotation in which kubectl keeps a whole manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretWord is found in the names of what is not to leave a cluster.
var secretWord = regexp.MustCompile(`(?i)^(--?[\w.-]*(?:password|passwd|token|secret|credential|api-?key|private-?key)[\w.-]*)=.+`)

// redact takes out of a manifest what may be confidential: the values of Secrets and
// ConfigMaps, of environment variables, and of arguments whose names sound like it.
// The manifest itself is not changed.
func redact(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	clean := manifest.DeepCopy()
	annotations := clean.GetAnnotations()
	if _, found := annotations[lastApplied]; found {
		delete(annotations, lastApplied)
		clean.SetAnnotations(annotations)
	}
	if kind := clean.GetKind(); kind == "Secret" || kind == "ConfigMap" {
		for _, field := range []string{"data", "stringData", "binaryData"} {
			values, _ := clean.Object[field].(map[string]any)
			for key, value := range values {
				values[key] = redacted(value)
			}
		}
		return clean
	}
	for field, value := range clean.Object {
		if field != "metadata" {
			redactValues(value)
		}
	}
	return clean
}

// redacted stands for a value, and contains its size.
func redacted(value any) string {
	return fmt.Sprintf("<redacted, %d bytes>", len(fmt.Sprint(value)))
}

// redactValues goes through a manifest and takes out the values of environment
// variables and of arguments.
func redactValues(value any) {
	switch value := value.(type) {
	case map[string]any:
		for field, inner := range value {
			list, _ := inner.([]any)
			for i, entry := range list {
				text, isText := entry.(string)
				variable, _ := entry.(map[string]any)
				switch {
				case field == "env" && variable["value"] != nil:
					variable["value"] = redacted(variable["value"])
				case (field == "args" || field == "command") && isText:
					list[i] = secretWord.ReplaceAllString(text, "$1=<redacted>")
				}
			}
			redactValues(inner)
		}
	case []any:
		for _, inner := range value {
			redactValues(inner)
		}
	}
}

const mostLogBytes = 4 << 20

// addLogs writes the logs of the manager's containers, also those of containers that
// have ended.
func (b *bundle) addLogs(ctx context.Context, lines int) {
	var list corev1.PodList
	err := b.cluster.client.List(ctx, &list, client.InNamespace(defaultManagerNamespace))
	var pods corev1client.CoreV1Interface
	if err == nil {
		pods, err = corev1client.NewForConfig(b.cluster.config)
	}
	if err != nil {
		b.unread("the logs of the manager", err)
		return
	}
	for i := range list.Items {
		pod := &list.Items[i]
		for _, container := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true}[:1+min(container.RestartCount, 1)] {
				name := pod.Name + "-" + container.Name
				if previous {
					name += "-previous"
				}
				options := corev1.PodLogOptions{Container: container.Name, Previous: previous, TailLines: new(int64(lines)), LimitBytes: new(int64(mostLogBytes))}
				text, err := pods.Pods(pod.Namespace).GetLogs(pod.Name, &options).Do(ctx).Raw()
				if err != nil {
					b.unread("the log of "+name, err)
					continue
				}
				b.write("manager/logs/"+name+".log", func() ([]byte, error) { return redactLog(text), nil })
			}
		}
	}
}

// What is taken out of logs. The manager logs no such value; what it quotes of others may
// have one.
var (
	// secretAssignment is a word for what is confidential, with the value after it.
	secretAssignment = regexp.MustCompile(`(?i)((?:password|passwd|token|credentials?|api-?key|private-?key|authorization)\\?["']?\s*[=:]\s*\\?["']?(?:bearer )?)[^\s"'\\,;}]+`)

	// secretData is the data of a Secret as client-go logs it: a map of names to values.
	secretData = regexp.MustCompile(`(?i)(\\?["']?(?:string)?data\\?["']?\s*:\s*)\{[^{}]*\}?`)
)

func redactLog(text []byte) []byte {
	return secretAssignment.ReplaceAll(secretData.ReplaceAll(text, []byte("${1}<redacted>")), []byte("${1}<redacted>"))
}
