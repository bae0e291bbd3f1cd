// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

var (
	made    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hour    = time.Hour
	changed = Change{Value: "b", Since: made.Add(hour)}
)

const image = "example.org/proxyv2:1.31.0-distroless"

// pod is an injected pod that is up to date.
func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "cart-0", CreationTimestamp: metav1.NewTime(made),
			Labels: map[string]string{}, Annotations: map[string]string{AnnotationInjected: `{"revision":"default"}`},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: validateCNI}, {Name: proxyContainer, Image: image, Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("192Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
			}}},
			Containers: []corev1.Container{{Name: "app", Image: "example.org/app:1"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func in(namespace, key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace, p.Labels[key] = namespace, value }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func proxy(change func(*corev1.Container)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { change(&p.Spec.InitContainers[1]) }
}

// without takes the sidecar away.
func without(p *corev1.Pod) {
	delete(p.Annotations, AnnotationInjected)
	p.Spec.InitContainers = nil
}

func amounts(cpu, memory, cpuLimit, memoryLimit string) func(*corev1.Pod) {
	return proxy(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpuLimit), corev1.ResourceMemory: resource.MustParse(memoryLimit)},
		}
	})
}

func target() *Target {
	return &Target{
		ProxyImage: image, Amounts: Amounts{CPURequest: 10, MemoryRequest: 192 << 20, CPULimit: 1000, MemoryLimit: 1 << 30},
		CNI: true, StatusPort: "15020",
	}
}

func TestCauses(t *testing.T) {
	gateway := in("istio-system", "app", "istio-ingressgateway")
	older := func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(made.Add(2 * hour)) }
	labelled := Namespace{Inject: InjectAll, Since: made.Add(hour)}
	left := func(inject Injection) Namespace { return Namespace{Inject: inject, Left: made.Add(hour)} }
	egress := in("istio-system", "app", "istio-egressgateway")
	withEgress := func(t *Target) { t.Egress = true }
	proxyOnly := func(p *corev1.Pod) {
		p.Spec.InitContainers = nil
		p.Spec.Containers[0].Name, p.Spec.Containers[0].Image = proxyContainer, image
		p.Spec.Containers[0].Resources = pod().Spec.InitContainers[1].Resources
	}
	merge := func(t *Target) { t.PrometheusMerge = true }
	tests := map[string]struct {
		reason    string
		change    []func(*corev1.Pod)
		target    func(*Target)
		changes   Changes
		namespace Namespace
		want      []Cause
	}{
		"UpToDate":          {reason: "a pod that is as it should be stays"},
		"OtherImage":        {reason: "the version of Istio has changed", change: list(proxy(func(c *corev1.Container) { c.Image = "example.org/proxyv2:1.30.0-distroless" })), want: causes(CauseProxyImage)},
		"OtherRegistry":     {reason: "the whole reference counts", change: list(proxy(func(c *corev1.Container) { c.Image = "mirror/proxyv2:1.31.0-distroless" })), want: causes(CauseProxyImage)},
		"CustomImage":       {reason: "a pod that has chosen its image and what it asks for keeps both", change: list(proxy(func(c *corev1.Container) { c.Image = "own:1" }), amounts("1", "1", "1", "1"), annotated(annotationImage, "own:1"))},
		"OtherMesh":         {reason: "the sidecars of another istiod are not ours", change: list(proxy(func(c *corev1.Container) { c.Image = "old" }), annotated(AnnotationInjected, `{"revision":"canary"}`))},
		"OldStatus":         {reason: "old injectors wrote no revision", change: list(proxy(func(c *corev1.Container) { c.Image = "old" }), annotated(AnnotationInjected, "not json")), want: causes(CauseProxyImage)},
		"ClassicSidecar":    {reason: "a sidecar may be an ordinary container", change: list(func(p *corev1.Pod) { p.Spec.InitContainers = nil; p.Spec.Containers[0].Name = proxyContainer }), want: causes(CauseProxyImage, CauseProxyResources)},
		"OtherAmounts":      {reason: "what proxies ask for has changed", change: list(amounts("20m", "192Mi", "1", "1Gi")), want: causes(CauseProxyResources)},
		"SameAmounts":       {reason: "the same amounts may be written in another way", change: list(amounts("0.01", "201326592", "1000m", "1024Mi"))},
		"OwnAmounts":        {reason: "annotations take the place of all amounts", change: list(amounts("20m", "0", "20m", "0"), annotated("sidecar.istio.io/proxyCPULimit", "20m"))},
		"OwnAmountsUnmet":   {reason: "a pod is outdated in what it has chosen itself", change: list(annotated("sidecar.istio.io/proxyCPU", "20m")), want: causes(CauseProxyResources)},
		"OwnAmountsBroken":  {reason: "what Istio cannot read either never restarts anything", change: list(annotated("sidecar.istio.io/proxyCPU", "much"))},
		"MergeOn":           {reason: "metrics are to be merged, and are not", target: merge, want: causes(CausePrometheusMerge)},
		"MergeOnAlready":    {reason: "metrics are merged", target: merge, change: list(annotated(annotationScrapePath, mergedPath), annotated(annotationScrapePort, "15020"))},
		"MergeOnRefused":    {reason: "a pod can refuse to have its metrics merged", target: merge, change: list(annotated(annotationMergeMetrics, "false"))},
		"MergeOtherPort":    {reason: "the port counts", target: merge, change: list(annotated(annotationScrapePath, mergedPath), annotated(annotationScrapePort, "1")), want: causes(CausePrometheusMerge)},
		"MergeOff":          {reason: "metrics are merged, and are not to be", change: list(annotated(annotationScrapePath, mergedPath)), want: causes(CausePrometheusMerge)},
		"NodeAgentNew":      {reason: "the node agent was switched on", change: list(func(p *corev1.Pod) { p.Spec.InitContainers[0].Name = initContainer }), want: causes(CauseCNI)},
		"NodeAgentGone":     {reason: "the node agent was switched off", target: func(t *Target) { t.CNI = false }, want: causes(CauseCNI)},
		"DNSProxying":       {reason: "a pod from before a change runs without it", changes: Changes{CauseDNSProxying: changed}, want: causes(CauseDNSProxying)},
		"DNSProxyingNew":    {reason: "a pod from after a change runs with it", changes: Changes{CauseDNSProxying: changed}, change: list(older)},
		"SameSecond":        {reason: "a pod from the second of the change may run without it", changes: Changes{CauseDNSProxying: {Value: "b", Since: made}}, want: causes(CauseDNSProxying)},
		"NeverChanged":      {reason: "what was not seen to change restarts nothing", changes: Changes{CauseDNSProxying: {Value: "b"}}},
		"StatsMatcher":      {reason: "it counts for sidecars", changes: Changes{CauseStatsMatcher: changed}, want: causes(CauseStatsMatcher)},
		"GatewayMatcher":    {reason: "it counts for the gateway", change: list(gateway), changes: Changes{CauseStatsMatcher: changed}, want: causes(CauseStatsMatcher)},
		"GatewayOnly":       {reason: "settings of the gateway leave sidecars alone", changes: Changes{CauseTrustedProxies: changed, CauseClientCert: changed}},
		"Gateway":           {reason: "settings of the gateway", change: list(gateway), changes: Changes{CauseTrustedProxies: changed, CauseClientCert: changed, CauseDNSProxying: changed}, want: causes(CauseTrustedProxies, CauseClientCert)},
		"GatewayImage":      {reason: "the gateway's image is not a matter of restarts", change: list(gateway, proxy(func(c *corev1.Container) { c.Image = "old" }))},
		"PoliciesGateway":   {reason: "network policies count for the gateway", change: list(gateway), changes: Changes{CauseNetworkPolicies: changed}, want: causes(CauseNetworkPolicies)},
		"PoliciesIstiod":    {reason: "and for the control plane", change: list(in("istio-system", "app", "istiod")), changes: Changes{CauseNetworkPolicies: changed}, want: causes(CauseNetworkPolicies)},
		"PoliciesAgent":     {reason: "and for the node agent", change: list(in("istio-system", "k8s-app", "istio-cni-node")), changes: Changes{CauseNetworkPolicies: changed}, want: causes(CauseNetworkPolicies)},
		"PoliciesSidecars":  {reason: "and for no other workload", changes: Changes{CauseNetworkPolicies: changed}},
		"ComponentSettings": {reason: "no other setting restarts the control plane", change: list(in("istio-system", "app", "istiod")), changes: Changes{CauseStatsMatcher: changed, CauseTrustedProxies: changed}},
		"Stranger":          {reason: "other pods of the namespace are left alone", change: list(in("istio-system", "app", "x"), proxy(func(c *corev1.Container) { c.Image = "old" }))},
		"Updated":           {reason: "a resource for all proxies", target: func(t *Target) { t.Updated = made.Add(hour) }, want: causes(CauseUpdated)},
		"UpdatedBefore":     {reason: "a pod from afterwards has taken it in", target: func(t *Target) { t.Updated = made.Add(-hour) }},
		"UpdatedGateway":    {reason: "a resource for the gateway leaves sidecars alone", target: func(t *Target) { t.GatewayUpdated = made.Add(hour) }},
		"GatewayUpdated":    {reason: "both kinds count for the gateway", change: list(gateway), target: func(t *Target) { t.GatewayUpdated, t.Updated = made.Add(hour), made.Add(hour) }, want: causes(CauseUpdated, CauseGatewayUpdated)},
		"Join":              {reason: "its namespace was labelled after it was made", change: list(without), namespace: labelled, want: causes(CauseJoin)},
		"JoinRefused":       {reason: "a pod can refuse", change: list(without, in("shop", labelInject, "false")), namespace: labelled},
		"JoinRefusedOld":    {reason: "also in the old way", change: list(without, annotated(labelInject, "false")), namespace: labelled},
		"JoinHostNetwork":   {reason: "a pod in the node's network gets none", change: list(without, func(p *corev1.Pod) { p.Spec.HostNetwork = true }), namespace: labelled},
		"JoinOther":         {reason: "a pod can want another istiod", change: list(without, in("shop", LabelRevision, "canary")), namespace: labelled},
		"JoinWish":          {reason: "a pod can ask for one by itself", change: list(without, in("shop", labelInject, "true")), want: causes(CauseJoin)},
		"JoinWishRefused":   {reason: "its namespace can refuse", change: list(without, in("shop", labelInject, "true")), namespace: Namespace{Inject: InjectNone}},
		"JoinRevision":      {reason: "a pod can ask for the mesh by its revision", change: list(without, in("shop", LabelRevision, "default")), want: causes(CauseJoin)},
		"JoinBoth":          {reason: "and for another one, whatever else it asks for", change: list(without, in("shop", labelInject, "true"), in("shop", LabelRevision, "canary"))},
		"Leave":             {reason: "its namespace has no label any more", namespace: left(InjectOwn), want: causes(CauseLeave)},
		"LeaveDisabled":     {reason: "or says so", namespace: left(InjectNone), want: causes(CauseLeave)},
		"LeavePod":          {reason: "or the pod does", change: list(in("shop", labelInject, "false")), namespace: left(InjectAll), want: causes(CauseLeave)},
		"Stay":              {reason: "its namespace is labelled", namespace: left(InjectAll)},
		"StayWish":          {reason: "a pod can stay by itself", change: list(in("shop", labelInject, "true")), namespace: left(InjectOwn)},
		"StayRevision":      {reason: "also by the revision", change: list(in("shop", LabelRevision, "default")), namespace: left(InjectOwn)},
		"StayTag":           {reason: "another name may stand for the same mesh", change: list(in("shop", LabelRevision, "prod")), namespace: left(InjectOwn)},
		"StayOther":         {reason: "so may that of the namespace", namespace: left(InjectOther)},
		"LeaveOther":        {reason: "sidecars of another istiod are not ours", change: list(annotated(AnnotationInjected, `{"revision":"canary"}`)), namespace: left(InjectNone)},
		"LeaveUnknown":      {reason: "nor are those that tell nothing", change: list(annotated(AnnotationInjected, `{}`)), namespace: left(InjectNone)},
		"LeaveGateway":      {reason: "a gateway is nothing without its proxy", change: list(annotated("inject.istio.io/templates", "gateway")), namespace: left(InjectNone)},
		"LeaveProxyOnly":    {reason: "nor is a pod of one container", change: list(proxyOnly), namespace: left(InjectNone)},
		"Egress":            {reason: "the egress gateway has the settings of gateways", change: list(egress), target: withEgress, changes: Changes{CauseTrustedProxies: changed, CauseClientCert: changed, CauseStatsMatcher: changed, CauseNetworkPolicies: changed, CauseDNSProxying: changed}, want: causes(CauseTrustedProxies, CauseClientCert, CauseStatsMatcher, CauseNetworkPolicies)},
		"EgressUpdated":     {reason: "and not what the ingress gateway alone takes in", change: list(egress), target: func(t *Target) { withEgress(t); t.GatewayUpdated, t.Updated = made.Add(hour), made.Add(hour) }, want: causes(CauseUpdated)},
		"EgressNotOurs":     {reason: "where the mesh has none it is another owner's", change: list(egress), changes: Changes{CauseTrustedProxies: changed}, target: func(t *Target) { t.Updated = made.Add(hour) }},
		"NoSidecar":         {reason: "a pod outside of the mesh is left alone", change: list(without), changes: Changes{CauseDNSProxying: changed, CauseStatsMatcher: changed}, target: func(t *Target) { t.Updated, t.CNI = made.Add(hour), false; merge(t) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, want := PodOf(pod(tc.change...)), target()
			if tc.target != nil {
				tc.target(want)
			}
			got := Causes(p, want, tc.changes, tc.namespace)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func causes(all ...Cause) []Cause { return all }

func list(all ...func(*corev1.Pod)) []func(*corev1.Pod) { return all }

// What a mesh that is gone has left behind.
func TestGoneCauses(t *testing.T) {
	tests := map[string]struct {
		reason string
		change []func(*corev1.Pod)
		want   string
	}{
		"Sidecar":  {reason: "a sidecar of the mesh", want: "m@1767326645"},
		"Module":   {reason: "of Kyma, too", change: list(in("kyma-system", "app", "x")), want: "m@1767326645"},
		"None":     {reason: "there is none", change: list(without)},
		"Canary":   {reason: "another istiod's", change: list(annotated(AnnotationInjected, `{"revision":"canary"}`))},
		"Unknown":  {reason: "it tells nothing", change: list(annotated(AnnotationInjected, `{}`))},
		"Later":    {reason: "it came after the end", change: list(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(made.Add(2 * hour)) })},
		"Gateway":  {reason: "the ingress gateway goes with the mesh", change: list(in("istio-system", "app", "istio-ingressgateway"))},
		"Stranger": {reason: "other pods beside it are left alone", change: list(in("istio-system", "app", "x"))},
		"UsersOwn": {reason: "a gateway of a user is nothing without its proxy", change: list(annotated("inject.istio.io/templates", "grpc,gateway"))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := PodOf(pod(tc.change...))
			if got := GoneCauses(p, made.Add(hour))[CauseLeave]; got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A mesh that is installed anew is another one for pods of namespaces that were labelled before.
func TestCauses_JoinEpoch(t *testing.T) {
	p, mesh, n := PodOf(pod(without)), target(), Namespace{Inject: InjectAll, Since: made}
	first := Causes(p, mesh, nil, n)[CauseJoin]
	mesh.Since = made.Add(hour)
	if again := Causes(p, mesh, nil, n)[CauseJoin]; first == "" || again == "" || first == again {
		t.Errorf("the change was %q, and is %q with another mesh", first, again)
	}
}

// What namespaces have left is bounded, and outlives a process.
func TestNamespaceTimes(t *testing.T) {
	d := namespaceTimes{}
	for i := range maxLeft + 1 {
		if name := fmt.Sprint(i); d.add(name, made, maxLeft) != (i < maxLeft) {
			t.Errorf("namespace %d of at most %d", i+1, maxLeft)
		}
	}
	if !d.add("0", made.Add(hour), maxLeft) {
		t.Error("one that is known already does not fit")
	}
	if diff := cmp.Diff(d, parseJSON[namespaceTimes](d.String())); diff != "" {
		t.Errorf("they are not read as they were written:\n%s", diff)
	}
	if text := (namespaceTimes{}).String(); text != "" || len(parseJSON[namespaceTimes]("{broken")) > 0 {
		t.Errorf("none are written as %q", text)
	}
}

// Each rule restarts workloads, and each cause is of one rule.
func TestPredicates(t *testing.T) {
	seen := map[Cause]bool{}
	for _, p := range rules {
		if p.gateway == nil && p.sidecar == nil {
			t.Errorf("the rule of %s restarts nothing", p.cause)
		}
		if seen[p.cause] {
			t.Errorf("several rules find %s", p.cause)
		}
		seen[p.cause] = true
		if (p.value == nil) == (p.since == nil) {
			t.Errorf("since when %s holds must be either kept or known", p.cause)
		}
	}
}

func TestLedger_Next(t *testing.T) {
	yes, no := true, false
	zero := 0
	spec := func(change func(*v1alpha2.Config)) *Target {
		t := target()
		change(&t.Spec.Config)
		return t
	}
	first := Changes{}.Next(spec(func(*v1alpha2.Config) {}), made)
	for cause, e := range first {
		if !e.Since.IsZero() {
			t.Errorf("%s is new since %s when it is looked at for the first time", cause, e.Since)
		}
	}
	tests := map[string]struct {
		reason string
		target *Target
		want   []Cause
	}{
		"Same":          {reason: "nothing has changed", target: spec(func(*v1alpha2.Config) {})},
		"SetToDefault":  {reason: "set counts as different from unset", target: spec(func(c *v1alpha2.Config) { c.EnableDNSProxying, c.NumTrustedProxies = &no, &zero }), want: causes(CauseDNSProxying, CauseTrustedProxies)},
		"EmptyMatcher":  {reason: "a matcher without expressions matches as none does", target: spec(func(c *v1alpha2.Config) { c.ProxyStatsMatcher = &v1alpha2.ProxyStatsMatcher{} })},
		"Image":         {reason: "what pods show is kept too", target: &Target{ProxyImage: "x", Amounts: target().Amounts, CNI: true, StatusPort: "15020"}, want: causes(CauseProxyImage)},
		"Compatibility": {reason: "no proxy depends on the mode", target: &Target{ProxyImage: image, Amounts: target().Amounts, CNI: true, StatusPort: "15020", Spec: v1alpha2.IstioSpec{CompatibilityMode: true}}},
		"DNSProxying":   {reason: "a switch was set", target: spec(func(c *v1alpha2.Config) { c.EnableDNSProxying = &yes }), want: causes(CauseDNSProxying)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := []Cause(nil)
			next := first.Next(tc.target, made.Add(hour))
			for _, cause := range slices.Sorted(maps.Keys(next)) {
				if !next[cause].Since.IsZero() {
					got = append(got, cause)
				}
			}
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if again := parseJSON[Changes](next.String()); again.String() != next.String() {
				t.Errorf("the changes are not read as they were written:\n%s\n%s", next, again)
			}
			if later := next.Next(tc.target, made.Add(2*hour)); later.String() != next.String() {
				t.Errorf("the same target changes them: %s", cmp.Diff(next, later))
			}
		})
	}
}

// The order of expressions does not count, and the resource is left as it is.
func TestLedger_MatcherOrder(t *testing.T) {
	of := func(all ...string) *Target {
		return &Target{Spec: v1alpha2.IstioSpec{Config: v1alpha2.Config{ProxyStatsMatcher: &v1alpha2.ProxyStatsMatcher{InclusionRegexps: all}}}}
	}
	b := of("b", "a")
	if diff := cmp.Diff(Changes{}.Next(of("a", "b"), made), Changes{}.Next(b, made)); diff != "" {
		t.Errorf("the order of expressions counts:\n%s", diff)
	}
	if b.Spec.Config.ProxyStatsMatcher.InclusionRegexps[0] != "b" {
		t.Error("the expressions of the resource were sorted")
	}
}

// What another manager has rolled out is the base that changes are measured from.
func TestBaseline(t *testing.T) {
	two, three := 2, 3
	before := Baseline(v1alpha2.IstioSpec{Config: v1alpha2.Config{NumTrustedProxies: &two}})
	if _, known := before[CauseProxyImage]; known {
		t.Error("a spec does not tell the image of proxies")
	}
	next := target()
	next.Spec.Config.NumTrustedProxies = &three
	after := before.Next(next, made)
	if !after[CauseTrustedProxies].Since.Equal(made) || !after[CauseProxyImage].Since.IsZero() || !after[CauseClientCert].Since.IsZero() {
		t.Errorf("after a change of numTrustedProxies alone: %s", after)
	}
	if half := parseJSON[Changes]("{"); len(half) > 0 {
		t.Errorf("half of the text is read as %s", half)
	}
}

func TestNamespaceOf(t *testing.T) {
	at := func(d time.Duration, fields string) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(made.Add(d))
		return metav1.ManagedFieldsEntry{Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	tests := map[string]struct {
		reason, name string
		labels       map[string]string
		want         Injection
	}{
		"Unlabelled": {"pods may ask for a sidecar", "shop", nil, InjectOwn},
		"Enabled":    {"all pods get one", "shop", map[string]string{labelInjection: "enabled"}, InjectAll},
		"Disabled":   {"no pod gets one", "shop", map[string]string{labelInjection: "disabled"}, InjectNone},
		"Typo":       {"Istio reads any other value as a refusal", "shop", map[string]string{labelInjection: "yes"}, InjectNone},
		"Default":    {"the revision of the mesh", "shop", map[string]string{LabelRevision: "default"}, InjectAll},
		"Canary":     {"another istiod", "shop", map[string]string{LabelRevision: "canary"}, InjectOther},
		"System":     {"Istio never injects there", "kube-system", map[string]string{labelInjection: "enabled"}, InjectOther},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: tc.name, Labels: tc.labels, ManagedFields: []metav1.ManagedFieldsEntry{
				at(hour, `{"f:metadata":{"f:labels":{"f:istio-injection":{}}}}`), at(2*hour, `{"f:metadata":{"f:labels":{"f:x":{}}}}`),
			}}}
			got := NamespaceOf(o)
			if got.Inject != tc.want || !got.Since.Equal(made.Add(hour)) {
				t.Errorf("%s: got %d since %s, want %d", tc.reason, got.Inject, got.Since, tc.want)
			}
		})
	}
}

func TestTargetOf(t *testing.T) {
	operator := map[string]any{"spec": map[string]any{
		"values": map[string]any{"global": map[string]any{"proxy": map[string]any{"image": image, "resources": map[string]any{
			"requests": map[string]any{"cpu": "10m", "memory": "192Mi"}, "limits": map[string]any{"cpu": int64(1), "memory": "1Gi"},
		}}}},
		"components": map[string]any{"cni": map[string]any{"enabled": true}},
		"meshConfig": map[string]any{"enablePrometheusMerge": false},
	}}
	components := operator["spec"].(map[string]any)["components"].(map[string]any)
	for value, want := range map[any]bool{nil: false, false: false, true: true} {
		components["egressGateways"] = []any{map[string]any{"name": "istio-egressgateway", "enabled": value}}
		if got, err := TargetOf(operator); err != nil || got.Egress != want {
			t.Errorf("an egress gateway whose switch is %v counts as %t: %v", value, got.Egress, err)
		}
	}
	delete(components, "egressGateways")
	got, err := TargetOf(operator)
	if diff := cmp.Diff(*target(), got); err != nil || diff != "" {
		t.Errorf("TargetOf: %v (-want +got):\n%s", err, diff)
	}
	if _, err := TargetOf(map[string]any{}); err == nil {
		t.Error("an input without an image is read without an error")
	}
}
