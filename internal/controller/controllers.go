// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/controller/fence"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/packages"
	"github.com/strata-run/strata/internal/telemetry"
	revisionscache "github.com/strata-run/strata/revisions/cache"
)

// reportingController is who reports events.
const reportingController = "strata.run/manager"

// lastApplied is where kubectl apply keeps a copy of what it has applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Run runs every controller until the context ends. It refuses settings that
// cannot work before it starts anything.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = front.Manager
	// The API server's own priority and fairness spaces requests; a limit on top of
	// it only makes rollouts slow.
	config.QPS, config.Burst = -1, 0
	meter := telemetry.NewMetrics()
	lost := &outage{stop: ctx.Done()}
	ctx, mgr, err := awaitManager(ctx, config, meter, lost, o)
	if err != nil || mgr == nil {
		return err
	}
	meter.ReadFrom(mgr.GetCache())
	if err := setup(ctx, mgr, meter, lost, o); err != nil {
		return err
	}
	if err := ctrlmetrics.Registry.Register(meter); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	defer ctrlmetrics.Registry.Unregister(meter)
	err = runUntilStopped(ctx, mgr)
	if replaced := context.Cause(ctx); errors.Is(replaced, fence.ErrReplaced) {
		err = replaced
	}
	if err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// runUntilStopped runs a manager. One that is stopped before its caches have synced has begun
// nothing that would have to end, and is not waited for: controller-runtime 0.25 waits for the
// caches all the same, without a pause and without an end.
func runUntilStopped(ctx context.Context, mgr manager.Manager) error {
	synced, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			close(synced)
		}
	}()
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case <-synced:
		return <-ended
	default:
		return nil
	}
}

// awaitManager is a manager as soon as the API server serves its kinds, and the context to
// run it with; no manager when the context given ends before. A definition that goes just
// before the manager is made is waited for like one that was never there, and so is any other
// kind that the manager cannot do without, which is logged.
func awaitManager(ctx context.Context, config *rest.Config, meter *telemetry.Metrics, lost *outage, o Options) (context.Context, manager.Manager, error) {
	for {
		if err := awaitDefinitions(ctx, config, o); err != nil || ctx.Err() != nil {
			return ctx, nil, err
		}
		managed, mgr, err := newManager(ctx, rest.CopyConfig(config), meter, lost, o)
		if !meta.IsNoMatchError(err) {
			return managed, mgr, err
		}
		ctrl.LoggerFrom(ctx).Error(err, "Waiting for a kind that the API server does not serve")
		select {
		case <-ctx.Done():
			return ctx, nil, nil
		case <-time.After(definitionsEvery):
		}
	}
}

// newManager is a manager and the context to run it with, which ends when another manager
// has taken over.
func newManager(ctx context.Context, connection *rest.Config, meter *telemetry.Metrics, lost *outage, o Options) (context.Context, manager.Manager, error) {
	options, err := managerOptions(meter, o)
	if err != nil {
		return ctx, nil, err
	}
	untyped, err := dynamic.NewForConfig(connection)
	if err != nil {
		return ctx, nil, fmt.Errorf("creating the client without types: %w", err)
	}
	decoder := serializer.NewCodecFactory(options.Scheme).UniversalDeserializer()
	options.Cache.NewInformer = (&decoding.Informers{Reader: untyped, Decoder: decoder, Kinds: ownKinds()}).New
	connection.Wrap(lost.Wrap)
	if o.LeaderElect {
		var elected election
		if ctx, elected, err = newElection(ctx, connection, o.Namespace); err != nil {
			return ctx, nil, err
		}
		elected.elect(&options)
		connection.Wrap(elected.fence.Wrap)
	}
	mgr, err := ctrl.NewManager(connection, options)
	if err != nil {
		return ctx, nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return ctx, nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return ctx, nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return ctx, mgr, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	adders := []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme}
	for _, f := range Fronts {
		adders = append(adders, f.AddToScheme)
	}
	for _, add := range adders {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

func managerOptions(meter *telemetry.Metrics, o Options) (ctrl.Options, error) {
	scheme, err := newScheme()
	if err != nil {
		return ctrl.Options{}, err
	}
	// The pod has 15 seconds, see config/manager. A starved machine needs some of them.
	shutdown := 10 * time.Second
	secrets, withManifests := content.SecretKind()
	// Names are checked for the whole process, and a process may run managers one
	// after the other.
	anyName := true
	kept := map[client.Object]cache.ByObject{
		&v1alpha1.Revision{}: {Transform: dropHistory(meter)},
		// Of Secrets, those that hold manifests, and of these the metadata.
		secrets: {Namespaces: map[string]cache.Config{o.Namespace: {FieldSelector: withManifests}}},
	}
	for _, f := range Fronts {
		if f.Caches != nil {
			maps.Copy(kept, f.Caches())
		}
	}
	for _, kind := range ownKinds() {
		if kind.Namespace != "" {
			kept[kind.Object] = cache.ByObject{Namespaces: map[string]cache.Config{kind.Namespace: {}}}
		}
	}
	return ctrl.Options{
		Scheme:                  scheme,
		GracefulShutdownTimeout: &shutdown,
		Controller:              config.Controller{SkipNameValidation: &anyName},
		HealthProbeBindAddress:  o.HealthAddress,
		Metrics:                 metricsServer(o),
		Cache:                   cache.Options{DefaultTransform: trim, ByObject: kept},
		NewCache:                newCache,
	}, nil
}

// newCache is a cache that needs no definitions of kinds that are cached in one namespace: how they
// are cached is set before it is known whether the cluster has them.
func newCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	known := meta.NewDefaultRESTMapper(nil)
	for _, f := range Fronts {
		if slices.ContainsFunc(f.Served, func(kind decoding.Kind) bool { return kind.Namespace != "" }) {
			known.Add(f.Kind, meta.RESTScopeNamespace)
		}
	}
	o.Mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, o.Mapper}}
	return cache.New(config, o)
}

// ownKinds are those whose definitions are in config/crd.
func ownKinds() []decoding.Kind {
	kinds := []decoding.Kind{
		{Object: &v1alpha1.Package{}, Resource: v1alpha1.GroupVersion.WithResource("packages")},
		{Object: &v1alpha1.Revision{}, Resource: v1alpha1.GroupVersion.WithResource("revisions")},
		{Object: &v1alpha1.ObjectSlice{}, Resource: v1alpha1.GroupVersion.WithResource("objectslices")},
	}
	for _, f := range Fronts {
		kinds = append(kinds, f.Served...)
	}
	return kinds
}

// trim keeps out of the cache what no controller reads and may be large.
func trim(object any) (any, error) {
	for _, f := range Fronts {
		if f.Trim != nil {
			f.Trim(object)
		}
	}
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
		if annotations := o.GetAnnotations(); annotations[lastApplied] != "" {
			annotations = maps.Clone(annotations)
			delete(annotations, lastApplied)
			o.SetAnnotations(annotations)
		}
	}
	return object, nil
}

// dropHistory keeps the content of torn-down revisions out of the cache: only a
// rollback reads it, and reads it live. The references to slices and Secrets are kept,
// as these must not be deleted. The size is measured before.
func dropHistory(meter *telemetry.Metrics) toolscache.TransformFunc {
	return func(object any) (any, error) {
		if revision, ok := object.(*v1alpha1.Revision); ok {
			revision.ManagedFields = nil
			meter.Size(revision)
			if revision.Status.ArchivedAt != nil {
				revision.Spec.Phases, revision.Spec.Probes = content.OnlyReferences(revision.Spec.Phases), nil
			}
			compact(revision)
		}
		return object, nil
	}
}

// setup is the list: every controller that the manager runs.
func setup(ctx context.Context, mgr manager.Manager, meter *telemetry.Metrics, lost *outage, o Options) error {
	contents := &content.Store{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: o.Namespace, Now: time.Now}
	changes := &packages.Changes{}
	informers, err := newInformers(ctx, mgr, changes.Notify, meter.Stale)
	if err != nil {
		return err
	}
	worker, err := packageWorker(mgr, meter, contents, informers)
	if err != nil {
		return err
	}
	if err := packages.Setup(ctx, mgr, worker, changes); err != nil {
		return err
	}
	lost.wakesPackages(mgr.GetClient(), changes)
	if err := mgr.Add(&thrift{}); err != nil {
		return fmt.Errorf("adding what gives memory back: %w", err)
	}
	kinds, err := front.NewKinds(mgr)
	if err != nil {
		return err
	}
	wiring := front.Wiring{
		Manager: mgr, Kinds: kinds, Informers: informers, Recorder: mgr.GetEventRecorder(reportingController), Meter: meter, Recovered: lost.events,
		Publisher: &front.Publisher{Client: mgr.GetClient(), Contents: contents, Now: time.Now},
	}
	for _, f := range Fronts {
		if !slices.Contains(o.Fronts, f.Name) {
			continue
		}
		if err := o.Settings[f.Name].Setup(wiring); err != nil {
			return err
		}
	}
	return nil
}

// newInformers are those of the process.
func newInformers(ctx context.Context, mgr manager.Manager, notify func(string), ahead func()) (*revisionscache.Informers, error) {
	dynamicClient, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the dynamic client: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the metadata client: %w", err)
	}
	return revisionscache.New(ctx, revisionscache.Config{
		Dynamic: dynamicClient, Metadata: metadataClient, Mapper: mgr.GetRESTMapper(), Label: v1alpha1.LabelPackage,
		Notify: notify, Ahead: ahead,
	}), nil
}

// packageWorker wires the engine to the cluster.
func packageWorker(mgr manager.Manager, meter *telemetry.Metrics, contents *content.Store, informers *revisionscache.Informers) (*packages.Worker, error) {
	identities, err := newIdentities(mgr, informers, meter.Listener())
	if err != nil {
		return nil, err
	}
	return &packages.Worker{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Contents: contents, Identities: identities, Watches: informers, Removal: removal(mgr.GetAPIReader()), Now: time.Now,
		Recorder: mgr.GetEventRecorder(reportingController), Meter: meter, Pods: mgr.GetAPIReader(),
	}, nil
}
