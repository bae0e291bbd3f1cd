// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-run/strata/internal/front"
)

// cert-manager refuses certificates that are valid for less, or renewed later.
const (
	minDuration    = time.Hour
	minRenewBefore = 5 * time.Minute
	minMaxDuration = time.Minute
)

// refusals collects what is wrong with a spec. Each begins with the field's path.
type refusals []string

func (r *refusals) add(path, format string, args ...any) {
	*r = append(*r, path+": "+fmt.Sprintf(format, args...))
}

// addAll adds what validation has found about a value.
func (r *refusals) addAll(path, value string, found []string) {
	if len(found) > 0 {
		r.add(path, "%.100q: %s", value, strings.Join(found, "; "))
	}
}

// checkSpec finds what the API server lets through and what cannot work.
func checkSpec(in Input) []string {
	var r refusals
	const config = "spec.istioCSRConfig"
	c := in.IstioCSR.Spec.IstioCSRConfig
	checkStored(&r, config, c)
	checkDurations(&r, config+".istiodTLSConfig", durationsOf(in.IstioCSR))
	if _, err := labels.Parse(c.IstioDataPlaneNamespaceSelector); err != nil {
		r.add(config+".istioDataPlaneNamespaceSelector", "%.200q is not a label selector, such as maistra.io/member-of=istio-system: %v", c.IstioDataPlaneNamespaceSelector, err)
	}
	for i, revision := range c.Istio.Revisions {
		r.addAll(fmt.Sprintf("%s.istio.revisions[%d]", config, i), revision, validation.IsDNS1123Label(revision))
	}
	for i, name := range c.IstiodTLSConfig.CertificateDNSNames {
		r.addAll(fmt.Sprintf("%s.istiodTLSConfig.certificateDNSNames[%d]", config, i), name, checkDNSName(name))
	}
	if user := in.IstioCSR.Spec.ControllerConfig; user != nil {
		checkLabels(&r, "spec.controllerConfig.labels", user.Labels)
	}
	checkPods(&r, config, c)
	checkAgent(&r, in)
	return r
}

// checkDNSName takes what a certificate can have; upper case is the same there.
func checkDNSName(name string) []string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "*") {
		return validation.IsWildcardDNS1123Subdomain(name)
	}
	return validation.IsDNS1123Subdomain(name)
}

func checkLabels(r *refusals, path string, set map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		r.addAll(path, key, validation.IsQualifiedName(key))
		r.addAll(path+"["+key+"]", set[key], validation.IsValidLabelValue(set[key]))
	}
}

// durations are those of the certificates, with their defaults.
type durations struct{ certificate, renewBefore, longest time.Duration }

func checkDurations(r *refusals, path string, d durations) {
	if d.certificate < minDuration {
		r.add(path+".certificateDuration", "%s is too short: cert-manager issues certificates for %s or longer", d.certificate, minDuration)
	}
	switch {
	case d.renewBefore < minRenewBefore:
		r.add(path+".certificateRenewBefore", "%s is too short: cert-manager takes %s or longer", d.renewBefore, minRenewBefore)
	case d.renewBefore >= d.certificate:
		r.add(path+".certificateRenewBefore", "%s must be shorter than certificateDuration, which is %s", d.renewBefore, d.certificate)
	}
	if d.longest < minMaxDuration {
		r.add(path+".maxCertificateDuration", "%s is too short: set %s or longer", d.longest, minMaxDuration)
	}
}

// checkAgent finds what is wrong with spec.agentConfig, and with the manager's image.
func checkAgent(r *refusals, in Input) {
	const path = "spec.agentConfig"
	image, where := imageOf(in.IstioCSR, in.Image), "the manager's flag --istio-csr-image"
	agent := in.IstioCSR.Spec.AgentConfig
	if agent != nil && agent.Image != nil {
		where = path + ".image.reference"
	}
	if !front.IsImage(image.Reference) {
		r.add(where, "%.100q is not a full image reference with a tag or digest, such as %s", image.Reference, DefaultImage)
	}
	r.addAll("the version of image "+image.Reference, image.Version, validation.IsValidLabelValue(image.Version))
	if agent == nil {
		return
	}
	checkStoredAgent(r, path, *agent)
	if agent.PriorityClassName != "" {
		r.addAll(path+".priorityClassName", agent.PriorityClassName, validation.IsDNS1123Subdomain(agent.PriorityClassName))
	}
	checkLabels(r, path+".deploymentLabels", agent.DeploymentLabels)
	checkRuntime(r, path, in.IstioCSR)
	if agent.ServiceMonitor != nil {
		checkLabels(r, path+".serviceMonitor.labels", agent.ServiceMonitor.Labels)
	}
	for i, constraint := range agent.TopologySpreadConstraints {
		at := fmt.Sprintf("%s.topologySpreadConstraints[%d]", path, i)
		r.addAll(at+".topologyKey", constraint.TopologyKey, validation.IsQualifiedName(constraint.TopologyKey))
		if constraint.MaxSkew < 1 {
			r.add(at+".maxSkew", "%d must be 1 or more", constraint.MaxSkew)
		}
		if constraint.WhenUnsatisfiable != "DoNotSchedule" && constraint.WhenUnsatisfiable != "ScheduleAnyway" {
			r.add(at+".whenUnsatisfiable", "%q must be DoNotSchedule or ScheduleAnyway", constraint.WhenUnsatisfiable)
		}
		checkSelector(r, at+".labelSelector", constraint.LabelSelector)
	}
	for _, option := range optionsOf(in.IstioCSR) {
		if !hasFlag(image.Version, option.flag) {
			r.add(path+"."+option.field, "%s", unknownFlag(image, option.flag))
		}
	}
}

// unknownFlag says that an agent would end at a flag, and what to do.
func unknownFlag(image Image, flag string) string {
	text := fmt.Sprintf("istio-csr exits on flags that it does not have, and image %s of version %q is not known to have --%s, which ", image.Reference, image.Version, flag)
	since := agentFlags[flag].since
	if since == mainBranch {
		return text + fmt.Sprintf("no release up to %s has: remove the field, or set spec.agentConfig.image to a build of its main branch, with version: %s",
			releases[len(releases)-2], mainBranch)
	}
	return text + fmt.Sprintf("the releases %s to %s have: set spec.agentConfig.image.version to the one that the image is made of, or remove the field",
		since, releases[len(releases)-2])
}

func checkSelector(r *refusals, path string, selector *metav1.LabelSelector) {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		r.add(path, "%v", err)
	}
}
