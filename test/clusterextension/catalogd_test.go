// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// TestCatalogd has the real catalogd serve a catalog, which the front reads with TLS, with its updates,
// and goes on with while catalogd is away. It needs a mount namespace, which not every machine grants: so
// it is a target of its own, as a part of `make presubmit`, and not one of `make test`.
func TestCatalogd(t *testing.T) {
	binary, err := filepath.Abs(filepath.Join("..", "..", "bin", "catalogd"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("%s is missing: make test-catalogd builds it and runs this test, which needs the right to mount", binary)
	}
	server := httptest.NewTLSServer(registry.New())
	t.Cleanup(server.Close)
	first, second := pushConfigMap(t, server, "served", "1.0.0"), pushConfigMap(t, server, "served", "1.1.0")
	later := packageBlobs("later", pushConfigMap(t, server, "later", "1.0.0"))
	createFrom(t, "served", pushImage(t, server, "served-catalog:v1", catalogLabels, map[string]string{"configs/c.json": packageBlobs("served", first) + later}))
	stop := startCatalogd(t, server, binary)

	options, authorities := setup.ManagerOptions(), t.TempDir()
	if err := setup.WriteCA(server, authorities); err != nil {
		t.Fatal(err)
	}
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+t.TempDir(), "--pull-ca-dir="+authorities, "--catalogd-ca-dir="+authorities, "--catalogs=catalogd")
	start(t, options)
	createOf(t, "served", "served")
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "served"}}
	becomes(t, ce, "1.0.0")
	cc := &olmv1.ClusterCatalog{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "served"}, cc); err != nil || cc.Status.URLs == nil || !meta.IsStatusConditionTrue(cc.Status.Conditions, olmv1.TypeServing) {
		t.Fatalf("the status is not that of catalogd: %+v, %v", cc.Status, err)
	}
	wantUnchanged(t, server.Client(), cc.Status.URLs.Base)
	changeCatalog(t, "served", pushImage(t, server, "served-catalog:v2", catalogLabels, map[string]string{"configs/c.json": packageBlobs("served", first, second) + later}))
	becomes(t, ce, "1.1.0")

	stop()
	createOf(t, "later", "served")
	becomes(t, &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, "1.0.0")
}

// wantUnchanged asks catalogd for what is known already.
func wantUnchanged(t *testing.T, client *http.Client, base string) {
	t.Helper()
	from := catalog.Server{Client: client, Base: base}
	read := func(source catalog.Source) error {
		return source(t.Context(), func(catalog.Blob) error { return nil })
	}
	known, err := from.Fetch(t.Context(), catalog.Version{}, "", read)
	if err != nil || known.Modified == "" {
		t.Fatalf("%+v, %v", known, err)
	}
	if _, err := from.Fetch(t.Context(), known, "", read); !errors.Is(err, catalog.ErrUnchanged) {
		t.Errorf("catalogd sends again what is known: %v", err)
	}
}

// startCatalogd runs catalogd with the certificate of a server, and returns what ends it. It reads the
// name of its ServiceAccount from a fixed place, which it has for itself in a mount namespace.
func startCatalogd(t *testing.T, server *httptest.Server, binary string) (stop func()) {
	t.Helper()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"sub":"system:serviceaccount:olmv1-system:catalogd"}`)) + "."
	err = errors.Join(
		os.Mkdir(at("authorities"), 0o700), setup.WriteCA(server, at("authorities")), setup.WriteCA(server, folder), os.WriteFile(at("tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
		os.WriteFile(at("token"), []byte(token), 0o600), cluster.WriteKubeconfig(at("kubeconfig"), "catalogd", "system:masters"),
	)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	command := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-ec", `
mount -t tmpfs tmpfs /var/run
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
cp "$1" /var/run/secrets/kubernetes.io/serviceaccount/token
shift
exec "$@"`, "sh", at("token"), binary, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--system-namespace=olmv1-system",
		"--catalogs-server-addr="+address, "--external-address="+address, fmt.Sprintf("--webhook-server-port=%d", freePort(t)),
		"--cache-dir="+at("cache"), "--pull-cas-dir="+at("authorities"), "--tls-cert="+at("ca.crt"), "--tls-key="+at("tls.key"))
	log, err := os.Create(cluster.Log("catalogd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), "KUBECONFIG="+at("kubeconfig")), log, log
	command.Cancel, command.WaitDelay = func() error { return command.Process.Signal(syscall.SIGTERM) }, time.Minute
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	planetest.Eventually(t, "catalogd answers", func() (bool, error) {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(cluster.Log("catalogd"))
			t.Fatalf("catalogd has ended: %v\n%s", err, said)
		default:
		}
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err == nil, err
	})
	return func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-ended
	}
}

// freePort is one that no program listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port
}
