// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
)

// Who reads the images of ClusterCatalogs.
const catalogsAuto, catalogsServed, catalogsOwn = "auto", "catalogd", "own"

// certificatesAuto is what has certificates of webhooks come from what the cluster has.
const certificatesAuto = "auto"

// Settings are those of the manager for the front. [DefaultSettings] are their defaults.
type Settings struct {
	// Mode is on or off.
	Mode string
	// Namespaces are those in which OLM's own controller may hold its lease.
	Namespaces []string
	// CacheDir is where contents of catalogs and images of bundles are kept, and CacheSize how many
	// bytes the images may have.
	CacheDir  string
	CacheSize int64
	// Catalogs is who reads the images of catalogs: own, catalogd, or auto for who has installed
	// the definition of ClusterCatalogs.
	Catalogs string
	// CatalogdCADir is a folder with CAs that catalogd is trusted by, besides those of the system.
	CatalogdCADir string
	// CatalogFolders is a folder that catalogs may be read from folders below of, empty for none.
	CatalogFolders string
	// PullCADir is a folder with CAs that registries are trusted by, besides those of the system.
	PullCADir string
	// PullSecrets are Secrets with credentials for registries, as namespace/name.
	PullSecrets []string
	// WebhookCertificates is where webhooks of bundles get their certificates from: cert-manager,
	// service-ca, or auto for what the cluster has.
	WebhookCertificates string
	// RegistriesConf is a file with the mirrors of registries, and ImagePolicy one that says which
	// images may be pulled. Empty is none.
	RegistriesConf, ImagePolicy string
}

// DefaultSettings are the settings without flags.
func DefaultSettings() *Settings {
	return &Settings{Mode: "off", Namespaces: []string{"olmv1-system", "openshift-operator-controller"}, CacheDir: "/var/cache/strata", CacheSize: 1 << 30, Catalogs: catalogsAuto, WebhookCertificates: certificatesAuto}
}

// AddFlags implements [front.Settings].
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.Mode, "clusterextensions", s.Mode, "on reconciles ClusterExtensions, except while OLM's own controller does; off leaves them alone")
	fs.StringVar(&s.CacheDir, "cache-dir", s.CacheDir, "folder for the contents of catalogs and the images of bundles")
	fs.Int64Var(&s.CacheSize, "cache-size", s.CacheSize, "how many bytes the images of bundles may have")
	fs.StringVar(&s.PullCADir, "pull-ca-dir", s.PullCADir, "folder with CAs that registries are trusted by, besides those of the system; read again when it changes")
	fs.StringSliceVar(&s.PullSecrets, "pull-secret", s.PullSecrets, "Secret with credentials for registries, as namespace/name, besides the imagePullSecrets of the ServiceAccounts of the manager and of a ClusterExtension; may be repeated")
	fs.StringVar(&s.RegistriesConf, "registries-conf", s.RegistriesConf, "file in the format of registries.conf with mirrors, and with registries that are blocked or speak HTTP; read again when it changes")
	fs.StringVar(&s.ImagePolicy, "image-policy", s.ImagePolicy, "file that says which images may be pulled; read for each image; without one all may")
	fs.StringVar(&s.WebhookCertificates, "webhook-certificates", s.WebhookCertificates, "where webhooks of bundles get their certificates from: cert-manager, service-ca (of OpenShift), or auto for the first of them that the cluster has; an extension keeps what it has")
	fs.StringVar(&s.Catalogs, "catalogs", s.Catalogs, "own pulls the images of ClusterCatalogs and writes their status; catalogd reads what catalogd serves of them; auto is catalogd where the definition of ClusterCatalogs is not that of Strata")
	fs.StringVar(&s.CatalogdCADir, "catalogd-ca-dir", s.CatalogdCADir, "folder with CAs that catalogd is trusted by, besides those of the system; read again when it changes")
	fs.StringVar(&s.CatalogFolders, "catalog-folders", s.CatalogFolders, "folder below which a ClusterCatalog may name one, with the annotation "+olmv1.AnnotationCatalogFolder+", to be read instead of its image")
	fs.StringSliceVar(&s.Namespaces, "olm-namespaces", s.Namespaces, "namespaces in which OLM's own controller may hold its lease, and keep what it has installed")
}

// Complete implements [front.Settings].
func (s *Settings) Complete(func(name string) string) error {
	if s.Mode != "on" && s.Mode != "off" {
		return fmt.Errorf("--clusterextensions: unknown mode %.50q: use on or off", s.Mode)
	}
	if s.Catalogs != catalogsAuto && s.Catalogs != catalogsOwn && s.Catalogs != catalogsServed {
		return fmt.Errorf("--catalogs: unknown mode %.50q: use auto, catalogd or own", s.Catalogs)
	}
	if s.WebhookCertificates != certificatesAuto && s.certificates() == bundle.NoCertificates {
		return fmt.Errorf("--webhook-certificates: unknown value %.50q: use auto, cert-manager or service-ca", s.WebhookCertificates)
	}
	if s.CatalogFolders != "" && !filepath.IsAbs(s.CatalogFolders) {
		return fmt.Errorf("--catalog-folders: %.100q is not an absolute path", s.CatalogFolders)
	}
	for _, secret := range s.PullSecrets {
		if namespace, name, found := strings.Cut(secret, "/"); !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("--pull-secret: %.100q is not namespace/name", secret)
		}
	}
	if len(s.Namespaces) == 0 {
		return fmt.Errorf("--olm-namespaces is required: name the namespace that OLM would run in, such as olmv1-system")
	}
	for _, namespace := range s.Namespaces {
		if found := validation.IsDNS1123Label(namespace); len(found) > 0 {
			return fmt.Errorf("--olm-namespaces: %.100q is not a namespace: %s", namespace, strings.Join(found, "; "))
		}
	}
	return nil
}

// certificates is what --webhook-certificates is set to, nothing for auto.
func (s *Settings) certificates() bundle.Certificates {
	if set := bundle.Certificates(s.WebhookCertificates); set == bundle.CertManager || set == bundle.ServiceCA {
		return set
	}
	return bundle.NoCertificates
}

// Setup implements [front.Settings].
func (s *Settings) Setup(w front.Wiring) error {
	if s.Mode == "off" {
		return nil
	}
	wakes, o := newSignals(), &observer{cache: w.Manager.GetCache(), now: time.Now}
	watch, err := newLeaseWatch(w, s.Namespaces, func() {
		o.absences.clear()
		wakes.catalogs.Raise(&olmv1.ClusterCatalog{})
		wakes.extensions.Raise(&olmv1.ClusterExtension{})
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	supply, err := newSupply(ctx, w.Manager.GetCache(), w.Manager.GetRESTMapper(), s, wakes)
	if err != nil {
		stop()
		return err
	}
	supply.secrets = &pullSecrets{live: w.Manager.GetAPIReader(), named: s.PullSecrets, self: selfReview(w.Manager.GetClient())}
	if supply.version, err = serverVersion(w.Manager); err != nil {
		stop()
		return err
	}
	err = w.Manager.Add(manager.RunnableFunc(func(running context.Context) error {
		// There may be less room than there was, and extensions may have gone.
		if err := supply.bundles.Collect(running); err != nil {
			log.FromContext(running).Error(err, "Deleting images of bundles that are not needed")
		}
		<-running.Done()
		stop()
		return nil
	}))
	if err != nil {
		stop()
		return fmt.Errorf("setting up the front of ClusterExtensions: %w", err)
	}
	w.Meter.Add(&revisionMetrics{w.Manager.GetCache()})
	w.Meter.Add(newSupplyMetrics(supply))
	o.live, o.notices = w.Manager.GetAPIReader(), notices{recorder: w.Recorder}
	o.resolver, o.bundles, o.imports = supply, supply, &importer{
		supply:   supply,
		Importer: migration.Importer{Live: w.Manager.GetAPIReader(), Client: w.Manager.GetClient(), Defines: supply.defines, Namespaces: s.Namespaces},
	}
	if err := front.Setup(w, &olmv1.ClusterCatalog{}, newCatalogFront(supply, watch.rests)); err != nil {
		return err
	}
	return front.Setup(w, &olmv1.ClusterExtension{}, newFront(o, wakes.extensions, watch.rests))
}
