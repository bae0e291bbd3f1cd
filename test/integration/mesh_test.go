// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// What the tests of the GatewayClass front share: classes, the Istio CRDs in any state,
// and the kinds of OLM, of the Sail operator and of OpenShift's configuration.

// withGatewayKinds lets the tests' client know the kinds that they use.
func withGatewayKinds(t *testing.T) {
	t.Helper()
	must(t, gatewayv1.Install(admin.Scheme()))
	must(t, apiextensionsv1.AddToScheme(admin.Scheme()))
}

// newClass makes a class of ours, which is deleted at the end of the test.
func newClass(t *testing.T, name string, annotations map[string]string) *gatewayv1.GatewayClass {
	t.Helper()
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}
	must(t, admin.Create(t.Context(), class))
	t.Cleanup(func() { deleteClass(t, name) })
	return class
}

// deleteClass deletes a class, and waits until it and everything that only it wanted are
// gone.
func deleteClass(t *testing.T, name string) {
	t.Helper()
	ctx := context.Background()
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(admin.Delete(ctx, class)); err != nil {
		t.Errorf("deleting class %s: %v", name, err)
	}
	planetest.Eventually(t, "class "+name+" to go", func() (bool, error) {
		err := admin.Get(ctx, types.NamespacedName{Name: name}, class)
		return apierrors.IsNotFound(err), fmt.Errorf("its conditions are %v: %w", class.Status.Conditions, err)
	})
}

// eventuallyCondition waits until a condition of a class is status/reason, with all the
// parts in its message.
func eventuallyCondition(t *testing.T, class, kind, want string, parts ...string) metav1.Condition {
	t.Helper()
	var c *metav1.Condition
	planetest.Eventually(t, fmt.Sprintf("%s of %s to be %s", kind, class, want), func() (bool, error) {
		current := &gatewayv1.GatewayClass{}
		if err := admin.Get(t.Context(), types.NamespacedName{Name: class}, current); err != nil {
			return false, err
		}
		if c = meta.FindStatusCondition(current.Status.Conditions, kind); c == nil {
			return false, errors.New("the condition is not set")
		}
		ok := string(c.Status)+"/"+c.Reason == want && c.ObservedGeneration == current.Generation
		for _, part := range parts {
			ok = ok && strings.Contains(c.Message, part)
		}
		return ok, fmt.Errorf("it is %s/%s: %s", c.Status, c.Reason, c.Message)
	})
	return *c
}

// deleteIstioCRDs deletes all Istio CRDs that there are at the moment.
func deleteIstioCRDs(t *testing.T) {
	t.Helper()
	for _, name := range istio.CRDNames() {
		must(t, client.IgnoreNotFound(admin.Delete(context.Background(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
}

// withoutIstioCRDs removes all Istio CRDs, while no controller installs them.
func withoutIstioCRDs(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	deleteIstioCRDs(t)
	// While a client watches a kind, its storage is given a minute to end.
	patiently(t, "the Istio CRDs to go", func() bool {
		crds := &apiextensionsv1.CustomResourceDefinitionList{}
		must(t, admin.List(ctx, crds))
		return !slices.ContainsFunc(crds.Items, func(crd apiextensionsv1.CustomResourceDefinition) bool {
			return strings.HasSuffix(crd.Name, ".istio.io")
		})
	})
}

// patiently waits for what may take some minutes.
func patiently(t *testing.T, what string, ask func() bool) {
	t.Helper()
	planetest.Within(t, 5*time.Minute, what, func() (bool, error) { return ask(), nil })
}

// arrangeIstioCRDs makes the CRDs of Istio 1.28 be there as another operator has installed
// them, with labels, whatever tests before have left. No class may be there.
func arrangeIstioCRDs(t *testing.T, labels map[string]string) {
	t.Helper()
	release, ok := istio.Resolve("1.28")
	if !ok {
		t.Fatal("there is no Istio 1.28")
	}
	wanted, err := release.CRDs()
	must(t, err)
	for _, crd := range wanted {
		all := maps.Clone(labels)
		if all == nil {
			all = map[string]string{}
		}
		all["app"] = "istio"
		crd.SetLabels(all)
		planetest.Eventually(t, "CRD "+crd.GetName()+" to be installed", func() (bool, error) {
			current := crd.DeepCopy()
			err := admin.Create(t.Context(), current, client.FieldOwner("other-manager"))
			if !apierrors.IsAlreadyExists(err) {
				return err == nil, err
			}
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(crd), current); err != nil {
				return false, err
			}
			if current.GetDeletionTimestamp() != nil {
				return false, errors.New("it is being deleted")
			}
			current.SetLabels(all)
			current.SetAnnotations(nil)
			current.Object["spec"] = crd.Object["spec"]
			err = admin.Update(t.Context(), current, client.FieldOwner("other-manager"))
			return err == nil, err
		})
	}
}

// istioCRDs are the Istio CRDs that there are, by name.
func istioCRDs(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	must(t, admin.List(t.Context(), list))
	all := map[string]apiextensionsv1.CustomResourceDefinition{}
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].Name, ".istio.io") {
			all[list.Items[i].Name] = list.Items[i]
		}
	}
	return all
}

// generations are those of the Istio CRDs: a change of their content is seen in them.
func generations(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for name, crd := range istioCRDs(t) {
		all[name] = crd.Generation
	}
	return all
}

// labelCRDs changes labels of the Istio CRDs that the function selects; an empty value
// with a minus before the key removes it.
func labelCRDs(t *testing.T, labels map[string]string, selected func(name string) bool) {
	t.Helper()
	for name, crd := range istioCRDs(t) {
		if !selected(name) {
			continue
		}
		changed := crd.DeepCopy()
		for key, value := range labels {
			if bare, remove := strings.CutPrefix(key, "-"); remove {
				delete(changed.Labels, bare)
				continue
			}
			metav1.SetMetaDataLabel(&changed.ObjectMeta, key, value)
		}
		must(t, admin.Patch(t.Context(), changed, client.MergeFrom(&crd), client.FieldOwner("other-manager")))
	}
}

// checkOurs checks that CRDs are as a takeover leaves them.
func checkOurs(t *testing.T, version string) {
	t.Helper()
	crds := istioCRDs(t)
	for _, name := range managedCRDs(version) {
		crd, ok := crds[name]
		if !ok {
			t.Errorf("CRD %s is missing", name)
			continue
		}
		if _, owned := crd.Labels[gatewayclass.LabelOwned]; !owned {
			t.Errorf("CRD %s lacks our label: %v", name, crd.Labels)
		}
		for key := range crd.Labels {
			if key == gatewayclass.LabelOLMManaged || strings.HasPrefix(key, gatewayclass.LabelSubscriptionPrefix) {
				t.Errorf("CRD %s still has the label %s", name, key)
			}
		}
		if app, _ := gatewayclass.AppVersion(version); crd.Annotations[gatewayclass.AnnotationAppVersion] != app || crd.Annotations[v1alpha1.AnnotationResourcePolicy] != v1alpha1.ResourcePolicyKeep {
			t.Errorf("CRD %s has the annotations %v", name, crd.Annotations)
		}
		if len(crd.OwnerReferences) > 0 {
			t.Errorf("CRD %s is owned by %v", name, crd.OwnerReferences)
		}
	}
	if t.Failed() {
		revisions := &v1alpha1.RevisionList{}
		must(t, admin.List(t.Context(), revisions, client.MatchingLabels{v1alpha1.LabelPackage: gatewayclass.PackageCRDs}))
		for i := range revisions.Items {
			t.Logf("revision %s: %s", revisions.Items[i].Name, revisions.Items[i].Spec.Origin.Reason)
		}
	}
}

// installKinds makes the API server serve kinds with any content, which go at the end of
// the test.
func installKinds(t *testing.T, scope apiextensionsv1.ResourceScope, kinds ...[4]string) {
	t.Helper()
	anything := true
	for _, k := range kinds {
		group, version, kind, plural := k[0], k[1], k[2], k[3]
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group, Scope: scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
				}},
			},
		}
		must(t, admin.Create(t.Context(), crd))
		t.Cleanup(func() {
			ctx := context.Background()
			if err := client.IgnoreNotFound(admin.Delete(ctx, crd)); err != nil {
				t.Errorf("deleting %s: %v", crd.Name, err)
			}
			planetest.Eventually(t, crd.Name+" to go", func() (bool, error) {
				err := admin.Get(ctx, client.ObjectKeyFromObject(crd), crd)
				return apierrors.IsNotFound(err), err
			})
		})
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": group + "/" + version, "kind": kind + "List"}}
		planetest.Eventually(t, crd.Name+" to be served", func() (bool, error) {
			err := admin.List(t.Context(), list)
			return err == nil, err
		})
	}
}

func installOLM(t *testing.T) {
	t.Helper()
	installKinds(t, apiextensionsv1.NamespaceScoped,
		[4]string{"operators.coreos.com", "v1alpha1", "Subscription", "subscriptions"},
		[4]string{"operators.coreos.com", "v1alpha1", "InstallPlan", "installplans"})
}

// newObject creates an object and removes it at the end of the test.
func newObject(t *testing.T, apiVersion, kind, namespace, name string, change func(o *unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(namespace)
	object.SetName(name)
	if change != nil {
		change(object)
	}
	must(t, admin.Create(t.Context(), object))
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			t.Errorf("deleting %s %s: %v", kind, name, err)
		}
	})
	return object
}

// istiodIsInstalled waits for istiod, whatever the warnings.
func istiodIsInstalled(t *testing.T, class, version string, parts ...string) {
	t.Helper()
	eventuallyCondition(t, class, gatewayclass.ConditionControllerInstalled, "True/Installed", append(parts, "istiod "+version+" installed")...)
}

// within fails a test that takes too long to notice something.
func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > limit {
		t.Errorf("%s took %s, want at most %s", what, took.Round(time.Millisecond), limit)
	}
}

// eventuallyInstalledOf waits for exactly this message.
func eventuallyInstalledOf(t *testing.T, class, message string) {
	t.Helper()
	planetest.Eventually(t, class+": "+message, func() (bool, error) {
		c := conditionOf(t, class, gatewayclass.ConditionControllerInstalled)
		return c.Status == metav1.ConditionTrue && c.Message == message, fmt.Errorf("%s/%s: %s", c.Status, c.Reason, c.Message)
	})
}

// conditionOf is a condition of a class, empty when it is not set.
func conditionOf(t *testing.T, class, kind string) metav1.Condition {
	t.Helper()
	current := &gatewayv1.GatewayClass{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: class}, current))
	if c := meta.FindStatusCondition(current.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func ensureNamespace(t *testing.T, name string) error {
	t.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(name)
	err := admin.Create(t.Context(), namespace)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func removeCRD(t *testing.T, name string) {
	t.Helper()
	must(t, admin.Delete(t.Context(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	patiently(t, name+" to go", func() bool {
		_, ok := istioCRDs(t)[name]
		return !ok
	})
}

// managedCRDs are the names of the CRDs of an Istio version, sorted. It is nil
// for a version that is not known.
func managedCRDs(version string) []string {
	r, ok := istio.Resolve(version)
	if !ok {
		return nil
	}
	names, err := r.CRDNames()
	if err != nil {
		return nil
	}
	return names
}
