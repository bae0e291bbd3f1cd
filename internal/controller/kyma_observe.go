// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	toolsevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/controller/pins"
	"github.com/strata-run/strata/internal/events"
	"github.com/strata-run/strata/internal/render/kyma"
	"github.com/strata-run/strata/internal/restart"
)

const (
	// annotationClusterSize on an Istio resource is the size that the cluster had when its
	// mesh was rendered last, which the next measure depends on.
	annotationClusterSize = "strata.run/cluster-size"

	// annotationFilter on an Istio resource is a digest of the EnvoyFilter for the proxy
	// protocol, and since when it is that.
	annotationFilter = "strata.run/proxy-protocol"

	definitionVPA = "verticalpodautoscalers.autoscaling.k8s.io"

	// blockedInterval is how often what blocks a deletion is looked for.
	blockedInterval = 15 * time.Second
	// listPage is how many objects a list asks for at once.
	listPage = 500
)

var kymaFilterKind = runtimeKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}

// kymaObserver reads what a mesh depends on. Nodes are watched from the first Istio resource
// on, single objects one by one; what is in the cluster costs no request at rest.
type kymaObserver struct {
	cache    cache.Cache
	live     client.Reader
	writer   client.Writer
	now      func() time.Time
	pins     *pins.Reader
	served   func(kind runtimeKind) bool
	recorder toolsevents.EventRecorder
	interval time.Duration
	// experimental says that the cluster may be taken for one with two IP stacks.
	experimental bool
	// restarts is what restarts of workloads have come to.
	restarts func() restart.State
	// signal tells of changes of what is watched.
	signal chan event.GenericEvent

	// nodes says that nodes are watched.
	nodes bool
	// flipped is the size that was told last of a cluster that had another one.
	flipped kyma.Size
	// told is what was logged last about a deletion that is blocked.
	told string
	// filters are the EnvoyFilters of users as of versions of all of them.
	filters  []string
	versions string
}

func newKymaObserver(mgr manager.Manager, kinds *front.Kinds, o Options) (*kymaObserver, error) {
	dynamicClient, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the dynamic client: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the metadata client: %w", err)
	}
	k := &kymaObserver{
		cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), now: time.Now, served: kinds.Served,
		recorder: mgr.GetEventRecorder(reportingController), interval: o.Kyma.Interval, experimental: o.Kyma.Experimental,
		// A signal that nobody has taken up yet stands for all changes until then.
		signal: make(chan event.GenericEvent, 1),
	}
	k.pins = pins.New(pins.Config{Dynamic: dynamicClient, Metadata: metadataClient, Mapper: mgr.GetRESTMapper(), Changed: k.changed})
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		k.pins.Close()
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("adding the watches of the kyma front: %w", err)
	}
	return k, nil
}

func (k *kymaObserver) changed() {
	select {
	case k.signal <- event.GenericEvent{Object: &v1alpha2.Istio{}}:
	default:
	}
}

// Observe reads the facts about the resource that describes the mesh, or about what keeps it
// from being taken away.
func (k *kymaObserver) Observe(ctx context.Context, group front.Group[*v1alpha2.Istio]) (kymaFacts, error) {
	facts := kymaFacts{}
	istio := kyma.Oldest(group.Resources)
	if istio == nil {
		return k.observeLeaving(ctx, group)
	}
	facts.Oldest, facts.Again, k.told = istio.Name, k.interval, ""
	k.pins.Begin()
	istio = handedDown(istio, group.Leaving)
	if err := errors.Join(k.observeCRDs(ctx, &facts), k.observeCluster(ctx, istio, &facts)); err != nil {
		return facts, err
	}
	k.pins.End()
	facts.Filters, facts.FiltersErr = k.userFilters(ctx)
	facts.Restarts = k.restarts()
	return facts, nil
}

// handedDown is the resource with what is kept on the one whose place it takes, if it has
// nothing of it itself: the mesh stays as it is.
func handedDown(istio *v1alpha2.Istio, leaving []*v1alpha2.Istio) *v1alpha2.Istio {
	with := istio.DeepCopy()
	for _, key := range []string{annotationClusterSize, annotationFilter} {
		for _, before := range leaving {
			if value := before.Annotations[key]; value != "" && with.Annotations[key] == "" && before.Namespace == v1alpha2.Namespace {
				metav1.SetMetaDataAnnotation(&with.ObjectMeta, key, value)
			}
		}
	}
	return with
}

// observeCRDs finds out whose the CRDs in place are, and of which version.
func (k *kymaObserver) observeCRDs(ctx context.Context, facts *kymaFacts) error {
	for _, name := range v1alpha1.IstioCRDs() {
		crd := front.Definition()
		found, err := isThere(k.cache.Get(ctx, types.NamespacedName{Name: name}, crd))
		if err != nil {
			return fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		}
		if !found {
			continue
		}
		facts.ForeignCRDs = facts.ForeignCRDs || isForeign(crd)
		facts.CRDVersion = kyma.Newer(facts.CRDVersion, crd.Annotations[kyma.AnnotationCRDVersion])
	}
	return nil
}

// isForeign says whether a CRD is in the hands of another package. One that has been removed
// leaves its CRDs in place, with its label and without a controller.
func isForeign(crd metav1.Object) bool {
	pkg := crd.GetLabels()[v1alpha1.LabelPackage]
	return pkg != "" && pkg != kyma.PackageCRDs && metav1.GetControllerOfNoCopy(crd) != nil
}

// handsChange lets through CRDs of Istio that come, go, change hands, or tell another version.
var handsChange = predicate.And(
	predicate.NewPredicateFuncs(func(crd client.Object) bool { return slices.Contains(v1alpha1.IstioCRDs(), crd.GetName()) }),
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return isForeign(e.ObjectOld) != isForeign(e.ObjectNew) ||
			e.ObjectOld.GetAnnotations()[kyma.AnnotationCRDVersion] != e.ObjectNew.GetAnnotations()[kyma.AnnotationCRDVersion]
	}},
)

func (k *kymaObserver) observeCluster(ctx context.Context, istio *v1alpha2.Istio, facts *kymaFacts) error {
	c := &facts.Cluster
	if err := k.observeNodes(ctx, istio, c); err != nil {
		return err
	}
	features, _, err := k.configMap(ctx, v1alpha2.Namespace, kyma.FeaturesConfigMap, kyma.FeaturesKey)
	if err != nil {
		return err
	}
	if c.Features, err = kyma.ParseFeatures(features); err != nil {
		facts.Warning = err.Error() // as without it
	}
	info, _, err := k.configMap(ctx, v1alpha2.Namespace, kyma.ProvisioningInfo, kyma.ProvisioningKey)
	if err != nil {
		return err
	}
	if c.DualStack, err = kyma.ParseDualStack(info); err != nil {
		facts.Warning = strings.TrimPrefix(facts.Warning+"; "+err.Error(), "; ")
	}
	c.DualStack = c.DualStack && k.experimental
	if c.ELB, err = k.classicBalancer(ctx); err != nil {
		return err
	}
	if c.VPA, err = isThere(k.cache.Get(ctx, types.NamespacedName{Name: definitionVPA}, front.Definition())); err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %s: %w", definitionVPA, err)
	}
	if c.APIServerPort, err = k.apiServerPort(ctx); err != nil {
		return err
	}
	c.FilterUpdatedAt, err = k.filterUpdatedAt(ctx, istio, *c)
	return err
}

// filterUpdatedAt is when the EnvoyFilter for the proxy protocol became what it is. That is
// kept on the resource, so that the same filter has the same time in each pass.
func (k *kymaObserver) filterUpdatedAt(ctx context.Context, istio *v1alpha2.Istio, c kyma.Cluster) (string, error) {
	digest := kyma.FilterDigest(c)
	if digest == "" {
		return "", nil
	}
	known, at, _ := strings.Cut(istio.Annotations[annotationFilter], " ")
	if _, err := time.Parse(time.RFC3339, at); err == nil && known == digest {
		return at, nil
	}
	at = k.now().UTC().Format(time.RFC3339)
	changed := istio.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotationFilter, digest+" "+at)
	if err := k.writer.Patch(ctx, changed, client.MergeFromWithOptions(istio, client.MergeFromWithOptimisticLock{})); err != nil {
		return "", fmt.Errorf("noting when the EnvoyFilter for the proxy protocol has changed: %w", err)
	}
	return at, nil
}

// observeNodes finds out what the nodes tell of the cluster.
func (k *kymaObserver) observeNodes(ctx context.Context, istio *v1alpha2.Istio, c *kyma.Cluster) error {
	if err := k.watchNodes(ctx); err != nil {
		return err
	}
	list := &corev1.NodeList{}
	if err := k.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	nodes := make([]kyma.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, nodeOf(&list.Items[i]))
	}
	slices.SortFunc(nodes, func(a, b kyma.Node) int { return cmp.Compare(a.Name, b.Name) })
	previous := kyma.Size(istio.Annotations[annotationClusterSize])
	c.Size, c.Provider, c.GardenOS = kyma.SizeOf(nodes, previous), kyma.ProviderOf(nodes), kyma.HasGardenOS(nodes)
	if k.flips(previous, c.Size) {
		k.recorder.Eventf(istio, nil, corev1.EventTypeNormal, events.ReasonClusterSizeChanged, "Render",
			"The cluster is of size %s now, and was of size %s: the mesh gets the defaults for that in a new revision", c.Size, previous)
	}
	return nil
}

// flips says whether it is news that the cluster has another size. What is kept of the size
// changes only with the mesh, which a resource that cannot be used holds up.
func (k *kymaObserver) flips(previous, size kyma.Size) bool {
	if previous == "" || previous == size {
		k.flipped = ""
		return false
	}
	told := k.flipped
	k.flipped = size
	return told != size
}

func nodeOf(n *corev1.Node) kyma.Node {
	return kyma.Node{
		Name: n.Name, CPU: n.Status.Capacity[corev1.ResourceCPU], Memory: n.Status.Capacity[corev1.ResourceMemory],
		Kubelet: n.Status.NodeInfo.KubeletVersion, ProviderID: n.Spec.ProviderID, OSImage: n.Status.NodeInfo.OSImage,
	}
}

// slimNode keeps of a node what a mesh depends on.
func slimNode(object any) (any, error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}}
	slim.Spec.ProviderID = n.Spec.ProviderID
	slim.Status.NodeInfo.KubeletVersion, slim.Status.NodeInfo.OSImage = n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.OSImage
	slim.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: n.Status.Capacity[corev1.ResourceCPU], corev1.ResourceMemory: n.Status.Capacity[corev1.ResourceMemory],
	}
	return slim, nil
}

// watchNodes begins to watch nodes: a cluster without a mesh does not pay for it.
func (k *kymaObserver) watchNodes(ctx context.Context) error {
	if k.nodes {
		return nil
	}
	informer, err := k.cache.GetInformer(ctx, &corev1.Node{})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				k.changed()
			}
		},
		UpdateFunc: func(before, after any) {
			a, ok := before.(*corev1.Node)
			b, alsoOK := after.(*corev1.Node)
			if !ok || !alsoOK || !nodeOf(a).Equal(nodeOf(b)) {
				k.changed()
			}
		},
		DeleteFunc: func(any) { k.changed() },
	})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	k.nodes = true
	return nil
}

// configMap is a value of a ConfigMap, and whether that is there.
func (k *kymaObserver) configMap(ctx context.Context, namespace, name, key string) (value string, found bool, err error) {
	o := untyped(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if found, err = isThere(k.pins.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, o)); err != nil {
		return "", false, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, name, err)
	}
	value, _, _ = unstructured.NestedString(o.Object, "data", key)
	return value, found, nil
}

// classicBalancer says whether the ingress gateway keeps a classic load balancer on AWS.
func (k *kymaObserver) classicBalancer(ctx context.Context) (bool, error) {
	_, asked, err := k.configMap(ctx, kyma.IstioNamespace, kyma.DeprecatedELB, "")
	if err != nil || !asked {
		return false, err
	}
	service := metadataOf(corev1.SchemeGroupVersion.WithKind("Service"))
	key := types.NamespacedName{Namespace: kyma.IstioNamespace, Name: kyma.IngressGateway}
	if _, err := isThere(k.pins.Get(ctx, key, service)); err != nil {
		return false, fmt.Errorf("reading Service %s: %w", key, err)
	}
	return kyma.KeepsELB(service.Annotations), nil
}

// apiServerPort is the port that the API server listens on, 0 when that is not known.
func (k *kymaObserver) apiServerPort(ctx context.Context) (int32, error) {
	o := untyped(corev1.SchemeGroupVersion.WithKind("Service"))
	if _, err := isThere(k.pins.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, o)); err != nil {
		return 0, fmt.Errorf("reading Service default/kubernetes: %w", err)
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, item := range ports {
		port, _ := item.(map[string]any)
		target, _ := port["targetPort"].(int64)
		if port["name"] == "https" && target > 0 && target <= 65535 {
			return int32(target), nil
		}
	}
	return 0, nil
}

// userFilters are the EnvoyFilters of users that configure the ingress gateway. They are
// read again when one of the namespace has changed.
func (k *kymaObserver) userFilters(ctx context.Context) ([]string, error) {
	if !k.served(kymaFilterKind) {
		return nil, nil
	}
	known := &metav1.PartialObjectMetadataList{}
	known.SetGroupVersionKind(listOf(kymaFilterKind))
	if err := k.cache.List(ctx, known, client.InNamespace(kyma.IstioNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EnvoyFilters: %w", err)
	}
	var versions []string
	for i := range known.Items {
		versions = append(versions, known.Items[i].Name+"="+known.Items[i].ResourceVersion)
	}
	slices.Sort(versions)
	if joined := strconv.Itoa(len(versions)) + strings.Join(versions, ","); joined != k.versions {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(kymaFilterKind))
		if err := k.live.List(ctx, list, client.InNamespace(kyma.IstioNamespace)); err != nil {
			return nil, fmt.Errorf("listing EnvoyFilters: %w", err)
		}
		k.filters = nil
		for i := range list.Items {
			if kyma.ConfiguresIngress(&list.Items[i]) {
				k.filters = append(k.filters, kyma.IstioNamespace+"/"+list.Items[i].GetName())
			}
		}
		slices.Sort(k.filters)
		k.versions = joined
	}
	return k.filters, nil
}

// observeLeaving looks for what keeps the mesh from being taken away.
func (k *kymaObserver) observeLeaving(ctx context.Context, group front.Group[*v1alpha2.Istio]) (kymaFacts, error) {
	facts := kymaFacts{}
	// No mesh is wanted that would depend on what was watched for it.
	k.pins.Begin()
	k.pins.End()
	installed := slices.ContainsFunc(group.Existing, func(p v1alpha1.Package) bool {
		return p.Name == kyma.PackageIstio && p.DeletionTimestamp.IsZero()
	})
	forced := slices.ContainsFunc(group.Leaving, func(istio *v1alpha2.Istio) bool {
		return istio.Annotations[v1alpha2.AnnotationForceDelete] == "true"
	})
	if !installed || forced {
		return facts, nil
	}
	found, err := k.customResources(ctx)
	if err != nil {
		return facts, err
	}
	if facts.Blocked = kyma.Blocking(found); facts.Blocked == nil {
		return facts, nil
	}
	facts.Again = blockedInterval
	if text := facts.Blocked.Error(); text != k.told {
		k.told = text
		log.FromContext(ctx).Info("Deletion is blocked by custom resources", "reason", text)
	}
	return facts, nil
}

// customResources are those of Istio, of the kinds that can block a deletion.
func (k *kymaObserver) customResources(ctx context.Context) ([]kyma.CustomResource, error) {
	var all []kyma.CustomResource
	var errs []error
	for _, kind := range kyma.BlockingKinds {
		list := &metav1.PartialObjectMetadataList{}
		for more := true; more; more = list.Continue != "" {
			next := list.Continue
			list = &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(listOf(kind))
			err := k.live.List(ctx, list, client.Limit(listPage), client.Continue(next))
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				break // the kind is not served, so that there is none of it
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("listing objects of kind %s: %w", kind.Kind, err))
				break
			}
			for i := range list.Items {
				o := &list.Items[i]
				all = append(all, kyma.CustomResource{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels})
			}
		}
	}
	return all, errors.Join(errs...)
}

// listOf is the kind of lists of a kind.
func listOf(kind runtimeKind) runtimeKind {
	kind.Kind += "List"
	return kind
}

// metadataOf is an object of a kind of which the metadata are read.
func metadataOf(kind runtimeKind) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: typeOf(kind)}
}

// within lets through news of the objects of a namespace.
func within(namespace string) predicate.Predicate {
	return predicate.And(predicate.ResourceVersionChangedPredicate{}, predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == namespace }))
}

// isThere says whether a read has found something.
func isThere(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
