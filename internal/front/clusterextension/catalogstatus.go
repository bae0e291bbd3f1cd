// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/status"
)

// setCatalogStatus sets the whole status of a ClusterCatalog. There are no URLs, as the manager
// serves nothing.
func setCatalogStatus(cc *olmv1.ClusterCatalog, view sources.CatalogView, now metav1.Time) {
	cc.Status.ResolvedSource, cc.Status.LastUnpacked, cc.Status.URLs = nil, nil, nil
	if view.Content != nil {
		unpacked := metav1.NewTime(view.Read.Truncate(time.Second))
		cc.Status.LastUnpacked = &unpacked
		if strings.Contains(view.Version.Reference, "@") {
			cc.Status.ResolvedSource = &olmv1.ResolvedCatalogSource{Type: olmv1.SourceTypeImage, Image: &olmv1.ResolvedImageSource{Ref: view.Version.Reference}}
		}
	}
	status.Set(cc.Generation, now, &cc.Status.Conditions, serving(cc, view), catalogProgressing(cc, view))
}

func serving(cc *olmv1.ClusterCatalog, view sources.CatalogView) metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(olmv1.TypeServing, value, reason, message)
	}
	switch {
	case !counts(cc):
		return is(metav1.ConditionFalse, olmv1.ReasonUserSpecifiedUnavailable, "spec.availabilityMode is Unavailable: no extension is resolved from the catalog, and its content is dropped")
	case view.Content == nil:
		return is(metav1.ConditionFalse, olmv1.ReasonUnavailable, "The content of the catalog has not been read yet")
	default:
		return is(metav1.ConditionTrue, olmv1.ReasonAvailable, "Extensions can be resolved from the catalog")
	}
}

func catalogProgressing(cc *olmv1.ClusterCatalog, view sources.CatalogView) metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(olmv1.TypeProgressing, value, reason, message)
	}
	kept := ""
	if view.Content != nil {
		kept = "; the content that was read last is used"
	}
	switch {
	case !counts(cc):
		return is(metav1.ConditionTrue, olmv1.ReasonSucceeded, "spec.availabilityMode is Unavailable")
	case view.Err != nil && view.Final:
		return is(metav1.ConditionFalse, olmv1.ReasonBlocked, view.Err.Error()+kept)
	case view.Err != nil:
		return is(metav1.ConditionTrue, olmv1.ReasonRetrying, view.Err.Error()+kept)
	case view.Content == nil:
		return is(metav1.ConditionTrue, olmv1.ReasonRetrying, "The content of the catalog is being read")
	default:
		return is(metav1.ConditionTrue, olmv1.ReasonSucceeded, "The content of the catalog is current")
	}
}
