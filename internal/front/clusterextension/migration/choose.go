// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of the index Secrets, besides owner and type.
const (
	labelName    = "name"
	labelStatus  = "status"
	labelVersion = "version"
)

// version is an index Secret, by its metadata.
type version struct {
	secret string
	number int
	status string
}

// choose says which version of a release is installed: the highest that is deployed, also under newer
// ones that failed, are pending or superseded. None is when a newer one is uninstalled.
// Secrets that belong to a ClusterExtension of another UID, which has gone, do not count.
func choose(secrets []metav1.PartialObjectMetadata, uid types.UID) (chosen version, found bool, err error) {
	var versions []version
	for i := range secrets {
		of := &secrets[i]
		owner := slices.IndexFunc(of.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "ClusterExtension" })
		if owner >= 0 && of.OwnerReferences[owner].UID != uid {
			continue
		}
		number, err := strconv.Atoi(of.Labels[labelVersion])
		if err != nil || number < 1 {
			return version{}, false, unreadable(of.Namespace+"/"+of.Name, "has the label %s=%.100q, which is no version of a release", labelVersion, of.Labels[labelVersion])
		}
		versions = append(versions, version{secret: of.Name, number: number, status: of.Labels[labelStatus]})
	}
	slices.SortFunc(versions, func(a, b version) int { return b.number - a.number })
	for _, v := range versions {
		switch v.status {
		case statusDeployed:
			return v, true, nil
		case statusUninstalled, statusUninstalling:
			return version{}, false, nil
		}
	}
	return version{}, false, nil
}
