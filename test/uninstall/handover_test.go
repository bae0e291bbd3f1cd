// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"fmt"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// strata hand-over gives istiod to another operator, without a manager and with one; nothing is
// made anew, and what the front has set on the class goes.
func TestHandOver(t *testing.T) {
	c := newCluster(t)
	c.installGateways()
	c.must(setup.Apply(t.Context(), c.admin, setup.Files{From: os.DirFS(root), Pattern: "config/policy/protection.yaml"}))
	c.start()
	c.must(c.admin.Create(t.Context(), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayclass.DefaultClassName},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}))
	c.awaitInstalled()
	before := c.uids()
	c.must(c.plane.StopManager())

	c.strata(cli.CodeOK, "this command releases them. Nothing was changed", "hand-over", "--dry-run=client")
	c.strata(cli.CodeUsage, "give --yes", "hand-over")
	c.strata(cli.CodeOK, "Everything is handed over.", "hand-over", "--yes")
	c.handedOver(before)
	c.strata(cli.CodeOK, "Everything is handed over.", "hand-over", "--yes")

	c.start()
	c.awaitLabelled()
	c.handedOver(before)
	c.annotateClass("null")
	c.awaitInstalled()
	c.awaitLease()
	c.strata(cli.CodeOK, "The manager releases them. Everything is handed over.", "hand-over", "--yes")
	c.handedOver(before)

	c.takeOver()
	c.must(c.admin.Delete(t.Context(), c.class()))
	planetest.Eventually(t, "the class is gone", func() (bool, error) {
		err := c.admin.Get(t.Context(), types.NamespacedName{Name: gatewayclass.DefaultClassName}, &gatewayv1.GatewayClass{})
		return apierrors.IsNotFound(err), err
	})
	if after := c.uids(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the objects were %v, and are %v", before, after)
	}
}

// installGateways installs Gateway API and the namespace of istiod.
func (c *cluster) installGateways() {
	c.Helper()
	for _, add := range []error{gatewayv1.Install(c.admin.Scheme()), apiextensionsv1.AddToScheme(c.admin.Scheme())} {
		c.must(add)
	}
	gatewayAPI, err := setup.GatewayAPI(c.Context(), "gateway.networking.k8s.io_*s.yaml")
	c.must(err)
	c.must(setup.Apply(c.Context(), c.admin, gatewayAPI, setup.Files{From: os.DirFS(root), Pattern: "config/samples/namespace.yaml"}))
	c.must(setup.Served(c.Context(), c.admin, schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "GatewayClass"}, schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}))
}

func (c *cluster) class() *gatewayv1.GatewayClass {
	c.Helper()
	class := &gatewayv1.GatewayClass{}
	c.must(c.admin.Get(c.Context(), types.NamespacedName{Name: gatewayclass.DefaultClassName}, class))
	return class
}

func (c *cluster) annotateClass(value string) {
	c.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, gatewayclass.AnnotationHandOver, value)
	c.must(c.admin.Patch(c.Context(), c.class(), client.RawPatch(types.MergePatchType, []byte(patch))))
}

func (c *cluster) awaitInstalled() {
	c.Helper()
	planetest.Eventually(c.T, "istiod is installed", func() (bool, error) {
		class := c.class()
		held := len(class.Finalizers) == 1 && class.Finalizers[0] == gatewayclass.Finalizer
		return held && meta.IsStatusConditionTrue(class.Status.Conditions, gatewayclass.ConditionControllerInstalled), fmt.Errorf("finalizers %v, conditions %+v", class.Finalizers, class.Status.Conditions)
	})
}

func (c *cluster) awaitLease() {
	c.Helper()
	planetest.Eventually(c.T, "a manager leads", func() (bool, error) {
		lease := &coordinationv1.Lease{}
		err := c.admin.Get(c.Context(), client.ObjectKey{Namespace: "strata-system", Name: controller.LeaseName}, lease)
		return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", err
	})
}

// awaitLabelled waits until the manager has labelled a Gateway of the class, so that it knows
// the classes.
func (c *cluster) awaitLabelled() {
	c.Helper()
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: gatewayclass.DefaultClassName, Listeners: []gatewayv1.Listener{
			{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		}},
	}
	c.must(c.admin.Create(c.Context(), gateway))
	planetest.Eventually(c.T, "the Gateway is labelled", func() (bool, error) {
		err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(gateway), gateway)
		return gateway.Labels[gatewayclass.LabelRevision] != "", err
	})
}

// controlPlane are objects of istiod and the CRDs.
func (c *cluster) controlPlane() []client.Object {
	c.Helper()
	at := func(object client.Object, namespace, name string) client.Object {
		c.must(c.admin.Get(c.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
		return object
	}
	return []client.Object{
		at(&appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane),
		at(&corev1.ServiceAccount{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane),
		at(&apiextensionsv1.CustomResourceDefinition{}, "", istio.CRDNames()[0]),
	}
}

// uids are the UIDs of the objects.
func (c *cluster) uids() []types.UID {
	c.Helper()
	var all []types.UID
	for _, object := range c.controlPlane() {
		all = append(all, object.GetUID())
	}
	return all
}

// handedOver fails unless the objects are those of before and free, and the class is bare.
func (c *cluster) handedOver(before []types.UID) {
	c.Helper()
	for i, object := range c.controlPlane() {
		_, labelled := object.GetLabels()[v1alpha1.LabelPackage]
		if object.GetUID() != before[i] || labelled || len(object.GetOwnerReferences()) > 0 {
			c.Errorf("%s has the UID %s, want %s, the labels %v and the owners %v", object.GetName(), object.GetUID(), before[i], object.GetLabels(), object.GetOwnerReferences())
		}
	}
	class := c.class()
	if len(class.Finalizers) > 0 || meta.FindStatusCondition(class.Status.Conditions, gatewayclass.ConditionControllerInstalled) != nil ||
		meta.FindStatusCondition(class.Status.Conditions, gatewayclass.ConditionCRDsReady) != nil {
		c.Errorf("the class has the finalizers %v and the conditions %+v", class.Finalizers, class.Status.Conditions)
	}
	packages := &v1alpha1.PackageList{}
	c.must(c.admin.List(c.Context(), packages))
	if len(packages.Items) > 0 {
		c.Errorf("there are still %d packages", len(packages.Items))
	}
}

// takeOver makes another operator the controller of the Deployment, and have the class.
func (c *cluster) takeOver() {
	c.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayclass.Namespace, Name: "another-operator"}}
	c.must(c.admin.Create(c.Context(), owner))
	deployment := c.controlPlane()[0]
	yes := true
	deployment.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: &yes}})
	c.must(c.admin.Update(c.Context(), deployment))

	class := c.class()
	meta.SetStatusCondition(&class.Status.Conditions, metav1.Condition{
		Type: gatewayclass.ConditionControllerInstalled, Status: metav1.ConditionTrue, Reason: gatewayclass.ReasonInstalled, Message: "istiod is theirs",
	})
	c.must(c.admin.Status().Update(c.Context(), class))
	c.strata(cli.CodeOK, "Everything is handed over.", "hand-over", "--yes")
	if meta.FindStatusCondition(c.class().Status.Conditions, gatewayclass.ConditionControllerInstalled) == nil {
		c.Error("the condition of another operator was taken off the class")
	}
}
