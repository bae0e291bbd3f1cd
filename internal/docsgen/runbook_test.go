// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/telemetry"
)

// rule is an alert of config/prometheus/alerts.yaml.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../../config/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Spec struct {
			Groups []struct {
				Rules []rule `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range file.Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

var (
	selector = regexp.MustCompile(`\b((?:strata|clusterextensionrevision|controller_runtime|leader_election|workqueue|rest_client)_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
)

// TestAlerts: an expression that names a metric or a label that does not exist never
// fires, and it is not noticed. Whether it parses is for Prometheus to say: here only its
// brackets are counted.
func TestAlerts(t *testing.T) {
	labels := map[string][]string{}
	catalog := telemetry.Catalog()
	for _, f := range controller.Fronts {
		catalog = append(catalog, f.Metrics...)
	}
	for _, d := range catalog {
		labels[d.Name] = d.Labels
	}
	page := runbook(t)
	list := alerts(t)
	for _, alert := range list {
		if strings.Count(alert.Expr, "(") != strings.Count(alert.Expr, ")") || strings.Count(alert.Expr, `"`)%2 != 0 {
			t.Errorf("%s: brackets or quotes do not match: %s", alert.Alert, alert.Expr)
		}
		var known []string
		for _, match := range selector.FindAllStringSubmatch(alert.Expr, -1) {
			name := match[1]
			has, ours := labels[name]
			if !ours && !slices.Contains(others, name) {
				t.Errorf("%s: there is no metric %s", alert.Alert, name)
			}
			known = append(known, has...)
			for _, label := range matcher.FindAllStringSubmatch(match[2], -1) {
				if ours && !slices.Contains(has, label[1]) {
					t.Errorf("%s: %s has no label %s", alert.Alert, name, label[1])
				}
			}
		}
		for _, group := range grouping.FindAllStringSubmatch(alert.Expr, -1) {
			for label := range strings.SplitSeq(group[1], ", ") {
				if !slices.Contains(known, label) && label != "controller" {
					t.Errorf("%s: no metric of it has a label %s", alert.Alert, label)
				}
			}
		}
		if _, err := time.ParseDuration(alert.For); alert.For != "" && err != nil {
			t.Errorf("%s: %v", alert.Alert, err)
		}
		anchor := "docs/guides/runbook.md#" + strings.ToLower(alert.Alert)
		if !strings.HasSuffix(alert.Annotations["runbook_url"], anchor) || !strings.Contains(page, "### "+alert.Alert+"\n") {
			t.Errorf("%s: the runbook has no section for it, or it is not linked", alert.Alert)
		}
		if alert.Annotations["summary"] == "" || alert.Labels["severity"] == "" {
			t.Errorf("%s: no summary or no severity", alert.Alert)
		}
	}
	if len(list) < 11 {
		t.Errorf("%d alerts, want at least 11", len(list))
	}
}

// others are the metrics of controller-runtime that alerts may use. They have samples
// only in a manager that runs.
var others = []string{"controller_runtime_reconcile_total", "controller_runtime_reconcile_panics_total", "leader_election_master_status"}

func runbook(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRunbook: a user who reads a reason in a condition or a warning finds what to do.
func TestRunbook(t *testing.T) {
	page := runbook(t)
	for _, file := range []string{"../../docs/reference/conditions.md", "../../docs/reference/events.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows := regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| (True|False|Unknown|Warning)").FindAllStringSubmatch(string(text), -1)
		if len(rows) < 10 {
			t.Fatalf("%s has %d reasons: the page looks another way", file, len(rows))
		}
		for _, row := range rows {
			if !strings.Contains(page, "\n### "+row[1]+"\n") {
				t.Errorf("%s: the runbook has no section for %s", file, row[1])
			}
		}
	}
}

func TestMetricsPage(t *testing.T) {
	got := metricsPage([]telemetry.Description{{Name: "x_total", Type: "counter", Labels: []string{"a", "b"}, Help: "One | two."}, {Name: "y", Type: "gauge", Help: "Three."}})
	for _, want := range []string{"| `x_total` | counter | `a`, `b` | One \\| two. |\n", "| `y` | gauge |  | Three. |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}
