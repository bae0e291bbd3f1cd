// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// object is a manifest with a body, of a kind written as group/version/kind.
func object(apiVersion, kind, body string) string {
	return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {namespace: app, name: x}, " + body + "}"
}

func TestCheckImmutable(t *testing.T) {
	deployment := func(body string) string { return object("apps/v1", "Deployment", body) }
	stateful := func(body string) string { return object("apps/v1", "StatefulSet", "spec: {"+body+"}") }
	job := func(body string) string { return object("batch/v1", "Job", "spec: {"+body+"}") }
	service := func(body string) string { return object("v1", "Service", "spec: {"+body+"}") }
	claim := func(body string) string { return object("v1", "PersistentVolumeClaim", "spec: {"+body+"}") }
	cases := map[string]struct {
		reason string
		// before is the manifest of the serving revision, live what became of it on the
		// cluster if that is something else, and target the new manifest.
		before, live, target string
		want                 string
	}{
		"Selector":         {reason: "path, and both values", before: deployment("spec: {selector: {matchLabels: {app: a}}}"), target: deployment("spec: {selector: {matchLabels: {app: b}}}"), want: `Immutable: Deployment.apps app/x: .spec.selector.matchLabels.app cannot be changed: it is "a" and would be "b"`},
		"SelectorMore":     {reason: "another label is another selector", before: deployment("spec: {selector: {matchLabels: {app: a}}}"), target: deployment("spec: {selector: {matchLabels: {app: a, tier: b}}}"), want: `Immutable: Deployment.apps app/x: .spec.selector.matchLabels.tier cannot be changed: it is unset and would be "b"`},
		"SelectorDots":     {reason: "a path is one that settings take", before: deployment("spec: {selector: {matchLabels: {a.b/c: a}}}"), target: deployment("spec: {selector: {matchLabels: {a.b/c: b}}}"), want: `Immutable: Deployment.apps app/x: .spec.selector.matchLabels["a.b/c"] cannot be changed: it is "a" and would be "b"`},
		"SelectorLess":     {reason: "and so is one label less", before: deployment("spec: {selector: {matchLabels: {app: a, tier: b}}}"), target: deployment("spec: {selector: {matchLabels: {app: a}}}"), want: `Immutable: Deployment.apps app/x: .spec.selector.matchLabels.tier cannot be changed: it is "b" and would be unset`},
		"LiveDecides":      {reason: "it is already what the target wants", before: deployment("spec: {selector: {matchLabels: {app: a}}}"), live: deployment("spec: {selector: {matchLabels: {app: b}}}"), target: deployment("spec: {selector: {matchLabels: {app: b}}}")},
		"Mutable":          {reason: "replicas may change", before: deployment("spec: {replicas: 1, selector: {matchLabels: {app: a}}}"), target: deployment("spec: {replicas: 2, selector: {matchLabels: {app: a}}}")},
		"DaemonSet":        {reason: "as a Deployment", before: object("apps/v1", "DaemonSet", "spec: {selector: {matchLabels: {app: a}}}"), target: object("apps/v1", "DaemonSet", "spec: {selector: {matchLabels: {app: b}}}"), want: `Immutable: DaemonSet.apps app/x: .spec.selector.matchLabels.app cannot be changed: it is "a" and would be "b"`},
		"ServiceName":      {reason: "of a StatefulSet", before: stateful("serviceName: a"), target: stateful("serviceName: b"), want: `Immutable: StatefulSet.apps app/x: .spec.serviceName cannot be changed: it is "a" and would be "b"`},
		"ClaimTemplates":   {reason: "the API server adds fields, which are no change", before: stateful("volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]"), live: stateful("volumeClaimTemplates: [{kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}}]"), target: stateful("volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 2Gi}}}}]"), want: `Immutable: StatefulSet.apps app/x: .spec.volumeClaimTemplates[0].spec.resources.requests.storage cannot be changed: it is "1Gi" and would be "2Gi"`},
		"QuantitySpelled":  {reason: "1024Mi are 1Gi", before: stateful("volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]"), target: stateful("volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1024Mi}}}}]")},
		"StatefulReplicas": {reason: "template and replicas may change", before: stateful("replicas: 1, template: {metadata: {labels: {a: b}}}"), target: stateful("replicas: 2, template: {metadata: {labels: {a: c}}}")},
		"JobTemplate":      {reason: "a Job runs what it was made for", before: job("template: {spec: {containers: [{name: c, image: a}]}}"), live: job("template: {metadata: {labels: {controller-uid: u}}, spec: {dnsPolicy: ClusterFirst, containers: [{name: c, image: a, imagePullPolicy: Always}]}}"), target: job("template: {spec: {containers: [{name: c, image: b}]}}"), want: `Immutable: Job.batch app/x: .spec.template.spec.containers[name=c].image cannot be changed: it is "a" and would be "b"`},
		"JobZero":          {reason: "a zero value that the API server leaves out is no change", before: job("template: {spec: {containers: [{name: c}]}}"), live: job("template: {spec: {containers: [{name: c}]}}"), target: job("template: {spec: {hostNetwork: false, containers: [{name: c}]}}")},
		"JobContainerLess": {reason: "one container less is another template", before: job("template: {spec: {containers: [{name: c}, {name: d}]}}"), target: job("template: {spec: {containers: [{name: c}]}}"), want: `Immutable: Job.batch app/x: .spec.template.spec.containers[name=d] cannot be changed: it is {"name":"d"} and would be unset`},
		"JobSuspended":     {reason: "one that has not started may be changed", before: job("suspend: true, template: {spec: {priority: 1}}"), target: job("suspend: true, template: {spec: {priority: 2}}")},
		"JobCompletions":   {reason: "how often it has to succeed", before: job("completions: 1"), target: job("completions: 2"), want: "Immutable: Job.batch app/x: .spec.completions cannot be changed: it is 1 and would be 2"},
		"JobIndexed":       {reason: "an indexed one is elastic", before: job("completionMode: Indexed, completions: 1"), target: job("completionMode: Indexed, completions: 2")},
		"ClusterIP":        {reason: "a headless Service stays one", before: service("ports: []"), live: service("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]"), target: service("clusterIP: None"), want: `Immutable: Service app/x: .spec.clusterIP cannot be changed: it is "10.0.0.1" and would be "None"`},
		"ExternalName":     {reason: "it gets an address with its type", before: service("type: ExternalName, externalName: a"), target: service("type: ClusterIP, clusterIP: None")},
		"SecondFamily":     {reason: "a second address may come", before: service("ipFamilies: [IPv4]"), target: service("ipFamilies: [IPv4, IPv6]")},
		"FirstFamily":      {reason: "the first stays", before: service("ipFamilies: [IPv4]"), target: service("ipFamilies: [IPv6, IPv4]"), want: `Immutable: Service app/x: .spec.ipFamilies[0] cannot be changed: it is "IPv4" and would be "IPv6"`},
		"ClaimClass":       {reason: "a volume does not move", before: claim("storageClassName: a"), target: claim("storageClassName: b"), want: `Immutable: PersistentVolumeClaim app/x: .spec.storageClassName cannot be changed: it is "a" and would be "b"`},
		"ClaimGrows":       {reason: "it may grow", before: claim("resources: {requests: {storage: 1Gi}}"), target: claim("resources: {requests: {storage: 2Gi}}")},
		"ClaimShrinks":     {reason: "it may not shrink", before: claim("resources: {requests: {storage: 2Gi}}"), target: claim("resources: {requests: {storage: 1500Mi}}"), want: `Immutable: PersistentVolumeClaim app/x: .spec.resources.requests.storage cannot be changed: it is "2Gi" and would be "1500Mi"`},
		"RoleRef":          {reason: "a binding to another role is another binding", before: object("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {kind: Role, name: a}"), target: object("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {kind: Role, name: b}"), want: `Immutable: RoleBinding.rbac.authorization.k8s.io app/x: .roleRef.name cannot be changed: it is "a" and would be "b"`},
		"ConfigMap":        {reason: "an ordinary one", before: object("v1", "ConfigMap", "data: {a: b}"), target: object("v1", "ConfigMap", "data: {a: c}")},
		"ConfigMapFixed":   {reason: "one that says so", before: object("v1", "ConfigMap", "immutable: true, data: {a: b}"), target: object("v1", "ConfigMap", "immutable: true, data: {a: c}"), want: `Immutable: ConfigMap app/x: .data.a cannot be changed: it is "b" and would be "c"`},
		"SecretFixed":      {reason: "no value of a Secret is reported", before: object("v1", "Secret", "immutable: true, data: {a: Y2FuYXJ5}"), target: object("v1", "Secret", "immutable: true, data: {a: b3RoZXI=}"), want: "Immutable: Secret app/x: .data.a cannot be changed"},
		"SecretText":       {reason: "nor one in plain text", before: object("v1", "Secret", "immutable: true, data: {a: Y2FuYXJ5}"), target: object("v1", "Secret", "immutable: true, stringData: {a: other}"), want: "Immutable: Secret app/x: .stringData.a cannot be changed"},
		"SecretTextSame":   {reason: "the same in another spelling", before: object("v1", "Secret", "immutable: true, data: {a: Y2FuYXJ5}"), target: object("v1", "Secret", "immutable: true, stringData: {a: canary}")},
		"SecretType":       {reason: "the type stays", before: object("v1", "Secret", "type: a/b"), target: object("v1", "Secret", "type: c/d"), want: "Immutable: Secret app/x: .type cannot be changed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			before := revision(t, 1, c.before)
			live := before
			if c.live != "" {
				live = revision(t, 1, c.live)
			}
			before.Succeeded, before.Records = true, checked.inPlace(t, live).Records
			want := []string{c.want}
			if c.want == "" {
				want = nil
			}
			in := Input{Package: pkg(""), Target: revision(t, 2, c.target), Serving: []revisions.Revision{before}}
			if diff := cmp.Diff(want, checked.found(t, in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			in.Target.Phases[0].Objects[0].Replace = true
			if got := checked.found(t, in); got != nil {
				t.Errorf("an object that opts in is found: %v", got)
			}
			checked.requests(t)
		})
	}
}

// TestCheckImmutable_Unmanaged leaves alone what is not written.
func TestCheckImmutable_Unmanaged(t *testing.T) {
	checked := newChecked()
	before := checked.inPlace(t, revision(t, 1, object("v1", "Service", "spec: {clusterIP: 10.0.0.1}")))
	target := revision(t, 2, object("v1", "Service", "spec: {clusterIP: None}"))
	path, err := revisions.ParseFieldPath(".spec.clusterIP")
	if err != nil {
		t.Fatal(err)
	}
	target.Phases[0].Objects[0].Unmanaged = []revisions.FieldPath{path}
	if got := checked.found(t, Input{Package: pkg(""), Target: target, Serving: []revisions.Revision{before}}); got != nil {
		t.Errorf("found %v", got)
	}
}

// TestCheckImmutable_Gone finds nothing about an object that will be created.
func TestCheckImmutable_Gone(t *testing.T) {
	before := revision(t, 1, object("apps/v1", "Deployment", "spec: {selector: {matchLabels: {app: a}}}"))
	before.Succeeded = true
	target := revision(t, 2, object("apps/v1", "Deployment", "spec: {selector: {matchLabels: {app: b}}}"))
	if got := newChecked().found(t, Input{Package: pkg(""), Target: target, Serving: []revisions.Revision{before}}); got != nil {
		t.Errorf("found %v", got)
	}
}

// TestCheckImmutable_Newest compares with what the newest revision holds the object
// to, though an older one is still active.
func TestCheckImmutable_Newest(t *testing.T) {
	checked := newChecked()
	older := checked.inPlace(t, revision(t, 1, object("batch/v1", "Job", "spec: {completions: 2}")))
	newer := revision(t, 2, object("batch/v1", "Job", "spec: {completions: 3}"))
	newer.Records = older.Records
	target := revision(t, 3, object("batch/v1", "Job", "spec: {completions: 3}"))
	in := Input{Package: pkg(""), Target: target, Serving: []revisions.Revision{newer, older}}
	if got := checked.found(t, in); got != nil {
		t.Errorf("found %v in what does not change", got)
	}
	in.Serving = []revisions.Revision{older, newer}
	if got := checked.found(t, in); len(got) != 1 {
		t.Errorf("found %v in a change", got)
	}
}

// TestCheckImmutable_Cost reads only what may be refused, and nothing in a first
// rollout.
func TestCheckImmutable_Cost(t *testing.T) {
	checked := newChecked()
	first := revision(t, 1, object("apps/v1", "Deployment", "spec: {replicas: 1, selector: {matchLabels: {app: a}}}"), settings)
	checked.found(t, Input{Package: pkg(""), Target: first})
	first = checked.inPlace(t, first)
	second := revision(t, 2, object("apps/v1", "Deployment", "spec: {replicas: 2, selector: {matchLabels: {app: a}}}"), settings)
	checked.found(t, Input{Package: pkg(""), Target: second, Serving: []revisions.Revision{first}})
	if got := checked.requests(t); len(got) > 0 {
		t.Errorf("requests without need: %v", got)
	}
}

// TestCheckDryRun tries out what only the API server can judge.
func TestCheckDryRun(t *testing.T) {
	const (
		changed = "{apiVersion: example.org/v1, kind: Widget, metadata: {namespace: app, name: w}, spec: {size: 2}}"
		webhook = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: app, name: webhook}, spec: {replicas: 2}}"
		refused = "Admission: Widget.example.org app/w would be refused: "
	)
	cases := map[string]struct {
		reason  string
		target  []string
		code    int32
		message string
		// want is the start of the one finding, and tried says whether it was tried out.
		want  string
		tried bool
		fails bool
	}{
		"Unchanged":      {reason: "nothing is to be tried", target: []string{widget, definition}, code: 422},
		"Taken":          {reason: "it would be written", target: []string{changed, definition}, tried: true},
		"Refused":        {reason: "a rule of the definition", target: []string{changed, definition}, code: 422, message: "size is immutable", want: refused, tried: true},
		"Webhook":        {reason: "who refuses stays as it is", target: []string{changed, definition}, code: 403, message: "admission webhook \"w\" denied the request", want: refused, tried: true},
		"WebhookChanges": {reason: "the revision may bring a webhook that takes it", target: []string{changed, definition, webhook}, code: 403, message: "admission webhook \"w\" denied the request", tried: true},
		"RuleStays":      {reason: "a rule does not change with a program", target: []string{changed, definition, webhook}, code: 422, message: "size is immutable", want: refused, tried: true},
		"Redefined":      {reason: "the new definition may take it", target: []string{changed, strings.Replace(definition, "served: true, ", "served: true, schema: {}, ", 1)}, code: 422},
		"Forbidden":      {reason: "the right is missing", target: []string{changed, definition}, code: 403, message: "no", want: "Permission: the manager may not apply Widget.example.org app/w: ", tried: true},
		"WebhookDown":    {reason: "the write will tell", target: []string{changed, definition}, code: 500, tried: true},
		"Down":           {reason: "nothing is known", target: []string{changed, definition}, code: 503, tried: true, fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			before := checked.inPlace(t, revision(t, 1, definition, widget))
			if c.code != 0 {
				checked.cluster.Fail(revisionstest.Fault{Client: "identity", Verb: revisionstest.VerbApply, Code: c.code, Message: c.message})
			}
			err := checked.Check(t.Context(), Input{Package: pkg(""), Target: revision(t, 2, c.target...), Serving: []revisions.Revision{before}})
			var held *Error
			if c.fails != (err != nil && !asError(err, &held)) {
				t.Fatalf("%s: got %v", c.reason, err)
			}
			if !c.fails {
				got := foundIn(t, err)
				if len(got) > 1 || (len(got) == 1) != (c.want != "") || len(got) == 1 && !strings.HasPrefix(got[0], c.want) {
					t.Errorf("%s: found %v, want %s", c.reason, got, c.want)
				}
			}
			tried := strings.Contains(strings.Join(checked.requests(t), " "), "apply Widget.example.org app/w")
			if tried != c.tried {
				t.Errorf("%s: tried out: %v", c.reason, tried)
			}
		})
	}
}

// TestCheckDryRun_Replace tries nothing out that is deleted and created again.
func TestCheckDryRun_Replace(t *testing.T) {
	checked := newChecked()
	before := checked.inPlace(t, revision(t, 1, definition, widget))
	target := revision(t, 2, definition, strings.Replace(widget, "size: 1", "size: 2", 1))
	target.Phases[0].Objects[1].Replace = true
	checked.found(t, Input{Package: pkg(""), Target: target, Serving: []revisions.Revision{before}})
	if got := checked.requests(t); len(got) > 0 {
		t.Errorf("tried out: %v", got)
	}
}

// TestRequest is applied as the engine does it, so that nothing else is judged.
func TestRequest(t *testing.T) {
	target := revision(t, 2, "{apiVersion: example.org/v1, kind: Widget, metadata: {namespace: app, name: w, creationTimestamp: null, labels: {a: b}}, spec: {size: 2, color: red}, status: {x: y}}")
	path, err := revisions.ParseFieldPath(".spec.color")
	if err != nil {
		t.Fatal(err)
	}
	target.Phases[0].Objects[0].Unmanaged = []revisions.FieldPath{path}
	changes := changesOf(target, nil)
	changes[0].uid = "u"
	got := changes[0].request(Input{Package: pkg("")})
	want := manifest(t, "{apiVersion: example.org/v1, kind: Widget, metadata: {namespace: app, name: w, uid: u, labels: {a: b, strata.run/package: demo}}, spec: {size: 2}}")
	owner := revisions.Owner{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "demo", UID: "demo-uid"}
	want.SetOwnerReferences([]metav1.OwnerReference{owner.Reference()})
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, kept := at(target.Phases[0].Objects[0].Manifest.Object, []string{"spec", "color"}); !kept {
		t.Error("the manifest of the revision was changed")
	}
}
