// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	annotationTargets   = "olm.targetNamespaces"
	annotationNamespace = "olm.operatorNamespace"
	annotationExamples  = "alm-examples"

	// maxAnnotations is what an API server takes, in bytes.
	maxAnnotations = 256 << 10
)

// deployments are those of the CSV, with the settings of the user.
func (g *rendering) deployments() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, source := range g.csv.Spec.Install.Spec.Deployments {
		d := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: source.Name, Namespace: g.target.Namespace, Labels: source.Label},
			Spec:       *source.spec.DeepCopy(),
		}
		history := int32(1)
		d.Spec.RevisionHistoryLimit = &history
		d.Spec.Template.Annotations = g.podAnnotations(source.Name, d.Spec.Template.Annotations)
		if g.served[source.Name] != nil && g.target.Certificates != NoCertificates {
			mountCertificate(&d.Spec.Template.Spec, certificateName(source.Name))
		}
		g.settings.apply(d)
		object, err := objectOf(d)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// podAnnotations are those of the CSV, over them the pods' own, and what is watched. The examples are
// left out when all would be more than the API server takes.
func (g *rendering) podAnnotations(deployment string, own map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, g.csv.Annotations)
	maps.Copy(all, own)
	all[annotationTargets] = strings.Join(g.watched, ",")
	all[annotationNamespace] = g.target.Namespace
	size := 0
	for key, value := range all {
		size += len(key) + len(value)
	}
	if _, has := all[annotationExamples]; has && size > maxAnnotations {
		delete(all, annotationExamples)
		g.rendered.Warnings = append(g.rendered.Warnings, fmt.Sprintf("the annotation %s is left out of the pods of Deployment %s, as their annotations would be too large", annotationExamples, deployment))
	}
	return all
}
