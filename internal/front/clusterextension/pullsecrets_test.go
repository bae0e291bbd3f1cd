// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/status/statustest"
)

const password = "correct-horse"

// secretsOf is a cluster with a pull secret for a host, and ServiceAccounts that name it.
func secretsOf(t *testing.T, host string, data map[string][]byte, accounts ...string) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if data == nil {
		data = map[string][]byte{".dockerconfigjson": []byte(`{"auths":{"` + host + `":{"username":"ann","password":"` + password + `"}}}`)}
	}
	objects := []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pull"}, Data: data}}
	for _, account := range accounts {
		objects = append(objects, &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: account}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// protect has a registry ask for the password, but for requests of the test itself.
func protect(i *images) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:"+password))
	i.serve = func(answer http.ResponseWriter, request *http.Request) bool {
		if request.Header.Get("Authorization") == want {
			return false
		}
		answer.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		answer.WriteHeader(http.StatusUnauthorized)
		return true
	}
}

// TestPullSecrets finds credentials where they may be, and neither writes them to disk nor into a status.
func TestPullSecrets(t *testing.T) {
	i := newImages(t)
	image := i.push("p:v1", nil, map[string]string{
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.mediatype.v1: plain+v0}\n",
		"manifests/config.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
	})
	from := i.catalogOf("catalog:v1", image)
	protect(i)
	for _, test := range []struct {
		name  string
		named []string
		self  string
		data  map[string][]byte
		// catalog and bundle are the beginnings of Progressing.
		catalog, bundle string
	}{
		{name: "Flag", named: []string{"default/pull"}, catalog: "True/Succeeded: ", bundle: "True/RollingOut: Revision 1"},
		{name: "Manager", self: "default/manager", catalog: "True/Succeeded: ", bundle: "True/RollingOut: Revision 1"},
		{name: "None", catalog: "True/Retrying: image " + from + ": the registry " + i.host() + " does not accept the credentials"},
		{name: "OtherAccount", self: "default/other", catalog: "True/Retrying: image " + from},
		{
			name: "Broken", named: []string{"default/pull"}, data: map[string][]byte{"password": []byte(password)},
			catalog: "True/Retrying: image " + from + ": the registry " + i.host() + " does not accept the credentials that the pull secrets have for it, or they have none (401); pull secret default/pull does not count: it has neither the key",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := i.settings()
			l := newSupplied(t, s)
			live := secretsOf(t, i.host(), test.data, "manager", "runner")
			l.supply.secrets = &pullSecrets{live: live, named: test.named, self: func(context.Context) (string, error) { return test.self, nil }}
			l.createCatalog(from)
			l.create()
			cc, _ := l.catalogRead()
			wantCatalog(t, cc, "", test.catalog)
			if test.bundle != "" {
				l.pass()
				l.woken()
				for !strings.HasPrefix(statustest.Text(l.pass().Status.Conditions, olmv1.TypeProgressing), test.bundle) {
					next(t, l.signals.extensions)
				}
			}
			filesWithout(t, s.CacheDir, password)
			if text := statustest.Text(cc.Status.Conditions, olmv1.TypeProgressing); strings.Contains(text, password) {
				t.Errorf("the status has the password: %s", text)
			}
		})
	}
}

// The imagePullSecrets of an extension's ServiceAccount count for its bundle.
func TestPullSecrets_OfExtension(t *testing.T) {
	p := &pullSecrets{live: secretsOf(t, "r.example", nil, "runner"), self: func(context.Context) (string, error) { return "", nil }}
	ce := extension()
	ce.Spec.Namespace, ce.Spec.ServiceAccount = "default", &olmv1.ServiceAccountReference{Name: "runner"}
	if found, problems := p.of(ce)(t.Context()); len(found) != 1 || len(problems) > 0 {
		t.Errorf("%d credentials, problems %q", len(found), problems)
	}
	if found, _ := p.of(nil)(t.Context()); len(found) > 0 {
		t.Errorf("catalogs get %d credentials of an extension", len(found))
	}
	ce.Spec.ServiceAccount.Name = "absent"
	if _, problems := p.of(ce)(t.Context()); len(problems) != 1 || !strings.Contains(problems[0], "ServiceAccount default/absent") {
		t.Errorf("problems %q", problems)
	}
}

// filesWithout fails when a file below a folder has a text.
func filesWithout(t *testing.T, folder, text string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), text) {
			t.Errorf("%s has %q", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An image policy and a file of mirrors count for catalogs and bundles, and wrong ones end the start.
func TestSettings_PullFiles(t *testing.T) {
	i := newImages(t)
	from := i.catalogOf("catalog:v1", "r.example/p:v1")
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := i.settings()
	s.ImagePolicy = write("default: reject\n")
	l := newSupplied(t, s)
	l.createCatalog(from)
	cc, _ := l.catalogRead()
	wantCatalog(t, cc, "False/Unavailable: ", "True/Retrying: image "+from+": the image policy "+s.ImagePolicy+" rejects it, by its default")

	s = i.settings()
	s.RegistriesConf = write("[[registry]]\nprefix = \"mirrored.example\"\nlocation = \"" + i.host() + "\"\n")
	l = newSupplied(t, s)
	l.createCatalog("mirrored.example/catalog:v1")
	cc, _ = l.catalogRead()
	wantCatalog(t, cc, "True/Available: ", "True/Succeeded: ")

	for _, change := range []func(*Settings){
		func(s *Settings) { s.ImagePolicy = write("default: perhaps\n") },
		func(s *Settings) { s.RegistriesConf = write("[[") },
	} {
		s := i.settings()
		change(s)
		if _, err := newSupply(t.Context(), l.API, nil, s, newSignals()); err == nil {
			t.Error("a wrong file is accepted")
		}
	}
}

// reviewed answers who the manager is.
type reviewed struct {
	client.Writer

	asked int
	err   error
}

func (r *reviewed) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	r.asked++
	if review, ok := object.(*authenticationv1.SelfSubjectReview); ok {
		review.Status.UserInfo.Username = "system:serviceaccount:strata-system:strata-manager"
	}
	return r.err
}

// Who the manager is does not change, so that a thousand pulls ask once.
func TestSelfReview(t *testing.T) {
	r := &reviewed{err: context.DeadlineExceeded}
	self := selfReview(r)
	if _, err := self(t.Context()); err == nil {
		t.Error("the failure is lost")
	}
	r.err = nil
	for range 3 {
		if name, err := self(t.Context()); err != nil || name != "strata-system/strata-manager" {
			t.Errorf("%q, %v", name, err)
		}
	}
	if r.asked != 2 {
		t.Errorf("asked %d times, and once without an answer", r.asked)
	}
}
