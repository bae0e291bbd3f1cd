// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const (
	serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	readyTimeout      = 3 * time.Minute // it takes some seconds; the rest is for slow machines
	// lowestPort and portCount are where istiod's ports are. Systems give other ones to
	// outgoing connections, of which one could take a port before istiod listens there.
	lowestPort, portCount = 20000, 10000
)

// listeners are the arguments that say where istiod listens, by the port of the
// container that they move to a free one.
var listeners = map[int]string{
	8080:  "httpAddr",
	15010: "grpcAddr",
	15012: "secureGRPCAddr",
	15014: "monitoringAddr",
	15017: "httpsAddr",
}

// program is the real istiod.
type program struct {
	// namespace is where its pod is, revision is Istio's, and service is the Service before it.
	namespace, revision, service string
	end                          func() error
}

// ofClasses is the istiod of the GatewayClasses with a revision.
func ofClasses(revision string) *program {
	return &program{namespace: gatewayclass.Namespace, revision: revision, service: "istiod-" + revision}
}

// start runs it behind the pod of the Deployment that the manager has rolled out, and
// waits until it is ready.
func (p *program) start(t *testing.T) {
	t.Helper()
	end, err := runPod(t.Context(), p.pod(t), p.service)
	must(t, err)
	p.end = end
}

// stop ends it.
func (p *program) stop(t *testing.T) {
	t.Helper()
	must(t, p.end())
}

// pod waits for the one pod of the Deployment.
func (p *program) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	var running []corev1.Pod
	planetest.Eventually(t, "one running pod of istiod", func() (bool, error) {
		list := &corev1.PodList{}
		if err := admin.List(t.Context(), list, client.InNamespace(p.namespace), client.MatchingLabels{"app": "istiod", gatewayclass.LabelRevision: p.revision}); err != nil {
			return false, err
		}
		running = nil
		for _, pod := range list.Items {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero() {
				running = append(running, pod)
			}
		}
		return len(running) == 1, fmt.Errorf("%d of %d pods are running", len(running), len(list.Items))
	})
	return &running[0]
}

func runPod(ctx context.Context, pod *corev1.Pod, service string) (stop func() error, err error) {
	path, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(plane.DataDir(), "pods", pod.Name)
	s, err := newSandbox(ctx, pod, root)
	if err != nil {
		return nil, err
	}
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(root, "kubeconfig")
	if err := s.writeKubeconfig(kubeconfig); err != nil {
		return nil, err
	}
	// The last of several arguments wins. The working folder is the container's root,
	// below which istiod looks for its files.
	args := append(append(s.container.Command, s.container.Args...), "--kubeconfig="+kubeconfig, "--ctrlz_port=0")
	for port, name := range listeners {
		args = append(args, "--"+name+"="+addresses[port])
	}
	stop, err = plane.Run(localplane.Program{Name: pod.Name, Path: path, Args: args, Env: env, Dir: root})
	if err != nil {
		return nil, err
	}
	err = waitReady(ctx, s.container.ReadinessProbe, addresses)
	if err == nil {
		err = checkListeners(ctx, addresses)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("istiod does not get ready: %w", err), plane.Err(), stop())
	}
	return stop, route(ctx, pod.Namespace, service, addresses)
}

// writeKubeconfig writes what a program in a pod finds by itself: the API server, its
// authority, and the token of the pod's ServiceAccount.
func (s *sandbox) writeKubeconfig(path string) error {
	const name = "pod"
	account := s.path(serviceAccountDir)
	config := clientcmdapi.NewConfig()
	config.CurrentContext = name
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: s.pod.Namespace}
	config.Clusters[name] = &clientcmdapi.Cluster{Server: plane.Config().Host, CertificateAuthority: filepath.Join(account, "ca.crt")}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(account, "token")}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of pod %s: %w", s.pod.Name, err)
	}
	return nil
}

// freeAddresses are loopback addresses, by the port of the container.
func freeAddresses(ctx context.Context) (map[int]string, error) {
	addresses := map[int]string{}
	var held []net.Listener
	for port := range listeners {
		listener, err := listenFree(ctx)
		if err != nil {
			return nil, err
		}
		// Held until all are known, so that no two are the same.
		held = append(held, listener)
		addresses[port] = listener.Addr().String()
	}
	for _, listener := range held {
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	return addresses, nil
}

// listenFree listens on a port that is free.
func listenFree(ctx context.Context) (net.Listener, error) {
	for tries := 1; ; tries++ {
		port := lowestPort + rand.IntN(portCount)
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || tries == portCount || !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
}

// waitReady asks what the readiness probe asks until it is answered well.
func waitReady(ctx context.Context, probe *corev1.Probe, addresses map[int]string) error {
	if probe == nil || probe.HTTPGet == nil {
		return fmt.Errorf("the rig does not know the readiness probe %v", probe)
	}
	url := "http://" + addresses[probe.HTTPGet.Port.IntValue()] + probe.HTTPGet.Path
	var code int
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-plane.Done():
			return false, errors.New("it has ended")
		default:
		}
		code, last = ask(ctx, url)
		return code == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s, which answered %d, %w: %w", url, code, last, err)
	}
	return nil
}

// checkListeners makes sure that istiod has taken every address: of an argument that
// it does not know it says nothing, and listens for everyone.
func checkListeners(ctx context.Context, addresses map[int]string) error {
	for port, name := range listeners {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addresses[port])
		if err != nil {
			return fmt.Errorf("argument --%s is without effect: %w", name, err)
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
	return nil
}

func ask(ctx context.Context, url string) (code int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// route lets the API server reach the process through istiod's Service.
func route(ctx context.Context, namespace, name string, addresses map[int]string) error {
	service := &corev1.Service{}
	if err := admin.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, service); err != nil {
		return err
	}
	for _, port := range service.Spec.Ports {
		target := port.TargetPort.IntValue()
		if target == 0 {
			target = int(port.Port)
		}
		if address, ok := addresses[target]; ok {
			router.Route(net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port.Port))), address)
		}
	}
	return nil
}
