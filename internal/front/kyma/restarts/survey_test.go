// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolsevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// paged answers lists of pods page by page, with one bare outdated pod on each.
type paged struct {
	client.Reader

	count, most int64
	// expires is the page whose token is too old when it is asked for, and rest the one to
	// go on with, empty for none.
	expires, rest string
	broken        error
	asked         int
}

func (p *paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return nil
	}
	o := client.ListOptions{}
	o.ApplyOptions(options)
	p.asked++
	p.most = max(p.most, o.Limit)
	if p.broken != nil && p.asked > 2 {
		return p.broken
	}
	if o.Continue != "" && o.Continue == p.expires {
		p.expires = ""
		err := apierrors.NewResourceExpired("too old")
		err.ErrStatus.Continue = p.rest
		return err
	}
	page := int64(0)
	if o.Continue != "" {
		if _, err := fmt.Sscanf(o.Continue, "page-%d", &page); err != nil {
			return err
		}
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(page), Annotations: map[string]string{"sidecar.istio.io/status": "{}"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "istio-proxy", Image: oldImage}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	pods.Items = []corev1.Pod{pod}
	if page+1 < p.count {
		pods.Continue = fmt.Sprintf("page-%d", page+1)
	}
	return nil
}

// A survey goes through all pages, also when it takes so long that the list expires; half a
// survey is none.
func TestController_Survey(t *testing.T) {
	tests := map[string]struct {
		reason string
		pages  paged
		want   int
		fails  bool
	}{
		"AllPages":   {reason: "every page counts", pages: paged{count: 5}, want: 5},
		"Expired":    {reason: "the API server says how to go on", pages: paged{count: 5, expires: "page-3", rest: "page-03"}, want: 5},
		"ExpiredEnd": {reason: "a list that cannot go on is no survey", pages: paged{count: 5, expires: "page-3"}, fails: true},
		"Broken":     {reason: "half a survey is none", pages: paged{count: 5, broken: errors.New("broken by the test")}, fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			recorder := toolsevents.NewFakeRecorder(10)
			c := &Controller{live: &tc.pages, Config: Config{Recorder: recorder}, now: time.Now}
			err := c.surveyPods(t.Context(), &mesh{target: Target{ProxyImage: newImage}})
			if (err != nil) != tc.fails {
				t.Fatalf("%s: the error is %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if got := c.run.queue.state().ManualCount; got != tc.want || tc.pages.most != podPage {
				t.Errorf("%s: found %d pods with pages of %d, want %d", tc.reason, got, tc.pages.most, tc.want)
			}
			if got := len(recorder.Events); got != tc.want {
				t.Errorf("%s: %d events tell of %d pods", tc.reason, got, tc.want)
			}
		})
	}
}
