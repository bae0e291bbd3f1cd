// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/status/statustest"
)

// importing is a loop that finds an installed release.
func importing(t *testing.T) *loop {
	t.Helper()
	l := newLoop(t)
	l.create()
	settings := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "app"}}}
	one := resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0"}
	l.is.imported = &migration.Import{
		Description: "version 3 of the release of OLM in Secret olmv1-system/sh.helm.release.v1.demo.v3", Package: extension().Spec.Source.Catalog.PackageName, Bundle: one,
		Image: "registry.example/p@sha256:1", Phases: []content.Phase{{Name: "configuration", CollisionProtection: v1alpha1.CollisionNone, Objects: []content.Object{{Manifest: settings}}}},
	}
	l.is.answer = resolve.Answer{Outcome: resolve.Resolved, Choice: &resolve.Choice{Identity: one}}
	rendered := settings.DeepCopy()
	rendered.SetAnnotations(map[string]string{"by": "a newer renderer"})
	l.is.bundle.phases = []content.Phase{{Name: "configuration", Objects: []content.Object{{Manifest: rendered}}}}
	return l
}

func TestImport(t *testing.T) {
	l := importing(t)
	if ce := l.pass(); bundleText(ce) != "p.v1.0.0 1.0.0" || statustest.Text(ce.Status.Conditions, olmv1.TypeInstalled) != "True/Succeeded: Installed bundle registry.example/p@sha256:1 successfully" {
		t.Errorf("after the first pass %q is installed: %q", bundleText(ce), statustest.Text(ce.Status.Conditions, olmv1.TypeInstalled))
	}
	if l.is.from == nil || l.is.from.Name != "p.v1.0.0" {
		t.Errorf("the resolver was asked about an upgrade from %v", l.is.from)
	}
	first := &v1alpha1.Revision{}
	l.Read("demo-1", first)
	if o := first.Spec.Origin; o.Kind != v1alpha1.OriginHelmImport || o.Reason != "imported from version 3 of the release of OLM in Secret olmv1-system/sh.helm.release.v1.demo.v3" ||
		first.Spec.Phases[0].CollisionProtection != v1alpha1.CollisionNone || first.Annotations[olmv1.AnnotationBundleName] != "p.v1.0.0" || first.Labels[olmv1.LabelOwnerName] != "demo" {
		t.Errorf("the revision is %+v with %v %v", o, first.Annotations, first.Labels)
	}
	l.pass()
	l.pass()
	if diff := cmp.Diff([]string{"demo-1"}, l.revisions()); diff != "" || l.is.looked != 1 {
		t.Errorf("what was imported was rendered anew, or looked for %d times (-want +got):\n%s", l.is.looked, diff)
	}
	if l.is.from == nil || l.is.from.Name != "p.v1.0.0" {
		t.Errorf("before the revision has succeeded the resolver was asked about an upgrade from %v", l.is.from)
	}
}

// What was imported is rendered anew for another bundle, another configuration, and on demand.
func TestImport_RendersAnew(t *testing.T) {
	for name, change := range map[string]func(l *loop, ce *olmv1.ClusterExtension){
		"bundle": func(l *loop, _ *olmv1.ClusterExtension) {
			l.is.answer.Choice = &resolve.Choice{Identity: resolve.Identity{Name: "p.v1.1.0", Version: "1.1.0"}}
		},
		"configuration": func(_ *loop, ce *olmv1.ClusterExtension) {
			ce.Spec.Config = &olmv1.ExtensionConfig{ConfigType: olmv1.ConfigTypeInline, Inline: &runtime.RawExtension{Raw: []byte(`{"watchNamespace":"app"}`)}}
		},
		"on demand": func(_ *loop, ce *olmv1.ClusterExtension) {
			ce.Annotations = map[string]string{olmv1.AnnotationRender: "now"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := importing(t)
			ce := l.pass()
			change(l, ce)
			if err := l.API.Update(t.Context(), ce); err != nil {
				t.Fatal(err)
			}
			l.pass()
			l.pass()
			if diff := cmp.Diff([]string{"demo-1", "demo-2"}, l.revisions()); diff != "" {
				t.Errorf("revisions (-want +got):\n%s", diff)
			}
		})
	}
}

// A release that cannot be imported leaves all as it is.
func TestImport_Refused(t *testing.T) {
	l := importing(t)
	l.is.imported, l.is.refused = nil, &migration.RefusedError{Message: "Secret a is missing"}
	if got := statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing); got != "False/Blocked: Secret a is missing" {
		t.Errorf("Progressing is %q", got)
	}
	if made := l.revisions(); len(made) > 0 {
		t.Errorf("the revisions are %v", made)
	}
	l.is.refused = nil
	l.pass()
	if diff := cmp.Diff([]string{"demo-1"}, l.revisions()); diff != "" {
		t.Errorf("without a release the bundle is installed (-want +got):\n%s", diff)
	}
}

// What is not there is looked for once, until OLM's controller has led.
func TestImport_LooksOnce(t *testing.T) {
	l := importing(t)
	l.is.imported = nil
	l.is.answer = resolve.Answer{Outcome: resolve.Retrying, Message: "no catalog"}
	l.pass()
	l.pass()
	l.pass()
	if l.is.looked != 1 {
		t.Errorf("it was looked for %d times", l.is.looked)
	}
	l.observer.absences.clear()
	l.pass()
	l.pass()
	if l.is.looked != 2 {
		t.Errorf("after OLM's controller has led it was looked for %d times", l.is.looked-1)
	}
}

// No object is handed over to a package that cannot be made.
func TestImport_NameTaken(t *testing.T) {
	l := importing(t)
	l.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	l.pass()
	if l.is.looked > 0 {
		t.Error("objects were handed over")
	}
}

// What a first installation that failed has left is adopted, and only then.
func TestAdopt(t *testing.T) {
	l := importing(t)
	l.is.imported = nil
	l.pass()
	l.pass()
	if l.is.adopted != "" {
		t.Error("there is no collision, and objects were handed over")
	}
	pkg := &v1alpha1.Package{}
	l.Read("demo", pkg)
	pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: "False", Reason: v1alpha1.ReasonObjectCollisions, LastTransitionTime: metav1.Now()}}
	if err := l.API.Status().Update(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	l.pass()
	if l.is.adopted != "demo" {
		t.Error("what the ClusterExtension owns was not handed over")
	}
}
