// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostLogBytes bounds how much of one container's log is in a report.
const mostLogBytes = 4 << 20

// logOptions are what of a log is read.
type logOptions struct {
	container string
	previous  bool
	lines     int
}

// addLogs writes the logs of the manager's containers, also those of containers that
// have ended.
func (b *bundle) addLogs(ctx context.Context, lines int) error {
	if lines <= 0 {
		return nil
	}
	var list corev1.PodList
	if err := b.cluster.client.List(ctx, &list, client.InNamespace(defaultManagerNamespace)); err != nil {
		b.unread("the logs of the manager", err)
		return nil
	}
	logs, err := newLogReader(b.cluster.config)
	if err != nil {
		return err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		for _, container := range pod.Status.ContainerStatuses {
			for _, o := range []logOptions{{container: container.Name, lines: lines}, {container: container.Name, lines: lines, previous: true}} {
				if o.previous && container.RestartCount == 0 {
					continue
				}
				if err := b.addLog(ctx, logs, pod, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bundle) addLog(ctx context.Context, logs *rest.RESTClient, pod *corev1.Pod, o logOptions) error {
	name := pod.Name + "-" + o.container
	if o.previous {
		name += "-previous"
	}
	text, err := readLog(ctx, logs, pod, o)
	if err != nil {
		b.unread("the log of "+name, err)
		return nil
	}
	return b.write("manager/logs/"+name+".log", redactLog(text))
}

// newLogReader reads logs.
func newLogReader(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	logs, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return logs, nil
}

func readLog(ctx context.Context, logs *rest.RESTClient, pod *corev1.Pod, o logOptions) ([]byte, error) {
	return logs.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").
		Param("container", o.container).Param("tailLines", fmt.Sprint(o.lines)).Param("limitBytes", fmt.Sprint(mostLogBytes)).
		Param("previous", fmt.Sprint(o.previous)).Do(ctx).Raw()
}

// What is taken out of logs. The manager logs no such value; what it quotes of others may
// have one.
var (
	// secretAssignment is a word for what is confidential, with the value after it.
	secretAssignment = regexp.MustCompile(`(?i)((?:password|passwd|token|credentials?|api-?key|private-?key|authorization)\\?["']?\s*[=:]\s*\\?["']?(?:bearer )?)[^\s"'\\,;}]+`)

	// secretData is the data of a Secret as client-go logs it: a map of names to values.
	secretData = regexp.MustCompile(`(?i)(\\?["']?(?:string)?data\\?["']?\s*:\s*)\{[^{}]*\}?`)
)

// redactLog takes out of a log what sounds like a password.
func redactLog(text []byte) []byte {
	return secretAssignment.ReplaceAll(secretData.ReplaceAll(text, []byte("${1}<redacted>")), []byte("${1}<redacted>"))
}
