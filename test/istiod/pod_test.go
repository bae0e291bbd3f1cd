// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sandbox is the kubelet's part in running a container: its environment, and its
// volumes as files below a folder that stands for the container's root.
type sandbox struct {
	pod       *corev1.Pod
	container *corev1.Container
	root      string
}

// newSandbox prepares the first container of a pod.
func newSandbox(ctx context.Context, pod *corev1.Pod, root string) (*sandbox, error) {
	s := &sandbox{pod: pod, container: &pod.Spec.Containers[0], root: root}
	if n := len(pod.Spec.Containers) + len(pod.Spec.InitContainers); n != 1 {
		return nil, fmt.Errorf("pod %s has %d containers; the rig plays one", pod.Name, n)
	}
	for _, mount := range s.container.VolumeMounts {
		if err := s.mount(ctx, mount); err != nil {
			return nil, fmt.Errorf("mounting %s of pod %s at %s: %w", mount.Name, pod.Name, mount.MountPath, err)
		}
	}
	return s, nil
}

// environment is what a kubelet would set, as KEY=value.
func (s *sandbox) environment() ([]string, error) {
	server, err := url.Parse(plane.Config().Host)
	if err != nil {
		return nil, err
	}
	all := []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	if len(s.container.EnvFrom) > 0 {
		return nil, errors.New("the rig does not know envFrom")
	}
	for _, v := range s.container.Env {
		value := v.Value
		if v.ValueFrom != nil {
			if value, err = s.source(v.ValueFrom); err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", v.Name, err)
			}
		}
		if strings.Contains(value, "$(") {
			return nil, fmt.Errorf("environment variable %s: the rig does not expand %s", v.Name, value)
		}
		all = append(all, v.Name+"="+value)
	}
	return all, nil
}

// source is a value of the downward API. A limit that a container has not got is
// what its node has, and that is this machine.
func (s *sandbox) source(from *corev1.EnvVarSource) (string, error) {
	if field := from.FieldRef; field != nil {
		return s.field(field.FieldPath)
	}
	if resource := from.ResourceFieldRef; resource != nil && resource.Resource == "limits.cpu" {
		if limit, ok := s.container.Resources.Limits[corev1.ResourceCPU]; ok {
			return strconv.FormatInt(limit.Value(), 10), nil
		}
		return strconv.Itoa(runtime.NumCPU()), nil
	}
	return "", fmt.Errorf("the rig does not know the source %v", from)
}

func (s *sandbox) field(path string) (string, error) {
	switch path {
	case "metadata.name":
		return s.pod.Name, nil
	case "metadata.namespace":
		return s.pod.Namespace, nil
	case "spec.serviceAccountName":
		return s.pod.Spec.ServiceAccountName, nil
	}
	return "", fmt.Errorf("the rig does not know the field %s", path)
}

// mount writes the files of a volume to where the container looks for them.
func (s *sandbox) mount(ctx context.Context, mount corev1.VolumeMount) error {
	dir := s.path(mount.MountPath)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if mount.SubPath != "" {
		return errors.New("the rig does not know subPath")
	}
	for _, v := range s.pod.Spec.Volumes {
		if v.Name != mount.Name {
			continue
		}
		switch {
		case v.EmptyDir != nil:
			return nil
		case v.ConfigMap != nil:
			return s.configMap(ctx, dir, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
		case v.Secret != nil:
			return s.secret(ctx, dir, v.Secret)
		case v.Projected != nil:
			return s.projected(ctx, dir, v.Projected.Sources)
		}
		return fmt.Errorf("the rig does not know this kind of volume: %v", v.VolumeSource)
	}
	return errors.New("there is no such volume")
}

func (s *sandbox) projected(ctx context.Context, dir string, sources []corev1.VolumeProjection) error {
	for _, source := range sources {
		var err error
		switch {
		case source.ServiceAccountToken != nil:
			err = s.token(ctx, dir, source.ServiceAccountToken)
		case source.ConfigMap != nil:
			err = s.configMap(ctx, dir, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
		case source.DownwardAPI != nil:
			err = s.downward(dir, source.DownwardAPI.Items)
		default:
			err = fmt.Errorf("the rig does not know this projection: %v", source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// token is one for this pod, of its ServiceAccount.
func (s *sandbox) token(ctx context.Context, dir string, wanted *corev1.ServiceAccountTokenProjection) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: wanted.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: s.pod.Name, UID: s.pod.UID},
	}}
	if wanted.Audience != "" {
		request.Spec.Audiences = []string{wanted.Audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.pod.Namespace, Name: s.pod.Spec.ServiceAccountName}}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("requesting a token of %s: %w", account.Name, err)
	}
	return write(dir, wanted.Path, []byte(request.Status.Token))
}

func (s *sandbox) downward(dir string, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return fmt.Errorf("the rig does not know the source of %s", item.Path)
		}
		value, err := s.field(item.FieldRef.FieldPath)
		if err == nil {
			err = write(dir, item.Path, []byte(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sandbox) configMap(ctx context.Context, dir, name string, items []corev1.KeyToPath, optional *bool) error {
	object := &corev1.ConfigMap{}
	if err := s.get(ctx, object, name, optional); err != nil {
		return err
	}
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return writeAll(dir, data, items)
}

func (s *sandbox) secret(ctx context.Context, dir string, source *corev1.SecretVolumeSource) error {
	object := &corev1.Secret{}
	if err := s.get(ctx, object, source.SecretName, source.Optional); err != nil {
		return err
	}
	return writeAll(dir, object.Data, source.Items)
}

// get reads an object of the pod's namespace, which may be missing if it is optional.
func (s *sandbox) get(ctx context.Context, object client.Object, name string, optional *bool) error {
	err := admin.Get(ctx, types.NamespacedName{Namespace: s.pod.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) && ptr.Deref(optional, false) {
		return nil
	}
	return err
}

// path is where a file of the container is on this machine.
func (s *sandbox) path(inContainer string) string { return filepath.Join(s.root, inContainer) }

// writeAll writes all data, or the items of it.
func writeAll(dir string, data map[string][]byte, items []corev1.KeyToPath) error {
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		if err := write(dir, item.Path, data[item.Key]); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
