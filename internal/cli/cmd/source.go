// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// largestFile is how large a file of manifests may be, in bytes.
const largestFile = chart.MaxOutputBytes

var manifestEndings = []string{".yaml", ".yml", ".json"}

type sourceOptions struct {
	files       []string
	chart       string
	values, set []string
	// namespace is that of objects that name none; assumed is true when it is not the flag's.
	namespace   string
	assumed     bool
	kustomize   string
	release     string
	kubeVersion string
	apiVersions []string
	collisions  string
	probes      string
	settings    string
}

func (o *sourceOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "a file of manifests, a folder with all below it, or - for stdin; can be given more than once")
	f.StringVarP(&o.kustomize, "kustomize", "k", "", "not supported: kubectl builds kustomizations")
	f.StringVar(&o.chart, "chart", "", "a Helm chart: its folder, or a .tgz")
	f.StringSliceVar(&o.values, "values", nil, "with --chart: a file of values; later ones win")
	f.StringArrayVar(&o.set, "set", nil, "with --chart: values as KEY=VALUE, which win over files")
	f.StringVarP(&o.namespace, "namespace", "n", "", "the namespace of objects that name none, and of the chart's release; empty is that of the kubeconfig's context")
	f.StringVar(&o.release, "release-name", "", "with --chart: what templates see as .Release.Name (default: the package's name)")
	f.StringVar(&o.kubeVersion, "kube-version", "", "with --chart: the Kubernetes version that templates see (default "+chart.DefaultKubeVersion+", whatever the cluster has)")
	f.StringSliceVar(&o.apiVersions, "api-versions", nil, "with --chart: the API versions that templates see as served (default: the stable ones that every cluster has)")
	addChoice(cmd, &o.collisions, "collision-protection", "", "what to do with objects that exist and are not the package's: Prevent (the default), IfNoController or None",
		string(v1alpha1.CollisionPrevent), string(v1alpha1.CollisionIfNoController), string(v1alpha1.CollisionNone))
	f.StringVar(&o.probes, "probes", "", "a file with the list of probes, as in spec.probes of a Revision")
	f.StringVar(&o.settings, "settings", "", "a file with a list of settings for objects, for manifests that cannot be annotated")
	_ = cmd.MarkFlagDirname("chart")
	_ = f.MarkHidden("kustomize")
}

func (o *sourceOptions) validate() error {
	switch {
	case o.kustomize != "":
		return exitf(CodeUsage, "flag -k: kubectl builds kustomizations: kubectl kustomize %s | strata COMMAND -f -", o.kustomize)
	case len(o.files) == 0 && o.chart == "":
		return exitf(CodeUsage, "say what to take: --filename FILE or --chart CHART")
	case len(o.files) > 0 && o.chart != "":
		return exitf(CodeUsage, "give --filename or --chart, not both")
	case o.chart == "" && (len(o.values) > 0 || len(o.set) > 0 || o.release != "" || o.kubeVersion != "" || len(o.apiVersions) > 0):
		return exitf(CodeUsage, "--values, --set, --release-name, --kube-version and --api-versions are for --chart")
	}
	return nil
}

// namespaceOr is a namespace, or else that of the kubeconfig's context, as with kubectl and
// Helm. Without a kubeconfig it is "default".
func (a *app) namespaceOr(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", exitf(CodeUsage, "reading the namespace of the kubeconfig's context: %w; --namespace names one", err)
	}
	return namespace, nil
}

// source is content as it was read, without what only a cluster knows.
type source struct {
	options sourceOptions
	objects []*unstructured.Unstructured
	// places are where the objects stand, unset for those of a chart.
	places []chart.Located
	// fileProbes and settings are those of the options.
	fileProbes []v1alpha1.Probe
	settings   []plain.Settings
	// probes are those of the options and of the objects, once there are phases.
	probes []v1alpha1.Probe
	// homeless is how many objects name no namespace and need one, once there are phases.
	homeless int
	origin   v1alpha1.Origin
}

// readSource reads what the options name. Content that cannot be used has the exit
// code 3, a file that cannot be read 2.
func (a *app) readSource(o sourceOptions, name string) (source, error) {
	var err error
	o.assumed = o.namespace == ""
	if o.namespace, err = a.namespaceOr(o.namespace); err != nil {
		return source{}, err
	}
	s := source{options: o}
	if o.chart != "" {
		err = s.readChart(name)
	} else {
		err = s.readFiles(a.In)
	}
	if err != nil {
		return s, err
	}
	if len(s.objects) == 0 {
		return s, exitf(CodeTerminal, "%s: there is no object in it", s.origin.Reference)
	}
	if s.fileProbes, s.settings, err = o.readBeside(); err != nil {
		return s, err
	}
	s.origin.Kind = v1alpha1.OriginCLI
	s.origin.Images = plain.Images(s.objects)
	return s, nil
}

type manifestFile struct {
	name string
	data []byte
}

func (s *source) readFiles(stdin io.Reader) error {
	files, err := manifestFiles(s.options.files, stdin)
	if err != nil {
		return err
	}
	seen := map[revisions.ObjectID]string{}
	for _, file := range files {
		placed, err := chart.Placed(file.name, file.data)
		if err != nil {
			return exitf(CodeTerminal, "%w", err)
		}
		for _, located := range placed {
			id := revisions.IDOf(located.Object)
			id.Namespace = cmp.Or(id.Namespace, s.options.namespace)
			if first, twice := seen[id]; twice {
				return exitf(CodeTerminal, "%s: %s %s is also in %s: remove one", file.name, id.Kind, id.Name, first)
			}
			seen[id] = file.name
			s.objects = append(s.objects, located.Object)
		}
		s.places = append(s.places, placed...)
	}
	names := make([]string, len(s.options.files))
	for i, name := range s.options.files {
		names[i] = filepath.Base(name)
	}
	s.origin.Reference = "File/" + probes.Cut(strings.Join(names, ","), 400, "")
	return nil
}

// manifestFiles are the files that paths name: themselves, or what is below a folder,
// in the order of their names.
func manifestFiles(paths []string, stdin io.Reader) ([]manifestFile, error) {
	var files []manifestFile
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(io.LimitReader(stdin, largestFile+1))
			if err != nil {
				return nil, exitf(CodeUsage, "reading stdin: %w", err)
			}
			files = append(files, manifestFile{name: "stdin", data: data})
			continue
		}
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || name != path && !slices.Contains(manifestEndings, filepath.Ext(name)) {
				return err
			}
			data, err := os.ReadFile(name)
			files = append(files, manifestFile{name: name, data: data})
			return err
		})
		if err != nil {
			return nil, exitf(CodeUsage, "flag --filename: %w", err)
		}
	}
	for _, file := range files {
		if len(file.data) > largestFile {
			return nil, exitf(CodeTerminal, "%s has more than %d bytes", file.name, largestFile)
		}
	}
	return files, nil
}

func (s *source) readChart(name string) error {
	o := s.options
	loaded, err := loadChart(o.chart)
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, file := range o.values {
		data, err := os.ReadFile(file)
		if err != nil {
			return exitf(CodeUsage, "flag --values: %w", err)
		}
		more, err := chart.ReadValues(file, data)
		if err != nil {
			return exitf(CodeUsage, "flag --values: %w", err)
		}
		values = chart.MergeValues(values, more)
	}
	for _, expression := range o.set {
		if err := chart.SetValue(values, expression); err != nil {
			return exitf(CodeUsage, "flag --set: %w", err)
		}
	}
	s.objects, err = renderChart(loaded, chart.Release{
		Name: cmp.Or(o.release, name), Namespace: o.namespace, Values: values, KubeVersion: o.kubeVersion, APIVersions: o.apiVersions, CheckValues: true,
	})
	if err != nil {
		return exitf(CodeTerminal, "%w", err)
	}
	s.origin = v1alpha1.Origin{Reference: "Chart/" + loaded.Name(), Chart: loaded.Name() + " " + loaded.Version(), AppVersion: loaded.AppVersion()}
	return nil
}

func loadChart(path string) (*chart.Chart, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, exitf(CodeUsage, "flag --chart: %w", err)
	}
	var loaded *chart.Chart
	if info.IsDir() {
		loaded, err = chart.Load(chart.Source{FS: os.DirFS(path), Dir: "."})
	} else {
		file, openErr := os.Open(path)
		if openErr != nil {
			return nil, exitf(CodeUsage, "flag --chart: %w", openErr)
		}
		defer file.Close()
		loaded, err = chart.LoadArchive(path, file)
	}
	if err != nil {
		return nil, exitf(CodeTerminal, "%w", err)
	}
	return loaded, nil
}

// readBeside reads the probes and the settings that stand in files of their own.
func (o *sourceOptions) readBeside() (probes []v1alpha1.Probe, settings []plain.Settings, err error) {
	read := func(flag, file string, parse func(data []byte) error) {
		if file == "" || err != nil {
			return
		}
		data, readErr := os.ReadFile(file)
		if readErr != nil {
			err = exitf(CodeUsage, "flag --%s: %w", flag, readErr)
		} else if parseErr := parse(data); parseErr != nil {
			err = exitf(CodeTerminal, "reading the %s of %s: %w", flag, file, parseErr)
		}
	}
	read("probes", o.probes, func(data []byte) error { return yaml.UnmarshalStrict(data, &probes) })
	read("settings", o.settings, func(data []byte) (err error) {
		settings, err = plain.ReadSettings(data)
		return err
	})
	return probes, settings, err
}

// phases sorts the content into phases, and finds its probes. A cluster, when there is one, is
// asked for the scope of kinds that neither the content nor Kubernetes defines; those that stay
// unknown are returned.
func (s *source) phases(c *cluster) ([]content.Phase, []schema.GroupVersionKind, error) {
	var ask func(schema.GroupVersionKind) plain.Scope
	if c != nil {
		ask = c.scope
	}
	scopes := plain.Scopes(s.objects, ask)
	placed, unknown := plain.Place(s.objects, s.options.namespace, scopes)
	s.homeless = 0
	for _, object := range s.objects {
		if object.GetNamespace() == "" && scopes(object.GroupVersionKind()) == plain.ScopeNamespaced {
			s.homeless++
		}
	}
	if err := s.annotationError(placed); err != nil {
		return nil, nil, err
	}
	phases, err := plain.Phases(placed, v1alpha1.CollisionProtection(s.options.collisions), s.settings...)
	if err != nil {
		return nil, nil, exitf(CodeTerminal, "%w", err)
	}
	annotated, err := plain.Probes(placed)
	if err != nil {
		return nil, nil, exitf(CodeTerminal, "%w", err)
	}
	s.probes = append(slices.Clone(s.fileProbes), annotated...)
	return phases, unknown, nil
}

// annotationError names the first annotation that cannot be read with its file and line, and
// says how many more there are.
func (s *source) annotationError(placed []*unstructured.Unstructured) error {
	problems := plain.CheckAnnotations(placed)
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	text := first.Err.Error()
	if len(s.places) > 0 {
		line := func(p plain.AnnotationProblem) int { return s.places[p.Object].LineOf(p.Annotation) }
		// Objects are sorted within a file; people read it from the top.
		first = slices.MinFunc(problems, func(a, b plain.AnnotationProblem) int {
			return cmp.Or(cmp.Compare(s.places[a.Object].File, s.places[b.Object].File), cmp.Compare(line(a), line(b)))
		})
		text = fmt.Sprintf("%s:%d: %s", s.places[first.Object].File, line(first), first.Err)
	}
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf("; and %s that cannot be read, which `strata lint` lists", view.CountOf(more, "more annotation"))
	}
	return exitf(CodeTerminal, "%s", text)
}

// noteNamespace says which namespace was used, unless the command line names it.
func (a *app) noteNamespace(o sourceOptions, homeless int) {
	const where = "namespace %s, that of the kubeconfig's context; --namespace names another."
	switch {
	case !o.assumed:
	case o.chart != "":
		a.note("Note: the chart's release is in "+where, o.namespace)
	case homeless == 1:
		a.note("Note: 1 object names no namespace and goes to "+where, o.namespace)
	case homeless > 1:
		a.note("Note: %d objects name no namespace and go to "+where, homeless, o.namespace)
	}
}

// scope is where objects of a kind live, as the cluster has it.
func (c *cluster) scope(kind schema.GroupVersionKind) plain.Scope {
	mapping, err := c.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err != nil:
		return plain.ScopeUnknown
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return plain.ScopeNamespaced
	default:
		return plain.ScopeCluster
	}
}

// noteUnknown says which objects were left without a namespace because it is
// unknown whether they need one.
func (a *app) noteUnknown(unknown []schema.GroupVersionKind, offline bool) {
	for _, kind := range unknown {
		text := "the cluster does not serve it"
		if offline {
			text = "no cluster was asked"
		}
		a.note("Note: whether %s %s needs a namespace is not known, as %s; objects that name none are left without.", kind.GroupVersion(), kind.Kind, text)
	}
}

// What the templates of a chart may take.
const (
	chartTime   = time.Minute
	chartMemory = 1 << 30
	// chartLook is how often is looked.
	chartLook = 10 * time.Millisecond
)

// renderChart renders a chart within limits: a template may recurse or repeat without end,
// and Go can neither stop it nor survive when the memory is gone. The rendering then goes
// on until the process ends, which the error makes it do.
func renderChart(loaded *chart.Chart, release chart.Release) ([]*unstructured.Unstructured, error) {
	type result struct {
		objects []*unstructured.Unstructured
		err     error
	}
	done := make(chan result, 1)
	most := memoryInUse() + chartMemory
	go func() {
		objects, err := loaded.Render(release)
		done <- result{objects, err}
	}()
	over := time.After(chartTime)
	look := time.NewTicker(chartLook)
	defer look.Stop()
	for {
		select {
		case r := <-done:
			return r.objects, r.err
		case <-over:
			return nil, exitf(CodeTerminal, "rendering chart %s takes more than %s: a template may repeat without end", loaded.Name(), chartTime)
		case <-look.C:
			if memoryInUse() > most {
				return nil, exitf(CodeTerminal, "rendering chart %s takes more than %d MiB of memory: a template may call itself, or repeat, without end", loaded.Name(), chartMemory>>20)
			}
		}
	}
}

func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
