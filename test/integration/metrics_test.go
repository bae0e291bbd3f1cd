// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/telemetry"
)

// freeAddress is a loopback address that no process listens on. Its port is none of those that
// systems give to a process that asks for any, so that no connection takes it before the manager does.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	var errs []error
	for range 20 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(15000+rand.IntN(15000)))
		listener, err := config.Listen(ctx, "tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// insecure trusts the certificate that the manager has signed itself.
var insecure = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
})

// askForMetrics is the manager's answer to a client with a token.
func askForMetrics(t *testing.T, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+metricsAddress+"/metrics", http.NoBody)
	must(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	planetest.Eventually(t, "the manager to serve metrics", func() (bool, error) {
		response, err := insecure().Do(request)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		status, body = response.StatusCode, string(text)
		return err == nil, err
	})
	return status, body
}

// tokenFor makes a ServiceAccount, and a token for it. With a role it may do what that
// allows.
func tokenFor(t *testing.T, namespace, name, role string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must(t, admin.Create(t.Context(), account))
	if role != "" {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		}
		must(t, admin.Create(t.Context(), binding))
		t.Cleanup(func() { must(t, admin.Delete(context.Background(), binding)) })
		// The manager remembers for a while that a user may not, so the first request must not come too soon.
		planetest.Eventually(t, "the API server to know of the role of "+name, func() (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:                  "system:serviceaccount:" + namespace + ":" + name,
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
			}}
			err := admin.Create(t.Context(), review)
			return err == nil && review.Status.Allowed, err
		})
	}
	request := &authenticationv1.TokenRequest{}
	must(t, admin.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

// scrape is what the manager answers to a client with a token: values by series, as they are
// written.
func scrape(t *testing.T, token string) map[string]float64 {
	t.Helper()
	status, body := askForMetrics(t, token)
	if status != http.StatusOK {
		t.Fatalf("scraping: %d: %s", status, body)
	}
	series := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if strings.HasPrefix(name, "#") || value == "" {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		must(t, err)
		series[name+"}"] = number
	}
	return series
}

// TestMetricsAreAuthenticated: metrics tell what runs in a cluster, and are only for
// whom the cluster's admin has given the right.
func TestMetricsAreAuthenticated(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	cases := map[string]struct {
		reason, token string
		want          int
	}{
		"Anonymous":    {reason: "a client without a token gets nothing", want: http.StatusUnauthorized},
		"Wrong":        {reason: "nor does who lies", token: "forged", want: http.StatusUnauthorized},
		"WithoutRight": {reason: "who is known needs the right, too", token: tokenFor(t, ns, "other", ""), want: http.StatusForbidden},
		"Reader":       {reason: "the shipped role gives it", token: tokenFor(t, ns, "reader", "strata-metrics-reader"), want: http.StatusOK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := askForMetrics(t, tc.token)
			if status != tc.want {
				t.Errorf("%s: answered %d, want %d: %.200s", tc.reason, status, tc.want, body)
			}
			if reported := strings.Contains(body, "strata_build_info"); reported != (tc.want == http.StatusOK) {
				t.Errorf("%s: metrics were reported: %t", tc.reason, reported)
			}
		})
	}
}

// TestMetricsAreDescribed: what the manager serves is what its reference lists.
func TestMetricsAreDescribed(t *testing.T) {
	t.Parallel()
	status, body := askForMetrics(t, tokenFor(t, planetest.Namespace(t, plane), "reader", "strata-metrics-reader"))
	if status != http.StatusOK {
		t.Fatalf("scraping: %d: %s", status, body)
	}
	catalog, described := telemetry.Catalog(), map[string]bool{}
	for _, f := range controller.Fronts {
		catalog = append(catalog, f.Metrics...)
	}
	for _, d := range catalog {
		described[fmt.Sprintf("# TYPE %s %s", d.Name, d.Type)] = true
	}
	found := 0
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "# TYPE strata_") {
			found++
			if !described[line] {
				t.Errorf("%q is not in the catalog", line)
			}
		}
	}
	if found == 0 {
		t.Error("the manager serves no metric of its own")
	}
}
