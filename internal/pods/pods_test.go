// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFailing(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	crashed := waiting("CrashLoopBackOff", "back-off 10s")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	ended := corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}}
	cases := map[string]struct {
		reason string
		status corev1.PodStatus
		want   string
	}{
		"Runs":          {reason: "What runs is no trouble.", status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true}}}},
		"Starts":        {reason: "Nor is what only starts.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating", "")}}},
		"Image":         {reason: "The kubelet's reason and message are given.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ErrImagePull", "not found")}}, want: "Pod p: ErrImagePull: not found"},
		"InitContainer": {reason: "An init container holds the rest.", status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("ErrImagePull", "init")}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing", "")}}, want: "Pod p: ErrImagePull: init"},
		"Crashes":       {reason: "How it ended last says more than the back-off.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crashed}}, want: "Pod p: CrashLoopBackOff: back-off 10s (it ended with exit code 1, Error)"},
		"Killed":        {reason: "What has ended badly does not run.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended}}, want: "Pod p: OOMKilled: exit code 137"},
		"NoNode": {reason: "A pod without a node has no containers.", status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes"},
		}}, want: "Pod p: Unschedulable: 0/1 nodes"},
		"NotReady": {reason: "What runs may fail its readiness probe.", status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "containers with unready status: [app]"},
		}}, want: "Pod p: ContainersNotReady: containers with unready status: [app]"},
		"Evicted": {reason: "The whole pod has failed.", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk"}, want: "Pod p: Evicted: disk"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trouble, found := of(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: tc.status})
			got := ""
			if found {
				got = trouble.String()
			}
			if got != tc.want {
				t.Errorf("%s Got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// reader answers one list with its pods, and keeps what was asked for.
type reader struct {
	client.Reader

	pods  []corev1.Pod
	asked []client.ListOptions
}

func (r *reader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(options)
	r.asked = append(r.asked, asked)
	for i := range r.pods {
		item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&r.pods[i])
		if err != nil {
			return err
		}
		target := list.(*unstructured.UnstructuredList)
		target.Items = append(target.Items, unstructured.Unstructured{Object: item})
	}
	return nil
}

func pod(name, ownerKind, owner string, uid types.UID) corev1.Pod {
	isController := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"pod-template-hash": "5d8f"},
			OwnerReferences: []metav1.OwnerReference{{Kind: ownerKind, Name: owner, UID: uid, Controller: &isController}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodFailed},
	}
}

func TestList(t *testing.T) {
	manifest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": map[string]any{
		"matchLabels":      map[string]any{"app": "web"},
		"matchExpressions": []any{map[string]any{"key": "tier", "operator": "In", "values": []any{"a", "b"}}},
	}}}}
	broken := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": "odd"}}}}
	bare := pod("bare", "", "", "")
	bare.OwnerReferences = nil
	going := pod("going", "StatefulSet", "web", "uid")
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	hashless := pod("hashless", "ReplicaSet", "web-5d8f", "rs")
	hashless.Labels = nil
	cases := map[string]struct {
		reason   string
		kind     schema.GroupKind
		manifest *unstructured.Unstructured
		pods     []corev1.Pod
		want     string
		selector string
	}{
		"ByUID": {
			reason: "Pods belong to the object with the UID, not to one with its name.", kind: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, manifest: manifest,
			pods: []corev1.Pod{pod("b", "StatefulSet", "web", "uid"), pod("a", "StatefulSet", "web", "uid"), pod("other", "StatefulSet", "web", "before"), bare, going},
			want: "a b", selector: "app=web,tier in (a,b)",
		},
		"Deployment": {
			reason: "A Deployment has its pods by a ReplicaSet named after it and their hash.", kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, manifest: manifest,
			pods: []corev1.Pod{pod("a", "ReplicaSet", "web-5d8f", "rs"), pod("other", "ReplicaSet", "web-other-5d8f", "rs2"), pod("job", "Job", "web-5d8f", "uid"), hashless},
			want: "a", selector: "app=web,tier in (a,b)",
		},
		"Job": {
			reason: "A Job has no selector of its own making.", kind: schema.GroupKind{Group: "batch", Kind: "Job"}, pods: []corev1.Pod{pod("a", "Job", "web", "uid")},
			want: "a", selector: "batch.kubernetes.io/job-name=web",
		},
		"NoManifest":  {reason: "Without a manifest all pods of the namespace are read.", kind: schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, pods: []corev1.Pod{pod("a", "DaemonSet", "web", "uid")}, want: "a"},
		"OddSelector": {reason: "As with one that cannot be read.", kind: schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, manifest: broken, pods: []corev1.Pod{pod("a", "DaemonSet", "web", "uid")}, want: "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &reader{pods: tc.pods}
			if !IsWorkload(tc.kind) {
				t.Errorf("%s is no workload", tc.kind)
			}
			own, err := List(t.Context(), r, Workload{Kind: tc.kind, Namespace: "ns", Name: "web", UID: "uid", Manifest: tc.manifest})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, trouble := range Failing(own) {
				names = append(names, trouble.Name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("%s Got the pods %q, want %q", tc.reason, got, tc.want)
			}
			if len(r.asked) != 1 || r.asked[0].Namespace != "ns" || r.asked[0].Limit != mostPods || r.asked[0].LabelSelector.String() != tc.selector {
				t.Errorf("%s Asked %v, want one bounded list with the selector %q", tc.reason, r.asked, tc.selector)
			}
		})
	}
}

func TestText(t *testing.T) {
	one := Trouble{Name: "p", Reason: "ErrImagePull", Message: strings.Repeat("é", 100)}
	if got := Text(nil, 100); got != "" {
		t.Errorf("no trouble is %q", got)
	}
	if got := Text([]Trouble{{Name: "p", Reason: "Evicted"}}, 100); got != "Pod p: Evicted" {
		t.Errorf("one pod is %q", got)
	}
	got := Text([]Trouble{one, one, one}, 60)
	if len(got) > 60 || !strings.HasPrefix(got, "Pod p: ErrImagePull: é") || !strings.HasSuffix(got, "é (and 2 more pods)") {
		t.Errorf("three pods are %q (%d bytes)", got, len(got))
	}
}
