// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

type renderOptions struct {
	output      outputFormat
	source      sourceOptions
	showSecrets bool
}

func (a *app) renderCommand() *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render NAME",
		Short: "Show the revision that manifests or a chart make",
		Long: `Show the revision that manifests or a chart make, without asking any cluster:
its phases, its objects and its size. -o yaml and -o json write the Revision and
the ObjectSlices that belong to it, as a List; -o name the objects.

The number, and the previous revision, are those of a new package. Manifests of
kind Secret are stored as Secrets; their values are redacted without
--show-secrets. Their part of the digest depends on a key in the cluster, so the
digest is another one there.

Exit codes: 0 rendered; 2 usage, or a file cannot be read; 3 the content cannot
be used. Rights needed: none.`,
		Example: `  strata render web -f manifests/
  strata render web --chart ./web --values production.yaml --set replicas=3 -o yaml`,
	}
	a.onPackage(cmd, func(_ context.Context, name string) error {
		if err := o.source.validate(); err != nil {
			return err
		}
		return a.render(o, name)
	})
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputName)
	o.source.add(cmd)
	cmd.Flags().BoolVar(&o.showSecrets, "show-secrets", false, "show what the Secrets contain that manifests of kind Secret are stored in")
	return cmd
}

// offlineKey stands in for the key that is in the cluster. The digest of content
// with Secrets depends on it.
func offlineKey() []byte { return make([]byte, content.KeySize) }

func (a *app) render(o renderOptions, name string) error {
	s, err := a.readSource(o.source, name)
	if err != nil {
		return err
	}
	phases, unknown, err := s.phases(nil)
	if err != nil {
		return err
	}
	a.noteUnknown(unknown, true)
	a.noteNamespace(s.options, s.homeless)
	packed, err := content.Packer{Key: offlineKey()}.Pack(phases, s.probes)
	if err != nil {
		return exitf(CodeTerminal, "packing the content: %w", err)
	}
	if content.HasSecrets(phases) {
		a.note("Note: the content contains Secrets, so its digest differs in a cluster.")
	}
	revision := history.History{}.Next(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}, contentOf(s, packed))
	revision.OwnerReferences = nil
	return a.print(o.output, renderedList(revision, packed, o.showSecrets), func(p *output.Printer) {
		if o.output != outputName {
			view.WriteRendered(p, phases, packed)
			return
		}
		for _, phase := range phases {
			for _, object := range phase.Objects {
				p.Line(output.Span{Text: view.NameOf(view.ReferenceOf(object.Manifest))})
			}
		}
	})
}

func contentOf(s source, packed content.Packed) history.Content {
	return history.Content{Phases: packed.Phases, Probes: s.probes, Digest: packed.Digest, Origin: s.origin}
}

func renderedList(revision *v1alpha1.Revision, packed content.Packed, showSecrets bool) corev1.List {
	list := corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	add := func(object any) {
		// Our own types always encode.
		if data, err := json.Marshal(object); err == nil {
			list.Items = append(list.Items, runtime.RawExtension{Raw: data})
		}
	}
	for i := range packed.Slices {
		slice := packed.Slices[i]
		slice.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ObjectSlice"}
		add(slice)
	}
	for i := range packed.Secrets {
		secret := *packed.Secrets[i].DeepCopy()
		if !showSecrets {
			secret.Data, secret.Immutable = nil, nil
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "strata.run/redacted", "values are shown with --show-secrets")
		}
		add(secret)
	}
	shown := revision.DeepCopy()
	shown.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Revision"}
	add(shown)
	return list
}
